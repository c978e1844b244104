"""Figures of turns: thinking time, tokens, cost, stalls and loops, summed up by day, model and agent.

A turn that has ended gets one narrow row when figures are first asked for, because the rows of messages hold
whole texts and take long to read. Imported and copied turns get none: their thinking was not done here.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Connection, Integer, bindparam, exists, func, select

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.gateway.store.engine.many_rows import insert_rows, padded
from thinkaloud.gateway.store.queries.messages import notices_of, outcome_of, replies_of, usage_of
from thinkaloud.gateway.store.queries.sessions import visible_to
from thinkaloud.gateway.store.queries.turns import turn_from_row
from thinkaloud.gateway.store.rows import Owner, Role, TurnRow, TurnState
from thinkaloud.gateway.store.schema import messages, parts, sessions, turn_figures, turns

DAY_MS = 24 * 60 * 60 * 1000

_rows = turn_figures.c
_MESSAGE_COLUMNS = (
    messages.c.key,
    messages.c.turn,
    messages.c.model,
    messages.c.input_tokens,
    messages.c.output_tokens,
    messages.c.reasoning_tokens,
    messages.c.cache_read_tokens,
    messages.c.cache_write_tokens,
    messages.c.outcome,
    messages.c.notices,
    messages.c.replies,
    messages.c.started_ms,
    messages.c.ended_ms,
)
_PART_COLUMNS = (
    parts.c.message,
    parts.c.number,
    parts.c.kind,
    parts.c.parent,
    parts.c.started_ms,
    parts.c.ended_ms,
)


class EndedTurn(msgspec.Struct, frozen=True):
    """A turn without its texts."""

    row: TurnRow
    turn: Turn


class TurnFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one turn. None means unknown."""

    turn: int
    created_ms: int
    model: str
    agent: str
    assistants: str | None
    """The ids of the agents that could take part, as JSON; None if unknown."""
    thought: bool
    thinking_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    nano_usd: int | None
    longest_ms: int | None
    longest_block: int | None
    stalls: int
    loops: int


class FigureSum(msgspec.Struct, frozen=True, kw_only=True):
    """The sum over all turns of one day, model, agent and set of assistants.

    `timed`, `counted` and `priced` are the numbers of turns whose time, tokens and cost are known.
    """

    day: int
    """Days since 1970, at the offset that was asked for."""
    model: str
    agent: str
    assistants: str | None
    turns: int
    thought: int
    timed: int
    thinking_ms: int
    counted: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    priced: int
    nano_usd: int
    stalls: int
    loops: int


class LongThought(msgspec.Struct, frozen=True, kw_only=True):
    """One of the longest thoughts, and where it is."""

    session: str
    session_title: str
    turn: str
    block: int
    model: str
    agent: str
    thinking_ms: int
    created_ms: int


def turns_without_figures(conn: Connection, owner: Owner, *, since_ms: int, limit: int) -> list[EndedTurn]:
    """Return ended turns of this owner that have no figures yet, at most `limit`, the newest first."""
    conditions = (
        visible_to(owner),
        turns.c.created_ms >= since_ms,
        turns.c.state != TurnState.RUNNING,
        turns.c.writer != "",  # imported and copied turns have no writer
        ~exists().where(_rows.turn == turns.c.key),
    )
    query = select(turns).join(sessions).where(*conditions).order_by(turns.c.key.desc()).limit(limit)
    rows = [turn_from_row(row) for row in conn.execute(query)]
    folded = dict(_turns_without_texts(conn, [row.key for row in rows]))
    return [EndedTurn(row, folded.get(row.key, Turn())) for row in rows]


def save_figures(conn: Connection, owner: Owner, figures: Sequence[TurnFigures]) -> None:
    """Save the figures of turns of this owner. A turn that was deleted or saved meanwhile is passed over.

    The turns are locked: nobody can delete one of them before its figures are stored.
    """
    of_figures = turns.c.key.in_(padded(one.turn for one in figures))
    locked = select(turns.c.key).where(of_figures).with_for_update(read=True, key_share=True)
    present = set(conn.scalars(locked))
    owned = {"user": owner.user, "workspace": owner.workspace}
    rows: list[dict[str, Any]] = []
    for row in figures:
        if row.turn in present:
            rows.append(owned | msgspec.structs.asdict(row))
    insert_rows(conn, turn_figures.name, rows, new_only=True)


def sum_figures(conn: Connection, owner: Owner, *, since_ms: int, offset_ms: int) -> list[FigureSum]:
    """Return the sums of this owner's turns since a time, by day, model, agent and assistants."""
    day = ((_rows.created_ms + bindparam("offset", type_=BigInteger)) // DAY_MS).label("day")
    groups = (day, _rows.model, _rows.agent, _rows.assistants)
    sums = [func.coalesce(func.sum(_rows[name]), 0).label(name) for name in _SUMMED]
    query = (
        select(
            *groups,
            func.count().label("turns"),
            func.sum(_rows.thought.cast(Integer)).label("thought"),
            func.count(_rows.thinking_ms).label("timed"),
            func.count(_rows.output_tokens).label("counted"),
            func.count(_rows.nano_usd).label("priced"),
            *sums,
        )
        .where(*_of_owner(owner, since_ms))
        .group_by(*groups)
        .order_by(*groups)
    )
    return [FigureSum(**row) for row in conn.execute(query, {"offset": offset_ms}).mappings()]


def longest_thoughts(
    conn: Connection,
    owner: Owner,
    *,
    since_ms: int,
    limit: int,
    hidden: Collection[tuple[str, str | None]] = (),
) -> list[LongThought]:
    """Return the longest thoughts since a time, without turns of these agents with these assistants."""
    conditions = [
        ~((_rows.agent == agent) & _rows.assistants.is_not_distinct_from(assistants))
        for agent, assistants in hidden
    ]
    query = (
        select(
            sessions.c.id.label("session"),
            sessions.c.title.label("session_title"),
            turns.c.id.label("turn"),
            _rows.longest_block.label("block"),
            _rows.model,
            _rows.agent,
            _rows.longest_ms.label("thinking_ms"),
            _rows.created_ms,
        )
        .select_from(turn_figures.join(turns, turns.c.key == _rows.turn).join(sessions))
        .where(*_of_owner(owner, since_ms), _rows.longest_ms > 0, visible_to(owner), *conditions)
        .order_by(_rows.longest_ms.desc(), _rows.turn.desc())
        .limit(limit)
    )
    return [LongThought(**row) for row in conn.execute(query).mappings()]


_SUMMED = (
    "thinking_ms",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "nano_usd",
    "stalls",
    "loops",
)


def _of_owner(owner: Owner, since_ms: int) -> tuple[Any, ...]:
    return _rows.user == owner.user, _rows.workspace == owner.workspace, _rows.created_ms >= since_ms


def _turns_without_texts(conn: Connection, keys: Sequence[int]) -> Iterator[tuple[int, Turn]]:
    conditions = (messages.c.turn.in_(padded(keys)), messages.c.role == Role.ASSISTANT)
    rows = conn.execute(select(*_MESSAGE_COLUMNS).where(*conditions)).all()
    blocks: dict[int, list[Block]] = {row.key: [] for row in rows}
    query = select(*_PART_COLUMNS).where(parts.c.message.in_(padded(blocks)))
    for part in conn.execute(query.order_by(parts.c.message, parts.c.position)):
        block = Block(part.number, Kind(part.kind), parent=part.parent)
        block.started_ms, block.ended_ms = part.started_ms, part.ended_ms
        blocks[part.message].append(block)
    for row in rows:
        yield row.turn, _turn_from_row(row, blocks[row.key])


def _turn_from_row(row: Any, blocks: list[Block]) -> Turn:
    return Turn(
        model=row.model,
        blocks=blocks,
        usage=usage_of(row),
        outcome=outcome_of(row),
        notices=list(notices_of(row)),
        replies=list(replies_of(row)),
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
    )

"""Handler for figures: thinking time, tokens, cost, stalls and loops by model, agent and day."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
from sqlalchemy import Connection

from thinkaloud.agents.prices import cost_of, price_source
from thinkaloud.agents.watchers import REPEATING, SILENT
from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import thinking_time
from thinkaloud.gateway.server.handlers.sessions import agent_names
from thinkaloud.gateway.server.http.route import RouteRequest
from thinkaloud.gateway.server.schemas.figures import FigureRow, Figures, FiguresQuery
from thinkaloud.gateway.server.streams.thought_filter import shown_to_agents
from thinkaloud.gateway.store.queries.figures import (
    DAY_MS,
    EndedTurn,
    FigureSum,
    LongThought,
    TurnFigures,
    longest_thoughts,
    save_figures,
    sum_figures,
    turns_without_figures,
)
from thinkaloud.gateway.store.rows import ThinkingShown

TURNS_PER_REQUEST = 1000
"""The most turns that one request counts anew. More would delay other requests."""
LONGEST_THOUGHTS = 10
NANO = 10**9
_STALLED = "stalled"
"""The failure code of a response that stopped."""
_MINUTE_MS = 60_000
_SUMMED = (
    "turns",
    "thought",
    "timed",
    "thinking_ms",
    "counted",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "priced",
    "stalls",
    "loops",
)


async def read(request: RouteRequest) -> Figures:
    """Return the figures of the user. Turns that ended since the last time are counted first."""
    query: FiguresQuery = request.query
    offset_ms = query.utc_offset_minutes * _MINUTE_MS
    today = (request.gateway.now_ms() + offset_ms) // DAY_MS
    since_ms = (today - query.days + 1) * DAY_MS - offset_ms
    complete = await _count_new_turns(request, since_ms)

    def read_sums(conn: Connection) -> tuple[list[FigureSum], list[LongThought], dict[str, str]]:
        sums = sum_figures(conn, request.owner, since_ms=since_ms, offset_ms=offset_ms)
        hidden: set[tuple[str, str | None]] = set()
        for one in sums:
            if _hidden(request, one):
                hidden.add((one.agent, one.assistants))
        longest = longest_thoughts(
            conn, request.owner, since_ms=since_ms, limit=LONGEST_THOUGHTS, hidden=hidden
        )
        names = agent_names(conn, request, {one.agent for one in sums if one.agent})
        return sums, longest, names

    sums, longest, names = await request.gateway.database.read_long(read_sums)
    visible = [_visible(request, one) for one in sums]
    agents = _grouped(visible, lambda one: one.sums.agent)
    return Figures(
        since_ms=since_ms,
        total=_total("", visible),
        models=_grouped(visible, lambda one: one.sums.model),
        agents=tuple(msgspec.structs.replace(row, title=names.get(row.name, "")) for row in agents),
        days=tuple(sorted(_grouped(visible, lambda one: _day_text(one.sums.day)), key=lambda row: row.name)),
        longest=tuple(longest),
        priced_by=price_source(),
        complete=complete,
    )


async def _count_new_turns(request: RouteRequest, since_ms: int) -> bool:
    """Make the figures of ended turns that have none; False if there may be more of them."""
    database, owner = request.gateway.database, request.owner
    ended = await database.read_long(
        lambda conn: turns_without_figures(conn, owner, since_ms=since_ms, limit=TURNS_PER_REQUEST)
    )
    if ended:
        figures = await asyncio.to_thread(lambda: [figures_of(one) for one in ended])
        await database.write(lambda conn: save_figures(conn, owner, figures))
    return len(ended) < TURNS_PER_REQUEST


def figures_of(ended: EndedTurn) -> TurnFigures:
    """Return the figures of one turn."""
    row, turn = ended.row, ended.turn
    time = thinking_time(turn)
    thoughts = [block for block in turn.blocks if block.kind is Kind.REASONING]
    longest = max(thoughts, key=lambda block: block.duration_ms or 0, default=None)
    usd = cost_of(turn, provider=row.provider, at_ms=turn.started_ms).turn.usd
    codes = [notice.code for notice in turn.notices]
    stalled = turn.outcome is not None and turn.outcome.cause == _STALLED
    return TurnFigures(
        turn=row.key,
        created_ms=row.created_ms,
        model=row.model or turn.model,
        agent=row.agent,
        assistants=None if row.assistants is None else msgspec.json.encode(sorted(row.assistants)).decode(),
        thought=bool(thoughts) or bool(turn.usage.reasoning),
        thinking_ms=None if time is None else time.ms,
        input_tokens=turn.usage.input,
        output_tokens=turn.usage.output,
        reasoning_tokens=turn.usage.reasoning,
        nano_usd=None if usd is None else round(Decimal(usd) * NANO),
        longest_ms=None if longest is None else longest.duration_ms,
        longest_block=None if longest is None else longest.number,
        stalls=codes.count(SILENT) + stalled,
        loops=codes.count(REPEATING),
    )


class _VisibleSum(msgspec.Struct, frozen=True):
    """A sum, and whether the user may not see it."""

    sums: FigureSum
    hidden: bool


def _hidden(request: RouteRequest, sums: FigureSum) -> bool:
    assistants = None if sums.assistants is None else msgspec.json.decode(sums.assistants, type=list[str])
    shown = shown_to_agents(request.grant.thinking_rules, sums.agent, assistants)
    return shown is ThinkingShown.NOTHING


def _visible(request: RouteRequest, sums: FigureSum) -> _VisibleSum:
    return _VisibleSum(sums, _hidden(request, sums))


def _grouped(sums: Iterable[_VisibleSum], name: Callable[[_VisibleSum], str]) -> tuple[FigureRow, ...]:
    """Return one row for each name, the one with the longest thinking first."""
    groups: dict[str, list[_VisibleSum]] = {}
    for one in sums:
        groups.setdefault(name(one), []).append(one)
    rows = [_total(key, group) for key, group in groups.items()]
    return tuple(sorted(rows, key=lambda row: (-row.thinking_ms, -row.turns, row.name)))


def _total(name: str, sums: Iterable[_VisibleSum]) -> FigureRow:
    values = dict.fromkeys(_SUMMED, 0)
    nano_usd = hidden = 0
    for one in sums:
        if one.hidden:
            values["turns"] += one.sums.turns
            hidden += one.sums.turns
            continue
        for field in _SUMMED:
            values[field] += getattr(one.sums, field)
        nano_usd += one.sums.nano_usd
    usd = f"{(Decimal(nano_usd) / NANO).normalize():f}"
    return msgspec.structs.replace(FigureRow(name=name, usd=usd, hidden=hidden), **values)


def _day_text(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()

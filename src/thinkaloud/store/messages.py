"""Converts messages and their parts to and from table rows."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, func, insert, select

from thinkaloud.canon import Kind, NoticeGiven, Provenance, Seal, Usage
from thinkaloud.store.many_rows import insert_rows
from thinkaloud.store.rows import Role, StoredMessage, TurnTimestamps
from thinkaloud.store.schema import messages, parts
from thinkaloud.transcript import Approval, Block, BlockStatus, Outcome, Reply, Turn
from thinkaloud.view import gateway_answer

_USAGE_COLUMNS = {name: f"{name}_tokens" for name in Usage.__struct_fields__}
_TIMESTAMP_COLUMNS = TurnTimestamps.__struct_fields__
_outcome_decoder = msgspec.json.Decoder(Outcome)
_seal_decoder = msgspec.json.Decoder(Seal)
_seals_decoder = msgspec.json.Decoder(list[Seal])
_notices_decoder = msgspec.json.Decoder(tuple[NoticeGiven, ...])
_replies_decoder = msgspec.json.Decoder(tuple[Reply, ...])

# Built once: building a statement costs more than running it.
_LAST_POSITION = select(func.max(messages.c.position)).where(messages.c.turn == bindparam("of"))
_INSERT_MESSAGE = insert(messages).returning(messages.c.key)
_SELECT_MESSAGES = (
    select(messages)
    .where(messages.c.turn.in_(bindparam("turns", expanding=True)))
    .order_by(messages.c.turn, messages.c.position)
)
_SELECT_SIZES = (
    select(
        messages.c.turn,
        func.sum(func.length(parts.c.text) + func.coalesce(func.length(parts.c.result), 0)).label("chars"),
    )
    .join(parts, parts.c.message == messages.c.key)
    .where(messages.c.turn.in_(bindparam("turns", expanding=True)))
    .group_by(messages.c.turn)
)
_SELECT_CONTENTS = (
    select(messages.c.role, messages.c.content)
    .where(messages.c.turn == bindparam("of"))
    .order_by(messages.c.position)
)
_SELECT_PARTS = (
    select(parts)
    .where(parts.c.message.in_(bindparam("messages", expanding=True)))
    .order_by(parts.c.message, parts.c.position)
)


def write_message(conn: Connection, turn_key: int, turn: Turn) -> int:
    """Insert the assistant's message of a turn after the turn's other messages; return its key."""
    position = conn.scalar(_LAST_POSITION, {"of": turn_key})
    values = {
        "turn": turn_key,
        "position": 0 if position is None else position + 1,
        "role": Role.ASSISTANT,
        "content": turn.answer,
        "thinking": gateway_answer(turn).reasoning_content,
        "dialect": turn.dialect,
        "model": turn.model,
        "raw": turn.message and _json(turn.message),
        "outcome": turn.outcome and _json(turn.outcome),
        "summary": turn.summary,
        "summary_by": turn.summary_by,
        "notices": _json(turn.notices) if turn.notices else "",
        "replies": _json(turn.replies) if turn.replies else "",
        "started_ms": turn.started_ms,
        "ended_ms": turn.ended_ms,
        **{column: getattr(turn.usage, name) for name, column in _USAGE_COLUMNS.items()},
        **msgspec.structs.asdict(timestamps_of(turn)),
    }
    key: int = conn.execute(_INSERT_MESSAGE, values).scalar_one()
    rows = [
        {"message": key, "position": part_position, **_part_values(block)}
        for part_position, block in enumerate(turn.blocks)
    ]
    insert_rows(conn, parts.name, rows)
    return key


def messages_of(conn: Connection, turn_keys: Sequence[int]) -> dict[int, list[StoredMessage]]:
    """Return all messages of some turns in order, by turn key."""
    if not turn_keys:
        return {}
    rows = conn.execute(_SELECT_MESSAGES, {"turns": turn_keys}).all()
    blocks = _blocks_by_message(conn, [row.key for row in rows if row.role == Role.ASSISTANT])
    decoded = (_message_from_row(row, blocks.get(row.key, ())) for row in rows)
    return {turn: list(group) for turn, group in groupby(decoded, lambda message: message.turn)}


def contents_of(conn: Connection, turn_key: int) -> list[tuple[Role, str]]:
    """Return role and content of the messages of a turn in order. No thought is read."""
    return [(Role(role), content) for role, content in conn.execute(_SELECT_CONTENTS, {"of": turn_key})]


def sizes_of(conn: Connection, turn_keys: Sequence[int]) -> dict[int, int]:
    """Return the number of characters of the answers of some turns, by turn key."""
    return {row.turn: row.chars for row in conn.execute(_SELECT_SIZES, {"turns": turn_keys})}


def turn_of(message: StoredMessage) -> Turn:
    """Rebuild the turn from which an assistant's message was made."""
    return Turn(
        dialect=message.dialect,
        model=message.model,
        blocks=list(message.parts),
        usage=message.usage,
        outcome=message.outcome,
        summary=message.summary,
        summary_by=message.summary_by,
        message=message.raw,
        notices=list(message.notices),
        replies=list(message.replies),
        started_ms=message.started_ms,
        ended_ms=message.ended_ms,
    )


def timestamps_of(turn: Turn) -> TurnTimestamps:
    """Return the four timestamps of a turn; None where there is no such block."""
    thoughts, texts = turn.own_blocks(Kind.REASONING), turn.own_blocks(Kind.TEXT)
    return TurnTimestamps(
        request_sent_ms=turn.started_ms,
        first_reasoning_ms=thoughts[0].started_ms if thoughts else None,
        last_reasoning_ms=thoughts[-1].ended_ms if thoughts else None,
        first_text_ms=texts[0].started_ms if texts else None,
    )


def _message_from_row(row: Row[Any], blocks: Iterable[Block]) -> StoredMessage:
    return StoredMessage(
        key=row.key,
        turn=row.turn,
        role=Role(row.role),
        content=row.content,
        thinking=row.thinking,
        images=row.images,
        call_id=row.call_id,
        name=row.name,
        failed=row.failed,
        dialect=row.dialect,
        model=row.model,
        stamps=TurnTimestamps(**{name: getattr(row, name) for name in _TIMESTAMP_COLUMNS}),
        usage=Usage(**{name: getattr(row, column) for name, column in _USAGE_COLUMNS.items()}),
        raw=None if row.raw is None else _seal_decoder.decode(row.raw),
        outcome=None if row.outcome is None else _outcome_decoder.decode(row.outcome),
        summary=row.summary,
        summary_by=row.summary_by,
        notices=_notices_decoder.decode(row.notices) if row.notices else (),
        replies=_replies_decoder.decode(row.replies) if row.replies else (),
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        parts=tuple(blocks),
    )


def _part_values(block: Block) -> dict[str, object]:
    return {
        "number": block.number,
        "kind": block.kind,
        "text": block.text,
        "name": block.name,
        "call_id": block.call_id,
        "assistant_id": block.assistant_id,
        "parent": block.parent,
        "provenance": block.provenance,
        "status": block.status,
        "seals": _json(block.seals) if block.seals else "",
        "result": block.result,
        "error": block.error,
        "started_ms": block.started_ms,
        "ended_ms": block.ended_ms,
        "approval": block.approval,
        "settled_by": block.settled_by,
    }


def _blocks_by_message(conn: Connection, keys: Sequence[int]) -> dict[int, list[Block]]:
    if not keys:
        return {}
    rows = conn.execute(_SELECT_PARTS, {"messages": keys})
    return {
        key: [_block_from_row(row) for row in group] for key, group in groupby(rows, lambda row: row.message)
    }


def _block_from_row(row: Row[Any]) -> Block:
    return Block(
        number=row.number,
        kind=Kind(row.kind),
        name=row.name,
        call_id=row.call_id,
        assistant_id=row.assistant_id,
        parent=row.parent,
        provenance=Provenance(row.provenance),
        status=BlockStatus(row.status),
        seals=_seals_decoder.decode(row.seals) if row.seals else [],
        result=row.result,
        error=row.error,
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        approval=Approval(row.approval),
        settled_by=row.settled_by,
        pieces=[row.text] if row.text else [],
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

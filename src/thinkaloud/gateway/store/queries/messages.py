"""Converts messages and their parts to and from table rows."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, func, insert, select

from thinkaloud.core.canon import Kind, NoticeGiven, Provenance, Seal, Usage
from thinkaloud.core.canon.requests import Image
from thinkaloud.core.transcript import Approval, Block, BlockStatus, Outcome, Reply, Turn
from thinkaloud.core.view import gateway_answer
from thinkaloud.gateway.store.engine.many_rows import insert_rows, padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.rows import Role, StoredMessage, TurnTimestamps
from thinkaloud.gateway.store.schema import messages, parts

_USAGE_COLUMNS = {name: f"{name}_tokens" for name in Usage.__struct_fields__}
_TIMESTAMP_COLUMNS = TurnTimestamps.__struct_fields__
_outcome_decoder = msgspec.json.Decoder(Outcome)
_seal_decoder = msgspec.json.Decoder(Seal)
_seals_decoder = msgspec.json.Decoder(list[Seal])
_images_decoder = msgspec.json.Decoder(tuple[Image, ...])
_notices_decoder = msgspec.json.Decoder(tuple[NoticeGiven, ...])
_replies_decoder = msgspec.json.Decoder(tuple[Reply, ...])

# Built once: building a statement costs more than running it.
_earlier = messages.alias()
_NEXT_POSITION = (
    select(func.coalesce(func.max(_earlier.c.position), -1) + 1)
    .where(_earlier.c.turn == bindparam("of"))
    .scalar_subquery()
)
_INSERT_MESSAGE = PreparedStatement(
    insert(messages).values(position=_NEXT_POSITION).returning(messages.c.key)
)
_SELECT_MESSAGES = (
    select(messages)
    .where(messages.c.turn.in_(bindparam("turns", expanding=True)))
    .order_by(messages.c.turn, messages.c.position)
)
_SELECT_SIZES = (
    select(
        messages.c.turn,
        func.sum(
            func.length(parts.c.text)
            + func.coalesce(func.length(parts.c.result), 0)
            + func.length(parts.c.images)
        ).label("chars"),
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


class AnswerRows(msgspec.Struct, frozen=True):
    """The rows of an assistant's message and of its parts, without the keys that the database gives."""

    message: dict[str, object]
    parts: tuple[dict[str, object], ...]


def answer_rows(turn: Turn) -> AnswerRows:
    """Make the rows of a turn that has ended."""
    message = {
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
    return AnswerRows(message, tuple(map(_part_values, turn.blocks)))


def write_message(conn: Connection, turn_key: int, rows: AnswerRows) -> int:
    """Insert the assistant's message of a turn after the turn's other messages; return its key."""
    key: int = _INSERT_MESSAGE.scalar(conn, {**rows.message, "turn": turn_key, "of": turn_key})
    part_rows = [
        {"message": key, "position": part_position, **part} for part_position, part in enumerate(rows.parts)
    ]
    insert_rows(conn, parts.name, part_rows)
    return key


def messages_of(conn: Connection, turn_keys: Sequence[int]) -> dict[int, list[StoredMessage]]:
    """Return all messages of some turns in order, by turn key."""
    if not turn_keys:
        return {}
    rows = conn.execute(_SELECT_MESSAGES, {"turns": padded(turn_keys)}).all()
    blocks = _blocks_by_message(conn, [row.key for row in rows if row.role == Role.ASSISTANT])
    decoded = (_message_from_row(row, blocks.get(row.key, ())) for row in rows)
    return {turn: list(group) for turn, group in groupby(decoded, lambda message: message.turn)}


def contents_of(conn: Connection, turn_key: int) -> list[tuple[Role, str]]:
    """Return role and content of the messages of a turn in order. No thought is read."""
    return [(Role(role), content) for role, content in conn.execute(_SELECT_CONTENTS, {"of": turn_key})]


def sizes_of(conn: Connection, turn_keys: Sequence[int]) -> dict[int, int]:
    """Return the number of characters of the answers of some turns, by turn key."""
    return {row.turn: row.chars for row in conn.execute(_SELECT_SIZES, {"turns": padded(turn_keys)})}


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
    thoughts = turn.own_blocks(Kind.REASONING)
    texts = turn.own_blocks(Kind.TEXT)
    return TurnTimestamps(
        request_sent_ms=turn.started_ms,
        first_reasoning_ms=thoughts[0].started_ms if thoughts else None,
        last_reasoning_ms=thoughts[-1].ended_ms if thoughts else None,
        first_text_ms=texts[0].started_ms if texts else None,
    )


def usage_of(row: Row[Any]) -> Usage:
    """Return the usage in a row of messages."""
    return Usage(**{name: getattr(row, column) for name, column in _USAGE_COLUMNS.items()})


def outcome_of(row: Row[Any]) -> Outcome | None:
    """Return the outcome in a row of messages."""
    return None if row.outcome is None else _outcome_decoder.decode(row.outcome)


def notices_of(row: Row[Any]) -> tuple[NoticeGiven, ...]:
    """Return the notices in a row of messages."""
    return _notices_decoder.decode(row.notices) if row.notices else ()


def replies_of(row: Row[Any]) -> tuple[Reply, ...]:
    """Return the replies in a row of messages."""
    return _replies_decoder.decode(row.replies) if row.replies else ()


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
        usage=usage_of(row),
        raw=None if row.raw is None else _seal_decoder.decode(row.raw),
        outcome=outcome_of(row),
        summary=row.summary,
        summary_by=row.summary_by,
        notices=notices_of(row),
        replies=replies_of(row),
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        parts=tuple(blocks),
    )


def _part_values(block: Block) -> dict[str, object]:
    """Return the columns of a part. The driver takes plain strings at once and members of enums slowly."""
    return {
        "number": block.number,
        "kind": block.kind.value,
        "text": block.text,
        "name": block.name,
        "call_id": block.call_id,
        "assistant_id": block.assistant_id,
        "parent": block.parent,
        "provenance": block.provenance.value,
        "status": block.status.value,
        "seals": _json(block.seals) if block.seals else "",
        "result": block.result,
        "error": block.error,
        "images": _json(block.images) if block.images else "",
        "started_ms": block.started_ms,
        "ended_ms": block.ended_ms,
        "approval": block.approval.value,
        "settled_by": block.settled_by,
        "description": block.description,
    }


def _blocks_by_message(conn: Connection, keys: Sequence[int]) -> dict[int, list[Block]]:
    if not keys:
        return {}
    rows = conn.execute(_SELECT_PARTS, {"messages": padded(keys)})
    by_message = groupby(rows, lambda row: row.message)
    return {key: list(map(_block_from_row, group)) for key, group in by_message}


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
        images=_images_decoder.decode(row.images) if row.images else (),
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        approval=Approval(row.approval),
        settled_by=row.settled_by,
        description=row.description,
        pieces=[row.text] if row.text else [],
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

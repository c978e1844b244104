"""Messages and their parts, to and from their rows."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, func, insert, select

from thinkaloud.canon import Kind, NoticeGiven, Provenance, Seal, Usage
from thinkaloud.store.rows import Message, Role, Stamps
from thinkaloud.store.schema import messages, parts
from thinkaloud.transcript import Approval, Block, Outcome, Reply, Status, Turn
from thinkaloud.view import gateway

_USAGE = {name: f"{name}_tokens" for name in Usage.__struct_fields__}
_STAMPS = Stamps.__struct_fields__
_outcome = msgspec.json.Decoder(Outcome)
_seal = msgspec.json.Decoder(Seal)
_seals = msgspec.json.Decoder(list[Seal])
_notices = msgspec.json.Decoder(tuple[NoticeGiven, ...])
_replies = msgspec.json.Decoder(tuple[Reply, ...])

# Made once: putting a statement together costs more than running it.
_LAST = select(func.max(messages.c.position)).where(messages.c.turn == bindparam("of"))
_ADD = insert(messages).returning(messages.c.key)
_ADD_PARTS = insert(parts)


def write_message(conn: Connection, turn: int, told: Turn) -> int:
    """The assistant's message of a turn, after what was asked; its key."""
    position = conn.scalar(_LAST, {"of": turn})
    values = {
        "turn": turn,
        "position": 0 if position is None else position + 1,
        "role": Role.ASSISTANT,
        "content": told.answer,
        "thinking": gateway(told).reasoning_content,
        "dialect": told.dialect,
        "model": told.model,
        "raw": told.message and _json(told.message),
        "outcome": told.outcome and _json(told.outcome),
        "summary": told.summary,
        "summary_by": told.summary_by,
        "notices": _json(told.notices) if told.notices else "",
        "replies": _json(told.replies) if told.replies else "",
        "started_ms": told.started_ms,
        "ended_ms": told.ended_ms,
        **{column: getattr(told.usage, name) for name, column in _USAGE.items()},
        **msgspec.structs.asdict(stamps_of(told)),
    }
    key: int = conn.execute(_ADD, values).scalar_one()
    rows = [{"message": key, "position": place, **_part(block)} for place, block in enumerate(told.blocks)]
    if rows:
        conn.execute(_ADD_PARTS, rows)
    return key


def messages_of(conn: Connection, turns: Sequence[int]) -> dict[int, list[Message]]:
    """All messages of some turns, in order, by the turn's key."""
    columns = list(messages.c)
    query = select(*columns).where(messages.c.turn.in_(turns)).order_by(messages.c.turn, messages.c.position)
    rows = conn.execute(query).all()
    blocks = _blocks(conn, [row.key for row in rows if row.role == Role.ASSISTANT])
    told = (_message(row, blocks.get(row.key, ())) for row in rows)
    return {turn: list(group) for turn, group in groupby(told, lambda message: message.turn)}


def turn_of(message: Message) -> Turn:
    """The turn that an assistant's message was folded from."""
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


def stamps_of(turn: Turn) -> Stamps:
    """The four moments of a turn; None where a block has none, or there is no such block."""
    thoughts, texts = turn.top(Kind.REASONING), turn.top(Kind.TEXT)
    return Stamps(
        request_sent_ms=turn.started_ms,
        first_reasoning_ms=thoughts[0].started_ms if thoughts else None,
        last_reasoning_ms=thoughts[-1].ended_ms if thoughts else None,
        first_text_ms=texts[0].started_ms if texts else None,
    )


def _message(row: Row[Any], blocks: Iterable[Block]) -> Message:
    return Message(
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
        stamps=Stamps(**{name: getattr(row, name) for name in _STAMPS}),
        usage=Usage(**{name: getattr(row, column) for name, column in _USAGE.items()}),
        raw=None if row.raw is None else _seal.decode(row.raw),
        outcome=None if row.outcome is None else _outcome.decode(row.outcome),
        summary=row.summary,
        summary_by=row.summary_by,
        notices=_notices.decode(row.notices) if row.notices else (),
        replies=_replies.decode(row.replies) if row.replies else (),
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        parts=tuple(blocks),
    )


def _part(block: Block) -> dict[str, object]:
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


def _blocks(conn: Connection, keys: Sequence[int]) -> dict[int, list[Block]]:
    query = select(*parts.c).where(parts.c.message.in_(keys)).order_by(parts.c.message, parts.c.position)
    rows = conn.execute(query)
    return {key: [_block(row) for row in group] for key, group in groupby(rows, lambda row: row.message)}


def _block(row: Row[Any]) -> Block:
    return Block(
        number=row.number,
        kind=Kind(row.kind),
        name=row.name,
        call_id=row.call_id,
        assistant_id=row.assistant_id,
        parent=row.parent,
        provenance=Provenance(row.provenance),
        status=Status(row.status),
        seals=_seals.decode(row.seals) if row.seals else [],
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

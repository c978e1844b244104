"""Turns: what was asked, who answers it, and where it stands. What comes of one is in its log.

A session has at most one running turn, and a request that comes twice starts one turn and not two.
"""

import re
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, func, insert, select, update

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.store import ids, search
from thinkaloud.store.paging import Place, bounded, page, place_after
from thinkaloud.store.rows import Owner, Page, Role, Session, State, TurnRow
from thinkaloud.store.schema import messages, sessions, turns
from thinkaloud.store.sessions import SessionGone, held, holding, owned_by, refuse_while_running, seen_by
from thinkaloud.store.texts import json_text, storable

_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")
_images = msgspec.json.Decoder(tuple[Image, ...])


class IdempotencyConflict(Refused):
    """The same idempotency key came with another request."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn begins with, and who is to answer it."""

    messages: tuple[UserMessage | ToolMessage, ...]
    model: str
    agent: str = ""
    provider: str = ""
    prefix: str = ""
    idempotency_key: str = ""
    """Chosen by whoever asks, so that asking twice is asking once; empty where nobody cares."""
    request_hash: bytes = b""
    wishes: str = ""


class Started(msgspec.Struct, frozen=True):
    """The turn that answers; `new` is false when this request had started it before."""

    turn: TurnRow
    new: bool


def start(
    conn: Connection, session: Session, asked: Asked, *, now_ms: int, writer: str, lease_until_ms: int
) -> Started:
    """Begin a turn with what was asked, as far as it is written in one transaction: the caller's."""
    if not held(conn, session):
        raise SessionGone(f"Session {session.id} is gone. Start a new one.")
    if (known := repeated(conn, session, asked.idempotency_key, asked.request_hash)) is not None:
        return Started(known, new=False)
    refuse_while_running(conn, session)
    last = select(func.coalesce(func.max(turns.c.position), -1)).where(turns.c.session == session.key)
    made = {
        "id": ids.new("trn"),
        "session": session.key,
        "position": conn.scalars(last).one() + 1,
        "state": State.RUNNING,
        "agent": storable(asked.agent),
        "model": storable(asked.model),
        "provider": storable(asked.provider),
        "prefix": storable(asked.prefix),
        "idempotency_key": asked.idempotency_key or None,
        "request_hash": asked.request_hash if asked.idempotency_key else None,
        "wishes": storable(asked.wishes),
        "created_ms": now_ms,
        "writer": writer,
        "lease_until_ms": lease_until_ms,
    }
    turn = _turn(conn.execute(insert(turns).values(made).returning(turns)).one())
    _write_asked(conn, turn.key, asked)
    used = update(sessions).where(owned_by(session.owner), sessions.c.key == session.key)
    conn.execute(used.values(updated_ms=now_ms))
    return Started(turn, new=True)


def repeated(conn: Connection, session: Session, idempotency_key: str, request_hash: bytes) -> TurnRow | None:
    """The turn that this request has started already; None without a key, or with a new one."""
    if not idempotency_key:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        raise Refused("An idempotency key has 1 to 255 characters, each of them visible ASCII. Use a UUID.")
    query = select(turns).where(turns.c.session == session.key, turns.c.idempotency_key == idempotency_key)
    row = conn.execute(query).one_or_none()
    if row is None:
        return None
    if row.request_hash != request_hash:
        raise IdempotencyConflict(
            f"The idempotency key {idempotency_key} came with another request before. Use a new key for each "
            "request, and the same one only to repeat it."
        )
    return _turn(row)


def get(conn: Connection, owner: Owner, turn_id: str) -> TurnRow | None:
    """A turn in one of this owner's sessions; None when there is none, or it is somebody else's."""
    if not ids.fits("trn", turn_id):
        return None
    row = conn.execute(
        select(turns).join(sessions).where(seen_by(owner), turns.c.id == turn_id)
    ).one_or_none()
    return None if row is None else _turn(row)


def with_session(conn: Connection, turn_id: str) -> tuple[TurnRow, Session] | None:
    """A turn and the session it is in, whoever owns them: for the gateway itself."""
    row = conn.execute(select(turns).where(turns.c.id == turn_id)).one_or_none()
    session = None if row is None else holding(conn, _turn(row))
    return None if row is None or session is None else (_turn(row), session)


def of_session(conn: Connection, session: Session, *, limit: int, after: str = "") -> Page[TurnRow]:
    """The turns of a session, in the order they were asked."""
    return _paged(conn, session, limit=limit, place=place_after(after, 1), newest=False)


def back_from(
    conn: Connection, session: Session, *, limit: int, after: str = "", begin: TurnRow | None = None
) -> Page[TurnRow]:
    """The last turns of a session, or those up to one of them; the page is in the order they were asked."""
    place = place_after(after, 1) or (None if begin is None else (begin.position + 1,))
    found = _paged(conn, session, limit=limit, place=place, newest=True)
    return Page(found.items[::-1], found.next)


def onward_from(conn: Connection, session: Session, begin: TurnRow, *, limit: int) -> Page[TurnRow]:
    """A turn of a session and those that were asked after it."""
    return _paged(conn, session, limit=limit, place=(begin.position - 1,), newest=False)


def _paged(
    conn: Connection, session: Session, *, limit: int, place: Place | None, newest: bool
) -> Page[TurnRow]:
    at = turns.c.position
    query = select(turns).join(sessions).where(owned_by(session.owner), turns.c.session == session.key)
    if place:
        query = query.where(at < place[0] if newest else at > place[0])
    rows = conn.execute(query.order_by(at.desc() if newest else at).limit(bounded(limit))).all()
    return page(rows, limit, _turn, lambda row: (row.position,))


def running_of(conn: Connection, user: int) -> int:
    """How many turns of a user run at this moment, in all workspaces together."""
    running = select(func.count()).select_from(turns.join(sessions))
    return conn.scalars(running.where(sessions.c.user == user, turns.c.state == State.RUNNING)).one()


def asked_of(conn: Connection, owner: Owner, turn: TurnRow) -> tuple[UserMessage | ToolMessage, ...]:
    """What a turn began with."""
    mine = (owned_by(owner), messages.c.turn == turn.key, messages.c.role != Role.ASSISTANT)
    query = select(messages).select_from(messages.join(turns).join(sessions)).where(*mine)
    return tuple(map(_said, conn.execute(query.order_by(messages.c.position))))


def _write_asked(conn: Connection, turn: int, asked: Asked) -> None:
    rows = [{"turn": turn, "position": at, **_kept(said)} for at, said in enumerate(asked.messages)]
    if rows:
        conn.execute(insert(messages), rows)
        search.index(conn, conn.scalars(select(messages.c.key).where(messages.c.turn == turn)).all())


def _kept(said: UserMessage | ToolMessage) -> dict[str, str | bool]:
    if isinstance(said, UserMessage):
        images = json_text(said.images, "A picture") if said.images else ""
        told = {"role": Role.USER, "content": said.text, "images": images, "call_id": "", "name": ""}
    else:
        told = {
            "role": Role.TOOL,
            "content": said.result,
            "images": "",
            "call_id": said.call_id,
            "name": said.name,
        }
    failed = isinstance(said, ToolMessage) and said.failed
    return {**{name: storable(value) for name, value in told.items()}, "failed": failed}


def _said(row: Row[Any]) -> UserMessage | ToolMessage:
    if row.role == Role.TOOL:
        return ToolMessage(row.call_id, row.content, row.name, row.failed)
    return UserMessage(row.content, _images.decode(row.images) if row.images else ())


def _turn(row: Row[Any]) -> TurnRow:
    return msgspec.convert(row, TurnRow, from_attributes=True)

"""Queries for turns: the request, the model that answers, and the state. The events are in the log.

A session has at most one running turn. A request that is repeated with its idempotency key starts one turn.
"""

import re
from collections.abc import Iterable
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, Integer, Row, Select, bindparam, func, insert, or_, select, update

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.core.canon.requests import File, ToolMessage, UserMessage, message_parts
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.queries import branches
from thinkaloud.gateway.store.queries.pages import (
    MAX_PAGE_ITEMS,
    SortKey,
    make_page,
    rows_to_fetch,
    sort_key_after,
)
from thinkaloud.gateway.store.queries.sessions import (
    BOUND_OWNER,
    NEXT_USE,
    SessionGone,
    lock_session,
    owned_by,
    refuse_while_running,
    session_of_turn,
    title_from_question,
    visible_to,
)
from thinkaloud.gateway.store.queries.values import json_text, matches_id, new_id, storable
from thinkaloud.gateway.store.rows import Owner, Page, Role, Session, TurnRow, TurnState
from thinkaloud.gateway.store.schema import messages, sessions, turns, users
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.normalize import normalize_texts

MAX_CANDIDATES = 1000
"""The newest turns that are compared with one history. A client that asks the same more often starts anew."""

_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")
# Statements that run before the first thought are built once: building one costs more than running it.
_NEXT_POSITION = PreparedStatement(
    select(func.coalesce(func.max(turns.c.position), -1) + 1).where(turns.c.session == bindparam("of"))
)
_SELECT_TURN = PreparedStatement(
    select(turns).join(sessions).where(BOUND_OWNER, sessions.c.whole, turns.c.id == bindparam("public_id"))
)
_SELECT_REPEATED = PreparedStatement(
    select(turns).where(turns.c.session == bindparam("of"), turns.c.idempotency_key == bindparam("sent_key"))
)
_INSERT_TURN = PreparedStatement(insert(turns).returning(turns.c.key))
_INSERT_TURN_WITH_KEY = PreparedStatement(insert(turns).returning(turns.c.key))
_INSERT_MESSAGE = PreparedStatement(insert(messages).returning(messages.c.key))
_TOUCH_SESSION = PreparedStatement(
    update(sessions)
    .where(sessions.c.key == bindparam("of"))
    .values(updated_ms=bindparam("now_ms"), use_number=NEXT_USE)
)
_LOCK_USER = select(users.c.key).where(users.c.key == bindparam("of")).with_for_update(key_share=True)
_COUNT_RUNNING = PreparedStatement(
    select(func.count())
    .select_from(turns.join(sessions))
    .where(sessions.c.user == bindparam("of"), turns.c.state == TurnState.RUNNING)
)
_turn_values = attrgetter(*TurnRow.__struct_fields__)
_files_decoder = msgspec.json.Decoder(tuple[File, ...])


class IdempotencyConflict(Refused):
    """The idempotency key was used for a different request."""


class NewTurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that start a turn, and the agent and model that answer."""

    messages: tuple[UserMessage | ToolMessage, ...]
    model: str
    agent: str = ""
    assistants: tuple[str, ...] | None = None
    """The ids of all agents that `agent` may call, directly or through others, and of those whose prompts are
    used; None if unknown."""
    provider: str = ""
    prefix: str = ""
    idempotency_key: str = ""
    """Chosen by the client, so that a retry does not start a second turn; may be empty."""
    request_hash: bytes = b""
    options: str = ""
    parent: int | UnsetType | None = UNSET
    """The key of the turn that this one follows; None begins a new branch, and unset is the newest turn."""
    imported: bool = False
    """Whether the turn comes from a file, into a session that is hidden until it is complete."""
    client_history: bytes = b""
    """The fingerprint of the history that a client of a compatible endpoint sent; empty for all others."""
    normalized_texts: dict[str, str] = {}
    """Texts of the messages as search indexes them, normalized before the write."""
    first: bool = False
    """Whether the session was created in the same transaction. Then it has no other turns to look for."""
    key: int | None = None
    """The key of the turn, if it was reserved (`KeyReserve`). Else the database gives one."""
    id: str = ""
    """Its public id, if it was made before."""


class StartedTurn(msgspec.Struct, frozen=True):
    """The turn of a request; `new` is false if an earlier identical request started it."""

    turn: TurnRow
    new: bool


def start_turn(
    conn: Connection, session: Session, request: NewTurnRow, *, now_ms: int, writer: str
) -> StartedTurn:
    """Insert a turn and its messages. The caller's transaction makes it all or nothing."""
    position = 0
    if not request.first:
        if not lock_session(conn, session, hidden=request.imported):
            raise SessionGone("Session {id} is gone. Start a new one.", id=session.id)
        existing = find_repeated(conn, session, request.idempotency_key, request.request_hash)
        if existing is not None:
            return StartedTurn(existing, new=False)
        refuse_while_running(conn, session)
        position = _NEXT_POSITION.scalar(conn, {"of": session.key})
    parent = branches.newest_turn(conn, session) if request.parent is UNSET else request.parent
    turn = new_turn(request, session.key, now_ms=now_ms, position=position, parent=parent)
    values = {
        **msgspec.structs.asdict(turn),
        "idempotency_key": request.idempotency_key or None,
        "request_hash": request.request_hash if request.idempotency_key else None,
        "client_history": request.client_history or None,
        "writer": writer,
    }
    if request.key is None:
        del values["key"]
        turn = msgspec.structs.replace(turn, key=_INSERT_TURN.scalar(conn, values))
    else:
        _INSERT_TURN_WITH_KEY.scalar(conn, values)
    for message_position, message in enumerate(request.messages):
        fields = _message_values(message)
        row = {"turn": turn.key, "position": message_position, **fields}
        message_key = _INSERT_MESSAGE.scalar(conn, row)
        search_index.index_request(conn, session.owner, message_key, fields, request.normalized_texts)
    if not request.first and not request.imported:  # a hidden session has the time when it was hidden
        _TOUCH_SESSION.run(conn, {"of": session.key, "now_ms": now_ms})
    if not (request.first and session.title):
        title_from_question(conn, session.key, question_of(request.messages))
    return StartedTurn(turn, new=True)


def new_turn(
    request: NewTurnRow, session: int, *, now_ms: int, position: int = 0, parent: int | None = None
) -> TurnRow:
    """Return the turn of a request as it starts, before it is saved."""
    return TurnRow(
        key=request.key or 0,
        id=request.id or new_id("trn"),
        session=session,
        position=position,
        state=TurnState.RUNNING,
        agent=storable(request.agent),
        model=storable(request.model),
        provider=storable(request.provider),
        prefix=storable(request.prefix),
        created_ms=now_ms,
        ended_ms=None,
        epoch=0,
        options=storable(request.options),
        parent=parent,
        assistants=request.assistants,
    )


def question_of(request_messages: Iterable[UserMessage | ToolMessage]) -> str:
    """Return the first text of a user among messages; empty if there is none."""
    for message in request_messages:
        if isinstance(message, UserMessage):
            return message.text
    return ""


def add_assistants(conn: Connection, turn: TurnRow, assistants: Iterable[str]) -> TurnRow:
    """Add agents that a resumed turn may call. If its earlier ones are unknown, they stay so."""
    if turn.assistants is None or not (added := set(assistants).difference(turn.assistants)):
        return turn
    values = {"assistants": (*turn.assistants, *sorted(added))}
    statement = update(turns).where(turns.c.key == turn.key).values(values)
    return turn_from_row(conn.execute(statement.returning(turns)).one())


def normalized_texts(messages: Iterable[UserMessage | ToolMessage]) -> dict[str, str]:
    """Return the searchable texts of messages as search indexes them. Takes time, so not within a write."""
    texts: list[str] = []
    for values in map(_message_values, messages):
        texts += str(values["name"]), str(values["content"])
    return normalize_texts(texts)


def find_repeated(
    conn: Connection, session: Session, idempotency_key: str, request_hash: bytes
) -> TurnRow | None:
    """Return the turn that an earlier request with this idempotency key started; None if there is none."""
    if not idempotency_key:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        raise Refused("An idempotency key must have 1 to 255 visible ASCII characters. Use a UUID.")
    row = _SELECT_REPEATED.first(conn, {"of": session.key, "sent_key": idempotency_key})
    if row is None:
        return None
    if row.request_hash != request_hash:
        raise IdempotencyConflict(
            "The idempotency key {idempotency_key} was already used for a different request. Use a "
            "new key for each request, and the same key only to retry it.",
            idempotency_key=idempotency_key,
        )
    return turn_from_row(row)


def idempotency_keys(conn: Connection, session: Session) -> dict[str, int]:
    """Return the turns of a session that have an idempotency key."""
    query = select(turns.c.idempotency_key, turns.c.key).where(
        turns.c.session == session.key, turns.c.idempotency_key.is_not(None)
    )
    return {row.idempotency_key: row.key for row in conn.execute(query)}


def get(conn: Connection, owner: Owner, turn_id: str) -> TurnRow | None:
    """Return a turn of this owner's sessions; None if not found or not the owner's."""
    if not matches_id("trn", turn_id):
        return None
    values = {"owner": owner.user, "place": owner.workspace, "public_id": turn_id}
    row = _SELECT_TURN.first(conn, values)
    return None if row is None else turn_from_row(row)


def with_session(conn: Connection, turn_id: str) -> tuple[TurnRow, Session] | None:
    """Return a turn and its session without an owner check. For the gateway itself."""
    row = conn.execute(select(turns).where(turns.c.id == turn_id)).one_or_none()
    if row is None:
        return None
    turn = turn_from_row(row)
    session = session_of_turn(conn, turn)
    return None if session is None else (turn, session)


def of_session(
    conn: Connection, session: Session, *, limit: int, after: str = "", leaf: int | None = None
) -> Page[TurnRow]:
    """Return a page of the turns of the branch that ends with `leaf`, or of the active one; oldest first."""
    return _turn_page(conn, _PageBounds(session, limit, sort_key_after(after, 1), newest=False), leaf)


def page_before(
    conn: Connection,
    session: Session,
    *,
    limit: int,
    after: str = "",
    first: TurnRow | None = None,
    leaf: int | None = None,
) -> Page[TurnRow]:
    """Return the last page of turns, or the page that ends with `first`; oldest first within the page."""
    sort_key = sort_key_after(after, 1) or (None if first is None else (first.position + 1,))
    newest_page = _turn_page(conn, _PageBounds(session, limit, sort_key, newest=True), leaf)
    return Page(newest_page.items[::-1], newest_page.next)


def page_from(
    conn: Connection, session: Session, first: TurnRow, *, limit: int, leaf: int | None = None
) -> Page[TurnRow]:
    """Return a page of turns that begins with this one."""
    return _turn_page(conn, _PageBounds(session, limit, (first.position - 1,), newest=False), leaf)


def of_branch(conn: Connection, session: Session, leaf: int | None = None) -> tuple[TurnRow, ...]:
    """Return every turn of the branch that ends with `leaf`, or of the active one; the oldest first."""
    page = of_session(conn, session, limit=MAX_PAGE_ITEMS, leaf=leaf)
    rows = page.items
    while page.next:
        page = of_session(conn, session, limit=MAX_PAGE_ITEMS, after=page.next, leaf=leaf)
        rows += page.items
    return rows


def of_all_branches(conn: Connection, session: Session) -> tuple[TurnRow, ...]:
    """Return every turn of a session, the oldest first, those of replaced branches too."""
    query = select(turns).join(sessions).where(owned_by(session.owner), turns.c.session == session.key)
    return tuple(map(turn_from_row, conn.execute(query.order_by(turns.c.position))))


def find_answers(
    conn: Connection, owner: Owner, fingerprints: Iterable[bytes], turn_ids: Iterable[str]
) -> list[tuple[TurnRow, bytes]]:
    """Return this owner's ended turns with one of these ids, or that answered one of these histories.

    A client of a compatible endpoint sends its history, which is known by its fingerprint. The newest first.
    """
    wanted = or_(turns.c.client_history.in_(padded(fingerprints)), turns.c.id.in_(padded(turn_ids)))
    query = (
        select(turns)
        .join(sessions)
        .where(visible_to(owner), wanted, turns.c.state != TurnState.RUNNING)
        .order_by(turns.c.key.desc())
        .limit(MAX_CANDIDATES)
    )
    return [(turn_from_row(row), row.client_history or b"") for row in conn.execute(query)]


class _PageBounds(msgspec.Struct, frozen=True):
    session: Session
    limit: int
    sort_key: SortKey | None
    newest: bool


def _turn_page(conn: Connection, page: _PageBounds, leaf: int | None) -> Page[TurnRow]:
    last_turn = branches.newest_turn(conn, page.session) if leaf is None else leaf
    if last_turn is None:
        return Page(())
    values = {
        "owner": page.session.owner.user,
        "place": page.session.owner.workspace,
        "of": page.session.key,
        "rows": rows_to_fetch(page.limit),
        "leaf": last_turn,
    }
    if page.sort_key:
        values["position_bound"] = page.sort_key[0]
    query = _turn_page_query(newest=page.newest, bounded=bool(page.sort_key))
    rows = conn.execute(query, values).all()
    return make_page(rows, page.limit, turn_from_row, lambda row: (row.position,))


@cache
def _turn_page_query(*, newest: bool, bounded: bool) -> Select[Any]:
    position, bound = turns.c.position, bindparam("position_bound", type_=Integer)
    branch = branches.branch_before(bindparam("leaf", type_=Integer))
    query = select(turns).join(sessions).join(branch, branch.c.key == turns.c.key)
    query = query.where(BOUND_OWNER, turns.c.session == bindparam("of"))
    if bounded:
        query = query.where(position < bound if newest else position > bound)
    return query.order_by(position.desc() if newest else position).limit(bindparam("rows", type_=Integer))


def is_running(conn: Connection, key: int) -> bool:
    """Return whether a turn runs, wherever."""
    running = (turns.c.key == key, turns.c.state == TurnState.RUNNING)
    return conn.execute(select(turns.c.key).where(*running)).scalar() is not None


def running_of(conn: Connection, user: int) -> int:
    """Return the number of running turns of a user in all workspaces. Another start of theirs waits."""
    conn.execute(_LOCK_USER, {"of": user})
    count: int = _COUNT_RUNNING.scalar(conn, {"of": user})
    return count


def request_messages(conn: Connection, owner: Owner, turn: TurnRow) -> tuple[UserMessage | ToolMessage, ...]:
    """Return the messages that started a turn."""
    conditions = (owned_by(owner), messages.c.turn == turn.key, messages.c.role != Role.ASSISTANT)
    query = select(messages).select_from(messages.join(turns).join(sessions)).where(*conditions)
    return tuple(map(_message_from_row, conn.execute(query.order_by(messages.c.position))))


def _message_values(message: UserMessage | ToolMessage) -> dict[str, str | bool]:
    if isinstance(message, UserMessage):
        attached = (*message.images, *message.files)
        images = json_text(attached, Wording("An attached file")) if attached else ""
        values = {"role": Role.USER, "content": message.text, "images": images, "call_id": "", "name": ""}
    else:
        values = {
            "role": Role.TOOL,
            "content": message.result,
            "images": json_text(message.images, Wording("An image")) if message.images else "",
            "call_id": message.call_id,
            "name": message.name,
        }
    failed = isinstance(message, ToolMessage) and message.failed
    return {**{name: storable(value) for name, value in values.items()}, "failed": failed}


def _message_from_row(row: Row[Any]) -> UserMessage | ToolMessage:
    images, files = message_parts(_files_decoder.decode(row.images) if row.images else ())
    if row.role == Role.TOOL:
        return ToolMessage(row.call_id, row.content, row.name, row.failed, images)
    return UserMessage(row.content, images, files)


def turn_from_row(row: Any) -> TurnRow:
    """Return the turn of a row of its table."""
    values = zip(TurnRow.__struct_fields__, _turn_values(row), strict=True)
    return msgspec.convert(dict(values), TurnRow)

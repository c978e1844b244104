"""Queries for sessions. A session belongs to one user in one workspace; nobody else can find it."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, insert, select, tuple_, update
from sqlalchemy import delete as delete_rows

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.core.view.projections import title_text
from thinkaloud.gateway.store.engine.coordination import DatabaseNowMs
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.queries.pages import make_page, rows_to_fetch, sort_key_after
from thinkaloud.gateway.store.queries.values import bounded_text, matches_id, new_id, note_deletion, storable
from thinkaloud.gateway.store.rows import Owner, Page, Session, SessionClient, TitleSource, TurnRow, TurnState
from thinkaloud.gateway.store.schema import messages, sessions, turns, unindexed
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.importers.files import MAX_TITLE_CHARACTERS

_LONGEST_IMPORT_MS = 60 * 60 * 1000
_TAGGED_BLOCK = re.compile(r"\s*<([A-Za-z][A-Za-z_-]{0,40})>.*?</\1>\s*", re.DOTALL)

# Statements of every turn are built once: building one costs more than running it.
BOUND_OWNER = (sessions.c.user == bindparam("owner")) & (sessions.c.workspace == bindparam("place"))
"""`owned_by` for such a statement; the owner's keys are bound as `owner` and `place`."""
_SELECT_SESSION = PreparedStatement(
    select(sessions).where(BOUND_OWNER, sessions.c.whole, sessions.c.id == bindparam("public_id"))
)
_other_sessions = sessions.alias()
NEXT_USE = (
    select(func.coalesce(func.max(_other_sessions.c.use_number), 0) + 1)
    .where(_other_sessions.c.user == sessions.c.user, _other_sessions.c.workspace == sessions.c.workspace)
    .scalar_subquery()
)
"""The `use_number` of a session that is used now, for an UPDATE of sessions."""
_FIRST_USE = (
    select(func.coalesce(func.max(_other_sessions.c.use_number), 0) + 1)
    .where(_other_sessions.c.user == bindparam("owner"), _other_sessions.c.workspace == bindparam("place"))
    .scalar_subquery()
)
_NO_TEXTS = dict.fromkeys(
    ("title", "titled_by", "agent", "model", "client", "client_conversation", "parent"), ""
)
_insert_session_statement = insert(sessions).values(use_number=_FIRST_USE).returning(sessions)
_INSERT_SESSION = PreparedStatement(_insert_session_statement)
_INSERT_SESSION_WITH_KEY = PreparedStatement(_insert_session_statement)
_LOCK_SESSION = PreparedStatement(
    select(sessions.c.key)
    .where(BOUND_OWNER, sessions.c.key == bindparam("of"), sessions.c.whole != bindparam("hidden"))
    .with_for_update()
)
_RUNNING_TURN = PreparedStatement(
    select(turns.c.id).where(turns.c.session == bindparam("of"), turns.c.state == TurnState.RUNNING)
)
_SET_TITLE = PreparedStatement(
    update(sessions)
    .where(sessions.c.key == bindparam("of"), sessions.c.titled_by == TitleSource.NOBODY)
    .values(title=bindparam("new_title"), titled_by=TitleSource.QUESTION)
)


class SessionGone(Refused):
    """The session was deleted during the request."""


class TurnRunning(Refused):
    """The session has a running turn."""


def create(
    conn: Connection, owner: Owner, *, now_ms: int, title: str = "", agent: str = "", model: str = ""
) -> Session:
    """Create a session. A title given here counts as written by a person and is never replaced."""
    values = {
        "title": _checked_title(title),
        "titled_by": TitleSource.PERSON if title else TitleSource.NOBODY,
        "agent": storable(agent),
        "model": storable(model),
    }
    return _insert_session(conn, owner, values, now_ms)


class NewClientSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session for the conversation of a client of a compatible endpoint."""

    model: str
    client: SessionClient
    question: str = ""
    """Gives the session its title."""
    key: int | None = None
    """Its key, if it was reserved (`KeyReserve`). Else the database gives one."""


def create_for_client(conn: Connection, owner: Owner, new: NewClientSession, now_ms: int) -> Session:
    """Create a session for the conversation of a client."""
    title = _title_of(new.question)
    values = {
        "title": title,
        "titled_by": TitleSource.QUESTION if title else TitleSource.NOBODY,
        "model": storable(new.model),
        "client": storable(new.client.name),
        "client_conversation": storable(new.client.conversation),
        "parent": _session_of_conversation(conn, owner, new.client.parent_conversation),
    }
    return _insert_session(conn, owner, values, now_ms, new.key)


def of_conversation(
    conn: Connection, owner: Owner, client: SessionClient, *, hidden: bool = False
) -> Session | None:
    """Return the owner's newest session with this conversation of a client; None if there is none.

    With `hidden` it may also be a hidden one. Both are looked for in one statement: between two, an import
    could end, and its session would be found by neither.
    """
    if not client.conversation:
        return None
    query = select(sessions).where(
        owned_by(owner) if hidden else visible_to(owner),
        sessions.c.client_conversation == storable(client.conversation),
    )
    newest = query.order_by(sessions.c.whole.desc(), sessions.c.key.desc()).limit(1)
    row = conn.execute(newest).one_or_none()
    return _session_or_none(row)


def _session_of_conversation(conn: Connection, owner: Owner, conversation: str) -> str:
    """Return the id of the owner's newest session with this conversation of a client; empty if none."""
    if not conversation:
        return ""
    query = select(sessions.c.id).where(
        visible_to(owner), sessions.c.client_conversation == storable(conversation)
    )
    return conn.scalar(query.order_by(sessions.c.key.desc()).limit(1)) or ""


def _insert_session(
    conn: Connection, owner: Owner, values: dict[str, str], now_ms: int, key: int | None = None
) -> Session:
    row = {
        "id": new_id("ses"),
        "user": owner.user,
        "workspace": owner.workspace,
        "created_ms": now_ms,
        "updated_ms": now_ms,
    }
    bound_owner = {"owner": owner.user, "place": owner.workspace}
    all_values = _NO_TEXTS | row | values | bound_owner
    if key is None:
        return _session_from_row(_INSERT_SESSION.first(conn, all_values))
    return _session_from_row(_INSERT_SESSION_WITH_KEY.first(conn, all_values | {"key": key}))


def get(conn: Connection, owner: Owner, session_id: str) -> Session | None:
    """Return a session of this owner; None if not found or not the owner's."""
    if not matches_id("ses", session_id):
        return None
    values = {"owner": owner.user, "place": owner.workspace, "public_id": session_id}
    row = _SELECT_SESSION.first(conn, values)
    return _session_or_none(row)


def list_page(
    conn: Connection, owner: Owner, *, limit: int, after: str = "", pinned: bool | None = None
) -> Page[Session]:
    """Return a page of the owner's sessions, the most recently used first; only the pinned or the others."""
    order = tuple_(sessions.c.use_number, sessions.c.key)
    query = select(sessions).where(visible_to(owner)).limit(rows_to_fetch(limit))
    if pinned is not None:
        query = query.where(sessions.c.pinned if pinned else ~sessions.c.pinned)
    if sort_key := sort_key_after(after, 2):
        query = query.where(order < tuple_(*sort_key))
    rows = conn.execute(query.order_by(sessions.c.use_number.desc(), sessions.c.key.desc())).all()
    return make_page(rows, limit, _session_from_row, lambda row: (row.use_number, row.key))


def rename(conn: Connection, owner: Owner, session_id: str, title: str, now_ms: int) -> Session | None:
    """Set the title of a session. With an empty title the next question provides one."""
    if not matches_id("ses", session_id):
        return None
    values = {
        "title": _checked_title(title),
        "titled_by": TitleSource.PERSON if title else TitleSource.NOBODY,
        "updated_ms": now_ms,
        "use_number": NEXT_USE,
    }
    statement = update(sessions).where(owned_by(owner), sessions.c.id == session_id)
    row = conn.execute(statement.values(values).returning(sessions)).one_or_none()
    return _session_or_none(row)


def pin(conn: Connection, session: Session, *, pinned: bool) -> Session | None:
    """Pin a session, or remove the pin. This is no use of the session: its place in the list stays."""
    statement = update(sessions).where(owned_by(session.owner), sessions.c.key == session.key)
    row = conn.execute(statement.values(pinned=pinned).returning(sessions)).one_or_none()
    return _session_or_none(row)


def running_among(conn: Connection, session_keys: Iterable[int]) -> frozenset[int]:
    """Return the keys of those sessions that have a running turn."""
    conditions = (turns.c.state == TurnState.RUNNING, turns.c.session.in_(padded(session_keys)))
    return frozenset(conn.scalars(select(turns.c.session).where(*conditions)))


def update_defaults(
    conn: Connection, session: Session, *, now_ms: int, agent: str | None = None, model: str | None = None
) -> Session | None:
    """Set the default agent and model of a session; None leaves one unchanged."""
    values: dict[str, Any] = {"updated_ms": now_ms, "use_number": NEXT_USE}
    if agent is not None:
        values["agent"] = storable(agent)
    if model is not None:
        values["model"] = storable(model)
    statement = update(sessions).where(owned_by(session.owner), sessions.c.key == session.key)
    row = conn.execute(statement.values(values).returning(sessions)).one_or_none()
    return _session_or_none(row)


def owned_session_of_turn(conn: Connection, owner: Owner, turn: TurnRow) -> Session | None:
    """Return the session of a turn, if it is this owner's."""
    row = conn.execute(select(sessions).where(owned_by(owner), sessions.c.key == turn.session)).one_or_none()
    return _session_or_none(row)


def session_of_turn(conn: Connection, turn: TurnRow) -> Session | None:
    """Return the session of a turn without an owner check. For the gateway itself."""
    row = conn.execute(select(sessions).where(sessions.c.key == turn.session)).one_or_none()
    return _session_or_none(row)


def title_from_question(conn: Connection, session: int, question: str) -> None:
    """Set the title from a question if the session has none. No owner check; for the gateway itself."""
    if title := _title_of(question):
        _SET_TITLE.run(conn, {"of": session, "new_title": title})


def title_from_model(conn: Connection, session: int, title: str) -> None:
    """Replace the title from a question by that of a model. No owner check; for the gateway itself."""
    condition = (sessions.c.key == session) & (sessions.c.titled_by == TitleSource.QUESTION)
    if title := storable(title_text(title))[:MAX_TITLE_CHARACTERS]:
        conn.execute(update(sessions).where(condition).values(title=title, titled_by=TitleSource.MODEL))


def _title_of(question: str) -> str:
    """Return the title of a session that begins with this question; empty if it says nothing."""
    return storable(title_text(_without_tagged_blocks(question)))[:MAX_TITLE_CHARACTERS]


def _without_tagged_blocks(question: str) -> str:
    """Return a question without the blocks in tags that programs put before it; all of it if that is all.

    Claude Code and Codex send reminders and the environment in this way.
    """
    rest = question
    while match := _TAGGED_BLOCK.match(rest):
        rest = rest[match.end() :]
    return rest or question


def delete(conn: Connection, owner: Owner, session_id: str) -> bool:
    """Delete a session with all its turns. Refused while a turn runs; False if not found."""
    session = get(conn, owner, session_id)
    if session is None or not lock_session(conn, session):
        return False
    refuse_while_running(conn, session)
    _delete_session(conn, session.key)
    return True


def hide(conn: Connection, session: Session) -> None:
    """Hide a session while it is imported or deleted. What is still hidden at the next start is deleted."""
    hidden = {"whole": False, "updated_ms": DatabaseNowMs()}
    conn.execute(update(sessions).where(sessions.c.key == session.key).values(hidden))


def end_import(conn: Connection, session: Session, now_ms: int) -> Session:
    """Make an imported session visible."""
    values = {"whole": True, "updated_ms": now_ms, "use_number": NEXT_USE}
    statement = update(sessions).where(sessions.c.key == session.key).values(values)
    return _session_from_row(conn.execute(statement.returning(sessions)).one())


def hide_for_deletion(conn: Connection, owner: Owner, session_id: str) -> Session | None:
    """Hide a session that will be deleted. Refused while a turn runs; None if not found."""
    session = get(conn, owner, session_id)
    if session is None or not lock_session(conn, session):
        return None
    refuse_while_running(conn, session)
    hide(conn, session)
    # What is indexed of the session must not change any more: it is removed from the index in slices.
    conn.execute(delete_rows(unindexed).where(unindexed.c.message.in_(_messages_of(session.key))))
    return session


def old_imports(conn: Connection) -> Sequence[int]:
    """Return the keys of hidden sessions that somebody must have given up: no import takes this long."""
    old = sessions.c.updated_ms < DatabaseNowMs() - _LONGEST_IMPORT_MS
    return conn.scalars(select(sessions.c.key).where(~sessions.c.whole, old)).all()


def drop_old_imports(conn: Connection) -> int:
    """Delete imports that were given up; return their number."""
    return _delete_sessions(conn, old_imports(conn))


def drop_partial_imports(conn: Connection, session: Session | None = None) -> int:
    """Delete the incomplete import of this session, or all incomplete imports; return their number."""
    query = select(sessions.c.key).where(~sessions.c.whole)
    if session is not None:
        query = query.where(sessions.c.key == session.key)
    return _delete_sessions(conn, conn.scalars(query).all())


def _delete_sessions(conn: Connection, keys: Sequence[int]) -> int:
    for key in keys:
        _delete_session(conn, key)
    return len(keys)


def owned_by(owner: Owner) -> ColumnElement[bool]:
    """Return the condition that every query of sessions, turns and messages contains."""
    return (sessions.c.user == owner.user) & (sessions.c.workspace == owner.workspace)


def visible_to(owner: Owner) -> ColumnElement[bool]:
    """Return the condition for the owner's sessions without incomplete imports."""
    return owned_by(owner) & sessions.c.whole


def lock_session(conn: Connection, session: Session, *, hidden: bool = False) -> bool:
    """Lock a session until the end of the transaction; False if it no longer exists, or is being deleted.

    SQLite has one writer at a time and needs no lock: there this only reads.
    """
    owner = session.owner
    values = {"of": session.key, "owner": owner.user, "place": owner.workspace, "hidden": hidden}
    return _LOCK_SESSION.scalar(conn, values) is not None


def refuse_while_running(conn: Connection, session: Session) -> None:
    """Raise `TurnRunning` if the session has a running turn."""
    if running := _RUNNING_TURN.scalar(conn, {"of": session.key}):
        raise TurnRunning(
            "Turn {running} of session {id} is still running. Wait until it ends, or cancel it.",
            running=running,
            id=session.id,
        )


def _delete_session(conn: Connection, session: int) -> None:
    search_index.remove_messages(conn, conn.scalars(_messages_of(session)).all())
    conn.execute(delete_rows(sessions).where(sessions.c.key == session))
    note_deletion(conn)


def _messages_of(session: int) -> Select[Any]:
    return select(messages.c.key).join(turns).where(turns.c.session == session)


def _checked_title(title: str) -> str:
    return bounded_text(title, Wording("A title"), MAX_TITLE_CHARACTERS)


def _session_or_none(row: Any) -> Session | None:
    return None if row is None else _session_from_row(row)


def _session_from_row(row: Any) -> Session:
    return Session(
        row.key,
        row.id,
        Owner(row.user, row.workspace),
        row.title,
        TitleSource(row.titled_by),
        row.agent,
        row.model,
        row.created_ms,
        row.updated_ms,
        row.client,
        row.pinned,
        row.parent,
        row.whole,
    )

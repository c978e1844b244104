"""Users, the workspaces they share, and the tokens they show.

A token is a secret of 256 bits that is shown once; what is kept is its SHA-256, and it is found by that.
These are questions of the gateway itself and of whoever runs it, so they ask for no owner.
"""

import hashlib
import re
import secrets
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from thinkaloud.canon import Refused
from thinkaloud.store import agents, ids, search
from thinkaloud.store.rows import ApiToken, Owner, TurnState, User, Workspace
from thinkaloud.store.schema import members, messages, sessions, tokens, turns, workspaces
from thinkaloud.store.schema import users as user_rows
from thinkaloud.store.texts import bounded_text, quoted

LOCAL_USER = "local"
DEFAULT_WORKSPACE = "default"
MAX_LABEL_CHARACTERS = 64

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_SECRET_PREFIX = "tka_"
_SECRET_BYTES = 32


def ensure_local(conn: Connection, now_ms: int) -> Owner:
    """The one user of a gateway that asks nobody who they are, made when first needed."""
    row = _user_row(conn, LOCAL_USER)
    user = add_user(conn, LOCAL_USER, now_ms) if row is None else _user_from_row(row)
    return Owner(user.key, add_member(conn, user.key, DEFAULT_WORKSPACE, now_ms).key)


def add_user(conn: Connection, name: str, now_ms: int, workspace: str = DEFAULT_WORKSPACE) -> User:
    """A new user in a workspace, which is made if there is none of that name."""
    _check_name(name, "user")
    if _user_row(conn, name) is not None:
        raise Refused(f"There is a user called {name} already. Choose another name.")
    values = {"id": ids.new("usr"), "name": name, "created_ms": now_ms}
    user = _user_from_row(conn.execute(insert(user_rows).values(values).returning(user_rows)).one())
    add_member(conn, user.key, workspace, now_ms)
    return user


def list_users(conn: Connection) -> tuple[User, ...]:
    """Everybody, in the order they came."""
    return tuple(map(_user_from_row, conn.execute(select(user_rows).order_by(user_rows.c.key))))


def user_named(conn: Connection, name: str) -> User:
    """The user of that name."""
    row = _user_row(conn, name) if _NAME.fullmatch(name) else None
    if row is None:
        raise Refused(f"There is no user called {quoted(name)}. Choose one of those there are, or add them.")
    return _user_from_row(row)


def remove_user(conn: Connection, name: str) -> None:
    """Take away a user and all that is theirs; refused while a turn of theirs runs."""
    user = user_named(conn, name)
    joined = turns.join(sessions)
    running = select(turns.c.id).select_from(joined)
    if conn.scalar(running.where(sessions.c.user == user.key, turns.c.state == TurnState.RUNNING)):
        raise Refused(
            f"{name} has a turn that runs. Revoke the tokens of {name}, then try again when it is over."
        )
    agents.refuse_if_others_need(conn, user.key)
    message_keys = (
        select(messages.c.key).select_from(messages.join(joined)).where(sessions.c.user == user.key)
    )
    search.remove_messages(conn, conn.scalars(message_keys).all())
    conn.execute(delete(user_rows).where(user_rows.c.key == user.key))


def add_member(conn: Connection, user: int, workspace_name: str, now_ms: int) -> Workspace:
    """Let a user into a workspace, which is made if there is none of that name. Again changes nothing."""
    workspace = _ensure_workspace(conn, workspace_name, now_ms)
    values = {"user": user, "workspace": workspace.key}
    membership = select(members.c.user).where(members.c.user == user, members.c.workspace == workspace.key)
    if conn.scalar(membership) is None:
        conn.execute(insert(members).values(values))
    return workspace


def workspaces_of(conn: Connection, user: int) -> tuple[Workspace, ...]:
    """The workspaces a user is in, the oldest first."""
    query = select(workspaces).join(members).where(members.c.user == user).order_by(workspaces.c.key)
    return tuple(map(_workspace_from_row, conn.execute(query)))


def create_token(conn: Connection, user: int, name: str, now_ms: int) -> tuple[ApiToken, str]:
    """A token and its secret, which nobody can be shown again."""
    secret = _SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    label = bounded_text(name, "The name of a token", MAX_LABEL_CHARACTERS)
    values = {"id": ids.new("tok"), "user": user, "name": label, "hash": _hash(secret), "created_ms": now_ms}
    return _token_from_row(conn.execute(insert(tokens).values(values).returning(tokens)).one()), secret


def token_user(conn: Connection, secret: str) -> User | None:
    """Whose secret this is; None when nobody's, or revoked."""
    valid = (tokens.c.hash == _hash(secret), tokens.c.revoked_ms.is_(None))
    row = conn.execute(select(user_rows).join(tokens).where(*valid)).one_or_none()
    return None if row is None else _user_from_row(row)


def tokens_of(conn: Connection, user: int) -> tuple[ApiToken, ...]:
    """All tokens of a user, revoked ones too, the oldest first."""
    return tuple(
        map(_token_from_row, conn.execute(select(tokens).where(tokens.c.user == user).order_by(tokens.c.key)))
    )


def revoke_token(conn: Connection, token_id: str, now_ms: int) -> bool:
    """Make a token worthless, for good. False when there is none with that id, or it was revoked before."""
    if not ids.matches("tok", token_id):
        return False
    valid = (tokens.c.id == token_id, tokens.c.revoked_ms.is_(None))
    return conn.execute(update(tokens).where(*valid).values(revoked_ms=now_ms)).rowcount == 1


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check_name(name: str, label: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refused(
            f"{quoted(name)} cannot be the name of a {label}: a name has 1 to 64 characters, each of them a "
            "letter from a to z (or A to Z), a digit, or one of . _ - @"
        )


def _user_row(conn: Connection, name: str) -> Row[Any] | None:
    return conn.execute(select(user_rows).where(user_rows.c.name == name)).one_or_none()


def _ensure_workspace(conn: Connection, name: str, now_ms: int) -> Workspace:
    _check_name(name, "workspace")
    row = conn.execute(select(workspaces).where(workspaces.c.name == name)).one_or_none()
    if row is None:
        values = {"id": ids.new("wsp"), "name": name, "created_ms": now_ms}
        row = conn.execute(insert(workspaces).values(values).returning(workspaces)).one()
    return _workspace_from_row(row)


def _user_from_row(row: Row[Any]) -> User:
    return User(row.key, row.id, row.name, row.created_ms)


def _workspace_from_row(row: Row[Any]) -> Workspace:
    return Workspace(row.key, row.id, row.name, row.created_ms)


def _token_from_row(row: Row[Any]) -> ApiToken:
    return ApiToken(row.id, row.user, row.name, row.created_ms, row.revoked_ms)

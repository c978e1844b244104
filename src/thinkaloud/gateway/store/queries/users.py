"""Queries for users, workspaces and API tokens.

A token is a secret of 256 bits that is shown once. Only its SHA-256 is stored; tokens are looked up by it.
These queries are for the gateway and its administrator, so they take no owner.
"""

import hashlib
import re
import secrets
from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, text, update

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.store.engine.coordination import lock_until_commit
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.queries import agents
from thinkaloud.gateway.store.queries.values import bounded_text, matches_id, new_id, note_deletion, quoted
from thinkaloud.gateway.store.rows import ApiToken, Owner, ThinkingShown, TurnState, User, Workspace
from thinkaloud.gateway.store.schema import members, messages, sessions, tokens, turns, workspaces
from thinkaloud.gateway.store.schema import thinking_rules as rules
from thinkaloud.gateway.store.schema import users as user_rows
from thinkaloud.gateway.store.search import index as search_index

LOCAL_USER = "local"
DEFAULT_WORKSPACE = "default"
MAX_LABEL_CHARACTERS = 64

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_SECRET_PREFIX = "tka_"
_SECRET_BYTES = 32
_SET_RULE = text(
    'INSERT INTO thinking_rules ("user", agent, shown) VALUES (:user, :agent, :shown) '
    'ON CONFLICT ("user", agent) DO UPDATE SET shown = excluded.shown'
)


def ensure_local(conn: Connection, now_ms: int) -> Owner:
    """Return the user of a gateway without authentication; create the user if necessary."""
    _lock_names(conn)
    row = _user_row(conn, LOCAL_USER)
    user = add_user(conn, LOCAL_USER, now_ms) if row is None else _user_from_row(row)
    return Owner(user.key, add_member(conn, user.key, DEFAULT_WORKSPACE, now_ms).key)


def add_user(conn: Connection, name: str, now_ms: int, workspace: str = DEFAULT_WORKSPACE) -> User:
    """Create a user in a workspace; create the workspace if necessary."""
    _check_name(name, Wording("user"))
    _lock_names(conn)
    if _user_row(conn, name) is not None:
        raise Refused("The user {name} already exists. Choose another name.", name=name)
    values = {"id": new_id("usr"), "name": name, "created_ms": now_ms}
    user = _user_from_row(conn.execute(insert(user_rows).values(values).returning(user_rows)).one())
    add_member(conn, user.key, workspace, now_ms)
    return user


def list_users(conn: Connection) -> tuple[User, ...]:
    """Return all users, the oldest first."""
    return tuple(map(_user_from_row, conn.execute(select(user_rows).order_by(user_rows.c.key))))


def user_named(conn: Connection, name: str) -> User:
    """Return the user of this name, or refuse an unknown name."""
    row = _user_row(conn, name) if _NAME.fullmatch(name) else None
    if row is None:
        raise Refused("There is no user {name}. Check the name, or add the user first.", name=quoted(name))
    return _user_from_row(row)


def remove_user(conn: Connection, name: str) -> None:
    """Delete a user with their sessions, agents and tokens. Refused while one of their turns runs."""
    user = user_named(conn, name)
    joined = turns.join(sessions)
    running = select(turns.c.id).select_from(joined)
    if conn.scalar(running.where(sessions.c.user == user.key, turns.c.state == TurnState.RUNNING)):
        raise Refused(
            "A turn of {name} is running. Revoke the tokens of {name}, then retry when the turn has ended.",
            name=name,
        )
    agents.refuse_if_others_need(conn, user.key)
    message_keys = (
        select(messages.c.key).select_from(messages.join(joined)).where(sessions.c.user == user.key)
    )
    search_index.remove_messages(conn, conn.scalars(message_keys).all())
    conn.execute(delete(user_rows).where(user_rows.c.key == user.key))
    note_deletion(conn)


def add_member(conn: Connection, user: int, workspace_name: str, now_ms: int) -> Workspace:
    """Add a user to a workspace; create the workspace if necessary. A second call changes nothing."""
    _lock_names(conn)
    workspace = _ensure_workspace(conn, workspace_name, now_ms)
    values = {"user": user, "workspace": workspace.key}
    membership = select(members.c.user).where(members.c.user == user, members.c.workspace == workspace.key)
    if conn.scalar(membership) is None:
        conn.execute(insert(members).values(values))
    return workspace


def workspaces_of(conn: Connection, user: int) -> tuple[Workspace, ...]:
    """Return the workspaces of a user, the oldest first."""
    query = select(workspaces).join(members).where(members.c.user == user).order_by(workspaces.c.key)
    return tuple(map(_workspace_from_row, conn.execute(query)))


def create_token(conn: Connection, user: int, name: str, now_ms: int) -> tuple[ApiToken, str]:
    """Create a token; return it and its secret, which cannot be shown again."""
    secret = _SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    label = bounded_text(name, Wording("The name of a token"), MAX_LABEL_CHARACTERS)
    values = {"id": new_id("tok"), "user": user, "name": label, "hash": _hash(secret), "created_ms": now_ms}
    return _token_from_row(conn.execute(insert(tokens).values(values).returning(tokens)).one()), secret


def token_user(conn: Connection, secret: str) -> User | None:
    """Return the user of a secret; None if it is unknown or revoked."""
    valid = (tokens.c.hash == _hash(secret), tokens.c.revoked_ms.is_(None))
    row = conn.execute(select(user_rows).join(tokens).where(*valid)).one_or_none()
    return None if row is None else _user_from_row(row)


def tokens_of(conn: Connection, user: int) -> tuple[ApiToken, ...]:
    """Return all tokens of a user, including revoked ones, the oldest first."""
    return tuple(
        map(_token_from_row, conn.execute(select(tokens).where(tokens.c.user == user).order_by(tokens.c.key)))
    )


def revoke_token(conn: Connection, token_id: str, now_ms: int) -> bool:
    """Revoke a token permanently. False if it is not found or already revoked."""
    if not matches_id("tok", token_id):
        return False
    valid = (tokens.c.id == token_id, tokens.c.revoked_ms.is_(None))
    return conn.execute(update(tokens).where(*valid).values(revoked_ms=now_ms)).rowcount == 1


def valid_tokens(conn: Connection, hashes: Collection[bytes]) -> frozenset[bytes]:
    """Return which of these hashes belong to tokens that are not revoked."""
    query = select(tokens.c.hash).where(tokens.c.hash.in_(padded(hashes)), tokens.c.revoked_ms.is_(None))
    return frozenset(conn.scalars(query))


def thinking_rules(conn: Connection, user: int) -> dict[str, ThinkingShown]:
    """Return what a user may see of the thinking, by agent id; the empty id is for all without their own."""
    query = select(rules.c.agent, rules.c.shown).where(rules.c.user == user).order_by(rules.c.agent)
    return {agent: ThinkingShown(shown) for agent, shown in conn.execute(query)}


def set_thinking_rule(
    conn: Connection, user: User, agent: str, shown: ThinkingShown, *, file_agents: Collection[str] = ()
) -> None:
    """Set what a user may see of the thinking of an agent, or of all if the id is empty.

    The agent is a stored one or one of `file_agents`. A rule for an agent that was deleted can be changed.
    """
    if user.name == LOCAL_USER:
        raise Refused(
            "{local_user} is the operator, who can read the database itself. Choose another user.",
            local_user=LOCAL_USER,
        )
    known = not agent or agent in file_agents or agents.exists_in_any_workspace(conn, agent)
    if not known and agent not in thinking_rules(conn, user.key):
        raise Refused(
            "There is no agent {agent}, so nothing was changed. Use the id of a stored agent (GET "
            "/api/agents lists them), or a name from agents.toml (thinkaloud agents).",
            agent=quoted(agent),
        )
    if agent or shown is not ThinkingShown.ALL:
        conn.execute(_SET_RULE, {"user": user.key, "agent": agent, "shown": shown})
    else:
        conn.execute(delete(rules).where(rules.c.user == user.key, rules.c.agent == agent))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check_name(name: str, label: Wording) -> None:
    if not _NAME.fullmatch(name):
        raise Refused(
            "{name} is not a valid name of a {label}. Use 1 to 64 letters from a to z or A to Z, "
            "digits, and . _ - @",
            name=quoted(name),
            label=label,
        )


def _lock_names(conn: Connection) -> None:
    """Let no other transaction add a user, a workspace or a member: both could add the same one."""
    lock_until_commit(conn, "users")


def _user_row(conn: Connection, name: str) -> Row[Any] | None:
    return conn.execute(select(user_rows).where(user_rows.c.name == name)).one_or_none()


def _ensure_workspace(conn: Connection, name: str, now_ms: int) -> Workspace:
    _check_name(name, Wording("workspace"))
    row = conn.execute(select(workspaces).where(workspaces.c.name == name)).one_or_none()
    if row is None:
        values = {"id": new_id("wsp"), "name": name, "created_ms": now_ms}
        row = conn.execute(insert(workspaces).values(values).returning(workspaces)).one()
    return _workspace_from_row(row)


def _user_from_row(row: Row[Any]) -> User:
    return User(row.key, row.id, row.name, row.created_ms)


def _workspace_from_row(row: Row[Any]) -> Workspace:
    return Workspace(row.key, row.id, row.name, row.created_ms)


def _token_from_row(row: Row[Any]) -> ApiToken:
    return ApiToken(row.id, row.user, row.name, row.created_ms, row.revoked_ms)

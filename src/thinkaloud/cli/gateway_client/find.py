"""Finds a session or a turn by what a person types: an id, the beginning of one, or `latest`."""

import msgspec

from thinkaloud.cli.gateway_client.client import PER_PAGE, GatewayClient
from thinkaloud.core.canon import Refused
from thinkaloud.surfaces.chat.backend import SessionInfo, TurnInfo

LATEST = "latest"
TURN_PREFIX = "trn_"
_SESSION_PREFIX = "ses_"
_NAMED = 5
"""How many sessions a message names."""


class _SessionTurns(msgspec.Struct):
    turns: list[TurnInfo]
    next: str = ""


async def list_sessions(client: GatewayClient, limit: int | None = None) -> list[SessionInfo]:
    """Return the most recently used sessions, or all of them."""
    sessions: list[SessionInfo] = []
    after = ""
    while limit is None or len(sessions) < limit:
        per_page = PER_PAGE if limit is None else min(PER_PAGE, limit - len(sessions))
        page, after = await client.sessions(after=after, limit=per_page)
        sessions += page
        if not after:
            break
    return sessions


async def find_session(client: GatewayClient, name: str) -> SessionInfo:
    """Return the session of an id or of the beginning of one; `latest` is the one that was used last."""
    if name == LATEST:
        if latest := await list_sessions(client, 1):
            return latest[0]
        raise Refused("There is no session yet. `thinkaloud ask` starts one.")
    prefix = name if name.startswith(_SESSION_PREFIX) else _SESSION_PREFIX + name
    matches = [session for session in await list_sessions(client) if session.id.startswith(prefix)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise Refused("There is no session {name}. `thinkaloud sessions` lists all of them.", name=repr(name))
    ids = ", ".join(session.id for session in matches[:_NAMED])
    ids += ", …" if len(matches) > _NAMED else ""
    raise Refused(
        "{count} sessions begin with {name}: {ids}. Give more of the id.",
        count=len(matches),
        name=repr(name),
        ids=ids,
    )


async def find_turn(client: GatewayClient, name: str) -> TurnInfo:
    """Return the turn of an id; `latest` is the last one of the session that was used last."""
    if name.startswith(TURN_PREFIX):
        return await client.connection.fetch(f"/api/turns/{name}", TurnInfo)
    if name != LATEST:
        raise Refused(
            "{name} is not a turn. Give its id, which begins with {turn_prefix}, or {latest}. "
            "`thinkaloud show SESSION` lists the turns of a session.",
            name=repr(name),
            turn_prefix=TURN_PREFIX,
            latest=repr(LATEST),
        )
    session = await find_session(client, LATEST)
    if turns := await session_turns(client, session.id):
        return turns[-1]
    raise Refused("The session {id} has no turn yet.", id=session.id)


async def session_turns(client: GatewayClient, session: str) -> list[TurnInfo]:
    """Return the turns of a session, the oldest first."""
    turns: list[TurnInfo] = []
    after = ""
    while True:
        page = await client.connection.fetch(
            f"/api/sessions/{session}", _SessionTurns, limit=PER_PAGE, after=after
        )
        turns += page.turns
        if not page.next:
            return turns
        after = page.next

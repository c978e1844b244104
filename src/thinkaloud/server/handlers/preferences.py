"""How one wants to see and send thoughts: kept for each user in each workspace, never for a single block."""

import msgspec

from thinkaloud.canon import UnknownLocale
from thinkaloud.server.bodies import NewPreferences, WorkspaceBody, WorkspaceList
from thinkaloud.server.routing import Call
from thinkaloud.store import people, preferences
from thinkaloud.store.rows import Preferences
from thinkaloud.view import LOCALES, read_policy


async def read(call: Call) -> Preferences:
    """One's preferences in this workspace; the usual ones where none were set."""
    return await call.gateway.database.read(lambda conn: preferences.read(conn, call.owner))


async def replace(call: Call) -> Preferences:
    """Set one's preferences, all of them: display settings are laid over those of a preset."""
    wanted: NewPreferences = call.body
    if wanted.language not in LOCALES:
        raise UnknownLocale(
            f"There are no words for {wanted.language!r}. Choose one of: {', '.join(LOCALES)}."
        )
    wishes = Preferences(
        display=read_policy(msgspec.to_builtins(wanted.display)),
        language=wanted.language,
        context_mode=wanted.context_mode,
        render=wanted.render,
        expand_key=wanted.expand_key,
    )
    now_ms = call.gateway.now_ms()
    await call.gateway.database.write(lambda conn: preferences.write(conn, call.owner, wishes, now_ms))
    return wishes


async def workspaces(call: Call) -> WorkspaceList:
    """The workspaces that one is in; sessions, agents and preferences are those of one of them."""
    owner = call.owner
    theirs = await call.gateway.database.read(lambda conn: people.workspaces_of(conn, owner.user))
    return WorkspaceList(
        items=tuple(WorkspaceBody(id=one.id, name=one.name) for one in theirs),
        current=next(one.id for one in theirs if one.key == owner.workspace),
    )

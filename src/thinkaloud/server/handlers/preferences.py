"""How one wants to see and send thoughts: kept for each user in each workspace, never for a single block."""

import msgspec

from thinkaloud.canon import UnknownLocale
from thinkaloud.server.endpoint import RouteRequest
from thinkaloud.server.schemas import NewPreferences, WorkspaceBody, WorkspaceList
from thinkaloud.store import preferences, users
from thinkaloud.store.rows import Preferences
from thinkaloud.view import LOCALES, read_policy


async def read(request: RouteRequest) -> Preferences:
    """One's preferences in this workspace; the usual ones where none were set."""
    return await request.gateway.database.read(lambda conn: preferences.read(conn, request.owner))


async def replace(request: RouteRequest) -> Preferences:
    """Set one's preferences, all of them: display settings are laid over those of a preset."""
    body: NewPreferences = request.body
    if body.language not in LOCALES:
        raise UnknownLocale(f"There are no words for {body.language!r}. Choose one of: {', '.join(LOCALES)}.")
    new_preferences = Preferences(
        display=read_policy(msgspec.to_builtins(body.display)),
        language=body.language,
        context_mode=body.context_mode,
        render=body.render,
        expand_key=body.expand_key,
    )
    now_ms = request.gateway.now_ms()
    await request.gateway.database.write(
        lambda conn: preferences.write(conn, request.owner, new_preferences, now_ms)
    )
    return new_preferences


async def list_workspaces(request: RouteRequest) -> WorkspaceList:
    """The workspaces that one is in; sessions, agents and preferences are those of one of them."""
    owner = request.owner
    memberships = await request.gateway.database.read(lambda conn: users.workspaces_of(conn, owner.user))
    return WorkspaceList(
        items=tuple(WorkspaceBody(id=workspace.id, name=workspace.name) for workspace in memberships),
        current=next(workspace.id for workspace in memberships if workspace.key == owner.workspace),
    )

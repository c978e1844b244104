"""Handlers for preferences and workspaces. Preferences belong to a user in a workspace."""

import msgspec
from sqlalchemy import Connection

from thinkaloud.core.canon import UnknownLocale
from thinkaloud.core.view import LOCALES, read_policy
from thinkaloud.gateway.server.http.route import RouteRequest
from thinkaloud.gateway.server.schemas import body_of
from thinkaloud.gateway.server.schemas.sessions import NewPreferences, WorkspaceBody, WorkspaceList
from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.rows import Preferences


async def read(request: RouteRequest) -> Preferences:
    """Return the user's preferences in the workspace, or the defaults."""
    gateway = request.gateway
    return await gateway.database.read(lambda conn: gateway.preferences.read(conn, request.owner))


async def replace(request: RouteRequest) -> Preferences:
    """Replace the user's preferences. Display settings override those of the preset."""
    body: NewPreferences = request.body
    if body.language not in LOCALES:
        raise UnknownLocale(
            "Unknown language {language}. Choose one of: {locales}.",
            language=repr(body.language),
            locales=", ".join(LOCALES),
        )
    display = read_policy(msgspec.to_builtins(body.display))
    new_preferences = body_of(Preferences, body, display=display)
    gateway, now_ms = request.gateway, request.gateway.now_ms()

    def save(conn: Connection) -> Preferences:
        gateway.preferences.write(conn, request.owner, new_preferences, now_ms)
        return gateway.preferences.read(conn, request.owner)

    return await gateway.database.write(save)


async def list_workspaces(request: RouteRequest) -> WorkspaceList:
    """List the user's workspaces. Sessions, agents and preferences belong to one workspace each."""
    owner = request.owner
    memberships = await request.gateway.database.read(lambda conn: users.workspaces_of(conn, owner.user))
    return WorkspaceList(
        items=tuple(WorkspaceBody(id=workspace.id, name=workspace.name) for workspace in memberships),
        current=next(workspace.id for workspace in memberships if workspace.key == owner.workspace),
    )

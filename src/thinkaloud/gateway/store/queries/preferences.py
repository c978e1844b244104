"""Queries for preferences, stored for each user in each workspace."""

from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from thinkaloud.core.canon import Wording
from thinkaloud.core.view import Policy, RememberScope
from thinkaloud.gateway.store.queries.values import json_text
from thinkaloud.gateway.store.rows import Owner, Preferences
from thinkaloud.gateway.store.schema import preferences, users

SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)
_SELECT_PREFERENCES = (
    select(preferences.c.workspace, preferences.c.settings)
    .where(preferences.c.user == bindparam("owner"))
    .order_by(preferences.c.updated_ms.desc())
)
"""Built once: every turn reads the preferences first."""


def read(conn: Connection, owner: Owner) -> Preferences:
    """Return the owner's preferences, or the defaults if none are stored.

    The display settings are the newest ones among those of this workspace and those that the user wants to
    be remembered in all workspaces.
    """
    own = Preferences()
    display: Policy | None = None
    for workspace, stored in conn.execute(_SELECT_PREFERENCES, {"owner": owner.user}):
        settings = _decode_known(msgspec.json.decode(stored), Preferences)
        if workspace == owner.workspace:
            own = settings
        if display is None and (
            workspace == owner.workspace or settings.display.remember is RememberScope.USER
        ):
            display = settings.display
    return own if display is None else msgspec.structs.replace(own, display=display)


def take(conn: Connection, owner: Owner) -> Preferences | None:
    """Remove the owner's preferences and return them; None if there are none."""
    stored = conn.scalar(select(preferences.c.settings).where(_owned_by(owner)))
    if stored is None:
        return None
    conn.execute(delete(preferences).where(_owned_by(owner)))
    return _decode_known(msgspec.json.decode(stored), Preferences)


def write(conn: Connection, owner: Owner, settings: Preferences, now_ms: int) -> None:
    """Replace all preferences of the owner."""
    values = {"settings": json_text(settings, Wording("Preferences")), "updated_ms": now_ms}
    # Without the lock on the user, two first writes at the same time would both insert.
    conn.execute(select(users.c.key).where(users.c.key == owner.user).with_for_update())
    if conn.execute(update(preferences).where(_owned_by(owner)).values(values)).rowcount == 0:
        conn.execute(insert(preferences).values(user=owner.user, workspace=owner.workspace, **values))


def _owned_by(owner: Owner) -> ColumnElement[bool]:
    return (preferences.c.user == owner.user) & (preferences.c.workspace == owner.workspace)


def _decode_known(stored: dict[str, Any], shape: type[SettingsT]) -> SettingsT:
    """Decode the settings that this version knows.

    A newer version may have stored unknown fields and values. They are ignored here, stay in the database,
    and are lost only when this version writes.
    """
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(shape):
        if field.name not in stored:
            continue
        value = stored[field.name]
        try:
            if isinstance(field.default, msgspec.Struct) and isinstance(value, dict):
                values[field.name] = _decode_known(value, type(field.default))
            else:
                values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            continue
    return shape(**values)

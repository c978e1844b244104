"""Where preferences are kept, so that each has one owner.

The preferences of the user of this machine are the settings in `config.toml`, which the command line reads
and changes too. Those of all other users, and of the user of this machine in other workspaces, are in the
database. With `remember: user`, showing and hiding holds in all workspaces of the user.
"""

import os
from collections.abc import Mapping

import msgspec
from sqlalchemy import Connection

from thinkaloud.client.config import DISPLAY_PREFIX, Config, ConfigFile
from thinkaloud.client.toml_edit import Value
from thinkaloud.core.context import ContextMode
from thinkaloud.core.view import Policy, RememberScope, preset
from thinkaloud.gateway.store.queries import preferences
from thinkaloud.gateway.store.rows import DEFAULT_EXPAND_KEY, Owner, Preferences, RenderMode


class PreferenceStore:
    """Reads and writes preferences. Without a settings file, all of them are in the database."""

    def __init__(self, config: ConfigFile | None) -> None:
        self._config = config
        self._known_config: tuple[object, Preferences] | None = None
        self.local_owner = Owner(0, 0)
        """The user of this machine in the default workspace. Set when the gateway is opened."""

    def read(self, conn: Connection, owner: Owner) -> Preferences:
        """Return the preferences of a user in a workspace, or the defaults."""
        if self._config is None or owner.user != self.local_owner.user:
            return preferences.read(conn, owner)
        local = self._read_config()
        if owner == self.local_owner:
            return local
        stored = preferences.read(conn, owner)
        everywhere = local.display.remember is RememberScope.USER
        return msgspec.structs.replace(stored, display=local.display) if everywhere else stored

    def read_local(self, owner: Owner) -> Preferences | None:
        """Return the owner's preferences if they are in the settings file; None if the database has them."""
        return self._read_config() if self._config is not None and owner == self.local_owner else None

    def _read_config(self) -> Preferences:
        """Read the settings file, if it has changed since it was last read."""
        assert self._config is not None
        try:
            status = os.stat(self._config.path)
            version: tuple[object, ...] = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError as error:
            version = (error.errno,)  # as long as there is no file
        version = (*version, os.environ.get("THINKALOUD_MODEL"))
        known = self._known_config
        if known is None or known[0] != version:
            known = self._known_config = version, _from_config(self._config.read())
        return known[1]

    def write(self, conn: Connection, owner: Owner, new: Preferences, now_ms: int) -> None:
        """Replace all preferences of a user in a workspace."""
        if self._config is None or owner.user != self.local_owner.user:
            preferences.write(conn, owner, new, now_ms)
            return
        config = self._config.read()
        if owner == self.local_owner:
            self._config.change(_changes(config, _to_config(new)))
            return
        preferences.write(conn, owner, new, now_ms)
        if RememberScope.USER in (new.display.remember, config.display.remember):
            local = msgspec.structs.replace(_from_config(config), display=new.display)
            self._config.change(_changes(config, _to_config(local)))

    def adopt_stored(self, conn: Connection) -> None:
        """Move preferences that an earlier version stored for the user of this machine into the file."""
        if self._config is None:
            return
        stored = preferences.take(conn, self.local_owner)
        if stored is not None and not self._config.path.exists() and stored != Preferences():
            self._config.change(_changes(Config(), _to_config(stored)))


def _from_config(config: Config) -> Preferences:
    values = config.values
    return Preferences(
        display=config.display,
        language=config.language,
        context_mode=ContextMode(values.get("thinking.context_mode", ContextMode.PROVIDER_DEFAULT)),
        render=RenderMode(values.get("page.render", RenderMode.MARKDOWN)),
        expand_key=str(values.get("page.expand_key", DEFAULT_EXPAND_KEY)),
        model=os.environ.get("THINKALOUD_MODEL") or config.text("model"),
        thinking=config.text("thinking.level"),
    )


def _to_config(new: Preferences) -> dict[str, Value]:
    values: dict[str, Value] = {
        f"{DISPLAY_PREFIX}{name}": value for name, value in msgspec.to_builtins(new.display).items()
    }
    return values | {
        "language": new.language,
        "thinking.context_mode": new.context_mode.value,
        "page.render": new.render.value,
        "page.expand_key": new.expand_key,
        "model": new.model,
        "thinking.level": new.thinking,
    }


def _changes(config: Config, wanted: Mapping[str, Value]) -> dict[str, Value | None]:
    """Return what has to change in the file. A value that holds without being set is not set."""
    current = _to_config(_from_config(config))
    defaults = _to_config(_from_config(Config()))
    named_preset = msgspec.to_builtins(preset(str(wanted[f"{DISPLAY_PREFIX}preset"])))
    for name in Policy.__struct_fields__:
        if name != "preset":
            defaults[f"{DISPLAY_PREFIX}{name}"] = named_preset[name]
    changes: dict[str, Value | None] = {}
    for key, value in wanted.items():
        if value == defaults[key]:
            if key in config.values:
                changes[key] = None
        elif value != current[key] or (key.startswith(DISPLAY_PREFIX) and key not in config.values):
            changes[key] = value
    return changes

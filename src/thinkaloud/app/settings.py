"""What a user has set: where their files are, the model to ask, and a catalog and agents of their own."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from thinkaloud.app import builtin_model
from thinkaloud.canon import BadCatalog
from thinkaloud.catalog import Catalog, builtin, builtin_texts, parse
from thinkaloud.catalog.book import FILES
from thinkaloud.client.home import home

if TYPE_CHECKING:
    from thinkaloud.agents.files import AgentFile


def database_path() -> Path:
    """Where the gateway keeps sessions."""
    return home() / "thinkaloud.db"


def user_catalog() -> Catalog:
    """The catalog, with the user's own `catalog.toml` on top of it where there is one."""
    mine = home() / "catalog.toml"
    if not mine.is_file():
        return builtin()
    try:
        rows = mine.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "it is not UTF-8 text"
        raise BadCatalog(f"{mine} cannot be read: {why}. Correct it, or move it away.") from None
    return parse(*builtin_texts(), rows, names=(*FILES, str(mine)))


def user_agents() -> "AgentFile":
    """The agents that come along, with the user's own `agents.toml` on top of them where there is one."""
    from thinkaloud.agents.files import FILE, read_agents

    return read_agents(home() / FILE)


def model_name(given: str = "") -> str:
    """The model to ask: as given, else what `THINKALOUD_MODEL` says, else the one that comes with us."""
    return given or os.environ.get("THINKALOUD_MODEL") or builtin_model.NAME

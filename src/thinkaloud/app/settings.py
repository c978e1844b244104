"""What a user has set: where their files are, the model to ask, and a catalog and agents of their own."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from thinkaloud.app import builtin_model
from thinkaloud.canon import BadCatalog
from thinkaloud.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.catalog.book import FILES
from thinkaloud.client.home import home_folder

if TYPE_CHECKING:
    from thinkaloud.agents.files import AgentFile


def database_path() -> Path:
    """Where the gateway keeps sessions."""
    return home_folder() / "thinkaloud.db"


def user_catalog() -> Catalog:
    """The catalog, with the user's own `catalog.toml` on top of it where there is one."""
    path = home_folder() / "catalog.toml"
    if not path.is_file():
        return builtin_catalog()
    try:
        rows = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is not UTF-8 text"
        raise BadCatalog(f"{path} cannot be read: {reason}. Correct it, or move it away.") from None
    return parse_catalog(*builtin_texts(), rows, names=(*FILES, str(path)))


def user_agents() -> "AgentFile":
    """The agents that come along, with the user's own `agents.toml` on top of them where there is one."""
    from thinkaloud.agents.files import FILE_NAME, read_agents

    return read_agents(home_folder() / FILE_NAME)


def model_name(name: str = "") -> str:
    """The model to ask: as given, else what `THINKALOUD_MODEL` says, else the one that comes with us."""
    return name or os.environ.get("THINKALOUD_MODEL") or builtin_model.BUILTIN_MODEL

"""The model that comes with Thinkaloud, listening on this machine for as long as somebody asks it.

What a user has set: where their files are, the model to ask, and a catalog and agents of their own.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from thinkaloud.canon import BadCatalog
from thinkaloud.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.catalog.catalog import FILES
from thinkaloud.client.home import home_folder

if TYPE_CHECKING:
    from thinkaloud.agents.config import AgentFile


BUILTIN_PROVIDER = "builtin"
BUILTIN_MODEL = "builtin/solver"


def names_builtin_model(model: str) -> bool:
    """Whether a name means the built-in model."""
    return model.removeprefix(f"{BUILTIN_PROVIDER}/") == BUILTIN_MODEL.removeprefix(f"{BUILTIN_PROVIDER}/")


@asynccontextmanager
async def with_builtin_model(catalog: Catalog) -> AsyncIterator[Catalog]:
    """The catalog, in which the built-in model has an address that answers."""
    from thinkaloud.builtin import run_solver

    async with run_solver() as server:
        yield catalog.with_base_url(BUILTIN_PROVIDER, server.base_url)


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
    from thinkaloud.agents.config import FILE_NAME, read_agents

    return read_agents(home_folder() / FILE_NAME)


def model_name(name: str = "") -> str:
    """The model to ask: as given, else what `THINKALOUD_MODEL` says, else the one that comes with us."""
    return name or os.environ.get("THINKALOUD_MODEL") or BUILTIN_MODEL

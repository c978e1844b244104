"""The user's settings, paths, default model and agents; and the built-in model.

The built-in model runs as a server on this machine, only while `with_builtin_model` is open.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from thinkaloud.client.config import Config, ConfigFile
from thinkaloud.client.user_files import home_folder
from thinkaloud.core.catalog import Catalog
from thinkaloud.surfaces.terminal import clean

if TYPE_CHECKING:
    from thinkaloud.agents.config import AgentFile


BUILTIN_PROVIDER = "builtin"
BUILTIN_MODEL = "builtin/solver"


def names_builtin_model(model: str) -> bool:
    """Return whether a name means the built-in model."""
    return model.removeprefix(f"{BUILTIN_PROVIDER}/") == BUILTIN_MODEL.removeprefix(f"{BUILTIN_PROVIDER}/")


@asynccontextmanager
async def with_builtin_model(catalog: Catalog) -> AsyncIterator[Catalog]:
    """Run the built-in model and yield the catalog with its address."""
    from thinkaloud.builtin import SolverEnvironment, run_solver
    from thinkaloud.client.connections import find_connections

    environment = SolverEnvironment(connections=lambda: find_connections(catalog))
    async with run_solver(environment=environment) as server:
        yield catalog.with_base_url(BUILTIN_PROVIDER, server.base_url)


def database_path() -> Path:
    """Return the path of the gateway's database."""
    return home_folder() / "thinkaloud.db"


def user_agents() -> "AgentFile":
    """Return the included agents, with the user's own `agents.toml` merged into them if it exists."""
    from thinkaloud.agents.config import FILE_NAME, read_agents

    return read_agents(home_folder() / FILE_NAME)


def user_config() -> Config:
    """Return the user's settings from `config.toml`. Values that are left out are reported once."""
    config = ConfigFile().read()
    for problem in config.problems:
        _report_once(problem)
    return config


@cache
def _report_once(problem: str) -> None:
    print(clean(f"thinkaloud: {problem}. The other settings hold."), file=sys.stderr)


def model_name(name: str = "") -> str:
    """Return the model to ask: the given name, else `THINKALOUD_MODEL`, the settings, the built-in model."""
    return name or os.environ.get("THINKALOUD_MODEL") or user_config().text("model") or BUILTIN_MODEL

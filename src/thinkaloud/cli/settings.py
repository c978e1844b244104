"""The user's settings, paths, default model and agents; and the built-in model.

The built-in model runs as a server on this machine, once it is asked and while `with_builtin_model` is open.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib import import_module
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


@asynccontextmanager
async def with_builtin_model(catalog: Catalog) -> AsyncIterator[Catalog]:
    """Yield the catalog with the address of the built-in model, which is started by the first request.

    Most commands ask another model, or none, and the server takes longer to import than all that they need.
    """
    # asyncio sets TCP_NODELAY only on sockets whose protocol is IPPROTO_TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        sock.setblocking(False)
        task = asyncio.create_task(_serve_builtin_model(catalog, sock), name="thinkaloud-builtin")
        try:
            yield catalog.with_base_url(BUILTIN_PROVIDER, f"http://127.0.0.1:{sock.getsockname()[1]}/v1")
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _serve_builtin_model(catalog: Catalog, sock: socket.socket) -> None:
    with sock:  # also if the server cannot be started: a request must not wait for ever
        await _first_connection(sock)
        # In a thread, because a gateway has other turns to stream meanwhile.
        await asyncio.to_thread(import_module, "thinkaloud.builtin.server")
        from thinkaloud.builtin import SolverEnvironment, run_solver
        from thinkaloud.client.connections import find_connections

        environment = SolverEnvironment(connections=lambda: find_connections(catalog))
        async with run_solver(environment=environment, sock=sock):
            await asyncio.Event().wait()


async def _first_connection(sock: socket.socket) -> None:
    """Wait until a connection can be accepted. An event loop that cannot tell is not waited for."""
    loop = asyncio.get_running_loop()
    connected = asyncio.Event()
    try:
        loop.add_reader(sock, connected.set)
    except NotImplementedError:  # on Windows
        return
    try:
        await connected.wait()
    finally:
        loop.remove_reader(sock)


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

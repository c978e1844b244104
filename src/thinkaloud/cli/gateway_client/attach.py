"""Finds the gateway that a command uses: the one of `--server`, the running one of this home, or a new one.

A running gateway has its address and a token in the lock file of the database, which only its user can read.
If there is none, a gateway is started inside this process. Other commands may use it as well, through its
port; this one calls it without a socket. There is no other path to the stored sessions.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.cli.gateway_client.client import GatewayClient
from thinkaloud.cli.gateway_client.connection import GatewayAddress
from thinkaloud.cli.gateway_client.transport import InsideTransport
from thinkaloud.cli.output.console import read_bytes
from thinkaloud.cli.output.words import command_words
from thinkaloud.cli.settings import database_path, model_name
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path, publish_address
from thinkaloud.surfaces.chat.backend import INSIDE

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

TOKEN_VARIABLE = "THINKALOUD_TOKEN"
_START_TIMEOUT_S = 60.0
"""How long another process may hold the lock without an address. Migrating a large database takes long."""
_POLL_S = 0.05
_MAX_TOKEN_BYTES = 8 * 1024


class ServerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options that choose a gateway. Without a URL it is the one of this home."""

    url: str = ""
    token_file: str = ""
    workspace: str = ""


THIS_HOME = ServerChoice()


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a gateway."""
    parser.add_argument(
        "--server",
        default="",
        metavar="URL",
        help="the gateway to use (default: the running one of this home, else one inside this command)",
    )
    parser.add_argument(
        "--token-file",
        default="",
        metavar="FILE",
        help=f"a file with the token for --server (default: the token in {TOKEN_VARIABLE})",
    )
    parser.add_argument(
        "--workspace", default="", metavar="ID", help="the workspace (default: the user's first)"
    )


def server_choice(options: argparse.Namespace) -> ServerChoice:
    """Return the choice that the options make."""
    return ServerChoice(url=options.server, token_file=options.token_file, workspace=options.workspace)


@asynccontextmanager
async def open_backend(
    choice: ServerChoice = THIS_HOME, *, on_wait: Callable[[int], None] | None = None
) -> AsyncIterator[GatewayClient]:
    """Yield the client of a gateway. If it was started here, wait at the end until all turns have ended.

    `on_wait` is called with their number before a wait. Cancelling the wait stops them.
    """
    async with AsyncExitStack() as stack:
        if choice.url:
            token = _read_token(choice.token_file)
            client = GatewayClient.at(choice.url, token=token, workspace=choice.workspace)
        else:
            locator = _HomeLocator(stack, on_wait or _print_wait)
            address = await locator.find()
            name = INSIDE if locator.started else address.url
            client = GatewayClient(locator, address=name, workspace=choice.workspace)
        yield await stack.enter_async_context(client)


class _HomeLocator:
    """Finds the running gateway of this home, or starts one. Of several processes, one starts it.

    A gateway inside another command ends with it; then this process starts one. One of `serve` is waited
    for, since whoever stopped it may want to start it again.
    """

    def __init__(self, stack: AsyncExitStack, on_wait: Callable[[int], None]) -> None:
        self._stack = stack
        self._on_wait = on_wait
        self._path = lock_path(database_path())
        self._finding = asyncio.Lock()
        self._address = GatewayAddress("")
        self.started = False
        self.moving = True

    async def find(self) -> GatewayAddress:
        """Return the present address."""
        if self.started:
            return self._address
        async with self._finding:
            deadline_s = asyncio.get_running_loop().time() + _START_TIMEOUT_S
            while not await self._found():
                if asyncio.get_running_loop().time() > deadline_s:
                    raise Refused(
                        "{path} is held by another process ({lock}), which serves at no "
                        "address: it is still starting, or is an earlier version. Wait until it has "
                        "started, or stop it.",
                        path=database_path(),
                        lock=self._path,
                    )
                await asyncio.sleep(_POLL_S)
        return self._address

    async def _found(self) -> bool:
        holder = lock_holder(self._path)
        if holder is None and self.moving:
            address = await _start_inside(self._stack, self._on_wait)
            if address is None:  # another process was faster
                return False
            self._address, self.started, self.moving = address, True, False
        elif holder is not None and holder.url:
            self._address, self.moving = GatewayAddress(holder.url, holder.token), holder.inside
        return self.started or holder is None or bool(holder.url)


async def _start_inside(stack: AsyncExitStack, on_wait: Callable[[int], None]) -> GatewayAddress | None:
    """Start a gateway in this process; None if another process was faster."""
    from thinkaloud.cli.commands.serve import open_gateway
    from thinkaloud.cli.database import database_url
    from thinkaloud.client.config import ConfigFile
    from thinkaloud.gateway.server.gateway import Settings
    from thinkaloud.gateway.server.http.app import create_app
    from thinkaloud.gateway.server.http.auth import ListenConfig, hash_token
    from thinkaloud.gateway.server.logs import log_to_file
    from thinkaloud.gateway.server.run import ServeOptions, start_server
    from thinkaloud.gateway.store.engine.database import DatabaseInUse

    async with AsyncExitStack() as inside:
        inside.enter_context(log_to_file(database_path().with_name("gateway.log")))
        try:
            config = ConfigFile()
            settings = Settings(
                model=model_name(),
                title_model=config.read().text("title_model"),
                config_path=config.path,
                grace_s=0,
            )
            gateway = await inside.enter_async_context(open_gateway(settings, database_url()))
        except DatabaseInUse:
            return None
        # Every caller needs the token: other users of this machine can reach the port as well.
        server = await inside.enter_async_context(start_server(gateway, ServeOptions(token_required=True)))
        path = lock_path(database_path())
        publish_address(path, server.url, server.token, inside=True)
        inside.callback(publish_address, path)  # without an address, other commands wait for the lock
        app = create_app(
            gateway, ListenConfig(token_required=True, start_token_hash=hash_token(server.token))
        )
        transport = await inside.enter_async_context(InsideTransport(app))
        await inside.enter_async_context(_wait_for_turns(gateway, on_wait))
        await stack.enter_async_context(inside.pop_all())
    return GatewayAddress(server.url, server.token, transport)


@asynccontextmanager
async def _wait_for_turns(gateway: "Gateway", on_wait: Callable[[int], None]) -> AsyncIterator[None]:
    """Wait at the end of the block, unless it failed, until no turn runs: other commands may have some."""
    yield
    if gateway.turns.busy_count:
        on_wait(gateway.turns.busy_count)
    while gateway.turns.busy_count:
        await asyncio.sleep(_POLL_S)


def _print_wait(count: int) -> None:
    print(f"thinkaloud: {command_words().text('wait', n=count)}", file=sys.stderr)


def _read_token(token_file: str) -> str:
    """Return the token of the file, else that of the environment; it may be empty."""
    if not token_file:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    content = read_bytes(token_file, Wording("a file with a token"), max_bytes=_MAX_TOKEN_BYTES)
    return content.decode(errors="replace").strip()

"""`thinkaloud serve`: runs the gateway, for this machine or for a network."""

import argparse
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from thinkaloud.canon import Refused
from thinkaloud.cli.console import EXIT_OK, EXIT_STOPPED, port, positive
from thinkaloud.cli.settings import (
    BUILTIN_MODEL,
    database_path,
    model_name,
    user_agents,
    with_builtin_model,
)
from thinkaloud.client.config import ConfigFile
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.store.file_lock import lock_path, publish_address

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway, Settings
    from thinkaloud.server.run import RunningServer, ServeOptions

DEFAULT_PORT = 8321
DEFAULT_GRACE_S = 10
DEFAULT_TURNS_PER_USER = 200
DEFAULT_READERS_PER_TURN = 100
_MAX_GRACE_S = 3600
_SERVER_PACKAGES = ("alembic", "httptools", "sqlalchemy", "starlette", "uvicorn")
_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serve`."""
    add_option = parser.add_argument
    add_option(
        "--host",
        default="127.0.0.1",
        metavar="H",
        help="address to listen on (default: 127.0.0.1, this machine only)",
    )
    add_option(
        "--port",
        type=port,
        default=DEFAULT_PORT,
        metavar="N",
        help=f"port to listen on; 0 for any free port (default: {DEFAULT_PORT})",
    )
    add_option("--auth", choices=("token",), help="require a token from every client, also on this machine")
    add_option(
        "--allow-host",
        type=_host,
        action="append",
        default=[],
        metavar="NAME",
        help="accept requests for this host name (NAME or NAME:PORT) if they have a token; can be repeated",
    )
    add_option(
        "--turns-per-user",
        type=positive,
        default=DEFAULT_TURNS_PER_USER,
        metavar="N",
        help=f"turns of one user that may run at the same time (default: {DEFAULT_TURNS_PER_USER})",
    )
    _add_limits(parser)
    add_option(
        "--log-format", choices=("text", "json"), help="log format (default: text on a terminal, else json)"
    )
    add_option(
        "--grace",
        type=_grace_seconds,
        default=DEFAULT_GRACE_S,
        metavar="S",
        help=f"seconds that running turns get to finish after a stop (default: {DEFAULT_GRACE_S})",
    )
    add_option(
        "--forget-timing-after",
        type=positive,
        metavar="DAYS",
        help="delete the timing of turns, which replays use, after DAYS (default: never)",
    )
    parser.set_defaults(run=run_serve)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    add_option = parser.add_argument
    add_option(
        "--readers-per-turn",
        type=positive,
        default=DEFAULT_READERS_PER_TURN,
        metavar="N",
        help=f"readers of one turn at the same time (default: {DEFAULT_READERS_PER_TURN})",
    )
    for name, seconds, text in (
        ("--first-byte-timeout", 600, "seconds until a provider must start to respond"),
        ("--idle-timeout", 120, "seconds that a provider may send nothing"),
        ("--progress-timeout", 600, "seconds that a provider may send nothing but comments"),
    ):
        add_option(name, type=positive, default=seconds, metavar="S", help=f"{text} (default: {seconds})")
    add_option(
        "--sync",
        choices=("normal", "full"),
        default="normal",
        help="full: wait for the disk at each commit, so that a power cut loses nothing (default: normal)",
    )


def run_serve(options: argparse.Namespace) -> int:
    """Serve until stopped. Only the address is printed to stdout, so that a script can read it."""
    with require_server_packages():
        from thinkaloud.client import Timeouts
        from thinkaloud.server import logs, run
        from thinkaloud.server.gateway import Settings
        from thinkaloud.server.limits import GatewayLimits
    address = run.ServeOptions(
        host=options.host,
        port=options.port,
        allowed_hosts=tuple(options.allow_host),
        token_required=options.auth == "token",
    )
    settings = Settings(
        limits=GatewayLimits(
            running_turns_per_user=options.turns_per_user, readers_per_turn=options.readers_per_turn
        ),
        timeouts=Timeouts(
            first_byte_s=options.first_byte_timeout,
            idle_s=options.idle_timeout,
            progress_s=options.progress_timeout,
        ),
        full_sync=options.sync == "full",
        model=os.environ.get("THINKALOUD_MODEL") or BUILTIN_MODEL,
        config_path=ConfigFile().path,
        grace_s=options.grace,
        forget_timing_after_days=options.forget_timing_after,
    )
    form = None if options.log_format is None else logs.LogFormat(options.log_format)
    logs.set_up(form)
    stopped_cleanly = run.serve(
        lambda: open_gateway(settings), address, lambda listening: _announce(listening, address)
    )
    return EXIT_OK if stopped_cleanly else EXIT_STOPPED


@asynccontextmanager
async def open_gateway(settings: "Settings") -> AsyncIterator["Gateway"]:
    """Open the gateway of this home: its database, its catalog and its agents."""
    from thinkaloud.agents.config import local_tools
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.server.gateway import Gateway
    from thinkaloud.store import sqlite

    agents = user_agents()
    toolbox = Toolbox(local_tools(agents), tuple(agents.mcp.values()))
    async with (
        sqlite.open_database(database_path(), full_sync=settings.full_sync) as database,
        with_builtin_model(load_catalog()) as catalog,
        Gateway(database, catalog, settings=settings, toolbox=toolbox, gateway_agents=agents) as gateway,
    ):
        gateway.metrics.add_gauge(
            "thinkaloud_wal_bytes", "Size of SQLite's write-ahead log.", database.wal_bytes
        )
        yield gateway


def _announce(listening: "RunningServer", address: "ServeOptions") -> None:
    from thinkaloud.server.static_files import NOT_BUILT, page_is_built

    publish_address(lock_path(database_path()), listening.url, listening.token)
    print(listening.url, flush=True)
    token_note = (
        "Every request needs a token: `Authorization: Bearer TOKEN`. Token until the gateway stops:"
        if address.token_required
        else "No token is needed on this machine. Token for access through a tunnel or proxy:"
    )
    # Elsewhere stderr is likely a log that others may read.
    token = listening.token if sys.stderr.isatty() else f"the field `token` of {lock_path(database_path())}"
    lines = [
        f"Sessions are stored in {database_path()}.",
        f"Default model: {model_name()}. `thinkaloud models` lists all models.",
        f"{token_note} {token}",
        "Create permanent tokens with `thinkaloud tokens create`.",
        "Press Ctrl-C to stop, twice to stop immediately.",
    ]
    if listening.public:
        lines.append(
            "Warning: traffic over the network is not encrypted. Put a TLS proxy in front of the gateway."
        )
    if not page_is_built():
        lines.append(NOT_BUILT)
    print(*lines, sep="\n", file=sys.stderr, flush=True)


@contextmanager
def require_server_packages() -> Iterator[None]:
    """Refuse with the install command if a package of the gateway is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SERVER_PACKAGES:
            raise
        raise Refused(
            f"The gateway needs the package {error.name}, which is not installed. "
            "Run: pip install 'thinkaloud[server]'"
        ) from None


def _host(text: str) -> str:
    if _HOST.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a host name. Give it without http://, such as example.org or example.org:8443"
    )


def _grace_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 <= seconds <= _MAX_GRACE_S:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {_MAX_GRACE_S}")

"""`thinkaloud serve`: the gateway on this machine, or on a shared one."""

import argparse
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from thinkaloud.canon import Refused
from thinkaloud.cli.console import EXIT_OK, EXIT_STOPPED, positive
from thinkaloud.cli.settings import database_path, model_name, user_agents, user_catalog, with_builtin_model

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway, Settings
    from thinkaloud.server.logs import LogFormat
    from thinkaloud.server.run import RunningServer, ServeOptions

DEFAULT_PORT = 8321
DEFAULT_GRACE_S = 10
DEFAULT_TURNS_PER_USER = 200
_MAX_PORT = 65_535
_MAX_GRACE_S = 3600
_SERVER_PACKAGES = ("alembic", "httptools", "sqlalchemy", "starlette", "uvicorn")
_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `serve`."""
    add_option = parser.add_argument
    add_option(
        "--host", default="127.0.0.1", metavar="H", help="where to listen (default: this machine only)"
    )
    add_option(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        metavar="N",
        help=f"default {DEFAULT_PORT}; 0 takes any free one",
    )
    add_option("--auth", choices=("token",), help="ask everybody for a token, also on this machine")
    add_option(
        "--allow-host",
        type=_host,
        action="append",
        default=[],
        metavar="NAME",
        help="answer to this name too, as NAME or NAME:PORT, to whoever shows a token; can be repeated",
    )
    add_option(
        "--turns-per-user",
        type=positive,
        default=DEFAULT_TURNS_PER_USER,
        metavar="N",
        help=f"how many turns of one user may run at a time (default: {DEFAULT_TURNS_PER_USER})",
    )
    add_option("--log-format", choices=("text", "json"), help="default: text on a terminal, else json")
    add_option(
        "--grace",
        type=_grace_seconds,
        default=DEFAULT_GRACE_S,
        metavar="S",
        help=f"seconds that live turns may go on when it is stopped (default: {DEFAULT_GRACE_S})",
    )
    add_option(
        "--forget-timing-after",
        type=positive,
        metavar="DAYS",
        help="keep the pace of a turn, for replays, only so long (default: for ever)",
    )
    parser.set_defaults(run=run_serve)


def run_serve(options: argparse.Namespace) -> int:
    """Serve until stopped; the address is alone on stdout, so that a script can take it."""
    with require_server_packages():
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
        limits=GatewayLimits(running_turns_per_user=options.turns_per_user),
        model=model_name(),
        grace_s=options.grace,
        forget_timing_after_days=options.forget_timing_after,
    )
    form = None if options.log_format is None else logs.LogFormat(options.log_format)
    stopped_cleanly = run.serve(
        lambda: _open_gateway(settings, form), address, lambda listening: _announce(listening, address)
    )
    return EXIT_OK if stopped_cleanly else EXIT_STOPPED


@asynccontextmanager
async def _open_gateway(settings: "Settings", form: "LogFormat | None") -> AsyncIterator["Gateway"]:
    from thinkaloud.agents.config import local_tools
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.server import logs
    from thinkaloud.server.gateway import Gateway
    from thinkaloud.store import sqlite

    logs.set_up(form)
    agents = user_agents()
    toolbox = Toolbox(local_tools(agents), tuple(agents.mcp.values()))
    async with (
        sqlite.open_database(database_path()) as database,
        with_builtin_model(user_catalog()) as catalog,
        Gateway(database, catalog, settings=settings, toolbox=toolbox, gateway_agents=agents) as gateway,
    ):
        yield gateway


def _announce(listening: "RunningServer", address: "ServeOptions") -> None:
    print(listening.url, flush=True)
    token_note = (
        "Everybody needs a token, as `Authorization: Bearer TOKEN`. One for this start:"
        if address.token_required
        else "No token is needed on this machine. One for other machines, through a tunnel or proxy:"
    )
    lines = [
        f"The gateway keeps sessions in {database_path()}.",
        f"Where nobody names a model, {model_name()} answers; `thinkaloud models` lists the others.",
        f"{token_note} {listening.token}",
        "Tokens that stay are made by `thinkaloud tokens create`. Ctrl-C stops the gateway, twice at once.",
    ]
    if listening.public:
        lines.append(
            "What it sends over the network is not encrypted: put a proxy that speaks TLS before it."
        )
    print(*lines, sep="\n", file=sys.stderr, flush=True)


@contextmanager
def require_server_packages() -> Iterator[None]:
    """Say what to install where the packages of the gateway are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SERVER_PACKAGES:
            raise
        raise Refused(
            f"The gateway needs the package {error.name}, which is not installed. "
            "Install it: pip install 'thinkaloud[server]'"
        ) from None


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= _MAX_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; use 1 to {_MAX_PORT}, or 0 for a free one")


def _host(text: str) -> str:
    if _HOST.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a name; write it as in an address, without http://: example.org or example.org:8443"
    )


def _grace_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 <= seconds <= _MAX_GRACE_S:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {_MAX_GRACE_S}")

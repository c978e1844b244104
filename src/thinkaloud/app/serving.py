"""`thinkaloud serve`: the gateway on this machine, or on a shared one."""

import argparse
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from thinkaloud.app import builtin_model
from thinkaloud.app.settings import database_path, model_name, user_agents, user_catalog
from thinkaloud.app.shared import DONE, STOPPED, positive
from thinkaloud.canon import Refused

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway, Settings
    from thinkaloud.server.logs import Form
    from thinkaloud.server.serving import Address, Listening

PORT = 8321
GRACE_S = 10
TURNS_PER_USER = 200
_LAST_PORT = 65_535
_LONGEST_GRACE_S = 3600
_EXTRA = ("alembic", "httptools", "sqlalchemy", "starlette", "uvicorn")
_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `serve`."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="H", help="where to listen (default: this machine only)")
    add("--port", type=_port, default=PORT, metavar="N", help=f"default {PORT}; 0 takes any free one")
    add("--auth", choices=("token",), help="ask everybody for a token, also on this machine")
    add(
        "--allow-host",
        type=_host,
        action="append",
        default=[],
        metavar="NAME",
        help="answer to this name too, as NAME or NAME:PORT, to whoever shows a token; can be repeated",
    )
    add(
        "--turns-per-user",
        type=positive,
        default=TURNS_PER_USER,
        metavar="N",
        help=f"how many turns of one user may run at a time (default: {TURNS_PER_USER})",
    )
    add("--log-format", choices=("text", "json"), help="default: text on a terminal, else json")
    add(
        "--grace",
        type=_seconds,
        default=GRACE_S,
        metavar="S",
        help=f"seconds that live turns may go on when it is stopped (default: {GRACE_S})",
    )
    add(
        "--forget-timing-after",
        type=positive,
        metavar="DAYS",
        help="keep the pace of a turn, for replays, only so long (default: for ever)",
    )
    parser.set_defaults(run=serve)


def serve(options: argparse.Namespace) -> int:
    """Serve until stopped; the address is alone on stdout, so that a script can take it."""
    with server_extra():
        from thinkaloud.server import logs, serving
        from thinkaloud.server.gateway import Settings
        from thinkaloud.server.limits import Limits
    address = serving.Address(
        host=options.host,
        port=options.port,
        allowed_hosts=tuple(options.allow_host),
        token_required=options.auth == "token",
    )
    settings = Settings(
        limits=Limits(running_turns_per_user=options.turns_per_user),
        model=model_name(),
        grace_s=options.grace,
        forget_timing_after_days=options.forget_timing_after,
    )
    form = None if options.log_format is None else logs.Form(options.log_format)
    in_order = serving.serve(
        lambda: _opened(settings, form), address, lambda place: _announce(place, address)
    )
    return DONE if in_order else STOPPED


@asynccontextmanager
async def _opened(settings: "Settings", form: "Form | None") -> AsyncIterator["Gateway"]:
    from thinkaloud.agents.files import local_tools
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.server import logs
    from thinkaloud.server.gateway import Gateway
    from thinkaloud.store import sqlite

    logs.set_up(form)
    agents = user_agents()
    toolbox = Toolbox(local_tools(agents), tuple(agents.mcp.values()))
    async with (
        sqlite.opened(database_path()) as database,
        builtin_model.reachable(user_catalog()) as catalog,
        Gateway(database, catalog, settings=settings, toolbox=toolbox, own_agents=agents) as gateway,
    ):
        yield gateway


def _announce(place: "Listening", address: "Address") -> None:
    from thinkaloud.server import page

    print(place.url, flush=True)
    who = (
        "Everybody needs a token, as `Authorization: Bearer TOKEN`. One for this start:"
        if address.token_required
        else "No token is needed on this machine. One for other machines, through a tunnel or proxy:"
    )
    told = [
        f"The gateway keeps sessions in {database_path()}.",
        f"Where nobody names a model, {model_name()} answers; `thinkaloud models` lists the others.",
        f"{who} {place.token}",
        "Tokens that stay are made by `thinkaloud tokens create`. Ctrl-C stops the gateway, twice at once.",
    ]
    if place.public:
        told.append("What it sends over the network is not encrypted: put a proxy that speaks TLS before it.")
    if not page.built():
        told.append(page.NOT_BUILT)
    print(*told, sep="\n", file=sys.stderr, flush=True)


@contextmanager
def server_extra() -> Iterator[None]:
    """Say what to install where the packages of the gateway are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise Refused(
            f"The gateway needs the package {error.name}, which is not installed. "
            "Install it: pip install 'thinkaloud[server]'"
        ) from None


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= _LAST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; use 1 to {_LAST_PORT}, or 0 for a free one")


def _host(text: str) -> str:
    if _HOST.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a name; write it as in an address, without http://: example.org or example.org:8443"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 <= seconds <= _LONGEST_GRACE_S:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {_LONGEST_GRACE_S}")

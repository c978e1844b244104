"""`thinkaloud serve`: runs the gateway, for this machine or for a network."""

import argparse
import os
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from thinkaloud.cli import EXIT_STOPPED
from thinkaloud.cli.commands.workers import SQLITE_REFUSED, serve_workers
from thinkaloud.cli.database import database_url, open_home_database
from thinkaloud.cli.output.console import EXIT_OK, in_users_language, invalid_value, port, positive
from thinkaloud.cli.settings import (
    BUILTIN_MODEL,
    database_path,
    model_name,
    user_agents,
    with_builtin_model,
)
from thinkaloud.client.config import ConfigFile
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import Refused
from thinkaloud.core.export.span_attributes import SpanContent
from thinkaloud.core.export.spans import SpanOptions
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path, publish_address

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway, Settings
    from thinkaloud.gateway.server.run import RunningServer, ServeOptions

DEFAULT_PORT = 8321
DEFAULT_GRACE_S = 10
DEFAULT_TURNS_PER_USER = 200
DEFAULT_READERS_PER_TURN = 100
_MAX_GRACE_S = 3600
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
        help="port to listen on; 0 for any free port (default: %(default)s)",
    )
    add_option(
        "--database",
        metavar="URL",
        default="",
        help="the PostgreSQL to use, postgresql://..., shared with other gateways (default: "
        "THINKALOUD_DATABASE, else your setting, else a SQLite file of your own)",
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
        help="turns of one user that may run at the same time (default: %(default)s)",
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
        help="seconds that running turns get to finish after a stop (default: %(default)s)",
    )
    add_option(
        "--forget-timing-after",
        type=positive,
        metavar="DAYS",
        help="delete the timing of turns, which replays use, after DAYS (default: never)",
    )
    _add_trace_options(parser)
    parser.set_defaults(run=run_serve)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    add_option = parser.add_argument
    add_option(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that serve the port, to use N cores; more than 1 needs PostgreSQL (default: 1)",
    )
    add_option(
        "--readers-per-turn",
        type=positive,
        default=DEFAULT_READERS_PER_TURN,
        metavar="N",
        help="readers of one turn at the same time (default: %(default)s)",
    )
    for name, seconds, text in (
        ("--first-byte-timeout", 600, "seconds until a provider must start to respond"),
        ("--idle-timeout", 120, "seconds that a provider may send nothing"),
        ("--progress-timeout", 600, "seconds that a provider may send nothing but comments"),
    ):
        add_option(name, type=positive, default=seconds, metavar="S", help=f"{text} (default: %(default)s)")
    add_option(
        "--sync",
        choices=("normal", "full"),
        default="normal",
        help="full: wait for the disk at each commit, so that a power cut loses nothing (default: normal)",
    )


def _add_trace_options(parser: argparse.ArgumentParser) -> None:
    add_option = parser.add_argument
    add_option(
        "--trace-content",
        choices=tuple(content.value for content in SpanContent if content is not SpanContent.SEALS),
        default=SpanContent.NONE.value,
        help="what the spans of running turns hold of their texts, if the process uses OpenTelemetry: "
        "messages without thoughts, or thoughts as well (default: none)",
    )
    add_option(
        "--trace-openinference",
        action="store_true",
        help="name everything in the spans of running turns as OpenInference does, too",
    )


def run_serve(options: argparse.Namespace) -> int:
    """Serve until stopped. Only the address is printed to stdout, so that a script can read it."""
    from thinkaloud.gateway.server import run
    from thinkaloud.gateway.server.http.auth import new_start_token

    address = run.ServeOptions(
        host=options.host,
        port=options.port,
        allowed_hosts=tuple(options.allow_host),
        token_required=options.auth == "token",
        start_token=new_start_token(),
    )
    url = database_url(options.database)

    def announce(listening: "RunningServer") -> None:
        _print_address(listening, address, url)

    if options.workers == 1:
        return _serve_one(options, address, url, None, announce)
    if not url:
        raise Refused(wording=SQLITE_REFUSED)
    with run.bind_socket(address) as sock:
        return serve_workers(options.workers, sock, partial(_serve_one, options, address, url), announce)


def _serve_one(
    options: argparse.Namespace,
    address: "ServeOptions",
    url: str,
    sock: socket.socket | None,
    announce: Callable[["RunningServer"], None],
) -> int:
    """Serve in this process until stopped."""
    from thinkaloud.client import Timeouts
    from thinkaloud.gateway.server import logs, run
    from thinkaloud.gateway.server.gateway import Settings
    from thinkaloud.gateway.server.http.limits import GatewayLimits

    config = ConfigFile()
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
        title_model=config.read().text("title_model"),
        config_path=config.path,
        grace_s=options.grace,
        trace=SpanOptions(SpanContent(options.trace_content), options.trace_openinference),
        forget_timing_after_days=options.forget_timing_after,
    )
    form = None if options.log_format is None else logs.LogFormat(options.log_format)
    logs.set_up(form)

    def publish_and_announce(listening: "RunningServer") -> None:
        _publish_address(listening)
        announce(listening)

    stopped_cleanly = run.serve(lambda: open_gateway(settings, url), address, publish_and_announce, sock)
    return EXIT_OK if stopped_cleanly else EXIT_STOPPED


@asynccontextmanager
async def open_gateway(settings: "Settings", url: str) -> AsyncIterator["Gateway"]:
    """Open the gateway of this home: its database, its catalog and its agents."""
    from thinkaloud.agents.config import local_tools
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.gateway.server.gateway import Gateway
    from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase

    agents = user_agents()
    toolbox = Toolbox(local_tools(agents), tuple(agents.mcp.values()))
    async with (
        open_home_database(url, full_sync=settings.full_sync) as database,
        with_builtin_model(load_catalog()) as catalog,
        Gateway(database, catalog, settings=settings, toolbox=toolbox, gateway_agents=agents) as gateway,
    ):
        if isinstance(database, SqliteDatabase):
            gateway.metrics.add_gauge(
                "thinkaloud_wal_bytes", "Size of SQLite's write-ahead log.", database.wal_bytes
            )
        else:
            _add_postgres_gauges(gateway)
        yield gateway


def _add_postgres_gauges(gateway: "Gateway") -> None:
    from thinkaloud.gateway.store.engine.postgres import PostgresDatabase

    database = gateway.database
    if isinstance(database, PostgresDatabase):
        gateway.metrics.add_gauge(
            "thinkaloud_database_waiting",
            "Queries that wait for a connection to PostgreSQL.",
            lambda: database.waiting_queries,
        )
        gateway.metrics.add_gauge(
            "thinkaloud_listening",
            "1 while notifications of PostgreSQL arrive, 0 while turns of other gateways are polled.",
            lambda: database.listener.connected,
        )


def _publish_address(listening: "RunningServer") -> None:
    """Tell other commands of this home where the gateway is, if this process holds the lock."""
    path = lock_path(database_path())
    if (holder := lock_holder(path)) is not None and holder.pid == os.getpid():
        publish_address(path, listening.url, listening.token)


def _print_address(listening: "RunningServer", address: "ServeOptions", url: str) -> None:
    from thinkaloud.gateway.server.http.static_files import NOT_BUILT, page_is_built

    path = lock_path(database_path())
    print(listening.url, flush=True)
    token_note = "No token is needed on this machine. Token for access through a tunnel or proxy:"
    if address.token_required:
        token_note = (
            "Every request needs a token: `Authorization: Bearer TOKEN`. Token until the gateway stops:"
        )
    # Elsewhere stderr is likely a log that others may read.
    token = listening.token if sys.stderr.isatty() else f"the field `token` of {path}"
    lines = [
        f"Sessions are stored in {_stored_in(url)}.",
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
        lines.append(in_users_language(NOT_BUILT))
    print(*lines, sep="\n", file=sys.stderr, flush=True)


def _stored_in(url: str) -> str:
    if not url:
        return str(database_path())
    from thinkaloud.gateway.store.engine.postgres_connect import public_name

    return f"the {public_name(url)}"


def _host(text: str) -> str:
    if _HOST.fullmatch(text):
        return text
    raise invalid_value(
        "{value} is not a host name. Give it without http://, such as example.org or example.org:8443",
        value=repr(text),
    )


def _grace_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 <= seconds <= _MAX_GRACE_S:
        return seconds
    raise invalid_value(
        "{value} is not a number of seconds from 0 to {highest}", value=repr(text), highest=_MAX_GRACE_S
    )

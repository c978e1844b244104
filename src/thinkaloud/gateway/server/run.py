"""Serves a gateway on a port: bind, open, announce, and stop in order.

On the first signal the gateway reports that it is not ready, running turns get a grace period, readers are
disconnected, and the port is closed. On the second signal the same happens without the grace period.
"""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn
from starlette.types import ASGIApp

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.gateway.server.http.app import create_app
from thinkaloud.gateway.server.http.auth import (
    ALL_INTERFACES,
    ListenConfig,
    hash_token,
    loopback_address,
    new_start_token,
)
from thinkaloud.gateway.server.http.http_limits import LimitedHttpProtocol
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.http.route import ApiRoute
from thinkaloud.gateway.server.http.routes import ROUTES

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

BACKLOG = 1024
"""Connections waiting to be accepted. After a restart a thousand readers may reconnect at once."""
KEEP_ALIVE_S = 30
SHUTDOWN_TIMEOUT_S = 1
"""How long responses in progress may continue after the port is closed."""

SWITCH_INTERVAL_S = 0.001
"""How soon a waiting thread gets the interpreter. A database thread waits for it at every statement: with the
default of 5 ms, a transaction of ten statements would wait 50 ms under load."""

GC_THRESHOLD = 10_000
"""Python looks for unreachable cycles after this many new objects. Its default of 700 costs a busy gateway a
tenth of its time."""

_DEAD_PEER_OPTIONS = {
    "TCP_USER_TIMEOUT": 25_000,
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 4,
}
"""A reader that vanished without a word is noticed 25 s after the first byte that it does not acknowledge.
With a heartbeat every 15 s that is within 45 s; without one, keepalive probes do the same."""

OpenGateway = Callable[[], AbstractAsyncContextManager["Gateway"]]


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where to listen and which callers to accept. Port 0 means any free port."""

    host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    token_required: bool = False
    start_token: str = ""
    """The token that holds until the gateway stops; empty for a new one. Workers share one."""


LOCAL_ONLY = ServeOptions()
"""This machine only, on any free port."""


class RunningServer(msgspec.Struct, frozen=True):
    """The address of a gateway that is serving. `token` authenticates the local user until it stops."""

    url: str
    port: int
    token: str
    public: bool
    """Whether other machines can reach it."""


def serve(
    open_gateway: OpenGateway,
    options: ServeOptions,
    announce: Callable[[RunningServer], None],
    sock: socket.socket | None = None,
) -> bool:
    """Serve until a stop signal, on this socket or on one of its own.

    Return False if a second signal cut the grace period short.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(GC_THRESHOLD)
    listening = bind_socket(options) if sock is None else nullcontext(sock)
    with listening as bound_socket, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve_until_signal(open_gateway, options, bound_socket, announce))


@contextmanager
def bind_socket(options: ServeOptions) -> Iterator[socket.socket]:
    """Bind the port, before the database is opened. Refuse a public address without tokens."""
    try:
        addresses = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise Refused(
            "{host} is not an address of this machine: {reason}. Use --host with one of its "
            "addresses, or 127.0.0.1 to serve this machine only.",
            host=repr(options.host),
            reason=reason_of(error),
        ) from None
    family, socket_type, protocol, _, socket_address = addresses[0]
    if not loopback_address(str(socket_address[0])) and not options.token_required:
        raise Refused(
            "Other machines can reach {host}, and without tokens every caller could read and write "
            "all sessions. Add --auth token, or leave out --host to serve this machine only.",
            host=options.host,
        )
    # asyncio sets TCP_NODELAY only on sockets whose protocol is IPPROTO_TCP. Without it, small events of a
    # stream would wait for Nagle's algorithm.
    with socket.socket(family, socket_type, protocol) as sock:
        if os.name == "posix":  # on Windows this option lets two processes listen on the same port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for option, value in _DEAD_PEER_OPTIONS.items():
            if hasattr(socket, option):  # Linux has all of them; accepted connections inherit them
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            sock.bind(socket_address)
        except OSError as error:
            raise Refused(
                "Cannot listen on port {port} of {host}: {reason}. Stop the process that uses it, or "
                "choose another with --port; --port 0 takes any free port.",
                port=options.port,
                host=options.host,
                reason=reason_of(error),
            ) from None
        yield sock


@asynccontextmanager
async def start_server(
    gateway: "Gateway",
    options: ServeOptions = LOCAL_ONLY,
    *,
    sock: socket.socket | None = None,
    routes: Sequence[ApiRoute] = ROUTES,
) -> AsyncIterator[RunningServer]:
    """Serve an open gateway on a port until the block ends."""
    if sock is None:
        with bind_socket(options) as bound_socket:
            async with start_server(gateway, options, sock=bound_socket, routes=routes) as running_server:
                yield running_server
        return
    port, token = sock.getsockname()[1], options.start_token or new_start_token()
    config = ListenConfig(
        bound_host=options.host,
        port=port,
        allowed_hosts=options.allowed_hosts,
        token_required=options.token_required,
        start_token_hash=hash_token(token),
    )
    server = _Server(_uvicorn_config(create_app(gateway, config, routes), gateway.settings.limits))
    server_task = asyncio.create_task(server.serve(sockets=[sock]), name="thinkaloud-http")
    try:
        listening_task = asyncio.create_task(server.listening_event.wait())
        await asyncio.wait((server_task, listening_task), return_when=asyncio.FIRST_COMPLETED)
        listening_task.cancel()
        if server_task.done():
            server_task.result()
        yield RunningServer(
            _url(options.host, port), port, token, public=not loopback_address(sock.getsockname()[0])
        )
    finally:
        server.should_exit = True
        await server_task


async def _serve_until_signal(
    open_gateway: OpenGateway,
    options: ServeOptions,
    sock: socket.socket,
    announce: Callable[[RunningServer], None],
) -> bool:
    with _stop_signals() as signals:
        async with open_gateway() as gateway, start_server(gateway, options, sock=sock) as running_server:
            # What is loaded now stays. Without this, each full collection looks through all of it, and every
            # thread waits for 100 ms and more.
            gc.collect()
            gc.freeze()
            announce(running_server)
            await signals.get()
            stop_task, second_signal = asyncio.create_task(gateway.stop()), asyncio.create_task(signals.get())
            await asyncio.wait((stop_task, second_signal), return_when=asyncio.FIRST_COMPLETED)
            if second_signal.done():
                stop_task.cancel()
                await gateway.turns.stop(0)
                await gateway.stop()
                return False
            second_signal.cancel()
            stop_task.result()
        return True


@contextmanager
def _stop_signals() -> Iterator[asyncio.Queue[int]]:
    """Queue SIGINT and SIGTERM. After the second signal the previous handlers are restored."""
    signal_queue: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    previous_handlers: dict[int, Any] = {}
    received: list[int] = []

    def restore() -> None:
        while previous_handlers:
            signal.signal(*previous_handlers.popitem())

    def handle_signal(number: int, frame: FrameType | None) -> None:
        if received:
            restore()
        received.append(number)
        loop.call_soon_threadsafe(signal_queue.put_nowait, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        previous_handlers[number] = signal.signal(number, handle_signal)
    try:
        yield signal_queue
    finally:
        restore()


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals alone and is stopped by `should_exit`."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening_event = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then set the event."""
        await super().startup(sockets)
        self.listening_event.set()


def _uvicorn_config(app: ASGIApp, limits: GatewayLimits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedHttpProtocol.with_limits(limits),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # a proxied client needs a token: see auth.PROXY_HEADERS
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def _url(host: str, port: int) -> str:
    if host in ALL_INTERFACES:  # not an address that a browser can open
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

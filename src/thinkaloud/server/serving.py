"""The gateway on a port: bound first, announced when it answers, and stopped in order.

On the first signal it is not ready any more, live turns get their time to end, readers are let go, and the
port is closed; on the second all that is done at once.
"""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn
from starlette.types import ASGIApp

from thinkaloud.canon import Refused
from thinkaloud.server.access import EVERYWHERE, Entrance, hashed, loopback, new_start_token
from thinkaloud.server.door import application
from thinkaloud.server.limits import Limits
from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import Route

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

BACKLOG = 1024
"""Connections that wait to be taken: a thousand readers that come back at once after a restart."""
KEEP_ALIVE_S = 30
LET_GO_S = 1
"""How long answers that have begun may go on after the port is closed."""

Opening = Callable[[], AbstractAsyncContextManager["Gateway"]]


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where to listen and who may come; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    token_required: bool = False


HERE = Address()
"""This machine only, on any free port."""


class Listening(msgspec.Struct, frozen=True):
    """A gateway that answers; `token` is the one of this start, to be shown once."""

    url: str
    port: int
    token: str
    public: bool
    """Whether other machines can reach it by themselves."""


def serve(opening: Opening, address: Address, announce: Callable[[Listening], None]) -> bool:
    """Serve until a signal says to stop; whether there was time to stop in order."""
    with bound(address) as sock, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(opening, address, sock, announce))


@contextmanager
def bound(address: Address) -> Iterator[socket.socket]:
    """The port, taken before anything else is touched. Refuses an open door on a public address."""
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise Refused(
            f"{address.host!r} is no address of this machine: {error.strerror}. Use --host with one of its "
            "addresses; 127.0.0.1 is the machine itself."
        ) from None
    family, kind, protocol, _, place = found[0]
    if not loopback(str(place[0])) and not address.token_required:
        raise Refused(
            f"Other machines can reach {address.host}, and without a token everybody there could read and "
            "write all sessions. Add --auth token, or leave --host out to serve this machine only."
        )
    # With its protocol named, connections are known for TCP's, and nothing they send waits for more.
    with socket.socket(family, kind, protocol) as sock:
        if os.name == "posix":  # elsewhere it would let two processes listen on one port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(place)
        except OSError as error:
            raise Refused(
                f"Port {address.port} of {address.host} cannot be listened on: {error.strerror}. Stop what "
                "uses it, or name another with --port; --port 0 takes any that is free."
            ) from None
        yield sock


@asynccontextmanager
async def listening(
    gateway: "Gateway",
    address: Address = HERE,
    *,
    sock: socket.socket | None = None,
    routes: Sequence[Route] = ROUTES,
) -> AsyncIterator[Listening]:
    """A gateway that is open answers on a port until the block ends."""
    if sock is None:
        with bound(address) as taken:
            async with listening(gateway, address, sock=taken, routes=routes) as place:
                yield place
        return
    port, token = sock.getsockname()[1], new_start_token()
    entrance = Entrance(
        bound_host=address.host,
        port=port,
        allowed_hosts=address.allowed_hosts,
        token_required=address.token_required,
        start_token=hashed(token),
    )
    server = _Server(_config(application(gateway, entrance, routes), gateway.settings.limits))
    running = asyncio.create_task(server.serve(sockets=[sock]), name="thinkaloud-http")
    try:
        listens = asyncio.create_task(server.listens.wait())
        await asyncio.wait((running, listens), return_when=asyncio.FIRST_COMPLETED)
        listens.cancel()
        if running.done():
            running.result()
        yield Listening(_url(address.host, port), port, token, public=not loopback(sock.getsockname()[0]))
    finally:
        server.should_exit = True
        await running


async def _serve(
    opening: Opening, address: Address, sock: socket.socket, announce: Callable[[Listening], None]
) -> bool:
    with _signals() as told:
        async with opening() as gateway, listening(gateway, address, sock=sock) as place:
            announce(place)
            await told.get()
            stopping, again = asyncio.create_task(gateway.stop()), asyncio.create_task(told.get())
            await asyncio.wait((stopping, again), return_when=asyncio.FIRST_COMPLETED)
            if again.done():
                stopping.cancel()
                await gateway.runs.stop(0)
                await gateway.stop()
                return False
            again.cancel()
            stopping.result()
        return True


@contextmanager
def _signals() -> Iterator[asyncio.Queue[int]]:
    """Signals to stop, as they come; from the third on they do what they do without us."""
    told: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}
    taken: list[int] = []

    def restore() -> None:
        while before:
            signal.signal(*before.popitem())

    def take(number: int, frame: FrameType | None) -> None:
        if taken:
            restore()
        taken.append(number)
        loop.call_soon_threadsafe(told.put_nowait, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, take)
    try:
        yield told
    finally:
        restore()


class _Server(uvicorn.Server):
    """uvicorn, told when to stop by us and not by signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self.listens.set()


def _config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_http(limits),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever they speak for must show a token: see access.FORWARDED
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=LET_GO_S,
        h11_max_incomplete_event_size=limits.header_bytes,
    )


def _http(limits: Limits) -> Any:
    try:
        from thinkaloud.server.bounded_http import BoundedHttp
    except ModuleNotFoundError as error:
        if error.name != "httptools":
            raise
        return "h11"  # slower, with a bound of its own
    return BoundedHttp.within(limits)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def _url(host: str, port: int) -> str:
    if host in EVERYWHERE:  # which is no address that anybody could go to
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

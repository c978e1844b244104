"""Serves HTTP on the loopback address: the one server behind the simulators and the built-in model."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from aiohttp import web

HOST = "127.0.0.1"
_PASSES_TO_ACCEPT = 4
"""Passes of the event loop: one sees the connection, one accepts it, one makes it, one tells the protocol."""
_REQUEST_LINE = re.compile(rb"[A-Z]+ \S+ HTTP/1\.[01]\r\n")
_USER_AGENT = re.compile(rb"(?im)^user-agent:[^\n]*\n")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def url_of(port: int) -> str:
    """Returns the address of a server on a port."""
    return f"http://{HOST}:{port}"


@asynccontextmanager
async def listen(
    handler: Handler, *, port: int = 0, sock: socket.socket | None = None, max_body_bytes: int
) -> AsyncIterator[int]:
    """Serves every request with one handler until the block ends; yields the port, a free one for 0.

    `sock` is a socket that listens already, if there is one.
    """
    app = web.Application(client_max_size=max_body_bytes)
    app.router.add_route("*", "/{path:.*}", handler)
    # A handler is cancelled when its client disconnects, so a stream that nobody reads stops at once.
    options: dict[str, Any] = {"handle_signals": False, "handler_cancellation": True, "shutdown_timeout": 0.1}
    runner = web.AppRunner(app, access_log=None, **options)
    await runner.setup()
    transports: set[asyncio.BaseTransport] = set()
    try:
        place: dict[str, Any] = {"host": HOST, "port": port} if sock is None else {"sock": sock}
        server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(_new_protocol(runner), transports), **place
        )
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            # A connection that waits is accepted and made in these passes; a closed server would lose it.
            for _ in range(_PASSES_TO_ACCEPT):
                await asyncio.sleep(0)
            # Only this: since Python 3.12, `async with server` also waits until every client has hung up, and
            # one that keeps its connection for the next request never does. What is open is closed below.
            server.close()
    finally:
        await runner.cleanup()
        # aiohttp leaves a connection open whose client does not read what was sent last.
        for transport in tuple(transports):
            cast(asyncio.Transport, transport).abort()
        await asyncio.sleep(0)


def _new_protocol(runner: web.AppRunner) -> asyncio.Protocol:
    assert runner.server is not None, "the runner is set up"
    return runner.server()


class _Connection(asyncio.Protocol):
    """Passes a connection on to aiohttp, which refuses a second User-Agent. Providers accept it."""

    def __init__(self, protocol: asyncio.Protocol, transports: set[asyncio.BaseTransport]) -> None:
        self._protocol = protocol
        self._transports = transports
        self._transport: asyncio.BaseTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Pass it on, and remember that it is open."""
        self._transport = transport
        self._transports.add(transport)
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self._transports.discard(self._transport)
        self._protocol.connection_lost(exc)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        """Pass it on."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._protocol.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Remove all but the last User-Agent of a request."""
        if _REQUEST_LINE.match(data):
            head, end, rest = data.partition(b"\r\n\r\n")
            for _ in _USER_AGENT.findall(head + b"\n")[1:]:
                head = _USER_AGENT.sub(b"", head, count=1)
            data = head + end + rest
        self._protocol.data_received(data)

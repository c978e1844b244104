"""Serves HTTP on the loopback address: the one server behind the simulators and the built-in model."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

HOST = "127.0.0.1"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def url_of(port: int) -> str:
    """Returns the address of a server on a port."""
    return f"http://{HOST}:{port}"


@asynccontextmanager
async def listen(handler: Handler, *, port: int = 0, max_body_bytes: int) -> AsyncIterator[int]:
    """Serves every request with one handler until the block ends; yields the port, a free one for 0."""
    app = web.Application(client_max_size=max_body_bytes)
    app.router.add_route("*", "/{path:.*}", handler)
    # A handler is cancelled when its client disconnects, so a stream that nobody reads stops at once.
    options: dict[str, Any] = {"handle_signals": False, "handler_cancellation": True, "shutdown_timeout": 0.1}
    runner = web.AppRunner(app, access_log=None, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()

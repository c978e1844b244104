"""Relays that the gateway is compared with: they pass a provider's stream on, and read and store nothing.

`python -m benchmarks.relays NAME PROVIDER_PORT PORT` serves one. Each does the same with the libraries of
its name, so it shows what those libraries cost alone.
"""

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import aiohttp
import httptools
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from uvloop import new_event_loop

RESPONSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REQUEST_HEAD = (
    b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
)


class _Upstream(asyncio.Protocol):
    """A kept-alive connection to the provider, used by one request at a time."""

    def __init__(self, idle: deque["_Upstream"]) -> None:
        self._idle = idle
        self._parser = httptools.HttpResponseParser(self)
        self.transport: asyncio.Transport
        self.client: _RelayProtocol | None = None
        self._pieces: list[bytes] = []
        self._complete = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._pieces = []
        self._parser.feed_data(data)
        if self._pieces and self.client is not None:
            self.client.send_body(b"".join(self._pieces))
        if self._complete:
            self._finish()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        self._complete = True

    def _finish(self) -> None:
        client, self.client = self.client, None
        self._parser = httptools.HttpResponseParser(self)
        self._complete = False
        self._idle.append(self)
        if client is not None:
            client.end_body()


class _RelayProtocol(asyncio.Protocol):
    """A connection of a client."""

    def __init__(self, port: int, idle: deque[_Upstream]) -> None:
        self._port = port
        self._idle = idle
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._path = b""
        self._body = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path = url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        body, self._body = bytes(self._body), bytearray()
        request = REQUEST_HEAD % (self._path, len(body)) + body
        self._transport.write(RESPONSE_HEAD)
        if self._idle:
            self._send(self._idle.pop(), request)
        else:
            self._task = asyncio.ensure_future(self._connect(request))

    async def _connect(self, request: bytes) -> None:
        loop = asyncio.get_running_loop()
        _, upstream = await loop.create_connection(lambda: _Upstream(self._idle), "127.0.0.1", self._port)
        self._send(upstream, request)

    def _send(self, upstream: _Upstream, request: bytes) -> None:
        upstream.client = self
        upstream.transport.write(request)

    def send_body(self, data: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_body(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport.write(b"0\r\n\r\n")


async def serve_raw(provider_port: int, port: int) -> None:
    """Relay with asyncio's protocols and httptools: about the least that Python can do."""
    idle: deque[_Upstream] = deque()
    server = await asyncio.get_running_loop().create_server(
        lambda: _RelayProtocol(provider_port, idle), "127.0.0.1", port, backlog=1024
    )
    await server.serve_forever()


async def serve_starlette(provider_port: int, port: int) -> None:
    """Relay with Starlette, uvicorn and aiohttp, as most gateways in Python are written."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def respond(request: Request) -> StreamingResponse:
            body = await request.body()
            upstream = await session.post(f"http://127.0.0.1:{provider_port}{request.url.path}", data=body)

            async def chunks() -> AsyncIterator[bytes]:
                async for chunk in upstream.content.iter_any():
                    yield chunk

            return StreamingResponse(chunks(), media_type="text/event-stream")

        app = Starlette(routes=[Route("/{path:path}", respond, methods=["POST"])])
        config = uvicorn.Config(app, port=port, log_config=None, access_log=False, lifespan="off")
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    relay = serve_raw if sys.argv[1] == "raw" else serve_starlette
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(relay(int(sys.argv[2]), int(sys.argv[3])))

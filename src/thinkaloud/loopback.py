"""Serves HTTP/1.1 on the loopback address: the one server behind the simulators and the built-in model.

The requests of a connection are answered one after the other. A response is cancelled when its client
disconnects, so a stream that nobody reads stops at once. Parsing is left to `httptools`.
"""

import asyncio
import logging
import socket
import struct
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import httptools
import msgspec

HOST = "127.0.0.1"
_PASSES_TO_ACCEPT = 4
"""Passes of the event loop: one sees the connection, one accepts it, one makes it, one tells the protocol."""
_LEAVE_S = 0.1
"""How long responses under way may continue when the server stops."""
_MAX_HEAD_BYTES = 256 * 1024
_MAX_WAITING = 16
"""Requests that a client may send before the first one is answered."""
_RESET = struct.pack("ii", 1, 0)
"""The option `SO_LINGER` with which a socket is reset when it is closed."""

logger = logging.getLogger(__name__)


class ServerRequest(NamedTuple):
    """A request. Names of headers are in lower case; of two with one name the last counts."""

    method: str
    target: str
    """Path and query as received."""
    headers: dict[str, str]
    body: bytes
    truncated: bool
    """Whether the body was larger than the server reads. The rest of it was discarded."""
    keep_alive: bool
    chunked: bool
    """Whether the client knows chunks. HTTP/1.0 ends a response with its connection."""

    @property
    def path(self) -> str:
        """The path, decoded."""
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the query."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


class ServerResponse(msgspec.Struct):
    """A response, whose body is whole or is sent piece by piece."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes | AsyncGenerator[bytes, None] = b""


class ConnectionCut(Exception):
    """Raised by the body of a response: the connection is reset here, instead of an orderly end."""


Handler = Callable[[ServerRequest], Awaitable[ServerResponse]]


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
    connections: set[_Connection] = set()
    place: dict[str, Any] = {"host": HOST, "port": port} if sock is None else {"sock": sock}
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(handler, connections, max_body_bytes), **place
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
        tasks = [connection.task for connection in connections if connection.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=_LEAVE_S)
        for connection in tuple(connections):
            connection.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, handler: Handler, connections: set["_Connection"], max_body_bytes: int) -> None:
        self.transport: asyncio.Transport
        self.task: asyncio.Task[None] | None = None
        self._handler = handler
        self._connections = connections
        self._max_body_bytes = max_body_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[ServerRequest] = deque()
        self._writable = asyncio.Event()
        self._writable.set()
        self._start_message()

    def _start_message(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._body = bytearray()
        self._truncated = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember that it is open."""
        self.transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the response: nobody reads it."""
        self._connections.discard(self)
        self._writable.set()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        """Let the response wait: the client reads slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let the response continue."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Parse what arrived."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # another protocol is offered, and not taken
        except httptools.HttpParserError as error:
            if self.task is None:
                self._write_head(ServerResponse(400), [b"connection: close"])
                self.transport.write(f"This is not a request: {error}\n".encode())
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request. Called by the parser, as the methods below."""
        self._start_message()

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        self._target += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("utf-8", "surrogateescape")
        self._count_head(len(name) + len(value))

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > _MAX_HEAD_BYTES:
            raise ValueError("its head is too long")

    def on_headers_complete(self) -> None:
        """Ask for the body, if the client waits for that."""
        if self._headers.get("expect", "").lower() == "100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._truncated = self._truncated or len(self._body) + len(body) > self._max_body_bytes
        if not self._truncated:
            self._body += body

    def on_message_complete(self) -> None:
        """Answer the request, after those before it."""
        request = ServerRequest(
            method=self._parser.get_method().decode(),
            target=self._target.decode("utf-8", "surrogateescape"),
            headers=self._headers,
            body=bytes(self._body),
            truncated=self._truncated,
            keep_alive=self._parser.should_keep_alive(),
            chunked=self._parser.get_http_version() != "1.0",
        )
        self._waiting.append(request)
        if len(self._waiting) > _MAX_WAITING:
            self.transport.abort()
        elif self.task is None:
            self.task = asyncio.create_task(self._answer_all())

    async def _answer_all(self) -> None:
        try:
            while self._waiting and not self.transport.is_closing():
                await self._answer(self._waiting.popleft())
        finally:
            self.task = None

    async def _answer(self, request: ServerRequest) -> None:
        try:
            response = await self._handler(request)
        except Exception:
            logger.exception("%s %s could not be answered", request.method, request.target)
            response = ServerResponse(500, body=b"Internal error of this server.\n")
        if isinstance(response.body, bytes):
            self._write_whole(request, response, response.body)
        else:
            await self._write_stream(request, response, response.body)
        if not request.keep_alive:
            self.transport.close()

    def _write_whole(self, request: ServerRequest, response: ServerResponse, body: bytes) -> None:
        fields = [b"content-length: %d" % len(body)]
        if not request.keep_alive:
            fields.append(b"connection: close")
        self._write_head(response, fields)
        if request.method != "HEAD":
            self.transport.write(body)

    async def _write_stream(
        self, request: ServerRequest, response: ServerResponse, body: AsyncGenerator[bytes, None]
    ) -> None:
        fields = [b"transfer-encoding: chunked"] if request.chunked else []
        if not request.keep_alive:
            fields.append(b"connection: close")
        self._write_head(response, fields)
        try:
            async with aclosing(body) as pieces:
                async for piece in pieces:
                    if request.chunked and piece:  # an empty chunk would be the end
                        piece = b"%x\r\n%b\r\n" % (len(piece), piece)
                    self.transport.write(piece)
                    await self._writable.wait()
        except ConnectionCut:
            await self._reset()
        except Exception:
            logger.exception("the response to %s %s broke off", request.method, request.target)
            self.transport.abort()
        else:
            if request.chunked:
                self.transport.write(b"0\r\n\r\n")
            else:
                self.transport.close()

    def _write_head(self, response: ServerResponse, fields: list[bytes]) -> None:
        phrase = HTTPStatus(response.status).phrase if response.status in _STATUSES else ""
        lines = [f"HTTP/1.1 {response.status} {phrase}".encode(), *fields]
        lines += [f"{name}: {value}".encode("latin-1") for name, value in response.headers.items()]
        self.transport.write(b"\r\n".join((*lines, b"\r\n")))

    async def _reset(self) -> None:
        await asyncio.sleep(0.02)  # lets earlier bytes leave first
        connection: socket.socket | None = self.transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()


_STATUSES = frozenset(HTTPStatus)

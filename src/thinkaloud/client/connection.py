"""HTTP/1.1 connections to providers, for the requests that need no proxy.

aiohttp's own requests cost several times as much, for features that are not used here. A connection that
cannot be opened is left to aiohttp, which reports the reason.
"""

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Mapping
from typing import cast

import aiohttp
import httptools
from multidict import CIMultiDict
from yarl import URL

from thinkaloud.client.address import GuardedResolver, is_ip_address
from thinkaloud.client.errors import InvalidHttp
from thinkaloud.client.response import SizeLimits

KEEP_ALIVE_S = 15.0
"""How long an unused connection is kept, as aiohttp does."""
_PAUSE_BYTES = 256 * 1024
"""With more bytes unread, no more are taken from the socket."""

_NUMERIC_HOST = re.compile(r"[0-9.]+")
"""An address, or another spelling of one, which aiohttp refuses."""

Origin = tuple[str, int, bool]
"""Host, port and whether it is reached over TLS."""


class HttpResponse:
    """The response to one request. What arrived of it stays here when its connection is used again."""

    def __init__(self, connection: "HttpConnection") -> None:
        self.status = 0
        self.headers: CIMultiDict[str] = CIMultiDict()
        self.has_head = self.complete = False
        self.error: Exception | None = None
        self.buffered_bytes = 0
        self.head_fields = self.head_bytes = 0
        self._connection = connection
        self._pieces: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def wait_for_head(self) -> None:
        """Wait until status and headers have arrived."""
        while not self.has_head:
            await self._wait()

    async def read(self) -> bytes:
        """Return the bytes that have arrived, at least one; none at the end. Raises `OSError` if it broke."""
        while not self._pieces and not self.complete:
            await self._wait()
        data = self.take_buffered()
        self._connection.resume(self)
        return data

    def take_buffered(self) -> bytes:
        """Return the bytes that have arrived, also before the connection broke."""
        pieces, self._pieces, self.buffered_bytes = self._pieces, [], 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def abort(self) -> None:
        """Drop the connection, unless the response is complete."""
        self._connection.drop(self)

    close = abort

    def append(self, piece: bytes) -> None:
        """Add bytes of the body."""
        self._pieces.append(piece)
        self.buffered_bytes += len(piece)

    def wake(self) -> None:
        """Wake the reader: something has arrived, or the connection broke."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self) -> None:
        if self.error is not None:
            raise self.error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class HttpConnection(asyncio.Protocol):
    """One connection, used by one request at a time."""

    def __init__(self, pool: "ConnectionPool", origin: Origin, limits: SizeLimits) -> None:
        self.origin = origin
        self.used_before = False
        self.idle_since_s = 0.0
        self._pool = pool
        self._limits = limits
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._response: HttpResponse | None = None
        self._keep_alive = self._paused = False

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return self._response is None and not self._transport.is_closing()

    def send(self, method: str, url: URL, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request. No frame that waits holds its headers: a traceback might show the key."""
        lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {_host_header(url)}", "Accept: */*"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self._response = response = HttpResponse(self)
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write("\r\n".join((*lines, "\r\n")).encode("latin-1") + body)
        self.used_before = True
        return response

    def drop(self, response: HttpResponse) -> None:
        """Drop the connection, unless this response is complete: another request may use it by now."""
        if response is self._response:
            self._transport.abort()

    def resume(self, response: HttpResponse) -> None:
        """Take bytes from the socket again, after the reader of this response has caught up."""
        if self._paused and response is self._response:
            self._paused = False
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def abort(self) -> None:
        """Close the connection, and discard what was not sent."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to use a connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and wake the reader."""
        response = self._response
        if response is None:  # nothing was asked: what follows could not be told from the next response
            self._transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            response.error = InvalidHttp(str(error))
            self._transport.abort()
        if response.complete:
            self._release()
        elif response.buffered_bytes > _PAUSE_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        response.wake()

    def _release(self) -> None:
        """Let the next request use the connection."""
        self._response = None
        if self._keep_alive and self.usable:
            self._pool.keep(self)
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """End the response, which is complete only if nothing else tells its end."""
        response, self._response = self._response, None
        self._pool.forget(self)
        if response is None:
            return
        has_length = "content-length" in response.headers or "transfer-encoding" in response.headers
        if response.has_head and error is None and not has_length:
            response.complete = True
        elif response.error is None:
            response.error = _broken() if response.has_head else aiohttp.ServerDisconnectedError()
        response.wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Called by the parser, as the methods below."""
        limits, response = self._limits, self._response
        if max(len(name), len(value)) > limits.header_bytes:
            raise ValueError("a header is too long")
        assert response is not None
        response.head_fields += 1
        response.head_bytes += len(name) + len(value)
        if response.head_fields > limits.head_fields or response.head_bytes > limits.head_bytes:
            raise ValueError("it has too many headers")
        response.headers.add(name.decode("latin-1"), value.decode("utf-8", "surrogateescape"))

    def on_headers_complete(self) -> None:
        """Take the status. An informational response is followed by the real one."""
        assert self._response is not None
        self._response.status = self._parser.get_status_code()
        self._response.has_head = self._response.status // 100 != 1

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        assert self._response is not None
        self._response.append(body)

    def on_message_complete(self) -> None:
        """Note the end of the response."""
        assert self._response is not None
        if self._response.has_head:
            self._response.complete, self._keep_alive = True, self._parser.should_keep_alive()
        else:
            self._response.headers.clear()


class ConnectionPool:
    """The connections of one client."""

    def __init__(self, connect_s: float, limits: SizeLimits, most: int) -> None:
        self._connect_s = connect_s
        self._limits = limits
        self._most = most
        self._resolver = GuardedResolver()
        self._open: set[HttpConnection] = set()
        self._idle: dict[Origin, list[HttpConnection]] = {}

    async def acquire(self, url: URL, tls: ssl.SSLContext | None) -> HttpConnection | None:
        """Return a connection to the origin of a URL; None if aiohttp has to open one."""
        origin = (url.host or "", url.port or 0, tls is not None)
        if _NUMERIC_HOST.fullmatch(origin[0]) and not is_ip_address(origin[0]):
            return None
        idle = self._idle.get(origin, [])
        now_s = time.monotonic()
        while idle:
            connection = idle.pop()
            if connection.usable and now_s - connection.idle_since_s < KEEP_ALIVE_S:
                return connection
            connection.close()
        return await self._connect(origin, tls) if len(self._open) < self._most else None

    async def _connect(self, origin: Origin, tls: ssl.SSLContext | None) -> HttpConnection | None:
        host, port, _ = origin
        loop = asyncio.get_running_loop()
        connection = HttpConnection(self, origin, self._limits)
        try:
            async with asyncio.timeout(self._connect_s):
                addresses = await self._resolver.resolve(host, port, socket.AF_UNSPEC)
                await loop.create_connection(
                    lambda: connection,
                    addresses[0]["host"],
                    port,
                    ssl=tls,
                    server_hostname=host if tls is not None else None,
                )
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError from None
        except (OSError, aiohttp.ClientError):
            return None
        self._open.add(connection)
        return connection

    def keep(self, connection: HttpConnection) -> None:
        """Keep a connection for the next request."""
        connection.idle_since_s = time.monotonic()
        self._idle.setdefault(connection.origin, []).append(connection)

    def forget(self, connection: HttpConnection) -> None:
        """Forget a connection that was closed."""
        self._open.discard(connection)
        idle = self._idle.get(connection.origin, [])
        if connection in idle:
            idle.remove(connection)

    def close(self) -> None:
        """Close all connections."""
        for connection in tuple(self._open):
            connection.abort()


def _host_header(url: URL) -> str:
    host = url.raw_host or ""
    host = f"[{host}]" if ":" in host else host
    return host if url.is_default_port() else f"{host}:{url.port}"


def _broken() -> Exception:
    return ConnectionResetError("the connection was closed within a response")

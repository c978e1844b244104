"""HTTP/1.1 connections to providers, direct or through a proxy.

They are written here because a stream of 50 chunks costs half of what the usual libraries take for it, and
because a broken connection must give the bytes that arrived before it broke. Parsing is left to `httptools`,
and choosing between several addresses to `aiohappyeyeballs`.
"""

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import httptools
from aiohappyeyeballs import start_connection
from multidict import CIMultiDict
from yarl import URL

from thinkaloud.client.address import resolve
from thinkaloud.client.errors import (
    ConnectFailed,
    ConnectTimeout,
    InvalidHttp,
    ProxyRefused,
    ProxyUnreachable,
)
from thinkaloud.client.response import SizeLimits

KEEP_ALIVE_S = 15.0
"""How long an unused connection can be used again. Many servers close theirs after 20 s or more."""
_NEXT_ADDRESS_S = 0.25
"""How long one address of a host may take before the next is tried as well (RFC 8305)."""


class Origin(NamedTuple):
    """Where a connection leads. Only requests to the same origin share it."""

    host: str
    port: int
    encrypted: bool
    proxy: URL | None

    @property
    def forwarded(self) -> bool:
        """Whether the proxy reads the requests. Those that are encrypted go through a tunnel."""
        return self.proxy is not None and not self.encrypted


class HttpResponse:
    """The response to one request. What arrived of it stays here when its connection is used again."""

    def __init__(self, connection: "HttpConnection") -> None:
        self.status = 0
        self.headers: CIMultiDict[str] = CIMultiDict()
        self.has_head = self.complete = False
        self.error: Exception | None = None
        self.head_fields = self.head_bytes = 0
        self.on_change = self._wake
        """Called when bytes of the body, its end or a break have come. The head is awaited first."""
        self._connection = connection
        self.pieces: list[bytes] = []
        """The bytes of the body that nobody has taken."""
        self._head_waiter: asyncio.Future[None] | None = None

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def wait_for_head(self) -> None:
        """Wait until status and headers have arrived. Raises `OSError` if the connection broke before."""
        if not self.has_head and self.error is None:
            self._head_waiter = asyncio.get_running_loop().create_future()
            await self._head_waiter
        if not self.has_head and self.error is not None:
            raise self.error

    def take_buffered(self) -> bytes:
        """Return the bytes that have arrived, also before the connection broke."""
        data = b"".join(self.pieces)  # of one piece, which is the rule, this is no copy
        self.pieces.clear()
        return data

    def pause(self) -> None:
        """Take no more bytes from the socket."""
        self._connection.pause(self)

    def resume(self) -> None:
        """Take bytes from the socket again."""
        self._connection.resume(self)

    def close(self) -> None:
        """Drop the connection, unless the response is complete."""
        self._connection.drop(self)

    def _wake(self) -> None:
        waiter = self._head_waiter
        if waiter is not None and not waiter.done() and (self.has_head or self.error is not None):
            waiter.set_result(None)


class HttpConnection(asyncio.Protocol):
    """One connection, used by one request at a time."""

    def __init__(self, pool: "ConnectionPool", origin: Origin, limits: SizeLimits) -> None:
        self.origin = origin
        self.used_before = False
        self.idle_since_s = 0.0
        self._pool = pool
        self._limits = limits
        self._transport: asyncio.Transport
        self.on_body: Callable[[bytes], None]
        """Takes a piece of the body. Called by the parser."""
        self._parser: httptools.HttpResponseParser
        self._response: HttpResponse | None = None
        self._keep_alive = self._paused = self._tunnelling = False

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return self._response is None and not self._transport.is_closing()

    def send(self, method: str, url: URL, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request. No frame that waits holds its headers: a traceback might show the key."""
        target = url.raw_path_qs
        if self.origin.forwarded:
            target = f"{url.origin()}{target}"
            headers = {**headers, **_proxy_authorization(self.origin.proxy)}
        self.used_before = True
        return self._send(
            f"{method} {target}", {"Host": _host_and_port(url), "Accept": "*/*", **headers}, body
        )

    async def open_tunnel(self, tls: ssl.SSLContext) -> None:
        """Ask the proxy for a connection to the origin, then speak TLS with the origin."""
        host, port, _, proxy = self.origin
        authority = f"{_bracketed(host)}:{port}"
        self._tunnelling = True
        response = self._send(f"CONNECT {authority}", {"Host": authority, **_proxy_authorization(proxy)}, b"")
        await response.wait_for_head()
        if response.status // 100 != 2:
            raise ProxyRefused(response.status)
        self._response, self._tunnelling = None, False
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(self._transport, self, tls, server_hostname=host)
        if transport is None:  # closed meanwhile
            raise _broken_connection()
        self._transport = transport

    def _send(self, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        lines = [f"{target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self._response = response = HttpResponse(self)
        self.on_body = response.pieces.append
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write("\r\n".join((*lines, "\r\n")).encode("latin-1") + body)
        return response

    def drop(self, response: HttpResponse) -> None:
        """Drop the connection, unless this response is complete: another request may use it by now."""
        if response is self._response:
            self._transport.abort()

    def pause(self, response: HttpResponse) -> None:
        """Take no more bytes from the socket, until the reader of this response has caught up."""
        if not self._paused and response is self._response:
            self._paused = True
            self._transport.pause_reading()

    def resume(self, response: HttpResponse) -> None:
        """Take bytes from the socket again."""
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
        """Parse what arrived, and hand it to the reader of the response before this returns."""
        response = self._response
        if response is None:  # nothing was asked: what follows could not be told from the next response
            self._transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            response.error = InvalidHttp(str(error))
            self._transport.abort()
        # In a tunnel, TLS follows, whatever length the proxy's response says it has (RFC 9110, 9.3.6).
        if response.complete and not self._tunnelling:
            self._release()
        response.on_change()

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
            response.error = _broken_connection()
        response.on_change()

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

    def on_message_complete(self) -> None:
        """Note the end of the response."""
        assert self._response is not None
        if self._response.has_head:
            self._response.complete, self._keep_alive = True, self._parser.should_keep_alive()
        else:
            self._response.headers.clear()


class ConnectionPool:
    """The connections of one client."""

    def __init__(
        self, connect_s: float, limits: SizeLimits, tls: Callable[[], ssl.SSLContext], *, most: int
    ) -> None:
        self._connect_s = connect_s
        self._limits = limits
        self._tls = tls
        self._most = most
        self._open: set[HttpConnection] = set()
        self._opening = 0
        self._idle: dict[Origin, list[HttpConnection]] = {}
        self._freed = asyncio.Event()
        self._closed = False

    async def acquire(self, origin: Origin) -> HttpConnection:
        """Return a connection to an origin. If there are too many, wait until one is free."""
        if connection := self._take_idle(origin):  # mostly, and a time-out costs more than this
            return connection
        try:
            async with asyncio.timeout(self._connect_s):
                while True:
                    if connection := self._take_idle(origin):
                        return connection
                    if len(self._open) + self._opening < self._most or self._close_idle():
                        return await self._connect(origin)
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            raise ConnectTimeout from None

    def _take_idle(self, origin: Origin) -> HttpConnection | None:
        idle = self._idle.get(origin, [])
        now_s = time.monotonic()
        while idle:
            connection = idle.pop()
            if connection.usable and now_s - connection.idle_since_s < KEEP_ALIVE_S:
                return connection
            connection.close()
        return None

    def _close_idle(self) -> bool:
        """Close a connection to another origin that nobody uses; False if there is none."""
        for idle in self._idle.values():
            if idle:
                connection = idle.pop()
                self._open.discard(connection)
                connection.close()
                return True
        return False

    async def _connect(self, origin: Origin) -> HttpConnection:
        connection = HttpConnection(self, origin, self._limits)
        self._opening += 1
        try:
            if origin.proxy is None:
                await self._open_transport(connection, origin.host, origin.port, encrypted=origin.encrypted)
            else:
                await self._open_through_proxy(connection, origin.proxy)
        finally:
            self._opening -= 1
            self._freed.set()
        self._open.add(connection)
        if self._closed:
            connection.abort()
        return connection

    async def _open_transport(
        self, connection: HttpConnection, host: str, port: int, *, encrypted: bool
    ) -> None:
        tls, server_hostname = (self._tls(), host) if encrypted else (None, None)
        addresses = await resolve(host, port)
        try:
            sock = await start_connection(addresses, happy_eyeballs_delay=_NEXT_ADDRESS_S)
        except OSError as error:
            # If the addresses fail for different reasons, the error has no number and lists them all.
            raise error if error.errno is not None else ConnectFailed from None
        await asyncio.get_running_loop().create_connection(
            lambda: connection, sock=sock, ssl=tls, server_hostname=server_hostname
        )

    async def _open_through_proxy(self, connection: HttpConnection, proxy: URL) -> None:
        try:
            await self._open_transport(
                connection, proxy.raw_host or "", proxy.port or 0, encrypted=proxy.scheme == "https"
            )
        except ssl.SSLError:
            raise  # says which certificate to trust
        except OSError:
            raise ProxyUnreachable from None
        if not connection.origin.forwarded:
            try:
                await connection.open_tunnel(self._tls())
            except BaseException:
                connection.abort()
                raise

    def keep(self, connection: HttpConnection) -> None:
        """Keep a connection for the next request."""
        connection.idle_since_s = time.monotonic()
        self._idle.setdefault(connection.origin, []).append(connection)
        self._freed.set()

    def forget(self, connection: HttpConnection) -> None:
        """Forget a connection that was closed."""
        self._open.discard(connection)
        idle = self._idle.get(connection.origin, [])
        if connection in idle:
            idle.remove(connection)
        self._freed.set()

    def close(self) -> None:
        """Close all connections, also those that are being opened."""
        self._closed = True
        for connection in tuple(self._open):
            connection.abort()


def _proxy_authorization(proxy: URL | None) -> dict[str, str]:
    if proxy is None or proxy.user is None:
        return {}
    credentials = f"{proxy.user}:{proxy.password or ''}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(credentials).decode()}"}


def _host_and_port(url: URL) -> str:
    host = _bracketed(url.raw_host or "")
    return host if url.is_default_port() else f"{host}:{url.port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _broken_connection() -> OSError:
    return ConnectionResetError("the connection was closed within a response")

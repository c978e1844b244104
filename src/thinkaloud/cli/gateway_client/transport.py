"""Carries one request to a gateway and its response back: over HTTP, or inside this process.

`GatewayConnection` decides what a status and a lost connection mean. What is here only moves bytes, so that
a gateway inside this process and one elsewhere are asked by the same client.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import quote, urlencode

import msgspec

from thinkaloud.core.canon import Refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message
    from yarl import URL

    from thinkaloud.client.connection import ConnectionPool, HttpResponse

_CONNECT_TIMEOUT_S = 10.0
_MAX_CONNECTIONS = 10_000
"""Every open stream holds one."""
_REPEATABLE = ("GET", "PUT", "DELETE")
"""Methods that are safe to send again where a kept connection turns out to be closed."""
_UNREAD_BYTES = 256 * 1024
"""With more bytes unread, no more are taken from the socket."""
_UNREAD_CHUNKS = 64
"""Chunks of a response inside this process that wait for their reader, as in the buffer of a socket."""
_LEAVE_TIMEOUT_S = 1.0
"""How long requests inside this process may continue after the last client has gone."""


class GatewayRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a gateway. `stall_s` is the longest time without a byte of the response."""

    method: str
    path: str
    data: bytes | None
    query: Mapping[str, str | int]
    headers: Mapping[str, str]
    stall_s: float


class ConnectionFailed(Exception):
    """No response arrived, or not all of it.

    `refused` tells that nothing was sent, because nobody listens at the address. `number` is that of the
    system's error, if there is one.
    """

    def __init__(
        self, reason: str, *, refused: bool = False, timed_out: bool = False, number: int = 0
    ) -> None:
        super().__init__(reason)
        self.refused = refused
        self.timed_out = timed_out
        self.number = number


class GatewayResponse(Protocol):
    """A response whose body may still arrive. Reading it raises `ConnectionFailed` if that breaks off."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""

    def close(self) -> None:
        """Leave the response, also before its end."""


class HttpTransport:
    """Sends requests over HTTP. Open it with `async with`."""

    def __init__(self) -> None:
        self._pool: ConnectionPool | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    async def send(self, address: str, request: GatewayRequest) -> GatewayResponse:
        """Send a request and wait for the head of its response. Redirects are not followed.

        A redirect could send the token to another server.
        """
        url = _request_url(address, request)
        while True:
            response, reused = await self._send(url, request)
            try:
                async with asyncio.timeout(request.stall_s):
                    await response.wait_for_head()
            except OSError as error:  # a timeout is one
                response.close()
                if not reused or isinstance(error, TimeoutError) or request.method not in _REPEATABLE:
                    raise _failed(error) from None
            except BaseException:
                response.close()
                raise
            else:
                return _HttpResponse(response, request.stall_s)

    async def _send(self, url: "URL", request: GatewayRequest) -> tuple["HttpResponse", bool]:
        """Send a request. Return also whether its connection was used before."""
        from thinkaloud.client.connection import ConnectionPool, Origin
        from thinkaloud.client.errors import ConnectTimeout
        from thinkaloud.client.response import SIZE_LIMITS

        if self._pool is None:
            self._pool = ConnectionPool(
                _CONNECT_TIMEOUT_S, SIZE_LIMITS, ssl.create_default_context, most=_MAX_CONNECTIONS
            )
        origin = Origin(url.raw_host or "", url.port or 0, encrypted=url.scheme == "https", proxy=None)
        try:
            connection = await self._pool.acquire(origin)
        except ConnectTimeout:
            raise ConnectionFailed("Connecting takes too long", timed_out=True) from None
        except OSError as error:
            raise _failed(error, refused=True) from None
        reused = connection.used_before
        return connection.send(request.method, url, request.headers, request.data or b""), reused


def _request_url(address: str, request: GatewayRequest) -> "URL":
    from yarl import URL

    try:
        url = URL(address + request.path).extend_query(request.query)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.raw_host:
        raise Refused("{url} is not an address. Use one such as http://127.0.0.1:8321.", url=repr(address))
    return url


class _HttpResponse:
    def __init__(self, response: "HttpResponse", stall_s: float) -> None:
        self.status = response.status
        self._response = response
        self._stall_s = stall_s
        self._unread = bytearray()
        self._changed = asyncio.Event()
        response.on_change = self._take
        self._take()

    def _take(self) -> None:
        self._unread += self._response.take_buffered()
        if len(self._unread) > _UNREAD_BYTES:
            self._response.pause()
        self._changed.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            if self._unread:
                chunk, self._unread = bytes(self._unread), bytearray()
                self._response.resume()
                yield chunk
            elif self._response.complete:
                return
            elif self._response.error is not None:
                raise _failed(self._response.error)
            else:
                await self._wait()

    async def _wait(self) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(self._stall_s):
                await self._changed.wait()
        except TimeoutError as error:
            raise _failed(error) from None

    def close(self) -> None:
        # Where the body was read to its end, this leaves the connection open for the next request.
        self._response.close()


def _failed(error: Exception, *, refused: bool = False) -> ConnectionFailed:
    timed_out = isinstance(error, TimeoutError)
    number = getattr(error, "errno", None) or 0
    return ConnectionFailed(
        str(error) or type(error).__name__, refused=refused, timed_out=timed_out, number=number
    )


class InsideTransport:
    """Calls the ASGI application of a gateway in this process. Open it with `async with`.

    The requests pass the same checks as those of the port, and need the same token.
    """

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LEAVE_TIMEOUT_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def send(self, request: GatewayRequest) -> GatewayResponse:
        """Send a request and wait for the head of its response."""
        response = _InsideResponse(request.data or b"")
        # As over HTTP, a request is carried out also if its sender no longer waits for the response.
        task = asyncio.create_task(response.run(self._app, _scope(request)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await response.wait_for_head()
        except BaseException:
            response.close()
            raise
        return response


class _InsideResponse:
    """The response of an ASGI application, and the request from which the application reads."""

    def __init__(self, body: bytes) -> None:
        self.status = 0
        self._body: bytes | None = body
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue(_UNREAD_CHUNKS)
        self._closed = asyncio.Event()

    async def run(self, app: "ASGIApp", scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            if not self._closed.is_set():
                await self._messages.put(None)

    async def wait_for_head(self) -> None:
        self.status = (await self._next_message())["status"]

    async def chunks(self) -> AsyncIterator[bytes]:
        more_body = True
        while more_body:
            message = await self._next_message()
            more_body = message.get("more_body", False)
            if chunk := message.get("body", b""):
                yield chunk

    def close(self) -> None:
        self._closed.set()
        while not self._messages.empty():  # an application that waits to send goes on
            self._messages.get_nowait()

    async def _next_message(self) -> "Message":
        message = await self._messages.get()
        if message is None:
            raise ConnectionFailed("The gateway ended the response before it was complete")
        return message

    async def _receive(self) -> "Message":
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._closed.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: "Message") -> None:
        if not self._closed.is_set():
            await self._messages.put(message)


def _scope(request: GatewayRequest) -> dict[str, Any]:
    headers = {name.lower().encode(): value.encode("latin-1") for name, value in request.headers.items()}
    headers[b"host"] = b"127.0.0.1"
    headers[b"content-length"] = b"%d" % len(request.data or b"")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": quote(request.path).encode(),
        "root_path": "",
        "query_string": urlencode(request.query).encode(),
        "headers": list(headers.items()),
        "client": None,
        "server": None,
    }

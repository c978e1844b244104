"""HTTP requests to one gateway: its address, token and workspace, and its errors as exceptions.

The address is looked up before each request, because a gateway that was restarted may have a new port.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar

import aiohttp
import msgspec

from thinkaloud.canon import Refused
from thinkaloud.surfaces.backend import BackendUnreachable

T = TypeVar("T")

_CONNECT_TIMEOUT_S = 10.0
_RESPONSE_TIMEOUT_S = 120.0
"""The longest time without a byte. Importing a large session takes half a minute."""
_UNAVAILABLE = frozenset({502, 503, 504})
"""Statuses of a gateway that is starting or stopping, and of a proxy before it."""
_UNAUTHORISED = 401
_FIRST_ERROR = 400


class GatewayRefusal(Refused):
    """The gateway refused a request. `code` is its word for programs."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class _ErrorDetail(msgspec.Struct):
    code: str = ""
    message: str = ""


class _ErrorBody(msgspec.Struct):
    error: _ErrorDetail


class GatewayConnection:
    """Sends requests to a gateway. Open it with `async with`."""

    def __init__(self, locate: Callable[[], str], *, token: str = "", workspace: str = "") -> None:
        self._locate = locate
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if workspace:
            self._headers["Thinkaloud-Workspace"] = workspace
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0),  # every open stream holds a connection
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def fetch(self, path: str, kind: type[T], **query: str | int) -> T:
        """Return the body of a GET request."""
        return await self.call("GET", path, kind, query=query)

    async def call(
        self,
        method: str,
        path: str,
        kind: type[T],
        body: object = None,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Send a request with a JSON body and return the JSON body of the response."""
        data = None if body is None else msgspec.json.encode(body)
        sent_headers = {"Content-Type": "application/json", **(headers or {})}
        content = await self.send(method, path, data, query=query, headers=sent_headers)
        try:
            return msgspec.json.decode(content or b"null", type=kind)
        except msgspec.MsgspecError as error:
            raise self._not_a_gateway(str(error)) from None

    async def send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Send a request and return the bytes of the response."""
        async with self.open(method, path, data, query=query, headers=headers) as response:
            return await response.read()

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        stall_s: float = _RESPONSE_TIMEOUT_S,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and yield the response while its body arrives."""
        assert self._http is not None, "open the connection with `async with`"
        address = self._locate()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_S, sock_read=stall_s)
        try:
            async with self._http.request(
                method,
                address + path,
                data=data,
                params=query,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,  # a redirect could send the token to another server
            ) as response:
                if response.status >= _FIRST_ERROR:
                    raise self._refusal(response.status, await response.read())
                yield response
        except aiohttp.InvalidURL:
            raise Refused(f"{address!r} is not an address. Use one such as http://127.0.0.1:8321.") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(address, error) from None

    def _refusal(self, status: int, content: bytes) -> Exception:
        try:
            detail = msgspec.json.decode(content, type=_ErrorBody).error
        except msgspec.MsgspecError:
            detail = _ErrorDetail()
        if status in _UNAVAILABLE:
            reason = detail.message or f"It answered with status {status}. Try again in a moment."
            return BackendUnreachable(f"The gateway at {self._locate()} is not available. {reason}")
        if not detail.message:
            return self._not_a_gateway(f"it answered with status {status}")
        if status == _UNAUTHORISED:
            return GatewayRefusal(
                f"{detail.message} Pass it in THINKALOUD_TOKEN, or in a file with --token-file.", detail.code
            )
        return GatewayRefusal(detail.message, detail.code)

    def _not_a_gateway(self, reason: str) -> Refused:
        return Refused(
            f"The server at {self._locate()} is not a Thinkaloud gateway, or has another version: {reason}. "
            "Check the address and the versions."
        )


def _unreachable(address: str, error: Exception) -> BackendUnreachable:
    os_error = getattr(error, "os_error", error)
    reason = getattr(os_error, "strerror", "") or str(error) or type(error).__name__
    return BackendUnreachable(
        f"No connection to the gateway at {address}: {reason}. Check the address, and that the gateway runs "
        "(`thinkaloud serve`)."
    )

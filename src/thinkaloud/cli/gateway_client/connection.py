"""HTTP requests to one gateway: its address, token and workspace, and its errors as exceptions.

The address is looked up before each request, because a gateway that was restarted may have a new port.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import aiohttp
import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.surfaces.chat.backend import BackendUnreachable

T = TypeVar("T")

_CONNECT_TIMEOUT_S = 10.0
_RESPONSE_TIMEOUT_S = 120.0
"""The longest time without a byte."""
LONG_RESPONSE_S = 3600.0
"""The same for an import or an export: the gateway answers when it is done, and on a busy machine that takes
minutes. If the gateway dies, the connection is closed at once."""
_MOVE_ATTEMPTS = 100
_MOVE_S = 0.1
"""How often and how long a request waits for a gateway that moves to another process."""
_UNAVAILABLE = frozenset({502, 503, 504})
"""Statuses of a gateway that is starting or stopping, and of a proxy before it."""
_UNAUTHORISED = 401
_FIRST_ERROR = 400


class GatewayRefusal(Refused):
    """The gateway refused a request. `code` is its word for programs."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class GatewayAddress(msgspec.Struct, frozen=True):
    """Where a gateway is, and the token that it accepts. The token may be empty."""

    url: str
    token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that authenticate a request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class GatewayLocator(Protocol):
    """Finds a gateway."""

    async def find(self) -> GatewayAddress:
        """Return the present address."""

    @property
    def moving(self) -> bool:
        """Whether the gateway ends with the command that started it, so that another takes its place."""


class FixedLocator(msgspec.Struct, frozen=True):
    """A gateway that has always the same address."""

    address: GatewayAddress
    moving: bool = False

    async def find(self) -> GatewayAddress:
        """Return the address."""
        return self.address


class _ErrorDetail(msgspec.Struct):
    code: str = ""
    message: str = ""


class _ErrorBody(msgspec.Struct):
    error: _ErrorDetail


class GatewayConnection:
    """Sends requests to a gateway. Open it with `async with`."""

    def __init__(self, locator: GatewayLocator, *, workspace: str = "") -> None:
        if not workspace.isprintable():
            raise Refused(f"Invalid workspace: {workspace!r}. Use the id of a workspace.")
        self._locator = locator
        self._headers = {"Thinkaloud-Workspace": workspace} if workspace else {}
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
            raise _not_a_gateway((await self._locator.find()).url, str(error)) from None

    async def send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        stall_s: float | None = None,
    ) -> bytes:
        """Send a request and return the bytes of the response."""
        async with self.open(method, path, data, query=query, headers=headers, stall_s=stall_s) as response:
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
        stall_s: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and yield the response while its body arrives.

        `stall_s` is the longest time without a byte, if it is not the usual one.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_TIMEOUT_S, sock_read=stall_s or _RESPONSE_TIMEOUT_S
        )
        response, url = await self._connect(
            method, path, {"data": data, "params": query, "headers": headers or {}, "timeout": timeout}
        )
        try:
            async with response:
                if response.status >= _FIRST_ERROR:
                    raise _refusal(url, response.status, await response.read())
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._lost(url, error) from None

    def _lost(self, url: str, error: Exception) -> BackendUnreachable:
        """Return the error for a connection that broke."""
        if not self._locator.moving or isinstance(error, TimeoutError):
            return _unreachable(url, error)
        return BackendUnreachable(
            "The command that ran the gateway has ended, and with it this turn if it still ran. To ask again "
            "in the same session: thinkaloud ask -c."
        )

    async def _connect(
        self, method: str, path: str, fields: dict[str, Any]
    ) -> tuple[aiohttp.ClientResponse, str]:
        """Send a request, again if nothing was received because the gateway moved to another process."""
        assert self._http is not None, "open the connection with `async with`"
        headers = fields.pop("headers")
        for attempts_left in reversed(range(_MOVE_ATTEMPTS)):
            address = await self._locator.find()
            try:
                # A redirect could send the token to another server.
                response = await self._http.request(
                    method,
                    address.url + path,
                    headers={**address.headers, **headers},
                    allow_redirects=False,
                    **fields,
                )
            except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
                raise Refused(
                    f"{address.url!r} is not an address. Use one such as http://127.0.0.1:8321."
                ) from None
            except aiohttp.ClientConnectorError as error:
                if not attempts_left or not self._locator.moving:
                    raise _unreachable(address.url, error) from None
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self._lost(address.url, error) from None
            else:
                if response.status not in _UNAVAILABLE or not attempts_left or not self._locator.moving:
                    return response, address.url
                response.close()
            await asyncio.sleep(_MOVE_S)
        raise AssertionError("unreachable")


def _refusal(url: str, status: int, content: bytes) -> Exception:
    try:
        detail = msgspec.json.decode(content, type=_ErrorBody).error
    except msgspec.MsgspecError:
        detail = _ErrorDetail()
    if status in _UNAVAILABLE:
        reason = detail.message or f"It answered with status {status}. Try again in a moment."
        return BackendUnreachable(f"The gateway at {url} is not available. {reason}")
    if not detail.message:
        return _not_a_gateway(url, f"it answered with status {status}")
    if status == _UNAUTHORISED:
        return GatewayRefusal(
            f"{detail.message} Pass it in THINKALOUD_TOKEN, or in a file with --token-file.", detail.code
        )
    return GatewayRefusal(detail.message, detail.code)


def _not_a_gateway(url: str, reason: str) -> Refused:
    return Refused(
        f"The server at {url} is not a Thinkaloud gateway, or has another version: {reason}. "
        "Check the address and the versions."
    )


def _unreachable(url: str, error: Exception) -> BackendUnreachable:
    # asyncio writes the address into `strerror`, as Python writes it.
    number = getattr(getattr(error, "os_error", error), "errno", None)
    reason = (os.strerror(number) if number and number > 0 else str(error)) or type(error).__name__
    return BackendUnreachable(
        f"No connection to the gateway at {url}: {reason}. Check the address, and that the gateway runs "
        "(`thinkaloud serve`)."
    )

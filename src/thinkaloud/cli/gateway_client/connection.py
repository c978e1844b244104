"""Requests to one gateway: its address, token and workspace, and its errors as exceptions.

The address is looked up before each request, because a gateway that was restarted may have a new port.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import msgspec

from thinkaloud.cli.gateway_client.transport import (
    ConnectionFailed,
    GatewayRequest,
    GatewayResponse,
    HttpTransport,
    InsideTransport,
)
from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.surfaces.chat.backend import BackendUnreachable

T = TypeVar("T")

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

    def __init__(self, template: str = "", /, *, code: str, **message: Any) -> None:
        super().__init__(template, **message)
        self.code = code


class GatewayAddress(msgspec.Struct, frozen=True):
    """Where a gateway is, and the token that it accepts. The token may be empty."""

    url: str
    token: str = ""
    inside: InsideTransport | None = None
    """How it is asked without a socket, if it runs in this process."""

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
    wording: Wording | None = None


class _ErrorBody(msgspec.Struct):
    error: _ErrorDetail


class GatewayConnection:
    """Sends requests to a gateway."""

    def __init__(self, locator: GatewayLocator, *, workspace: str = "") -> None:
        if not workspace.isprintable():
            raise Refused(
                "Invalid workspace: {workspace}. Use the id of a workspace.", workspace=repr(workspace)
            )
        self._locator = locator
        self._headers = {"Thinkaloud-Workspace": workspace} if workspace else {}
        self._http = HttpTransport()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

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
            raise _not_a_gateway((await self._locator.find()).url, reason_of(error)) from None

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
            return await _read(response)

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
    ) -> AsyncIterator[GatewayResponse]:
        """Send a request and yield the response while its body arrives.

        `stall_s` is the longest time without a byte, if it is not the usual one.
        """
        request = GatewayRequest(
            method=method,
            path=path,
            data=data,
            query=query or {},
            headers={**self._headers, **(headers or {})},
            stall_s=stall_s or _RESPONSE_TIMEOUT_S,
        )
        response, url = await self._connect(request)
        try:
            if response.status >= _FIRST_ERROR:
                raise _refusal(url, response.status, await _read(response))
            yield response
        except ConnectionFailed as error:
            raise self._lost(url, error) from None
        finally:
            response.close()

    def _lost(self, url: str, error: ConnectionFailed) -> BackendUnreachable:
        """Return the error for a connection that broke."""
        if not self._locator.moving or error.timed_out:
            return _unreachable(url, error)
        return BackendUnreachable(
            "The command that ran the gateway has ended, and with it this turn if it still ran. To ask again "
            "in the same session: thinkaloud ask -c."
        )

    async def _connect(self, request: GatewayRequest) -> tuple[GatewayResponse, str]:
        """Send a request, again if nothing was received because the gateway moved to another process."""
        for attempts_left in reversed(range(_MOVE_ATTEMPTS)):
            address = await self._locator.find()
            try:
                response = await self._send(address, request)
            except ConnectionFailed as error:
                if not error.refused:
                    raise self._lost(address.url, error) from None
                if not attempts_left or not self._locator.moving:
                    raise _unreachable(address.url, error) from None
            else:
                if response.status not in _UNAVAILABLE or not attempts_left or not self._locator.moving:
                    return response, address.url
                response.close()
            await asyncio.sleep(_MOVE_S)
        raise AssertionError("unreachable")

    async def _send(self, address: GatewayAddress, request: GatewayRequest) -> GatewayResponse:
        request = msgspec.structs.replace(request, headers={**address.headers, **request.headers})
        if address.inside is not None:
            return await address.inside.send(request)
        return await self._http.send(address.url, request)


async def _read(response: GatewayResponse) -> bytes:
    return b"".join([chunk async for chunk in response.chunks()])


def _refusal(url: str, status: int, content: bytes) -> Exception:
    try:
        detail = msgspec.json.decode(content, type=_ErrorBody).error
    except msgspec.MsgspecError:
        detail = _ErrorDetail()
    message = Wording.received(detail.message, detail.wording)
    if status in _UNAVAILABLE:
        if not detail.message:
            message = Wording("It answered with status {status}. Try again in a moment.", status=status)
        return BackendUnreachable("The gateway at {url} is not available. {reason}", url=url, reason=message)
    if not detail.message:
        return _not_a_gateway(url, Wording("it answered with status {status}", status=status))
    if status == _UNAUTHORISED:
        return GatewayRefusal(
            "{message} Pass it in THINKALOUD_TOKEN, or in a file with --token-file.",
            message=message,
            code=detail.code,
        )
    return GatewayRefusal(wording=message, code=detail.code)


def _not_a_gateway(url: str, reason: Wording) -> Refused:
    return Refused(
        "The server at {url} is not a Thinkaloud gateway, or has another version: {reason}. Check "
        "the address and the versions.",
        url=url,
        reason=reason,
    )


def _unreachable(url: str, error: ConnectionFailed) -> BackendUnreachable:
    # asyncio writes the address into the text of the error, as Python writes it.
    number = error.number
    reason = reason_of(OSError(number, os.strerror(number)) if number > 0 else error)
    return BackendUnreachable(
        "No connection to the gateway at {url}: {reason}. Check the address, and that the gateway "
        "runs (`thinkaloud serve`).",
        url=url,
        reason=reason,
    )

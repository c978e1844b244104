"""Reads the headers and the body of a request, within the limits, and notices when its client leaves.

What two programs could read differently is refused: encoded slashes in the path, and a header that decides
something and was sent twice.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

from starlette.types import Receive, Scope

from thinkaloud.gateway.server.http.errors import (
    BadRequest,
    HeadersTooLarge,
    NotFound,
    PayloadTooLarge,
    RequestTimeout,
    ServiceUnavailable,
)
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.http.route import ClientGone

T = TypeVar("T")
_DECODED_AT_ONCE_BYTES = 64 * 1024
"""Decoding this much takes a millisecond."""
_ENCODED_SLASHES = re.compile(rb"%2f|%5c|%00|\\", re.IGNORECASE)
"""Encoded slashes, backslashes and NUL. A proxy in front may decode them and route the path differently."""
MODEL_PATH = "/v1/models/"
"""Libraries encode the slash in the name of a model. Below this path there is nothing but names of models."""
_SINGLE_HEADERS = frozenset(
    b"authorization content-encoding content-length content-type host idempotency-key last-event-id origin "
    b"sec-fetch-site thinkaloud-workspace transfer-encoding x-api-key".split()
)
"""Headers that decide something. Sent twice, a proxy and the gateway could each read a different value."""


def read_headers(scope: Scope, limits: GatewayLimits) -> dict[bytes, bytes]:
    """Return the headers by name and check their size. Of a header that may repeat, the last one counts."""
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    headers: dict[bytes, bytes] = {}
    repeated_name = b""
    for name, value in scope["headers"]:
        size += len(name) + len(value) + 4  # ": " and the line end
        if name in headers and name in _SINGLE_HEADERS:
            repeated_name = name
        headers[name] = value
    if size > limits.header_bytes:
        raise HeadersTooLarge(
            "The URL and the headers together are larger than {header_bytes} bytes. Send less.",
            header_bytes=f"{limits.header_bytes:,}",
        )
    if not scope["path"].startswith(MODEL_PATH) and _ENCODED_SLASHES.search(scope.get("raw_path") or b""):
        raise NotFound("No such path: encoded slashes and backslashes are not accepted. Use plain slashes.")
    if repeated_name:
        raise BadRequest(
            "The header {repeated_name} was sent twice. Send it once.", repeated_name=repeated_name.decode()
        )
    return headers


def has_body(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the headers announce a body, by its length or as chunks."""
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def sent_by_browser(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a browser may have sent the request.

    A page of another site can neither set nor remove these headers without a preflight. All browsers have
    such a User-Agent, also those that are too old for the others.
    """
    if headers.get(b"user-agent", b"").lower().startswith(b"mozilla/"):
        return True
    return any(name in (b"origin", b"cookie") or name.startswith(b"sec-") for name in headers)


class BodyMemory:
    """Bounds the memory of all request bodies, sessions to export and long responses together."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0

    @contextmanager
    def reservation(self) -> Iterator["Reservation"]:
        """Hold what one request needs until it is handled."""
        reservation = Reservation(self)
        try:
            yield reservation
        finally:
            self._used_bytes -= reservation.size_bytes

    def add(self, size_bytes: int) -> None:
        """Count more bytes, or refuse them."""
        if self._used_bytes + size_bytes > self._max_bytes:
            raise ServiceUnavailable(
                "The gateway holds {max_bytes} bytes of other requests and responses (limit "
                "bodies_bytes). Try again in a moment.",
                max_bytes=f"{self._max_bytes:,}",
            )
        self._used_bytes += size_bytes


class Reservation:
    """The bytes of one request within `BodyMemory`."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self.size_bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count more bytes of this request, or refuse them."""
        self._memory.add(size_bytes)
        self.size_bytes += size_bytes


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], limits: GatewayLimits, reservation: Reservation
) -> bytes:
    """Read the whole body. Refuse one that is too large as soon as its size is known."""
    declared_length = headers.get(b"content-length", b"0")
    if not declared_length.isdigit():
        raise BadRequest("Content-Length is not a number. Correct it.")
    too_large = PayloadTooLarge(
        "The request is larger than {body_bytes} bytes, the limit of this gateway. Send less.",
        body_bytes=f"{limits.body_bytes:,}",
    )
    # Compare lengths first: converting a number of thousands of digits is slow.
    if len(declared_length) > len(str(limits.body_bytes)) or int(declared_length) > limits.body_bytes:
        raise too_large
    chunks: list[bytes] = []
    size, more_body = 0, True
    try:
        async with asyncio.timeout(limits.body_s):
            while more_body:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                reservation.add(len(chunks[-1]))
                more_body = message.get("more_body", False)
                if size > limits.body_bytes:
                    raise too_large
    except TimeoutError as error:
        raise RequestTimeout(
            "The body did not arrive within {body_s} s. Send the request again.", body_s=f"{limits.body_s:g}"
        ) from error
    return b"".join(chunks)


async def decode_large(body: bytes, decode: Callable[[bytes], T]) -> T:
    """Decode a body; a large one in a thread, because streams would wait for it."""
    if len(body) <= _DECODED_AT_ONCE_BYTES:
        return decode(body)
    return await asyncio.to_thread(decode, body)


async def drop_body(receive: Receive, limits: GatewayLimits) -> None:
    """Read the rest of a refused body and drop it, within limits.

    A connection that is closed with unread data is reset, and the client would lose the response.
    """
    bytes_left, more_body = limits.bodies_bytes, True
    with suppress(TimeoutError):
        async with asyncio.timeout(limits.head_s):
            while more_body and bytes_left > 0:
                message = await receive()
                bytes_left -= len(message.get("body", b""))
                more_body = message["type"] == "http.request" and message.get("more_body", False)


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncIterator[None]:
    """Run the block as long as the client is connected. If it leaves, cancel the block: `ClientGone`."""
    scope = asyncio.timeout(None)
    try:
        async with scope:
            disconnect_task = asyncio.create_task(_expire_on_disconnect(receive, scope))
            try:
                yield
            finally:
                disconnect_task.cancel()
    except TimeoutError:
        if not scope.expired():
            raise
        raise ClientGone from None


async def _expire_on_disconnect(receive: Receive, scope: asyncio.Timeout) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    expire_scope(scope)


def expire_scope(scope: asyncio.Timeout) -> None:
    """Cancel the code in the scope now."""
    if not scope.expired():
        scope.reschedule(0)

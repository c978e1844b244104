"""Sends the response of a handler in chunks, so that what a slow client has not read is not held twice.

Long responses of all clients together share the bound of request bodies. A client that accepts no bytes is
disconnected, like the reader of a stream.
"""

import asyncio
import io
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from starlette.types import Send

from thinkaloud.gateway.server.http.route import ClientGone, RouteResponse

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

CHUNK_BYTES = 64 * 1024
"""The size of one send. It bounds the unsent bytes that are held for a slow client."""


async def send_response(gateway: "Gateway", response: RouteResponse, send: Send) -> None:
    """Send the whole response."""
    content = response.content
    if isinstance(content, bytes | msgspec.Struct | None):
        data = content if isinstance(content, bytes) else b"" if content is None else _encode_json(content)
        body: BinaryIO = io.BytesIO(data)
        size_bytes = held_bytes = len(data)
    else:
        body, size_bytes, held_bytes = content, _rest_bytes(content), 0
    with body, gateway.body_memory.reservation() as reservation:
        if held_bytes > CHUNK_BYTES:
            reservation.add(min(held_bytes, gateway.settings.limits.bodies_bytes))
        headers = _headers(response, size_bytes)
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await _send_chunks(gateway.settings.send_timeout_s, body, send)


async def _send_chunks(timeout_s: float, body: BinaryIO, send: Send) -> None:
    more_body = True
    while more_body:
        chunk = body.read(CHUNK_BYTES)
        more_body = len(chunk) == CHUNK_BYTES
        message = {"type": "http.response.body", "body": chunk, "more_body": more_body}
        await send_in_time(send, timeout_s, message)


async def send_in_time(send: Send, timeout_s: float, message: dict[str, Any]) -> None:
    """Send a message. A client that does not accept it in time has gone: `ClientGone`."""
    unsent = begin(send(message))
    if unsent is not None:
        await in_time(unsent, timeout_s)


async def in_time(unsent: Awaitable[None], timeout_s: float) -> None:
    """Wait until a client accepts what is sent. One that does not within this time has gone."""
    try:
        async with asyncio.timeout(timeout_s):
            await unsent
    except TimeoutError:
        raise ClientGone from None


def begin(sending: Awaitable[None]) -> Awaitable[None] | None:
    """Send as far as that is possible without waiting. Return the rest of it; None if nothing is left.

    A server waits only for a client that does not read on. All others need no task, timer or time-out.
    """
    steps = sending.__await__()
    try:
        return _UnfinishedSend(steps, next(steps))
    except StopIteration:
        return None


class _UnfinishedSend:
    """The rest of a send that has begun and waits."""

    def __init__(self, steps: Generator[Any, Any, None], waits_for: object) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            yield self._waits_for
        except BaseException as error:  # a cancel: the send has to know it
            self._steps.throw(error)
            raise
        yield from self._steps


def _headers(response: RouteResponse, size_bytes: int) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    if response.content is not None:
        media_type = response.media_type
        if media_type.startswith("text/") and "charset=" not in media_type:
            media_type += "; charset=utf-8"
        headers.append((b"content-type", media_type.encode()))
    if response.status not in (204, 304):
        headers.append((b"content-length", str(size_bytes).encode()))
    return headers


def _rest_bytes(file: BinaryIO) -> int:
    start = file.tell()
    size = file.seek(0, io.SEEK_END) - start
    file.seek(start)
    return size


_encode_json: Callable[[Any], bytes] = msgspec.json.Encoder().encode

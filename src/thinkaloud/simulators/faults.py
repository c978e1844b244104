"""Faults of a response: refused, cut, stalled, slow, or garbage.

A whole response is sent as one event, so that every fault works for both forms.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable

from thinkaloud.loopback import ConnectionCut, ServerResponse
from thinkaloud.simulators.script import Fault

HTML_BODY = (
    b"<!doctype html><html><body><h1>502 Bad Gateway</h1><p>A simulated proxy error.</p></body></html>"
)
GARBAGE_BYTES = b'data: {"type":\xff\xfe\x00}]]\n\n\x00\x01\x02 not an answer\r\n\r\n'
_BLOCK_BYTES = 64 * 1024


def replacement_response(fault: Fault) -> ServerResponse | None:
    """Return the response for faults that come before the first byte."""
    if fault.kind == "html":
        return ServerResponse(fault.status, {"content-type": "text/html"}, HTML_BODY)
    if fault.kind == "empty":
        return ServerResponse(headers={"content-type": "application/json"})
    return None


def retry_after(fault: Fault) -> dict[str, str]:
    """Return the `Retry-After` header."""
    return {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}


async def faulty_stream(
    events: tuple[bytes, ...], fault: Fault | None, interruption: Callable[[int], bytes], keep_alive: bytes
) -> AsyncIterator[bytes]:
    """Yield the bytes of a stream with the fault applied.

    Raises `ConnectionCut` where the connection breaks.
    """
    for event_index, event in enumerate(events):
        if fault is not None and event_index == min(fault.after_events, len(events) - 1):
            async for data in _fault_bytes(fault, event, interruption(event_index)):
                yield data
            if fault.kind in ("overload", "garbage", "endless_line"):
                return
        if fault is not None and fault.kind == "comments":
            yield keep_alive
        if fault is not None and fault.kind == "slow":
            for index in range(len(event)):
                yield event[index : index + 1]
                await asyncio.sleep(fault.seconds)
        else:
            yield event


async def _fault_bytes(fault: Fault, event: bytes, interruption: bytes) -> AsyncIterator[bytes]:
    match fault.kind:
        case "overload":
            yield interruption
        case "garbage":
            yield GARBAGE_BYTES
        case "stall":
            await asyncio.sleep(fault.seconds)
        case "cut":
            yield event[: fault.inside_bytes]
            raise ConnectionCut
        case "endless_line":
            yield b"data: "
            for _ in range(fault.size // _BLOCK_BYTES):
                yield b"x" * _BLOCK_BYTES
                await asyncio.sleep(0)


def gzip_bomb(size: int) -> bytes:
    """Return a gzip body that expands a thousandfold."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    packed = [packer.compress(b"data: ")]
    packed += [packer.compress(b"0" * _BLOCK_BYTES) for _ in range(size // _BLOCK_BYTES)]
    return b"".join([*packed, packer.flush()])

"""The body of a response, read chunk by chunk, decompressed within limits.

`read` returns `b""` at the end. A broken connection, a stall and an exceeded limit are raised as a
`ProviderFault`, after all bytes received before it were returned. Closing a response before its end drops the
connection. Requests ask for uncompressed bodies, but some servers compress anyway; the output is counted
against the input, because a kilobyte can expand to a megabyte.
"""

import asyncio
import contextlib
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.client.errors import ConnectionLost, Stalled, limit_exceeded
from thinkaloud.client.retry import Timeouts
from thinkaloud.core.canon import BadFrame, ProviderFault, Wording
from thinkaloud.core.wire.frames import KIB, MIB

if TYPE_CHECKING:
    from thinkaloud.client.connection import HttpResponse


class SizeLimits(msgspec.Struct, frozen=True):
    """Limits of what is accepted from a provider, in bytes unless the name says otherwise."""

    body_bytes: int = 512 * MIB
    """Largest response, decompressed."""
    inflate_ratio: int = 50
    """Largest expansion of one compressed byte, applied once `ratio_from_bytes` bytes were produced."""
    ratio_from_bytes: int = MIB
    error_bytes: int = 64 * KIB
    """Largest part of an error body that is read."""
    header_bytes: int = 16 * KIB
    """Longest header field."""
    head_bytes: int = 64 * KIB
    """All header fields of a response, with trailers and those of informational responses before it."""
    head_fields: int = 200
    """Their number. The responses of providers have about 30."""


SIZE_LIMITS = SizeLimits()
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_STEP_BYTES = 256 * KIB
_SLICE_BYTES = 16 * KIB
"""Returned at once. Turning so many bytes into events takes some milliseconds, in which others wait."""


def can_inflate(encoding: str) -> bool:
    """Return whether bodies with this content encoding can be read."""
    return encoding in ("", "identity") or encoding in _WBITS


class Inflater:
    """Decompresses one body chunk by chunk. Invalid data sets `fault`, after the valid part was returned."""

    def __init__(self, encoding: str, limits: SizeLimits = SIZE_LIMITS) -> None:
        self._limits = limits
        self._wbits = _WBITS[encoding]
        self._zlib = zlib.decompressobj(self._wbits)
        self._bytes_in = self._bytes_out = 0
        self.fault: ProviderFault | None = None

    def feed(self, data: bytes) -> bytes:
        """Decompress these bytes."""
        self._bytes_in += len(data)
        limit = max(self._limits.ratio_from_bytes, self._bytes_in * self._limits.inflate_ratio)
        pieces = [b""]
        while data or len(pieces[-1]) == _STEP_BYTES:  # a full step may have left more output
            if self._bytes_out >= limit:
                self.fault = limit_exceeded(
                    Wording(
                        "a body that expands to {inflate_ratio} times its size, in bytes,",
                        inflate_ratio=self._limits.inflate_ratio,
                    ),
                    limit,
                )
            else:
                pieces.append(self._inflate_step(data, min(limit - self._bytes_out, _STEP_BYTES)))
            if self.fault is not None:
                break
            data = self._zlib.unconsumed_tail
            if self._zlib.eof:
                data = self._zlib.unused_data
                self._zlib = zlib.decompressobj(self._wbits)
        return b"".join(pieces)

    def _inflate_step(self, data: bytes, limit: int) -> bytes:
        try:
            piece = self._zlib.decompress(data, limit)
        except zlib.error:
            if (
                self._wbits == _WBITS["deflate"] and not self._bytes_out
            ):  # some servers send deflate without the zlib header
                self._wbits = -15
                self._zlib = zlib.decompressobj(self._wbits)
                return self._inflate_step(data, limit)
            self.fault = BadFrame(
                "The response body is marked as compressed but cannot be decompressed. Retry, or report it "
                "to the provider."
            )
            return b""
        self._bytes_out += len(piece)
        return piece


_DRAIN_S = 0.25
_DRAIN_BYTES = 64 * KIB
"""How long, and for how many bytes, to wait for the end of a response whose turn has ended."""


class StallTimer:
    """Calls `on_stall` when a wait takes too long. One timer serves all waits, so that each wait is cheap."""

    def __init__(self, on_stall: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_stall = on_stall
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, limit_s: float) -> None:
        """Begin a wait."""
        self._deadline = deadline = self._loop.time() + limit_s
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check)
        elif self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._check)

    def pause(self) -> None:
        """End the wait."""
        self._deadline = None

    def stop(self) -> None:
        """Cancel the timer; no more waits follow."""
        self._deadline = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        if self._loop.time() < self._deadline - 0.001:
            self._timer = self._loop.call_at(self._deadline, self._check)
        else:
            self._on_stall()


def _slices(chunk: bytes) -> Iterator[bytes]:
    return (chunk[start : start + _SLICE_BYTES] for start in range(0, len(chunk), _SLICE_BYTES))


class ResponseStream:
    """The body of one response. `waited_ms` is the time from sending to its first byte."""

    def __init__(
        self,
        provider_name: str,
        response: "HttpResponse",
        encoding: str,
        timeouts: Timeouts,
        limits: SizeLimits,
    ) -> None:
        self._provider_name = provider_name
        self._response = response
        self._inflater = Inflater(encoding, limits) if encoding not in ("", "identity") else None
        self._body_limit = self._bytes_left = limits.body_bytes
        self._timeouts = timeouts
        self._limit_s = timeouts.first_byte_s
        self._stall_timer = StallTimer(self._mark_stalled)
        self._stalled_s: float | None = None
        self._progress_at_s = asyncio.get_running_loop().time()
        self._first_chunk: bytes | None = None
        self._slices: Iterator[bytes] = iter(())
        self._fault: ProviderFault | None = None
        self._finished = False
        self.waited_ms = 0

    def __repr__(self) -> str:
        return f"<ResponseStream of {self._provider_name}: {self._response.status}>"

    def __aiter__(self) -> "ResponseStream":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self.read()
        if chunk:
            return chunk
        raise StopAsyncIteration

    async def read_first(self, limit_s: float) -> None:
        """Wait for the first chunk; the next `read` returns it."""
        self._limit_s = limit_s
        self._first_chunk = await self.read()
        self._limit_s = self._timeouts.idle_s

    async def read(self) -> bytes:
        """Return the next chunk, or `b""` at the end. Raises `ProviderFault`."""
        if self._first_chunk is not None:
            chunk, self._first_chunk = self._first_chunk, None
            return chunk
        if chunk := next(self._slices, b""):
            await asyncio.sleep(0)  # a fast provider must not keep the event loop from all others
            return chunk
        while not self._finished:
            if self._fault is not None:
                fault, self._fault = self._fault, None
                self.close()
                raise fault
            if asyncio.get_running_loop().time() - self._progress_at_s > self._timeouts.progress_s:
                self.close()
                raise self._no_progress_error()
            chunk = await self._next()
            if chunk and self._inflater is not None:
                chunk = self._inflater.feed(chunk)
                self._fault = self._inflater.fault or self._fault
            if chunk:
                chunk = self._count_bytes(chunk)
                self._slices = _slices(chunk)
                return next(self._slices)
        return b""

    def note_progress(self) -> None:
        """Note that the response has become longer by an event, and not only by comments."""
        self._progress_at_s = asyncio.get_running_loop().time()

    def close(self) -> None:
        """Drop the connection, unless the response is complete. Does not wait."""
        self._finished = True
        self._slices = iter(())
        self._stall_timer.stop()
        self._response.close()

    async def drain(self) -> bytes:
        """Return the rest if it ends soon, and keep the connection for the next request; else drop it."""
        held, rest = b"".join(self._slices), b""
        try:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(_DRAIN_S):
                    while len(rest) < _DRAIN_BYTES and (chunk := await self._response.read()):
                        rest += chunk
        finally:
            self.close()
        return held + (rest if self._inflater is None else self._inflater.feed(rest))

    async def _next(self) -> bytes:
        """Read from the connection; if it broke, return the bytes that were still buffered."""
        self._stall_timer.start(self._limit_s)
        try:
            chunk = await self._response.read()
        except OSError:
            chunk = self._response.take_buffered()
            self._fault = self._break_error()
        finally:
            self._stall_timer.pause()
        if not chunk:
            if self._stalled_s is not None:
                self._fault = self._break_error()
            elif self._fault is None:
                self.close()
        return chunk

    def _count_bytes(self, chunk: bytes) -> bytes:
        if len(chunk) <= self._bytes_left:
            self._bytes_left -= len(chunk)
            return chunk
        self._fault = limit_exceeded(Wording("the response in bytes"), self._body_limit)
        within, self._bytes_left = chunk[: self._bytes_left], 0
        if within:
            return within
        self.close()
        raise self._fault

    def _break_error(self) -> ProviderFault:
        if self._stalled_s is None:
            return ConnectionLost(
                "The connection to {provider_name} was lost before the response was complete. The "
                "text received so far is kept; retry for the rest.",
                provider_name=self._provider_name,
            )
        return Stalled(
            "{provider_name} sent nothing for {stalled_s} s, so the connection was closed. The text "
            "received so far is kept; retry, or raise idle_s in Timeouts (`thinkaloud serve "
            "--idle-timeout`) if the model needs longer.",
            provider_name=self._provider_name,
            stalled_s=f"{self._stalled_s:g}",
        )

    def _no_progress_error(self) -> ProviderFault:
        return Stalled(
            "{provider_name} kept the connection open for {progress_s} s without an event, so it was "
            "closed. The text received so far is kept; retry, or raise progress_s in Timeouts "
            "(`thinkaloud serve --progress-timeout`) if the model needs longer.",
            provider_name=self._provider_name,
            progress_s=f"{self._timeouts.progress_s:g}",
        )

    def _mark_stalled(self) -> None:
        self._stalled_s = self._limit_s
        self._response.close()

"""The body of a response, pushed to a sink as it arrives, decompressed within limits.

A broken connection, a stall and an exceeded limit are a `ProviderFault` at its end, after all bytes received
before it. Much that arrives at once is given in slices, one in each round of the event loop. Closing a
response before its end drops the connection. Requests ask for uncompressed bodies, but some servers compress
anyway; the output is counted against the input, because a kilobyte can expand to a megabyte.
"""

import asyncio
import contextlib
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

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
"""Given at once. Turning so many bytes into events takes some milliseconds, in which others wait."""
_PAUSE_BYTES = 256 * KIB
"""With more bytes that nobody has taken, no more are taken from the socket."""


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
        self.deadline_s: float | None = None
        """When the wait has taken too long. It may be put off; for an earlier one, call `start`."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self, limit_s: float) -> None:
        """Begin a wait."""
        self.deadline_s = deadline = self._loop.time() + limit_s
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check)
        elif self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._check)

    def pause(self) -> None:
        """End the wait."""
        self.deadline_s = None

    def stop(self) -> None:
        """Cancel the timer; no more waits follow."""
        self.deadline_s = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self.deadline_s is None:
            return
        if self._loop.time() < self.deadline_s - 0.001:
            self._timer = self._loop.call_at(self.deadline_s, self._check)
        else:
            self._on_stall()


class BodySink(Protocol):
    """Takes the body of a response, in the callback in which it arrives."""

    def feed(self, data: bytes) -> bool:
        """Take the next bytes. Return whether they have completed something, and were not only comments."""

    def close(self, fault: ProviderFault | None) -> None:
        """Take the end, after all bytes. With a fault, the body is not complete."""


class ResponseStream:
    """The body of one response. `waited_ms` is the time from sending to its first byte.

    `deliver` pushes it to a sink. `read` is for those who read it piece by piece.
    """

    def __init__(
        self,
        provider_name: str,
        response: "HttpResponse",
        encoding: str,
        timeouts: Timeouts,
        limits: SizeLimits,
        hide_key: Callable[[str], str] = str,
    ) -> None:
        self.hide_key = hide_key
        """Removes the key of the request from a text, in case the provider quotes it."""
        self.waited_ms = 0
        self._provider_name = provider_name
        self._response = response
        self._inflater = Inflater(encoding, limits) if encoding not in ("", "identity") else None
        self._body_limit = self._bytes_left = limits.body_bytes
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._idle_timer = StallTimer(self._stall)
        self._limit_s = timeouts.first_byte_s
        self._received_s = self._progress_s = self._loop.time()
        """When bytes have come, and when they have completed an event."""
        self._waiting = bytearray()
        """Bytes that nobody has taken yet."""
        self._ended = False
        """Whether no more bytes come: the body is complete, broken or closed."""
        self._fault: ProviderFault | None = None
        self._sink: BodySink | None = None
        self._paused = False
        self._next_slice: asyncio.Handle | None = None
        self._waiter: asyncio.Future[None] | None = None
        response.on_change = self._receive
        self._receive()

    def __repr__(self) -> str:
        return f"<ResponseStream of {self._provider_name}: {self._response.status}>"

    def __aiter__(self) -> "ResponseStream":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self.read()
        if chunk:
            return chunk
        raise StopAsyncIteration

    async def wait_for_first(self, limit_s: float) -> ProviderFault | None:
        """Wait until there are bytes, or the end of an empty body. Return the fault if nothing came."""
        self._limit_s = limit_s
        await self._wait_for_bytes(1)
        self._limit_s = self._timeouts.idle_s
        return None if self._waiting else self._fault

    async def read(self) -> bytes:
        """Return the next bytes, or `b""` at the end. Raises `ProviderFault`."""
        if self._waiting:
            await asyncio.sleep(0)  # a fast provider must not keep the event loop from all others
        await self._wait_for_bytes(1)
        if self._waiting:
            return self._take_slice()
        if self._fault is not None:
            raise self._fault
        return b""

    def deliver(self, sink: BodySink) -> None:
        """Push the body to a sink, from now on in the callback in which it arrives, to its end."""
        self._sink = sink
        self._await_more()
        self._push()

    def pause(self) -> None:
        """Push nothing until `resume`. A provider that sends more than a little has to wait."""
        self._paused = True
        self._idle_timer.pause()

    def resume(self) -> None:
        """Push again, with the next round of the event loop."""
        if self._paused:
            self._paused = False
            self._await_more()
            self._push_soon()

    def close(self) -> None:
        """Drop the connection, unless the response is complete. Does not wait, and pushes nothing more."""
        self._sink = None
        self._ended = True
        self._idle_timer.stop()
        self._response.close()

    async def drain(self) -> bytes:
        """Return the rest if it ends soon, and keep the connection for the next request; else drop it."""
        self._sink = None
        try:
            if not self._ended:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_DRAIN_S):
                        await self._wait_for_bytes(_DRAIN_BYTES)
        finally:
            self.close()
        return bytes(self._waiting)

    def _receive(self) -> None:
        """Take what the connection has: bytes, the end, or a break. The connection calls this."""
        response = self._response
        data = response.take_buffered()
        if self._ended:
            return
        self._received_s = self._loop.time()
        late = self._received_s - self._progress_s > self._timeouts.progress_s
        if data and (late or self._inflater is not None or len(data) > self._bytes_left):
            data = self._check(data)
        self._bytes_left -= len(data)
        if response.complete or self._fault is not None:
            self._end()
        elif response.error is not None:
            self._fault = self._break_error()
            self._end()
        elif self._idle_timer.deadline_s is not None:
            self._idle_timer.deadline_s = self._received_s + self._limit_s
        if self._waiting or len(data) > _SLICE_BYTES or self._sink is None:
            self._waiting += data
            if len(self._waiting) > _PAUSE_BYTES:
                response.pause()
            self._push()
        else:
            self._push(data)

    def _check(self, data: bytes) -> bytes:
        """Return the bytes of the body, decompressed and within the limits."""
        if self._inflater is not None:
            data = self._inflater.feed(data)
            self._fault = self._inflater.fault
        if len(data) > self._bytes_left:
            data = data[: self._bytes_left]
            self._fault = limit_exceeded(Wording("the response in bytes"), self._body_limit)
        elif self._received_s - self._progress_s > self._timeouts.progress_s:
            self._fault = self._no_progress_error()
        return data

    def _push(self, data: bytes = b"") -> None:
        """Give the sink a slice of what waits, or `data` if nothing does. The next slice comes later."""
        sink = self._sink
        if sink is None:
            self._wake()
            return
        if self._paused or self._next_slice is not None:
            self._waiting += data
            return
        data = data or self._take_slice()
        if data and sink.feed(data):
            self._progress_s = self._received_s
        if self._waiting:
            self._push_soon()
        elif self._ended and self._sink is not None and not self._paused:
            self._sink = None
            sink.close(self._fault)

    def _push_soon(self) -> None:
        if self._next_slice is None:
            self._next_slice = self._loop.call_soon(self._push_next)

    def _push_next(self) -> None:
        self._next_slice = None
        self._push()

    def _take_slice(self) -> bytes:
        data = bytes(self._waiting[:_SLICE_BYTES])
        del self._waiting[:_SLICE_BYTES]
        if len(self._waiting) <= _PAUSE_BYTES:
            self._response.resume()
        return data

    async def _wait_for_bytes(self, count: int) -> None:
        """Wait until so many bytes wait, or no more come."""
        self._await_more()
        try:
            while len(self._waiting) < count and not self._ended:
                self._waiter = self._loop.create_future()
                await self._waiter
        finally:
            self._waiter = None
            self._idle_timer.pause()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _await_more(self) -> None:
        """Let the time begin in which the next bytes have to come."""
        if not self._ended:
            self._idle_timer.start(self._limit_s)

    def _end(self) -> None:
        self._ended = True
        self._idle_timer.stop()
        self._response.close()

    def _stall(self) -> None:
        self._fault = self._stalled_error()
        self._end()
        self._push()

    def _break_error(self) -> ProviderFault:
        return ConnectionLost(
            "The connection to {provider_name} was lost before the response was complete. The "
            "text received so far is kept; retry for the rest.",
            provider_name=self._provider_name,
        )

    def _stalled_error(self) -> ProviderFault:
        return Stalled(
            "{provider_name} sent nothing for {stalled_s} s, so the connection was closed. The text "
            "received so far is kept; retry, or raise idle_s in Timeouts (`thinkaloud serve "
            "--idle-timeout`) if the model needs longer.",
            provider_name=self._provider_name,
            stalled_s=f"{self._limit_s:g}",
        )

    def _no_progress_error(self) -> ProviderFault:
        return Stalled(
            "{provider_name} kept the connection open for {progress_s} s without an event, so it was "
            "closed. The text received so far is kept; retry, or raise progress_s in Timeouts "
            "(`thinkaloud serve --progress-timeout`) if the model needs longer.",
            provider_name=self._provider_name,
            progress_s=f"{self._timeouts.progress_s:g}",
        )

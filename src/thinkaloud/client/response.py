"""Bodies that come compressed although we asked for plain ones: unpacked within bounds, or refused.

A kilobyte can unpack to a megabyte. What comes out is counted against what went in, before it is held.

A response as it comes: bytes, read one piece at a time, with an end that is always told apart.

The end of the bytes is `b""`; a broken connection, a silence and a limit are raised, after everything that
came before them was given. A reply that is left before its end drops its connection at once.
"""

import asyncio
import contextlib
import zlib
from collections.abc import Callable
from typing import Any, cast

import aiohttp
import msgspec

from thinkaloud.canon import BadFrame, ProviderFault
from thinkaloud.client.errors import ConnectionLost, Stalled, limit_exceeded

KIB = 1024
MIB = 1024 * KIB


class SizeLimits(msgspec.Struct, frozen=True):
    """The most we take from a provider, in bytes unless the name says otherwise."""

    body_bytes: int = 512 * MIB
    """Largest response, unpacked."""
    inflate_ratio: int = 50
    """How many bytes one byte may unpack to, once `ratio_from` bytes have come out."""
    ratio_from_bytes: int = MIB
    error_bytes: int = 64 * KIB
    """How much of an error's body is read."""
    header_bytes: int = 16 * KIB
    """Longest header field."""


SIZE_LIMITS = SizeLimits()
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_STEP_BYTES = 256 * KIB


def can_inflate(encoding: str) -> bool:
    """Whether bodies of this content encoding can be read at all."""
    return encoding in ("", "identity") or encoding in _WBITS


class Inflater:
    """Unpacks one body, piece by piece. What cannot be unpacked sets `fault`, after what could be."""

    def __init__(self, encoding: str, limits: SizeLimits = SIZE_LIMITS) -> None:
        self._limits = limits
        self._wbits = _WBITS[encoding]
        self._zlib = zlib.decompressobj(self._wbits)
        self._bytes_in = self._bytes_out = 0
        self.fault: ProviderFault | None = None

    def feed(self, data: bytes) -> bytes:
        """What these bytes unpack to."""
        self._bytes_in += len(data)
        limit = max(self._limits.ratio_from_bytes, self._bytes_in * self._limits.inflate_ratio)
        pieces = [b""]
        while data or len(pieces[-1]) == _STEP_BYTES:  # a full step may have left more inside
            if self._bytes_out >= limit:
                self.fault = limit_exceeded(
                    f"a body that unpacks to {self._limits.inflate_ratio} times its size, in bytes,", limit
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
            ):  # some send deflate without its wrapping
                self._wbits = -15
                self._zlib = zlib.decompressobj(self._wbits)
                return self._inflate_step(data, limit)
            self.fault = BadFrame(
                "The body says it is compressed and cannot be unpacked. Ask again, or report it."
            )
            return b""
        self._bytes_out += len(piece)
        return piece


_DRAIN_S = 0.25
_DRAIN_BYTES = 64 * KIB
"""How long, and for how many bytes, the end of a response is awaited once its turn is over."""


class Timeouts(msgspec.Struct, frozen=True):
    """How long to wait, in seconds."""

    connect_s: float = 10.0
    """For a connection, with name and TLS."""
    first_byte_s: float = 600.0
    """From sending to the first byte of the body: models may think in silence."""
    idle_s: float = 120.0
    """Between two pieces of the body."""


TIMEOUTS = Timeouts()


class StallTimer:
    """Calls out when a wait takes too long. One timer serves all waits, so that each costs little."""

    def __init__(self, on_stall: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_stall = on_stall
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, limit_s: float) -> None:
        """A wait begins."""
        self._deadline = deadline = self._loop.time() + limit_s
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check)
        elif self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._check)

    def pause(self) -> None:
        """The wait is over."""
        self._deadline = None

    def stop(self) -> None:
        """There will be no more waits."""
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


class ResponseStream:
    """The body of one response. `waited_ms` is the time from sending to its first byte."""

    def __init__(
        self,
        provider_name: str,
        response: aiohttp.ClientResponse,
        encoding: str,
        timeouts: Timeouts,
        limits: SizeLimits,
    ) -> None:
        self._provider_name = provider_name
        self._response = response
        self._content = response.content
        self._inflater = Inflater(encoding, limits) if encoding not in ("", "identity") else None
        self._body_limit = self._bytes_left = limits.body_bytes
        self._timeouts = timeouts
        self._limit_s = timeouts.first_byte_s
        self._stall_timer = StallTimer(self._mark_stalled)
        self._stalled_s: float | None = None
        self._first_chunk: bytes | None = None
        self._fault: ProviderFault | None = None
        self._finished = False
        self.waited_ms = 0

    def __repr__(self) -> str:
        return f"<Reply of {self._provider_name}: {self._response.status}>"

    def __aiter__(self) -> "ResponseStream":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self.read()
        if chunk:
            return chunk
        raise StopAsyncIteration

    async def read_first(self, limit_s: float) -> None:
        """Wait for the first piece; the next `read` gives it."""
        self._limit_s = limit_s
        self._first_chunk = await self.read()
        self._limit_s = self._timeouts.idle_s

    async def read(self) -> bytes:
        """The next piece; nothing at the end. What cannot be read is raised as a `ProviderFault`."""
        if self._first_chunk is not None:
            chunk, self._first_chunk = self._first_chunk, None
            return chunk
        while not self._finished:
            if self._fault is not None:
                fault, self._fault = self._fault, None
                self.close()
                raise fault
            chunk = await self._next()
            if chunk and self._inflater is not None:
                chunk = self._inflater.feed(chunk)
                self._fault = self._inflater.fault or self._fault
            if chunk:
                return self._count_bytes(chunk)
        return b""

    def close(self) -> None:
        """Drop the connection unless the response has come to its end; nothing is waited for."""
        self._finished = True
        self._stall_timer.stop()
        self._abort()
        self._response.close()

    async def drain(self) -> None:
        """Keep the connection for the next request if the response ends at once; drop it otherwise."""
        bytes_left = _DRAIN_BYTES
        try:
            with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_DRAIN_S):
                    while bytes_left > 0 and (chunk := await self._content.readany()):
                        bytes_left -= len(chunk)
        finally:
            self.close()

    async def _next(self) -> bytes:
        """Bytes from the connection; at its end, or when it broke, whatever is left of them."""
        self._stall_timer.start(self._limit_s)
        try:
            chunk = await self._content.readany()
        except (aiohttp.ClientError, OSError):
            chunk = self._buffered_bytes()
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
        self._fault = limit_exceeded("the response in bytes", self._body_limit)
        within, self._bytes_left = chunk[: self._bytes_left], 0
        if within:
            return within
        self.close()
        raise self._fault

    def _buffered_bytes(self) -> bytes:
        """What had arrived before the connection broke: the reader would throw it away with its error."""
        self._content.set_exception(cast(Any, None))
        return self._content.read_nowait()

    def _break_error(self) -> ProviderFault:
        if self._stalled_s is None:
            return ConnectionLost(
                f"The connection to {self._provider_name} broke before it had said all. "
                "What it said stands; ask again for the rest."
            )
        return Stalled(
            f"{self._provider_name} sent nothing for {self._stalled_s:g} s, so the connection was closed. "
            "What it said stands; ask again, or raise idle_s in Timeouts if it needs longer."
        )

    def _mark_stalled(self) -> None:
        self._stalled_s = self._limit_s
        self._abort()

    def _abort(self) -> None:
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

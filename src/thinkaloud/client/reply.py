"""A response as it comes: bytes, read one piece at a time, with an end that is always told apart.

The end of the bytes is `b""`; a broken connection, a silence and a limit are raised, after everything that
came before them was given. A reply that is left before its end drops its connection at once.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, cast

import aiohttp
import msgspec

from thinkaloud.canon import ProviderFault
from thinkaloud.client.faults import ConnectionLost, Stalled, too_large
from thinkaloud.client.inflate import KIB, Caps, Inflater

_SETTLE_S = 0.25
_SETTLE_BYTES = 64 * KIB
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


class Watch:
    """Calls out when a wait takes too long. One timer serves all waits, so that each costs little."""

    def __init__(self, on_silence: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_silence = on_silence
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, limit_s: float) -> None:
        """A wait begins."""
        self._due = due = self._loop.time() + limit_s
        if self._timer is None:
            self._timer = self._loop.call_at(due, self._look)
        elif self._timer.when() > due:
            self._timer.cancel()
            self._timer = self._loop.call_at(due, self._look)

    def rest(self) -> None:
        """The wait is over."""
        self._due = None

    def stop(self) -> None:
        """There will be no more waits."""
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._loop.time() < self._due - 0.001:
            self._timer = self._loop.call_at(self._due, self._look)
        else:
            self._on_silence()


class Reply:
    """The body of one response. `waited_ms` is the time from sending to its first byte."""

    def __init__(
        self, name: str, response: aiohttp.ClientResponse, encoding: str, timeouts: Timeouts, caps: Caps
    ) -> None:
        self._name = name
        self._response = response
        self._content = response.content
        self._inflater = Inflater(encoding, caps) if encoding not in ("", "identity") else None
        self._most = self._left = caps.body
        self._timeouts = timeouts
        self._limit_s = timeouts.first_byte_s
        self._watch = Watch(self._fell_silent)
        self._silent_s: float | None = None
        self._ahead: bytes | None = None
        self._fault: ProviderFault | None = None
        self._over = False
        self.waited_ms = 0

    def __repr__(self) -> str:
        return f"<Reply of {self._name}: {self._response.status}>"

    def __aiter__(self) -> "Reply":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self.read()
        if chunk:
            return chunk
        raise StopAsyncIteration

    async def begin(self, limit_s: float) -> None:
        """Wait for the first piece; the next `read` gives it."""
        self._limit_s = limit_s
        self._ahead = await self.read()
        self._limit_s = self._timeouts.idle_s

    async def read(self) -> bytes:
        """The next piece; nothing at the end. What cannot be read is raised as a `ProviderFault`."""
        if self._ahead is not None:
            chunk, self._ahead = self._ahead, None
            return chunk
        while not self._over:
            if self._fault is not None:
                fault, self._fault = self._fault, None
                self.close()
                raise fault
            chunk = await self._next()
            if chunk and self._inflater is not None:
                chunk = self._inflater.feed(chunk)
                self._fault = self._inflater.fault or self._fault
            if chunk:
                return self._metered(chunk)
        return b""

    def close(self) -> None:
        """Drop the connection unless the response has come to its end; nothing is waited for."""
        self._over = True
        self._watch.stop()
        self._cut()
        self._response.close()

    async def settle(self) -> None:
        """Keep the connection for the next request if the response ends at once; drop it otherwise."""
        left = _SETTLE_BYTES
        try:
            with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_SETTLE_S):
                    while left > 0 and (chunk := await self._content.readany()):
                        left -= len(chunk)
        finally:
            self.close()

    async def _next(self) -> bytes:
        """Bytes from the connection; at its end, or when it broke, whatever is left of them."""
        self._watch.start(self._limit_s)
        try:
            chunk = await self._content.readany()
        except (aiohttp.ClientError, OSError):
            chunk = self._rest()
            self._fault = self._broken()
        finally:
            self._watch.rest()
        if not chunk:
            if self._silent_s is not None:
                self._fault = self._broken()
            elif self._fault is None:
                self.close()
        return chunk

    def _metered(self, chunk: bytes) -> bytes:
        if len(chunk) <= self._left:
            self._left -= len(chunk)
            return chunk
        self._fault = too_large("the response in bytes", self._most)
        within, self._left = chunk[: self._left], 0
        if within:
            return within
        self.close()
        raise self._fault

    def _rest(self) -> bytes:
        """What had arrived before the connection broke: the reader would throw it away with its error."""
        self._content.set_exception(cast(Any, None))
        return self._content.read_nowait()

    def _broken(self) -> ProviderFault:
        if self._silent_s is None:
            return ConnectionLost(
                f"The connection to {self._name} broke before it had said all. "
                "What it said stands; ask again for the rest."
            )
        return Stalled(
            f"{self._name} sent nothing for {self._silent_s:g} s, so the connection was closed. "
            "What it said stands; ask again, or raise idle_s in Timeouts if it needs longer."
        )

    def _fell_silent(self) -> None:
        self._silent_s = self._limit_s
        self._cut()

    def _cut(self) -> None:
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

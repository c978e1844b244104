"""A turn that runs in this process while browsers read it, leave, and come back.

It is read from its source in a thread, or in the event loop of the view that started it, and not by the
response that shows it: a lost connection loses nothing. Its entries are kept as lines of JSON. A reader is a
position among them, so live reading, joining late, resuming and slow reading are the same.
"""

import asyncio
import inspect
import logging
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple

import msgspec

from thinkaloud.client.follow import Following, asynchronous, follow, source_failed
from thinkaloud.core.canon import Entry, Refused, ThinkaloudError, TurnEnded, TurnFailed, Wording
from thinkaloud.core.export.record import entry_without_seals
from thinkaloud.core.transcript import Turn
from thinkaloud.core.wire.sse_encoder import HEARTBEAT, RETRY, sse_chunks, sse_id

logger = logging.getLogger(__name__)

_MIB = 1024 * 1024
_LINES_AT_ONCE = 1_000
_LINE_COST = 50
"""What Python needs to hold a short line besides its bytes."""
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class LiveLimits:
    """How many turns may run and be kept, how large they may be, and how long."""

    running: int = 200
    """Turns at once. Each reads its source in a thread, unless the source is asynchronous."""
    kept: int = 1_000
    """Turns that are running or kept. The one that ended first makes room for a new one."""
    turn_bytes: int = 32 * _MIB
    """The entries of one turn: about a million characters of thought in the smallest pieces."""
    total_bytes: int = 256 * _MIB
    """The entries of all turns. Those that ended first make room, then the largest that runs is ended."""
    turn_s: float = 3_600
    """How long a turn may run."""
    kept_s: float = 300
    """How long a turn can be read again after its end."""
    readers_per_turn: int = 20
    heartbeat_s: float = 15
    """How long a connection may be silent."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
                raise Refused("The limit {name} must be a positive number.", name=field.name)


class TurnOptions(NamedTuple):
    """How a turn is started, and by whom it may be read."""

    owner: str = ""
    """Whose turn it is. Who asks for it as somebody else is told that there is none."""
    stop_after_s: float | None = None
    """Stops the turn when nobody has read it for so long; None lets it run to its end."""
    on_end: Callable[[Turn], object] | None = None
    """Called once with the whole turn, however it ended."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop that asynchronous sources are read in; None is a loop of their own in a thread."""


class LiveTurn:
    """One turn: the lines of its entries, and the readers that wait for more."""

    def __init__(self, limits: LiveLimits, options: TurnOptions) -> None:
        self.id = secrets.token_urlsafe(16)
        self.options = options
        self.readers = 0
        self.size = 0
        self.started_s = self.left_s = time.monotonic()
        self.ended_s: float | None = None
        self.closed = threading.Event()
        """Set when the source is closed, and the turn was passed to `on_end`."""
        self._limits = limits
        self._lines: list[bytes] = []
        self._forgotten = self._stopped = False
        self._following = follow(())
        self._wakers: set[Callable[[], None]] = set()
        self._cancel: Callable[[], object] | None = None
        self._lock = threading.Lock()

    @property
    def last_seq(self) -> int:
        """The number of the last entry, or -1."""
        return len(self._lines) - 1

    def launch(self, source: object) -> None:
        """Begin to read a source, or what a function returns, which is called where the turn runs."""
        loop = self.options.loop
        if loop is None:
            self._in_thread(lambda: self._open(source))
            return
        opened: object = ()
        with self._ended_by_errors():
            opened = self._open(source)
        if self.ended_s is not None or asynchronous(opened, prefer=True):
            self._task = loop.create_task(self._run_async(opened))
        else:
            self._in_thread(lambda: opened)

    def end(self, end: TurnEnded | TurnFailed) -> None:
        """End the turn as it is now, and leave its source."""
        with self._lock:
            if self.ended_s is None:
                self._stopped = True
                self._append(self._following.break_off(end))
        self._wake()
        if self._stopped and self._cancel is not None:
            self._cancel()

    def forget(self) -> None:
        """Free the entries. Who still reads them is disconnected."""
        with self._lock:
            self._forgotten, self._lines, self.size = True, [], 0
        self._wake()

    def frames(self, after: int) -> Generator[bytes, None, None]:
        """Yield the stream for one reader from after this entry to the end of the turn."""
        with self._reader():
            yield self._first_frame(after)
            while not self._over(after):
                yield from sse_chunks(lines := self._read_lines(after), after + 1, self.id)
                after += len(lines)
                changed = threading.Event()
                if self._watch(after, changed.set) and not changed.wait(self._limits.heartbeat_s):
                    self._wakers.discard(changed.set)
                    yield HEARTBEAT

    async def frames_async(self, after: int) -> AsyncGenerator[bytes, None]:
        """Yield the same in an event loop."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        wake = partial(_call_in, loop, changed.set)
        with self._reader():
            yield self._first_frame(after)
            while not self._over(after):
                for chunk in sse_chunks(lines := self._read_lines(after), after + 1, self.id):
                    yield chunk
                after += len(lines)
                changed.clear()
                if self._watch(after, wake):
                    try:
                        async with asyncio.timeout(self._limits.heartbeat_s):
                            await changed.wait()
                    except TimeoutError:
                        yield HEARTBEAT
                    finally:
                        self._wakers.discard(wake)

    def _first_frame(self, after: int) -> bytes:
        return RETRY + sse_id(self.id if after < 0 else f"{self.id}.{after}")

    def _read_lines(self, after: int) -> list[bytes]:
        return self._lines[after + 1 : after + 1 + _LINES_AT_ONCE]

    def _over(self, after: int) -> bool:
        return self._forgotten or (self.ended_s is not None and after >= self.last_seq)

    @contextmanager
    def _reader(self) -> Iterator[None]:
        with self._lock:
            self.readers += 1
        try:
            yield
        finally:
            with self._lock:
                self.readers -= 1
                self.left_s = time.monotonic()

    def _watch(self, after: int, wake: Callable[[], None]) -> bool:
        """Have `wake` called at the next change; False if something has changed already."""
        with self._lock:
            if self._forgotten or self.ended_s is not None or self.last_seq > after:
                return False
            self._wakers.add(wake)
            return True

    def _wake(self) -> None:
        with self._lock:
            wakers, self._wakers = self._wakers, set()
        for wake in wakers:
            wake()

    def _open(self, source: object) -> object:
        return source() if callable(source) else source

    def _in_thread(self, opened: Callable[[], object]) -> None:
        run = partial(copy_context().run, self._run, opened)
        threading.Thread(target=run, name="thinkaloud-turn", daemon=True).start()

    def _run(self, opened: Callable[[], object]) -> None:
        """Read the source in this thread."""
        with self._ended_by_errors():
            source = opened()
            if asynchronous(source, prefer=False):
                asyncio.run(self._run_async(source))
                return
            self._read(self._adopt(source))
        asyncio.run(self._close())

    async def _run_async(self, source: Any) -> None:
        """Read the source in this event loop. Whoever stops the turn cancels the reading alone."""
        reading = asyncio.ensure_future(self._read_any(source))
        try:
            await asyncio.wait([reading])
            with self._ended_by_errors():
                if not reading.cancelled():
                    reading.result()
        finally:
            reading.cancel()
            self.end(TurnFailed.of("interrupted", Wording("The server stopped.")))
            await self._close()

    async def _read_any(self, source: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._cancel = partial(_call_in, task.get_loop(), task.cancel)
        if inspect.iscoroutine(source) and self._stopped:
            source.close()
            return
        if inspect.isawaitable(source) and not hasattr(source, "__aenter__"):
            source = await source
        following = self._adopt(source)
        if asynchronous(source, prefer=True):
            await self._read_async(following)
        else:
            await asyncio.to_thread(self._read, following)

    async def _close(self) -> None:
        """Give the turn to whoever wants it at its end."""
        on_end = self.options.on_end
        try:
            saved = on_end(self._following.turn) if on_end is not None else None
            if inspect.isawaitable(saved):
                await saved
        except Exception:
            logger.exception("A function that was to take a turn at its end failed.")
        self.closed.set()

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """End the turn with an error of its source."""
        try:
            yield
        except Exception as error:
            logger.exception("The source of a turn failed.")
            reason: str | Wording = type(error).__name__
            # The words of other libraries may hold addresses and keys, and a browser is a stranger.
            if isinstance(error, ThinkaloudError):
                reason = error.wording
            self.end(source_failed(reason))

    def _adopt(self, source: object) -> Following:
        """Let this source be the one of the turn, unless the turn was stopped."""
        following = source if isinstance(source, Following) else follow(source)
        following.refuse_second_time()
        with self._lock:
            if not self._stopped:
                self._following = following
        return following

    def _read(self, following: Following) -> None:
        with ExitStack() as stack:
            pieces = following.open(stack)
            if self._stopped:
                return
            for piece in pieces:
                if not self._take(partial(following.feed, piece)):
                    return
            self._take(following.close)

    async def _read_async(self, following: Following) -> None:
        async with AsyncExitStack() as stack:
            pieces = await following.open_async(stack)
            if self._stopped:
                return
            async for piece in pieces:
                if not self._take(partial(following.feed, piece)):
                    return
            self._take(following.close)

    def _take(self, step: Callable[[], list[Entry]]) -> bool:
        """Add the entries of one step; False if the turn was stopped."""
        with self._lock:
            if self._stopped:
                return False
            self._append(step())
            full = self.size > self._limits.turn_bytes
        self._wake()
        if full:
            self.end(too_large("turn_bytes", self._limits.turn_bytes))
        return not self._stopped

    def _append(self, entries: list[Entry]) -> None:
        for entry in entries:
            line = _encode(entry_without_seals(entry))
            self._lines.append(line)
            self.size += len(line) + _LINE_COST
        if not self._following.turn.live:
            self.ended_s = self.ended_s or time.monotonic()


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call a function in an event loop from any thread, unless the loop is gone."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)


def too_large(name: str, limit: float) -> TurnFailed:
    """Return how a turn ends that has too much text."""
    message = Wording("The turn is larger than its limit {name}: {limit} bytes.", name=name, limit=limit)
    return TurnFailed.of("too_large", message)

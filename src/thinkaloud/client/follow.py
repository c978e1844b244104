"""Follows a stream that a program already has: the deltas of its response, and the turn so far.

The source is what an SDK, an HTTP library or the program itself yields, also events and entries; it is told
by its shape. It is closed when the loop over it is left. If it fails, the turn ends as failed with the text
so far, and the error is raised as it is.
"""

import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, aclosing, closing
from typing import TYPE_CHECKING, Any, get_args

from thinkaloud.core.canon import (
    Entry,
    Event,
    Finish,
    Kind,
    NotAResponse,
    Refused,
    TurnEnded,
    TurnFailed,
    Wording,
)
from thinkaloud.core.dialects import AUTO, Reader
from thinkaloud.core.export.markdown_format import readable
from thinkaloud.core.transcript import Delta, Turn, apply, delta_of
from thinkaloud.core.transcript.reducer import events_to_end_turn
from thinkaloud.core.view import notice
from thinkaloud.core.view.labels import TOOL_ICON
from thinkaloud.core.wire import readable as is_readable
from thinkaloud.extras import refuse_missing_extras

if TYPE_CHECKING:
    from rich.console import Console

Clock = Callable[[], int]
_TEXTS = (bytes, bytearray, memoryview, str)
_OWN_PIECES = (Entry, *get_args(Event))
_CUT_OFF = TurnFailed.of(
    "cut_off",
    Wording(
        "The {dialect} response is incomplete: it stopped before {expected}.",
        dialect="thinkaloud",
        expected="turn.ended",
    ),
)


def monotonic_clock() -> Clock:
    """Return a millisecond clock that starts at the time of day and never jumps."""
    start_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (start_ns + time.monotonic_ns()) // 1_000_000


def follow(source: object, dialect: str = AUTO, *, model: str = "", tags: str = "") -> "Following":
    """Follow a stream, a response or a whole answer; iterate over it with `for` or `async for`.

    `dialect`, `model` and `tags` are those of `Reader`.
    """
    return Following(source, Reader(dialect, model=model, tags=tags), monotonic_clock())


def print_thinking(
    source: object, dialect: str = AUTO, *, model: str = "", tags: str = "", console: "Console | None" = None
) -> Turn:
    """Follow a stream, print it with Rich as it arrives, and return the turn. Thoughts are dimmed."""
    with refuse_missing_extras():
        from rich.console import Console
        from rich.text import Text

    console, stream = console or Console(), follow(source, dialect, model=model, tags=tags)
    last_block = -1
    for delta in stream:
        if delta.block != last_block:
            console.print("" if last_block < 0 else "\n", end="")
            if delta.name:
                console.print(Text(f"{TOOL_ICON} {readable(delta.name)} ", style="bold dim"), end="")
        last_block = delta.block
        console.print(Text(readable(delta.text), style="" if delta.kind is Kind.TEXT else "dim"), end="")
    console.print()
    if ending := notice(stream.turn):
        console.print(Text(readable(ending), style="italic dim"))
    return stream.turn


class Following:
    """The deltas of one response. `turn` is the turn so far, and the whole turn after the loop.

    Code without a loop takes the steps itself: `open`, `feed` for each piece, and `close` or `break_off`.
    """

    def __init__(self, source: object, reader: Reader, clock: Clock | None = None) -> None:
        self._source = source
        self._reader = reader
        self._clock = clock
        self._left = False
        self._made_of_events = False
        self.turn = Turn()
        self.unread: list[Entry] = []
        """The entries that ended the turn because the loop over `entries` was left before its end."""

    def __iter__(self) -> Generator[Delta, None, None]:
        with closing(self.entries()) as batches:
            for batch in batches:
                yield from self._deltas(batch)

    async def __aiter__(self) -> AsyncGenerator[Delta, None]:
        async with aclosing(self.entries_async()) as batches:
            async for batch in batches:
                for delta in self._deltas(batch):
                    yield delta

    def entries(self) -> Generator[list[Entry], None, None]:
        """Iterate over entries instead of deltas: those that each piece of the source adds to the turn.

        Where the source fails, those that end the turn come before its error is raised.
        """
        if self._left:
            return
        with ExitStack() as stack:
            try:
                for piece in self.open(stack):
                    yield self.feed(piece)
                yield self.close()
            except GeneratorExit as left:
                self.unread = self.break_off(_end_by(left))
                raise
            except BaseException as error:
                yield self.break_off(_end_by(error))
                raise

    async def entries_async(self) -> AsyncGenerator[list[Entry], None]:
        """Iterate like `entries`, with `async for`."""
        if self._left:
            return
        async with AsyncExitStack() as stack:
            try:
                async for piece in await self.open_async(stack):
                    yield self.feed(piece)
                yield self.close()
            except GeneratorExit as left:
                self.unread = self.break_off(_end_by(left))
                raise
            except BaseException as error:
                yield self.break_off(_end_by(error))
                raise

    @property
    def blocking(self) -> bool:
        """Whether waiting for a piece blocks the thread, because the source has no `async for`."""
        return not asynchronous(self._source, prefer=True)

    def open(self, stack: ExitStack) -> Iterable[object]:
        """Return the pieces of the response. What must be closed afterwards is left to the stack."""
        self.refuse_second_time()
        self._left = True
        return _pieces(self._source, stack)

    async def open_async(self, stack: AsyncExitStack) -> AsyncIterable[object]:
        """Return the pieces of the response, also of one that must be awaited."""
        self.refuse_second_time()
        self._left = True
        return await _async_pieces(self._source, stack)

    def feed(self, piece: Any) -> list[Entry]:
        """Return what a piece of the source adds. Entries that came before are passed over."""
        self._made_of_events = isinstance(piece, _OWN_PIECES)
        if isinstance(piece, Entry):
            return self._apply([piece] if piece.seq > self.turn.seq else [])
        return self._append([piece] if self._made_of_events else self._reader.feed(piece))

    def close(self) -> list[Entry]:
        """Return the last entries, after the last piece."""
        if self._made_of_events:
            return self._append(events_to_end_turn(self.turn, _CUT_OFF))
        return self._append(self._reader.close())

    def break_off(self, end: TurnEnded | TurnFailed) -> list[Entry]:
        """End the turn before its last piece, unless it was complete."""
        if self._made_of_events:
            return self._append(events_to_end_turn(self.turn, end))
        return self._append(self._reader.break_off(end)) if self.turn.live else []

    def refuse_second_time(self) -> None:
        """Raise `Refused` if this stream was followed before, so that nothing is left to follow."""
        if self._left:
            raise Refused("This stream was followed before. Follow the response of another request.")

    def _append(self, events: list[Event]) -> list[Entry]:
        """Stamp events and add them to the turn."""
        at_ms = self._clock() if self._clock else None
        return self._apply([Entry(seq, event, at_ms) for seq, event in enumerate(events, self.turn.seq + 1)])

    def _apply(self, entries: list[Entry]) -> list[Entry]:
        for entry in entries:
            apply(self.turn, entry)
        return entries

    def _deltas(self, entries: list[Entry]) -> Iterator[Delta]:
        """Yield what of these entries a program shows."""
        for entry in entries:
            if delta := delta_of(self.turn, entry.event):
                yield delta


def source_failed(reason: str | Wording) -> TurnFailed:
    """Return how a turn ends whose source raised an error."""
    return TurnFailed.of("source_failed", Wording("The stream failed: {reason}", reason=reason))


def refuse_other_types(source: object) -> None:
    """Raise `NotAResponse` for what cannot be followed, whichever way its pieces come."""
    opened = ("__iter__", "__aiter__", "__enter__", "__aenter__", "__await__", "iter_bytes", "aiter_bytes")
    source = _inner_stream(source)
    if not _whole(source) and not any(hasattr(source, name) for name in opened):
        raise _not_a_stream(source)


def _end_by(error: BaseException) -> TurnEnded | TurnFailed:
    """Return how a turn ends whose source failed, or whose loop was left."""
    if not isinstance(error, Exception):
        return TurnEnded(Finish.CANCELLED)
    return source_failed(f"{type(error).__name__}: {error}")


def _pieces(source: Any, stack: ExitStack) -> Iterable[object]:
    """Return the pieces of a response. What was opened, or can be closed, is left to the stack."""
    source = _inner_stream(source)
    if _whole(source):
        return (source,)
    if hasattr(source, "__enter__") and not _iterable(source):
        return _pieces(stack.enter_context(source), stack)
    if callable(close := getattr(source, "close", None)) and not inspect.iscoroutinefunction(close):
        stack.callback(close)
    pieces: Iterable[object] | None = None
    if hasattr(source, "iter_content"):  # requests
        pieces = source.iter_content(None)
    elif hasattr(source, "iter_bytes"):  # httpx
        pieces = source.iter_bytes()
    elif hasattr(source, "__iter__"):
        pieces = source
    if pieces is not None:
        return pieces
    if inspect.isawaitable(source) or hasattr(source, "__aiter__") or hasattr(source, "__aenter__"):
        if inspect.iscoroutine(source):
            source.close()
        raise Refused(
            "This {kind} is asynchronous. Use `async for delta in thinkaloud.follow(...)`.",
            kind=type(source).__name__,
        )
    raise _not_a_stream(source)


async def _async_pieces(source: Any, stack: AsyncExitStack) -> AsyncIterable[object]:
    """Return the pieces of a response, like `_pieces`, also those of a stream that must be awaited."""
    source = _inner_stream(source)
    if _whole(source):
        return _each((source,))
    if (pieces := _async_iterable(source)) is not None:
        stack.push_async_callback(_close, source)
        return pieces
    if hasattr(source, "__aenter__"):
        return await _async_pieces(await stack.enter_async_context(source), stack)
    if inspect.isawaitable(source):
        return await _async_pieces(await source, stack)
    return _each(_pieces(source, stack.enter_context(ExitStack())))


def asynchronous(source: Any, *, prefer: bool) -> bool:
    """Return whether the pieces of a source come by `async for`; `prefer` decides where it offers both."""
    source = _inner_stream(source._source if isinstance(source, Following) else source)
    if _whole(source):
        return False
    if hasattr(source, "iter_bytes") and hasattr(source, "aiter_bytes"):  # httpx: only its stream knows
        return not hasattr(getattr(source, "stream", None), "__iter__")
    async_ = inspect.isawaitable(source) or hasattr(source, "__aiter__") or hasattr(source, "__aenter__")
    sync = hasattr(source, "__iter__") or hasattr(source, "__enter__")
    return async_ and (prefer or not sync)


def _async_iterable(source: Any) -> AsyncIterable[object] | None:
    pieces: AsyncIterable[object] | None = None
    content: Any = getattr(source, "content", None)
    if hasattr(source, "aiter_bytes"):  # httpx
        pieces = source.aiter_bytes()
    elif hasattr(source, "__aiter__"):
        pieces = source
    elif hasattr(content, "iter_any"):  # aiohttp
        pieces = content.iter_any()
    return pieces


async def _each(pieces: Iterable[object]) -> AsyncGenerator[object, None]:
    for piece in pieces:
        yield piece


async def _close(source: Any) -> None:
    close = getattr(source, "aclose", None) or getattr(source, "close", None)
    closing = close() if callable(close) else None
    if inspect.isawaitable(closing):
        await closing


def _inner_stream(source: Any) -> Any:
    """Return the stream in a mapping that has one, as boto3 returns it."""
    stream = source.get("stream") if isinstance(source, Mapping) else None
    return stream if _iterable(stream) and not isinstance(stream, _TEXTS) else source


def _iterable(source: object) -> bool:
    return hasattr(source, "__iter__") or hasattr(source, "__aiter__")


def _whole(source: object) -> bool:
    return isinstance(source, _TEXTS) or is_readable(source)


def _not_a_stream(source: object) -> NotAResponse:
    return NotAResponse(
        "An object of type {kind} is neither a stream nor a response. Pass what your SDK or HTTP library "
        "returned: its stream, its response, bytes, text, lines, or mappings.",
        kind=type(source).__name__,
    )

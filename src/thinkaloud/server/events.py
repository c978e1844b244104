"""The stream of a turn's entries as server-sent events, in plain ASGI: lines of the log, copied as they are.

A reader is a place in the log. It holds one span at a time, so one who reads slowly costs no memory, and one
who takes nothing is given up. Whoever comes late, comes back or replays takes the same path as the first.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from thinkaloud.canon import BlockEnded, Entry, TurnFailed
from thinkaloud.client.reply import Watch
from thinkaloud.server.bodies import EventsQuery
from thinkaloud.server.metrics import Metrics
from thinkaloud.server.refusals import BadRequest, TooMany, Unavailable
from thinkaloud.server.routing import Granted, Left
from thinkaloud.store import turns
from thinkaloud.store.folding import INTERRUPTED
from thinkaloud.store.live import Span
from thinkaloud.store.rows import State, TurnRow

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LONGEST_GAP_MS = 5_000
"""A pause counts for so long in a replay, so that a tool that ran for an hour does not stall it."""
PIECE_BYTES = 32 * 1024
"""So much is sent at once: what a reader does not take is held for it, and not more than this."""
_GOODBYE_S = 0.2
_TOGETHER_S = 0.002
"""Entries that are due this soon go out together."""
_LONGEST_ID = 15
_NEARLY_S = 0.5
"""So long readers may take for the end of turns that are over, when the gateway stops."""

_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_entry = msgspec.json.Decoder(Entry)
_RETRY = b"retry: 1000\n\n"
_ALIVE = b": alive\n\n"


class Readers:
    """Who reads which turn: counted against the limit, and sent home when the gateway stops."""

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._metrics = metrics
        self._seats: Counter[int] = Counter()
        self._scopes: set[asyncio.Timeout] = set()
        self._empty = asyncio.Event()
        self.closed = False

    @asynccontextmanager
    async def seat(self, turn: int) -> AsyncIterator[asyncio.Timeout]:
        """A place for one reader; the scope ends the block when it is let go."""
        if self.closed:
            raise Unavailable("The gateway is stopping. Come back in a moment, with the last id you have.")
        if self._seats[turn] >= self._most:
            raise TooMany(
                f"{self._most} readers follow this turn already, and no more are let in. Close some of them, "
                "or read the turn as it stands, without its events."
            )
        self._seats[turn] += 1
        self._metrics.reader_joined()
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                try:
                    yield scope
                finally:
                    self._scopes.discard(scope)
        except TimeoutError:
            if not scope.expired():
                raise
        finally:
            self._metrics.reader_left()
            self._seats[turn] -= 1
            if not self._seats[turn]:
                del self._seats[turn]
            if not self._seats:
                self._empty.set()

    async def close(self) -> None:
        """Take nobody in, let those who are nearly at the end get there, and then let everybody go."""
        self.closed = True
        self._empty.clear()
        if self._seats:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _NEARLY_S)
        for scope in self._scopes:
            let_go(scope)


def let_go(scope: asyncio.Timeout) -> None:
    """End what runs in the scope, now."""
    if not scope.expired():
        scope.reschedule(0)


async def stream_events(
    gateway: "Gateway",
    granted: Granted,
    query: EventsQuery,
    headers: Mapping[str, str],
    receive: Receive,
    send: Send,
) -> None:
    """Send a turn's entries from where the reader is, and go on until the turn is over or the reader gone."""
    assert granted.turn is not None
    after = _place(query, headers)
    stream = _Stream(gateway, granted, send, query.speed)
    async with gateway.readers.seat(granted.turn.key) as scope:
        span, reset = await _found(gateway, granted.turn, after)
        if after >= 0 and span.over and not span.lines and not reset:
            await send({"type": "http.response.start", "status": 204, "headers": _HEADERS[1:]})
            await send({"type": "http.response.body", "body": b""})
            return
        await stream.run(scope, receive, span, reset)
    if stream.stuck:
        raise Left
    if gateway.readers.closed and not stream.gone:
        await _close(send)


async def _close(send: Send) -> None:
    """End the answer, for a reader who takes that much; there is no time to wait for others."""
    try:
        async with asyncio.timeout(_GOODBYE_S):
            await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        raise Left from None


def _place(query: EventsQuery, headers: Mapping[str, str]) -> int:
    """The last entry that the reader has; -1 for none.

    A browser that comes back asks for the same address again and adds the id it has come to, so that the
    header may be ahead of the query; behind it, the two contradict each other.
    """
    told = headers.get("last-event-id", "")
    if not told:
        return -1 if query.after is None else query.after
    if len(told) > _LONGEST_ID or not (told.isascii() and told.isdecimal()):
        raise BadRequest(
            "Last-Event-ID is not an id of this stream: those are numbers. Leave it out, or correct it."
        )
    if query.after is not None and int(told) < query.after:
        raise BadRequest(
            f"Last-Event-ID says {told} and `after` says {query.after}, so where to go on is not clear. "
            "Send one of them."
        )
    return int(told)


async def _found(gateway: "Gateway", turn: TurnRow, after: int) -> tuple[Span, str]:
    """What follows the reader's last entry; or everything, and why, when that entry is not in this log."""
    if after < 0:
        return await gateway.log.read(turn.key), ""
    span = await gateway.log.read(turn.key, after - 1)
    at_the_end = span.over and len(span.lines) == 1
    if span.lines and turn.epoch and _ended_later(span.lines[0]):
        # The writer that was lost may have shown something else by this number, which it could not save.
        return await gateway.log.read(turn.key), "unknown_id"
    if span.lines and (turn.timing_kept or at_the_end):
        return Span(after + 1, span.lines[1:], span.over, span.saved), ""
    return await gateway.log.read(turn.key), "unknown_id" if turn.timing_kept else "renumbered"


def _ended_later(line: bytes) -> bool:
    """Whether an entry is one of those by which a turn that was left behind is brought to its end."""
    event = _entry.decode(line).event
    if isinstance(event, BlockEnded):
        return event.interrupted
    return isinstance(event, TurnFailed) and event.code == INTERRUPTED


class _Stream:
    """One reader's stream."""

    def __init__(self, gateway: "Gateway", granted: Granted, send: Send, speed: float | None) -> None:
        assert granted.turn is not None
        assert granted.owner is not None
        self._gateway = gateway
        self._owner = granted.owner
        self._turn = granted.turn
        self._send = send
        self._watch: Watch
        self._pace = None if speed is None else _Pace(speed)
        self._saved = True
        self.stuck = False
        self.gone = False
        """Whether there is nobody to tell: the reader left, took nothing for too long, or has all."""

    async def run(self, scope: asyncio.Timeout, receive: Receive, span: Span, reset: str) -> None:
        """Tell everything from this span on."""

        def leave() -> None:
            self.gone = True
            let_go(scope)

        def give_up() -> None:
            self.stuck = True
            leave()

        self._watch = Watch(give_up)
        leaving = asyncio.create_task(_until_left(receive, leave))
        try:
            await self._put({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._tell(_RETRY)
            if reset:
                await self._tell(_event("reset", {"reason": reset, "last": span.last}))
            await self._follow(span)
            await self._tell(await self._end(), more=False)
            self.gone = True
        finally:
            leaving.cancel()
            self._watch.stop()

    async def _follow(self, span: Span) -> None:
        log, key = self._gateway.log, self._turn.key
        while True:
            if span.saved is not self._saved:
                self._saved = span.saved
                await self._tell(_event("storage", {"saved": span.saved}))
            if span.lines:
                await self._tell_lines(span)
            if span.over:
                return
            if not span.lines:
                await self._alive_until(partial(log.changed, key, span.last))
            span = await log.read(key, span.last)

    async def _tell_lines(self, span: Span) -> None:
        if self._pace is None:
            for frames in _framed(span):
                await self._tell(frames)
            return
        for due_s, part in self._pace.parts(span):
            await self._alive_until(partial(_sleep_until, due_s))
            for frames in _framed(part):
                await self._tell(frames)

    async def _end(self) -> bytes:
        """The last event: how the turn came out, once that is kept, so that the next one can be asked for."""
        await self._alive_until(partial(self._gateway.runs.settled, self._turn.key))
        row = await self._gateway.database.read(lambda conn: turns.get(conn, self._owner, self._turn.id))
        return b"" if row is None or row.state is State.RUNNING else _event("end", {"state": row.state})

    async def _alive_until(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait, with a sign of life whenever it takes long."""
        while True:
            try:
                async with asyncio.timeout(self._gateway.settings.heartbeat_s):
                    return await wait()
            except TimeoutError:
                await self._tell(_ALIVE)

    async def _tell(self, data: bytes, *, more: bool = True) -> None:
        await self._put({"type": "http.response.body", "body": data, "more_body": more})

    async def _put(self, message: dict[str, Any]) -> None:
        self._watch.start(self._gateway.settings.send_timeout_s)
        await self._send(message)
        self._watch.rest()


class _Moment(msgspec.Struct):
    """All that a replay reads of an entry."""

    at_ms: int | None = None


_moment = msgspec.json.Decoder(_Moment)


class _Pace:
    """When each entry of a replay is due, by the gaps between their stamps."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._at_ms: int | None = None
        self._due_s = asyncio.get_running_loop().time()

    def parts(self, span: Span) -> Iterator[tuple[float, Span]]:
        """The span in parts whose entries are due together, each with the moment on the loop's clock."""
        first, due_s, held = span.first, self._due_s, list[bytes]()
        for line in span.lines:
            self._due_s += self._gap_s(line)
            if held and self._due_s > due_s + _TOGETHER_S:
                yield due_s, Span(first, tuple(held))
                first, held = first + len(held), []
            due_s = due_s if held else self._due_s
            held.append(line)
        yield due_s, Span(first, tuple(held))

    def _gap_s(self, line: bytes) -> float:
        at_ms = _moment.decode(line).at_ms
        if at_ms is None:
            return 0.0
        before_ms, self._at_ms = self._at_ms, at_ms
        gap_ms = 0 if before_ms is None else at_ms - before_ms
        return min(max(gap_ms, 0), LONGEST_GAP_MS) / 1000 / self._speed


def _framed(span: Span) -> Iterator[bytes]:
    """The entries as events, in pieces that a connection takes at once; nearly always there is one."""
    held: list[bytes] = []
    size = 0
    for number, line in enumerate(span.lines, span.first):
        if size + len(line) > PIECE_BYTES and held:
            yield b"".join(held)
            held, size = [], 0
        if len(line) > PIECE_BYTES:
            yield b"id: %d\ndata: " % number
            yield from (line[at : at + PIECE_BYTES] for at in range(0, len(line), PIECE_BYTES))
            line = b""
            held.append(b"\n\n")
        else:
            held.append(b"id: %d\ndata: %b\n\n" % (number, line))
        size += len(line)
    if held:
        yield b"".join(held)


def _event(name: str, data: dict[str, object]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(data))


async def _sleep_until(due_s: float) -> None:
    await asyncio.sleep(due_s - asyncio.get_running_loop().time())


async def _until_left(receive: Receive, leave: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    leave()

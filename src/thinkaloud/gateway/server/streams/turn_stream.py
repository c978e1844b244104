"""Streams the entries of a turn as server-sent events, in plain ASGI. Log lines are copied unchanged.

A reader is a position in the log. It holds one span at a time, so a slow reader costs no memory, and a
reader that accepts no bytes is disconnected. Live reading, late joining, resuming and replaying all use the
same code.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from thinkaloud.client.response import StallTimer
from thinkaloud.core.canon import BlockEnded, TurnFailed
from thinkaloud.core.wire.sse_encoder import (
    HEARTBEAT,
    RETRY,
    STREAM_HEADERS,
    last_seen_id,
    sse,
    sse_chunks,
    sse_id,
)
from thinkaloud.gateway.server.http.errors import ServiceUnavailable, TooManyRequests
from thinkaloud.gateway.server.http.request_parts import expire_scope, while_connected
from thinkaloud.gateway.server.http.route import ClientGone, Grant
from thinkaloud.gateway.server.metrics import Metrics
from thinkaloud.gateway.server.schemas.sessions import EventsQuery
from thinkaloud.gateway.server.streams.replay import ReplayClock, sleep_until
from thinkaloud.gateway.server.streams.thought_filter import VisibleLog
from thinkaloud.gateway.server.turns.running_turn import entries_so_far
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.log.archive import decode_entry
from thinkaloud.gateway.store.log.finish import INTERRUPTED
from thinkaloud.gateway.store.log.live import LogSpan
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.rows import ThinkingShown, TurnRow, TurnState

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
T = TypeVar("T")

_CLOSE_TIMEOUT_S = 0.2
_RECOVERED_ID = 10**9
"""Ids from here on hold an epoch and the number of an entry: the reader has the end that recovery wrote."""
_DRAIN_TIMEOUT_S = 0.5
"""When the gateway stops, readers of ended turns get this long to receive the rest."""

_HEADERS = [(name.encode(), value.encode()) for name, value in STREAM_HEADERS]


class OpenStreams:
    """The streams and long requests that are open, by the hashes of their tokens: a revoked one ends them."""

    def __init__(self) -> None:
        self._scopes: dict[asyncio.Timeout, bytes] = {}

    @asynccontextmanager
    async def open(self, token_hash: bytes) -> AsyncIterator[asyncio.Timeout]:
        """Run a stream in a scope, which is expired to disconnect its client."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes[scope] = token_hash
                try:
                    yield scope
                finally:
                    del self._scopes[scope]
        except TimeoutError:
            if not scope.expired():
                raise

    @asynccontextmanager
    async def allowed(self, token_hash: bytes, receive: Receive) -> AsyncIterator[None]:
        """Run the block while the client is connected and its token valid. Then cancel it: `ClientGone`."""
        async with self.open(token_hash) as scope, while_connected(receive):
            yield
        if scope.expired():  # the token was revoked
            raise ClientGone

    @property
    def token_hashes(self) -> frozenset[bytes]:
        """The hashes of the tokens that clients of open streams sent."""
        return frozenset(filter(None, self._scopes.values()))

    def disconnect(self, token_hashes: frozenset[bytes]) -> None:
        """Disconnect the clients that sent one of these tokens."""
        for scope, token_hash in tuple(self._scopes.items()):
            if token_hash in token_hashes:
                expire_scope(scope)


class ReaderSlots:
    """Counts the readers of each turn, enforces the limit, and disconnects all readers on stop."""

    def __init__(self, max_per_turn: int, metrics: Metrics, streams: OpenStreams) -> None:
        self._max_per_turn = max_per_turn
        self._metrics = metrics
        self._streams = streams
        self._reader_counts: Counter[int] = Counter()
        self._scopes: set[asyncio.Timeout] = set()
        self._all_left = asyncio.Event()
        self.closed = False

    @asynccontextmanager
    async def acquire(self, turn_key: int, token_hash: bytes = b"") -> AsyncIterator[asyncio.Timeout]:
        """Reserve a slot for one reader. The yielded scope is expired to disconnect the reader."""
        if self.closed:
            raise ServiceUnavailable(
                "The gateway is stopping. Reconnect in a moment with the last id you received."
            )
        if self._reader_counts[turn_key] >= self._max_per_turn:
            raise TooManyRequests(
                "This turn already has {max_per_turn} readers (limit readers_per_turn). Close some "
                "of them, or read the turn without its events from GET /api/turns/ID.",
                max_per_turn=self._max_per_turn,
            )
        self._reader_counts[turn_key] += 1
        self._metrics.reader_joined()
        try:
            async with self._streams.open(token_hash) as scope:
                self._scopes.add(scope)
                try:
                    yield scope
                finally:
                    self._scopes.discard(scope)
        finally:
            self._metrics.reader_left()
            self._reader_counts[turn_key] -= 1
            if not self._reader_counts[turn_key]:
                del self._reader_counts[turn_key]
            if not self._reader_counts:
                self._all_left.set()

    def disconnect_all(self) -> None:
        """Disconnect all readers. They may come back."""
        for scope in tuple(self._scopes):
            expire_scope(scope)

    async def close(self) -> None:
        """Refuse new readers, give the others a moment to finish, then disconnect them."""
        self.closed = True
        self._all_left.clear()
        if self._reader_counts:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_left.wait(), _DRAIN_TIMEOUT_S)
        self.disconnect_all()


async def stream_events(
    gateway: "Gateway",
    grant: Grant,
    query: EventsQuery,
    headers: Mapping[str, str],
    receive: Receive,
    send: Send,
) -> None:
    """Send the entries after the reader's last id until the turn ends or the reader leaves."""
    assert grant.turn is not None
    after = last_seen_id(headers.get("last-event-id", ""), query.after)
    stream = _TurnStream(gateway, grant, send, query.speed)
    async with gateway.reader_slots.acquire(grant.turn.key, grant.token_hash) as scope:
        span, reset, over = await stream.start_after(after)
        if over:
            # 204 is the only status that makes an EventSource stop reconnecting.
            await send({"type": "http.response.start", "status": 204, "headers": _HEADERS[1:]})
            await send({"type": "http.response.body", "body": b""})
            return
        await stream.run(scope, receive, span, reset)
    if stream.stalled:
        raise ClientGone
    if stream.finished:
        return
    if not gateway.reader_slots.closed:
        raise ClientGone  # the token was revoked
    await _end_response(send)


async def _end_response(send: Send) -> None:
    """End the response properly, unless the reader does not accept it in time."""
    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        raise ClientGone from None


async def _read_after(gateway: "Gateway", turn: TurnRow, after: int) -> tuple[LogSpan, str]:
    """Return the span after the reader's last id, or the whole log and a reason if that id is not in it."""
    if after < 0:
        return await gateway.log.read(turn.key), ""
    epoch, after = divmod(after, _RECOVERED_ID)
    span = await gateway.log.read(turn.key, after - 1)
    at_end = span.ended and len(span.lines) == 1
    if span.lines and turn.epoch != epoch and _written_by_recovery(span.lines[0]):
        # The process that crashed may have sent another entry with this id, which it could not save. The
        # reader's copy cannot be trusted, so it starts again.
        return await gateway.log.read(turn.key), "unknown_id"
    if span.lines and (turn.timing_kept or at_end):
        return LogSpan(after + 1, span.lines[1:], span.ended, span.saved), ""
    return await gateway.log.read(turn.key), "unknown_id" if turn.timing_kept else "renumbered"


def _written_by_recovery(line: bytes) -> bool:
    """Return whether recovery wrote this entry to end an unfinished turn."""
    entry = decode_entry(line)
    event = None if entry is None else entry.event
    if isinstance(event, BlockEnded):
        return event.interrupted
    return isinstance(event, TurnFailed) and event.code == INTERRUPTED


class _TurnStream:
    """The stream of one reader."""

    def __init__(self, gateway: "Gateway", grant: Grant, send: Send, speed: float | None) -> None:
        assert grant.turn is not None
        assert grant.owner is not None
        self._gateway = gateway
        self._owner = grant.owner
        self._turn = grant.turn
        self._send = send
        self._send_timer: StallTimer
        self._replay_clock = None if speed is None else ReplayClock(speed)
        shown = grant.thinking_of(grant.turn)
        self._visible_log = None if shown is ThinkingShown.ALL else VisibleLog(shown)
        self._saved = True
        self._began_diverged = gateway.log.diverged(grant.turn.key)
        self.stalled = False
        self.finished = False
        """Whether nothing is left to send: the reader left, stalled, or has received everything."""

    async def start_after(self, after: int) -> tuple[LogSpan, str, bool]:
        """Return the first span to send, why the reader starts again, and whether it has everything."""
        gateway, turn = self._gateway, self._turn
        if self._visible_log is None:
            span, reset = await _read_after(gateway, turn, after)
            return span, reset, after >= 0 and span.ended and not span.lines and not reset
        span = await gateway.log.read(turn.key)
        if after < 0:
            return span, "", False
        if turn.state is not TurnState.RUNNING:
            last = len(self._visible_log.filter_all(await entries_so_far(gateway.log, turn.key))) - 1
            if after in (last, turn.epoch * _RECOVERED_ID + last):
                return span, "", True
        if turn.epoch or not turn.timing_kept:
            return span, "unknown_id" if turn.epoch else "renumbered", False
        self._visible_log.after = after
        return span, "", False

    async def run(self, scope: asyncio.Timeout, receive: Receive, span: LogSpan, reset: str) -> None:
        """Send the response, from this span to the end of the turn."""

        def finish() -> None:
            self.finished = True
            expire_scope(scope)

        def on_send_timeout() -> None:
            self.stalled = True
            finish()

        self._send_timer = StallTimer(on_send_timeout)
        disconnect_task = asyncio.create_task(_wait_for_disconnect(receive, finish))
        try:
            await self._send_message({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._send_body(RETRY)
            if reset:
                last = span.last if self._visible_log is None else -1
                await self._send_body(sse({"reason": reset, "last": last}, "reset"))
            last = await self._follow(span)
            await self._send_body(await self._end_event(last), more_body=False)
            self.finished = True
        finally:
            disconnect_task.cancel()
            self._send_timer.stop()

    async def _follow(self, span: LogSpan) -> int:
        """Send entries until the end of the log. Return the number of the last one."""
        log, key, heartbeat_s = self._gateway.log, self._turn.key, self._gateway.settings.heartbeat_s
        while True:
            if span.saved is not self._saved:
                self._saved = span.saved
                await self._send_body(sse({"saved": span.saved}, "storage"))
            if span.lines:
                await self._send_lines(span)
            if span.ended:
                return span.last if self._visible_log is None else self._visible_log.last
            if not span.lines:
                while not await log.wait_for_change(key, span.last, heartbeat_s):
                    await self._send_body(HEARTBEAT)
            span = await self._read_on(span.last)

    async def _read_on(self, after: int) -> LogSpan:
        """Read the entries after this number. A database that cannot be reached is waited for."""
        gateway = self._gateway
        self._leave_if_diverged()
        while True:
            try:
                return await gateway.log.read(self._turn.key, after)
            except NotSaved:
                if self._saved:
                    self._saved = False
                    await self._send_body(sse({"saved": False}, "storage"))
                await self._send_body(HEARTBEAT)
                await asyncio.sleep(gateway.settings.log_config.retry_s)

    def _leave_if_diverged(self) -> None:
        """Drop a reader with entries that could not be saved, or are lost: it comes back and starts again."""
        if self._gateway.log.diverged(self._turn.key) and not self._began_diverged:
            raise ClientGone

    async def _send_lines(self, span: LogSpan) -> None:
        if self._visible_log is not None:
            span = await asyncio.to_thread(self._visible_log.take, span)
            if not span.lines:
                return
        if self._replay_clock is None:
            for frames in sse_chunks(span.lines, span.first):
                await self._send_body(frames)
            return
        for due_s, batch in self._replay_clock.batches(span):
            await self._wait_with_heartbeats(partial(sleep_until, due_s))
            for frames in sse_chunks(batch.lines, batch.first):
                await self._send_body(frames)

    async def _end_event(self, last: int) -> bytes:
        """Return the last event, with the final state of the turn.

        It is sent only after the turn is saved, so that a client may start the next turn as soon as it
        arrives.
        """
        state = await self._wait_with_heartbeats(
            partial(self._gateway.turns.wait_until_saved, self._turn.key)
        )
        epoch = self._turn.epoch
        if state is None:
            self._leave_if_diverged()
            try:
                row = await self._gateway.database.read(
                    lambda conn: turns.get(conn, self._owner, self._turn.id)
                )
            except NotSaved:
                return b""  # a stream without its end: the reader comes back
            if row is None or row.state is TurnState.RUNNING:
                return b""
            state, epoch = row.state, row.epoch  # another gateway may have taken the turn over
        # An id without data only moves the position of the reader. Without it, an EventSource that received
        # the end written by recovery would reconnect with that entry's id, and get everything again.
        position = sse_id(str(epoch * _RECOVERED_ID + last)) if epoch else b""
        return sse({"state": state}, "end") + position

    async def _wait_with_heartbeats(self, wait: Callable[[], Awaitable[T]]) -> T:
        """Wait, and send a heartbeat whenever the wait is long."""
        while True:
            try:
                async with asyncio.timeout(self._gateway.settings.heartbeat_s):
                    return await wait()
            except TimeoutError:
                await self._send_body(HEARTBEAT)

    async def _send_body(self, data: bytes, *, more_body: bool = True) -> None:
        await self._send_message({"type": "http.response.body", "body": data, "more_body": more_body})

    async def _send_message(self, message: dict[str, Any]) -> None:
        self._send_timer.start(self._gateway.settings.send_timeout_s)
        await self._send(message)
        self._send_timer.pause()


async def _wait_for_disconnect(receive: Receive, on_disconnect: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    on_disconnect()

"""The turns of this process, by ids that cannot be guessed; and what a response sends of one of them.

An event's id names the turn and the entry, so a browser that comes back with its last id gets the rest. Who
sends an id that is wrong, old or somebody else's learns nothing from the answer.
"""

import asyncio
import re
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from thinkaloud.client.follow import Following, refuse_other_types
from thinkaloud.core.canon import BadPosition, Finish, Refused, TurnEnded, TurnFailed, Wording
from thinkaloud.core.wire.sse_encoder import STREAM_HEADERS, last_seen_id
from thinkaloud.integrations.live_turn import LiveLimits, LiveTurn, TurnOptions, too_large

TURN_HEADER = "thinkaloud-turn"
"""The response header with the id of the turn, from which a page can read it again."""
_TICK_S = 0.25
"""How often times and sizes are checked."""
_POSITION = re.compile(r"(?P<turn>[\w-]{22})(?:\.(?P<seq>\d{1,15}))?", re.ASCII)


class UnknownTurn(Refused):
    """No turn with this id is kept for this owner."""


class TooManyTurns(Refused):
    """No more turns may run at once."""


class TooManyReaders(Refused):
    """No more browsers may read this turn at once."""


_STATUS_CODES: dict[type[Refused], tuple[int, str]] = {
    BadPosition: (400, "bad_request"),
    UnknownTurn: (404, "not_found"),
    TooManyReaders: (429, "too_many_requests"),
    TooManyTurns: (503, "unavailable"),
}


class LiveTurns:
    """The turns of this process. Every response class uses `TURNS` unless it is given others."""

    def __init__(self, limits: LiveLimits | None = None) -> None:
        self._limits = limits or LiveLimits()
        self._turns: dict[str, LiveTurn] = {}
        self._unclosed: list[LiveTurn] = []
        """Turns whose source is not closed, also those that nobody can read any more."""
        self._lock = threading.Lock()
        self._sweeper: threading.Thread | None = None

    def start(self, source: object, options: TurnOptions | None = None) -> LiveTurn:
        """Start a turn. `source` is a stream, or a function that returns one."""
        if isinstance(source, Following):
            source.refuse_second_time()
        elif not callable(source):
            refuse_other_types(source)
        turn = LiveTurn(self._limits, options or TurnOptions())
        with self._lock:
            self._unclosed = [other for other in self._unclosed if not other.closed.is_set()]
            full = len(self._unclosed) >= self._limits.running
            if full or (len(self._turns) >= self._limits.kept and not self._forget_first_ended()):
                raise TooManyTurns(
                    "This server runs {count} turns, and starts no other. Try again in a moment.",
                    count=len(self._unclosed),
                )
            self._turns[turn.id] = turn
            self._unclosed.append(turn)
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep, name="thinkaloud-turns", daemon=True)
                self._sweeper.start()
        turn.launch(source)
        return turn

    def stop(self, turn_id: str, owner: str = "") -> None:
        """Stop a turn that runs, for its owner. What it has so far is kept."""
        self._find(turn_id, owner).end(TurnEnded(Finish.CANCELLED))

    def find(self, last_event_id: str, after: str, owner: str = "") -> tuple[LiveTurn, int]:
        """Return the turn that a browser comes back to, and the last entry that it has."""
        positions = [_parse_position(text) for text in (last_event_id, after) if text]
        if len({turn_id for turn_id, _ in positions}) > 1:
            raise BadPosition("Last-Event-ID and `after` name two turns. Send only one of them.")
        turn_id = positions[0][0]
        seqs = [seq for _, seq in positions if seq]
        seen = last_seen_id(seqs[0], int(seqs[-1])) if seqs else -1
        turn = self._find(turn_id, owner)
        if seen > turn.last_seq:
            raise BadPosition("This turn has no event with that last id. Read it from the start.")
        if turn.readers >= self._limits.readers_per_turn:
            raise TooManyReaders(
                "This turn already has {count} readers (limit readers_per_turn). Close some of them.",
                count=turn.readers,
            )
        return turn, seen

    def discard(self, source: object, options: TurnOptions) -> None:
        """Close a stream that nobody needs."""
        turn = LiveTurn(self._limits, TurnOptions(loop=options.loop))
        turn.end(TurnEnded(Finish.CANCELLED))
        turn.launch(source)

    def close(self) -> None:
        """End all turns, and forget them."""
        with self._lock:
            turns, self._turns = [*self._turns.values()], {}
        for turn in turns:
            turn.end(TurnFailed.of("interrupted", Wording("The server stopped.")))
            turn.forget()

    def _find(self, turn_id: str, owner: str) -> LiveTurn:
        turn = self._turns.get(turn_id)
        if turn is None or turn.options.owner != owner or self._expired(turn):
            raise UnknownTurn(
                "There is no such turn: it ended long ago, or it runs in another process. Ask again."
            )
        return turn

    def _expired(self, turn: LiveTurn) -> bool:
        return turn.ended_s is not None and time.monotonic() - turn.ended_s > self._limits.kept_s

    def _sweep(self) -> None:
        """Enforce times and sizes while there are turns."""
        while True:
            time.sleep(_TICK_S)
            with self._lock:
                if not self._turns:
                    self._sweeper = None
                    return
                turns = [*self._turns.values()]
                for turn in filter(self._expired, turns):
                    self._forget(turn)
                while self._total_bytes() > self._limits.total_bytes and self._forget_first_ended():
                    pass
            for turn in turns:
                self._end_overdue(turn)
            if self._total_bytes() > self._limits.total_bytes:
                largest = max(turns, key=lambda turn: turn.size)
                largest.end(too_large("total_bytes", self._limits.total_bytes))

    def _end_overdue(self, turn: LiveTurn) -> None:
        now_s, stop_after_s = time.monotonic(), turn.options.stop_after_s
        if turn.ended_s is not None:
            return
        if now_s - turn.started_s > self._limits.turn_s:
            limit = Wording("The turn took longer than {limit} seconds.", limit=self._limits.turn_s)
            turn.end(TurnFailed.of("too_long", limit))
        elif stop_after_s is not None and not turn.readers and now_s - turn.left_s > stop_after_s:
            turn.end(TurnEnded(Finish.CANCELLED))

    def _total_bytes(self) -> int:
        return sum(turn.size for turn in self._turns.values())

    def _forget_first_ended(self) -> bool:
        ended = [turn for turn in self._turns.values() if turn.ended_s is not None]
        if ended:
            self._forget(min(ended, key=lambda turn: turn.ended_s or 0))
        return bool(ended)

    def _forget(self, turn: LiveTurn) -> None:
        self._turns.pop(turn.id, None)
        turn.forget()


TURNS = LiveTurns()
"""The turns of this process."""


class StreamReply(NamedTuple):
    """What a response sends: a stream of a turn, nothing because the browser has all of it, or an error."""

    status: int
    headers: dict[str, str]
    turn: LiveTurn | None = None
    after: int = -1
    body: bytes = b""

    def frames(self) -> Generator[bytes, None, None]:
        """Yield the body to one thread."""
        if self.turn is not None:
            yield from self.turn.frames(self.after)
        elif self.body:
            yield self.body

    async def frames_async(self) -> AsyncGenerator[bytes, None]:
        """Yield the body in an event loop."""
        if self.turn is None:
            if self.body:
                yield self.body
            return
        async with aclosing(self.turn.frames_async(self.after)) as frames:
            async for frame in frames:
                yield frame


def reply(
    turns: LiveTurns | None, source: object, last_event_id: str, after: str, options: TurnOptions
) -> StreamReply:
    """Go on with the turn that the request names, or start one from the source."""
    turns, seen = turns or TURNS, -1
    try:
        if last_event_id or after:
            turn, seen = turns.find(last_event_id, after, options.owner)
            if source is not None and not callable(source):
                turns.discard(source, options)
        elif source is None:
            raise BadPosition(
                "This address goes on with a turn. Name it by `after`, or by the header Last-Event-ID."
            )
        else:
            turn = turns.start(source, options)
    except tuple(_STATUS_CODES) as refusal:
        status, code = _STATUS_CODES[type(refusal)]
        body = {"error": {"code": code, "message": str(refusal)}}
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        if status in (429, 503):
            headers["retry-after"] = "1"
        return StreamReply(status, headers, body=msgspec.json.encode(body))
    headers = {**dict(STREAM_HEADERS), TURN_HEADER: turn.id}
    if seen >= 0 and turn.ended_s is not None and seen == turn.last_seq:
        return StreamReply(204, headers)  # the only status that makes an EventSource stop coming back
    return StreamReply(200, headers, turn, seen)


def script_reply(script: Path, version: str) -> StreamReply:
    """Return the response with the script of the element.

    A browser asks again each time whether it has changed, by the tag of the version that it has.
    """
    data = script.read_bytes()
    tag = f'"{sha256(data).hexdigest()[:16]}"'
    headers = {"content-type": "text/javascript; charset=utf-8", "cache-control": "no-cache", "etag": tag}
    return StreamReply(304, headers) if version == tag else StreamReply(200, headers, body=data)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that this code runs in, if it does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _parse_position(text: str) -> tuple[str, str]:
    match = _POSITION.fullmatch(text)
    if match is None:
        raise BadPosition("The last id is not an id of these streams. Leave it out to ask again.")
    return match["turn"], match["seq"] or ""

"""Sends the bytes of a provider on to a client that speaks the same dialect, where nothing needs changing.

Only whole frames are sent, so that the response can still go on in another way. It has to if a thought is not
in the field that clients of the dialect know: a provider may put it into another one, or between tags. The
frames that tell the client that its answer is whole are held back: first the turn has to be stored.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from thinkaloud.core.canon import BlockStarted, Event, Kind, UsageReported


class StreamFraming(NamedTuple):
    """How a stream is divided into frames."""

    start: re.Pattern[bytes]
    """Matches the start of a stream. A provider may send a whole response though a stream was requested."""
    ends: tuple[bytes, ...]
    """The ends of a frame."""


EVENTS = StreamFraming(
    re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:"), (b"\n\n", b"\r\n\r\n", b"\r\r")
)
"""Server-sent events."""
JSON_LINES = StreamFraming(re.compile(rb"\s*\{"), (b"\n",))


class RelayRules(NamedTuple):
    """When the bytes of a provider can be sent to a client of the same dialect."""

    thought_marks: tuple[bytes, ...]
    """The bytes in which a thought begins contain one of these. A thought between tags does not."""
    end_marks: tuple[re.Pattern[bytes], ...]
    """One matches in the first frame that tells a client that its answer is whole. Text has no match, because
    quotes and ends of lines are escaped in it. The arguments of a call may have one where they are an object,
    as at Ollama. Then the rest waits for the end of the response, and nothing is lost. A pattern that begins
    with plain bytes is searched many times as fast as one that begins with a choice."""
    foreign_marks: tuple[bytes, ...] = ()
    """Fields for thoughts that clients need not know. Bytes with one of them are not sent."""
    framing: StreamFraming = EVENTS
    is_usage: Callable[[bytes], bool] | None = None
    """Whether a frame has only the counts, in a dialect where clients get those only if they ask for them."""
    usage_mark: bytes = b""
    """Every such frame has these bytes, and few others do."""


class ByteRelay:
    """Selects what is sent of one response."""

    def __init__(self, rules: RelayRules, *, include_usage: bool = True) -> None:
        self._rules = rules
        self._drops_usage = rules.is_usage is not None and not include_usage
        self._started = False
        self._held = bytearray()
        self._frame_start = 0
        """Where the last frame begins in the held bytes, which is not complete."""
        self.ending = False
        """Whether the end of the answer has come, so that everything since then is held back."""

    def feed(self, data: bytes, events: Sequence[Event], *, ended: bool = False) -> bytes | None:
        """Return the bytes to send, given the events read from `data`; None if they cannot be sent.

        After None, the relay must not be used any more. An incomplete frame waits for the rest of it. Bytes
        with the end of the answer wait for `close`, and so do the last ones of a response that has `ended`:
        they may hold an error. All of `data` waits, because nobody knows which event is from which frame, and
        the events of bytes that were not sent can still be written in another way.
        """
        if not self._started and not self._rules.framing.start.match(data):
            return None
        self._started = True
        held: bytes | bytearray = data
        new_start = len(self._held)
        if new_start:
            self._held += data
            held = self._held
        kinds = set(map(type, events))
        if not self._may_send(held, new_start, events if BlockStarted in kinds else ()):
            return None
        if self._drops_usage and UsageReported in kinds:
            held = held[: self._frame_start] + self._without_usage(bytes(held[self._frame_start :]))
            new_start = self._frame_start
        frames_end = len(held)
        if not held.endswith(self._rules.framing.ends):
            frames_end = self._find_frames_end(held, new_start)
        # A large frame comes in many pieces, so it is searched only when it is complete. Events are a sign of
        # that too: a reader need not wait for the last byte of \r\n\r\n.
        search_end = len(held) if events else frames_end
        self.ending = self.ending or ended or self._has_end(held, search_end)
        if frames_end == len(held) and not self.ending:  # nearly every read
            frames = bytes(held)
            self._held.clear()
            return frames
        if held is not self._held:
            self._held = bytearray(held)
        if self.ending:
            self._frame_start = frames_end
            return b""
        frames = bytes(self._held[:frames_end])
        del self._held[:frames_end]
        return frames

    def close(self) -> bytes:
        """Return what was held back."""
        return bytes(self._held)

    def _may_send(self, held: bytes | bytearray, new_start: int, started: Sequence[Event]) -> bool:
        """Return whether the held bytes can be sent; those before `new_start` were checked before."""
        for mark in self._rules.foreign_marks:
            if held.find(mark, max(new_start - len(mark) + 1, 0)) >= 0:  # a mark may be cut in two
                return False
        for event in started:
            if type(event) is BlockStarted and event.kind is Kind.REASONING:
                return any(held.find(mark, self._frame_start) >= 0 for mark in self._rules.thought_marks)
        return True

    def _has_end(self, held: bytes | bytearray, search_end: int) -> bool:
        """Return whether there is the end of the answer before this place."""
        return any(mark.search(held, 0, search_end) for mark in self._rules.end_marks)

    def _find_frames_end(self, held: bytes | bytearray, new_start: int) -> int:
        """Return where the last complete frame ends."""
        frames_end = self._frame_start
        for end in self._rules.framing.ends:
            place = held.rfind(end, max(new_start - len(end) + 1, self._frame_start))
            if place >= 0:
                frames_end = max(frames_end, place + len(end))
        return frames_end

    def _without_usage(self, data: bytes) -> bytes:
        is_usage, mark = self._rules.is_usage, self._rules.usage_mark
        assert is_usage is not None
        if mark not in data:
            return data
        end = next((end for end in self._rules.framing.ends if end in data), b"\n\n")
        return end.join([frame for frame in data.split(end) if mark not in frame or not is_usage(frame)])

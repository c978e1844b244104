"""Sends the bytes of a provider on to a client that speaks the same dialect, where nothing needs changing.

Only whole frames are sent, so that the response can still go on in another way. It has to if a thought is not
in the field that clients of the dialect know: a provider may put it into another one, or between tags.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from thinkaloud.canon import BlockStarted, Event, Kind, UsageReported


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
    foreign_marks: tuple[bytes, ...] = ()
    """Fields for thoughts that clients need not know. Bytes with one of them are not sent."""
    framing: StreamFraming = EVENTS
    is_usage: Callable[[bytes], bool] | None = None
    """Whether a frame has only the counts, in a dialect where clients get those only if they ask for them."""


class ByteRelay:
    """Selects what is sent of one response."""

    def __init__(self, rules: RelayRules, *, include_usage: bool = True) -> None:
        self._rules = rules
        self._drops_usage = rules.is_usage is not None and not include_usage
        self._started = False
        self._held = b""

    def feed(self, data: bytes, events: Sequence[Event], *, ended: bool = False) -> bytes | None:
        """Return the bytes to send, given the events read from `data`; None if they cannot be sent.

        After None, the relay must not be used any more. An incomplete frame waits for the rest of it, and the
        last frame of a response that has ended for `close`.
        """
        if not self._may_send(data, events):
            return None
        data = self._held + data
        if self._drops_usage and any(type(event) is UsageReported for event in events):
            data = self._without_usage(data)
        end = self._end_of_frames(data.rstrip(b"\r\n") if ended else data)
        self._held = data[end:]
        return data[:end]

    def close(self) -> bytes:
        """Return the last frame, with what follows it."""
        return self._held

    def _may_send(self, data: bytes, events: Sequence[Event]) -> bool:
        if not self._started and not self._rules.framing.start.match(data):
            return False
        self._started = True
        if any(mark in data for mark in self._rules.foreign_marks):
            return False
        thinks = any(type(event) is BlockStarted and event.kind is Kind.REASONING for event in events)
        return not thinks or any(mark in data for mark in self._rules.thought_marks)

    def _end_of_frames(self, data: bytes) -> int:
        ends = ((data.rfind(end), len(end)) for end in self._rules.framing.ends)
        return max(place + size if place >= 0 else 0 for place, size in ends)

    def _without_usage(self, data: bytes) -> bytes:
        is_usage = self._rules.is_usage
        assert is_usage is not None
        end = next((end for end in self._rules.framing.ends if end in data), b"\n\n")
        return end.join(frame for frame in data.split(end) if not is_usage(frame))

"""Paced replay of a turn (`?speed=`): when each entry of a stored log is due.

The pace is that of the original turn, divided by the speed. Long gaps are cut, and entries that are due at
almost the same time are sent together.
"""

import asyncio
from collections.abc import Iterator

import msgspec

from thinkaloud.core.transcript import ReplayTimeline
from thinkaloud.gateway.store.log.live import LogSpan

_COALESCE_S = 0.002
"""Replayed entries that are due within this time are sent together."""


class _EntryTime(msgspec.Struct):
    """The timestamp of an entry, the only field that a replay decodes."""

    at_ms: int | None = None


_time_decoder = msgspec.json.Decoder(_EntryTime)


class ReplayClock:
    """Computes when each replayed entry is due, on the clock of the event loop."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._timeline = ReplayTimeline()
        self._start_s = self._due_s = asyncio.get_running_loop().time()

    def batches(self, span: LogSpan) -> Iterator[tuple[float, LogSpan]]:
        """Split a span into batches of entries that are due together, each with its due time."""
        first, due_s, batch = span.first, self._due_s, list[bytes]()
        for line in span.lines:
            due_ms = self._timeline.add(_time_decoder.decode(line).at_ms)
            self._due_s = self._start_s + due_ms / 1000 / self._speed
            if batch and self._due_s > due_s + _COALESCE_S:
                yield due_s, LogSpan(first, tuple(batch))
                first, batch = first + len(batch), []
            due_s = due_s if batch else self._due_s
            batch.append(line)
        yield due_s, LogSpan(first, tuple(batch))


async def sleep_until(due_s: float) -> None:
    """Sleep until a time on the clock of the event loop."""
    await asyncio.sleep(due_s - asyncio.get_running_loop().time())

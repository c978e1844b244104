"""Computes times from the timestamps of a turn: how long it thought, and when a replay shows each entry.

The thinking time is the sum of the durations of the reasoning blocks, so time spent in tools does not count.
Some providers think silently and then send all reasoning in one burst, which leaves no duration to measure.
Then the time from the request to the first other block is used instead and marked approximate.
"""

import msgspec

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript.turn import Block, Turn

BURST_MS = 50
"""Reasoning blocks shorter than this in total arrived in one burst."""
MAX_GAP_MS = 5_000
"""The longest pause of a replay. A tool that ran for an hour must not stall it."""


class ThinkingTime(msgspec.Struct, frozen=True):
    """A thinking time; `approximate` if it is an estimate and not measured."""

    ms: int
    approximate: bool = False


def thinking_time(turn: Turn, *, now_ms: int | None = None) -> ThinkingTime | None:
    """Return the turn's own thinking time, None if unknown. `now_ms` is the end of a live reasoning block."""
    reasoning_blocks = turn.own_blocks(Kind.REASONING)
    durations = [_duration_ms(block, now_ms) for block in reasoning_blocks]
    known_durations = [duration for duration in durations if duration is not None]
    if not reasoning_blocks or len(known_durations) < len(durations):
        return None
    total_ms = sum(known_durations)
    if total_ms >= BURST_MS or turn.live:
        return ThinkingTime(total_ms)
    return _time_before_answer(turn)


def _duration_ms(block: Block, now_ms: int | None) -> int | None:
    end_ms = now_ms if block.ended_ms is None else block.ended_ms
    if block.started_ms is None or end_ms is None:
        return None
    return max(0, end_ms - block.started_ms)


def _time_before_answer(turn: Turn) -> ThinkingTime | None:
    start_times = []
    for block in turn.own_blocks():
        if block.kind is not Kind.REASONING and block.started_ms is not None:
            start_times.append(block.started_ms)
    first_output_ms = min(start_times, default=turn.ended_ms)
    if turn.started_ms is None or first_output_ms is None or first_output_ms <= turn.started_ms:
        return None
    return ThinkingTime(first_output_ms - turn.started_ms, approximate=True)


class ReplayTimeline:
    """Says when each entry of a replay is due, in the order of the entries. `due_ms` is that of the last."""

    def __init__(self) -> None:
        self.due_ms = 0
        self._last_at_ms: int | None = None

    def add(self, at_ms: int | None) -> int:
        """Return when the next entry is due. One without a timestamp is due with the entry before it."""
        if at_ms is not None:
            if self._last_at_ms is not None:
                self.due_ms += min(max(at_ms - self._last_at_ms, 0), MAX_GAP_MS)
            self._last_at_ms = at_ms
        return self.due_ms

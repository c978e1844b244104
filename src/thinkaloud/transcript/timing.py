"""How long a turn thought, from stamps alone: nothing is estimated without saying so, nothing invented.

The thinking time is the sum of the thoughts' own intervals, so time spent in tools does not count.
A provider that thinks in silence and then sends all of it in one burst leaves no interval worth the
name: then the time from the request to the first thing that is not a thought stands in, marked
approximate.
"""

import msgspec

from thinkaloud.canon import Kind
from thinkaloud.transcript.turn import Block, Turn

BURST_MS = 50
"""Thoughts that took less than this all together came in one burst."""


class ThinkingTime(msgspec.Struct, frozen=True):
    """How long, and whether that is measured or the best that can be said."""

    ms: int
    approximate: bool = False


def thinking_time(turn: Turn, *, now_ms: int | None = None) -> ThinkingTime | None:
    """The turn's own thinking time; None where the stamps do not say. `now_ms` lets a live thought count."""
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
    start_times = [block.started_ms for block in turn.own_blocks() if block.kind is not Kind.REASONING]
    first_output_ms = min((at_ms for at_ms in start_times if at_ms is not None), default=turn.ended_ms)
    if turn.started_ms is None or first_output_ms is None or first_output_ms <= turn.started_ms:
        return None
    return ThinkingTime(first_output_ms - turn.started_ms, approximate=True)

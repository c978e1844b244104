"""How long the thinking took, as far as the stamps say.

A thought that came in one burst says nothing about how long it took, so its time is unknown; the time
of the whole turn may still be known, approximately, from how long its first other word took to come.
"""

from thinkaloud.transcript import Block, ThinkingTime, Turn, thinking_time
from thinkaloud.transcript.clock import BURST_MS


def turn_time(turn: Turn, now_ms: int | None = None) -> ThinkingTime | None:
    """The thinking time of the turn; `now_ms` lets a live thought count."""
    time = thinking_time(turn, now_ms=now_ms)
    return time if time is not None and (time.approximate or time.ms >= BURST_MS) else None


def block_time(block: Block, now_ms: int | None = None) -> ThinkingTime | None:
    """The time of one thought; `now_ms` lets a live one count."""
    end_ms = now_ms if block.ended_ms is None else block.ended_ms
    if block.started_ms is None or end_ms is None or end_ms - block.started_ms < BURST_MS:
        return None
    return ThinkingTime(end_ms - block.started_ms)

"""Measures CPU time of this process, with interleaved rounds and the garbage collector off during a round.

Machines are noisy and differ, so only values of one run are compared, and ratios count more than numbers.
The lowest of several rounds is closest to the cost of the work; the median shows the noise.
"""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple

Work = Callable[[], object]

_MIN_ROUND_S = 0.004
"""Seconds; shorter work is repeated within a round."""


class Timing(NamedTuple):
    """The seconds of one call."""

    least: float
    median: float

    def per(self, count: int) -> "Timing":
        """The time for one of the `count` items that a call handles."""
        return self.times(1 / count)

    def minus(self, part: "Timing") -> "Timing":
        """The time without a part that was measured separately."""
        return Timing(self.least - part.least, self.median - part.median)

    def times(self, factor: float) -> "Timing":
        """The time in another unit."""
        return Timing(self.least * factor, self.median * factor)


def race(work: Mapping[str, Work], rounds: int) -> dict[str, Timing]:
    """Measure each kind of work; every round runs all of them."""
    repeats = {name: _repeat_count(run) for name, run in work.items()}
    seconds_by_name: dict[str, list[float]] = {name: [] for name in work}
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            for name, run in work.items():
                seconds_by_name[name].append(_time_round(run, repeats[name]))
    finally:
        gc.unfreeze()
    return {name: timing_of(seconds) for name, seconds in seconds_by_name.items()}


def timing_of(seconds: list[float]) -> Timing:
    """The lowest value and the median of some rounds."""
    return Timing(min(seconds), median(seconds))


def _repeat_count(run: Work) -> int:
    """The number of calls per round; finding it also warms up."""
    return max(1, round(_MIN_ROUND_S / max(_time_round(run, 1), 1e-6)))


def _time_round(run: Work, times: int) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        for _ in range(times):
            run()
        return (time.process_time() - started) / times
    finally:
        gc.enable()

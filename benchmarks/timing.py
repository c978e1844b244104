"""Measuring: processor time of this process, rounds interleaved, the garbage collector off during a round.

Machines are noisy and differ, so what is measured together is compared, and ratios count more than figures.
The least of several rounds is nearest to what the work itself costs; the median shows how noisy it was.
"""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple

Work = Callable[[], object]

_MIN_ROUND_S = 0.004
"""Seconds: work that takes less is repeated within a round."""


class Timing(NamedTuple):
    """Seconds that one call took."""

    least: float
    median: float

    def per(self, count: int) -> "Timing":
        """The same for one of the `count` things that a call does."""
        return self.times(1 / count)

    def minus(self, part: "Timing") -> "Timing":
        """What is left when a part that was timed apart is taken off."""
        return Timing(self.least - part.least, self.median - part.median)

    def times(self, factor: float) -> "Timing":
        """The same in another unit."""
        return Timing(self.least * factor, self.median * factor)


def race(work: Mapping[str, Work], rounds: int) -> dict[str, Timing]:
    """Time each kind of work; in every round all of them take their turn."""
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
    """The least and the median of some rounds."""
    return Timing(min(seconds), median(seconds))


def _repeat_count(run: Work) -> int:
    """How often to call in a round; finding it out is the warm-up too."""
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

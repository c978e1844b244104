"""How the time of some work grows with its size: twice the input may take little more than twice as long.

Only the time of this process counts, and of all runs only the fastest, so that a busy machine does not turn
a linear reader into a quadratic one. A ratio that is too high is measured again before it is believed.
"""

import gc
import math
import sys
from collections.abc import Callable
from time import process_time

MAX_RATIO = 2.8
"""Between linear, which is 2, and quadratic, which is 4: what outgrows a cache costs a little more too."""
ATTEMPTS = 5
RUNS = 3

Work = Callable[[int], Callable[[], object]]
"""Prepares input of some size and gives what is to be timed, afresh for every run."""


def assert_linear(work: Work, size: int, max_ratio: float = MAX_RATIO) -> None:
    """Fails when twice the size takes more than `most` times as long."""
    small = large = math.inf
    for _ in range(ATTEMPTS):
        small = min(small, fastest_seconds(work, size))
        large = min(large, fastest_seconds(work, 2 * size))
        if large < max_ratio * small:
            return
    raise AssertionError(f"twice the size takes {large / small:.2f} times as long")


def fastest_seconds(work: Work, size: int) -> float:
    """The least time that work of this size took, in seconds."""
    return min(_run_seconds(work(size)) for _ in range(RUNS))


def _run_seconds(run: Callable[[], object]) -> float:
    """Without collections of garbage and without whoever counts the lines that run."""
    trace = sys.gettrace()
    gc.disable()
    sys.settrace(None)
    try:
        start = process_time()
        run()
        return process_time() - start
    finally:
        sys.settrace(trace)
        gc.enable()

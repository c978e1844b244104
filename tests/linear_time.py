"""Asserts that work takes linear time: twice the input may take little more than twice as long.

Only the CPU time of this process is measured. What is clearly linear passes after one run of each size.
Otherwise the fastest of several runs counts, so that the result holds on a busy machine, and a ratio that is
too high is measured again before the test fails.
"""

import gc
import math
import sys
from collections.abc import Callable
from time import process_time

MAX_RATIO = 2.8
"""Between linear (2) and quadratic (4), with room for input that outgrows a CPU cache."""
CLEARLY_LINEAR = 2.3
ATTEMPTS = 8
RUNS = 3

Work = Callable[[int], Callable[[], object]]
"""Prepares input of a size and returns the function to measure; called again for every run."""


def assert_linear(work: Work, size: int, max_ratio: float = MAX_RATIO) -> None:
    """Fail if twice the size takes more than `max_ratio` times as long, whenever it is measured.

    Both sizes are measured in turn: a processor that was quick for a moment was so for one of them only.
    """
    if _run_seconds(work(2 * size)) < CLEARLY_LINEAR * _run_seconds(work(size)):
        return
    ratio = math.inf
    for _ in range(ATTEMPTS):
        ratio = min(ratio, fastest_seconds(work, 2 * size) / fastest_seconds(work, size))
        if ratio < max_ratio:
            return
    raise AssertionError(f"twice the size takes {ratio:.2f} times as long")


def fastest_seconds(work: Work, size: int) -> float:
    """Return the CPU time of the fastest run."""
    return min(_run_seconds(work(size)) for _ in range(RUNS))


def _run_seconds(run: Callable[[], object]) -> float:
    """Measure one run without garbage collection and without the tracing of a coverage tool."""
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

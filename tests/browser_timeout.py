"""Ends the process of a test that waits for the browser after its time is over.

Playwright waits in a greenlet of its own, in an event loop. The error of pytest-timeout is lost there if a
callback happens to run, and the cleanup after it may wait for the same browser again. pytest-xdist replaces
the process and gives the test to the next one, which reports the stack of the first as its failure.
"""

import hashlib
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from greenlet import getcurrent

TIMED_OUT = 70


def stack_of_first_try(name: str) -> str:
    """Return where the test waited when another process of this run was ended for it; "" if none was."""
    path = _stack_file(name)
    if path is None or not path.exists():
        return ""
    stack = path.read_text("utf-8")
    path.unlink()
    return stack


def watch(name: str, limit_s: float, suspend_capture: Callable[[], None]) -> threading.Timer:
    """End this process after some seconds, with the stack of the test, unless the timer is cancelled."""
    test = getcurrent()

    def end() -> None:
        suspend_capture()
        # Whoever waits in another greenlet is not on the stack of the thread.
        frame = test.gr_frame or sys._current_frames()[threading.main_thread().ident or 0]
        stack = "".join(traceback.format_stack(frame))
        report = f"{name} still waits after {limit_s:.0f} seconds:\n{stack}"
        print(report, file=sys.stderr, flush=True)
        if path := _stack_file(name):
            path.write_text(report, "utf-8")
        os._exit(TIMED_OUT)

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()
    return timer


def _stack_file(name: str) -> Path | None:
    """Return where the processes of one run of pytest-xdist leave the stack of a test for each other."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    digest = hashlib.sha256(f"{run} {name}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"thinkaloud-test-{digest}.stack") if run else None

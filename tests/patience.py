"""How long a test waits for something that must happen.

A test on a busy machine may be slow, and must not fail for it. So every wait is long; it ends as soon as what
it waits for is there. The limit of a whole test is `timeout` in pyproject.toml, and is longer than one wait.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PATIENCE_S = 120.0
PATIENCE_MS = PATIENCE_S * 1000


def until_asleep(pid: int) -> None:
    """Waits until a process has done all that it was given to do, and waits for more.

    A process that wants to run and may not, because the machine is busy, is not asleep. Where there is no
    `/proc` to see that, half a second must do.
    """
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        time.sleep(0.5)
        return
    in_a_row = 0
    while in_a_row < 10:
        asleep = status.read_text("utf-8").rpartition(")")[2].split()[0] == "S"
        in_a_row = in_a_row + 1 if asleep else 0
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Return whether a process runs. One that has ended stays listed where no init waits for orphans."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@contextmanager
def patient_context(browser: "Browser", **options: Any) -> Iterator["BrowserContext"]:
    """Open a window of the browser that waits as long as everything else; its own limit is 30 seconds."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context
    finally:
        context.close()

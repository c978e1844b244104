"""How long a test waits for something that must happen.

A test on a busy machine may be slow, and must not fail for it. So every wait is long; it ends as soon as what
it waits for is there. The limit of a whole test is `timeout` in pyproject.toml, and is longer than one wait.
"""

import time
from pathlib import Path

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

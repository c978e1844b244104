"""Types that several threads decode at once, right after a gateway has started."""

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
RUNS = 5
"""Without the types built at import, about two of three runs end with a segmentation fault."""


def test_threads_that_decode_first_at_once_do_not_crash_the_process() -> None:
    command = [sys.executable, "-m", "tests.store.race_of_threads"]
    for _ in range(RUNS):
        subprocess.run(command, cwd=ROOT, check=True, timeout=PATIENCE_S)

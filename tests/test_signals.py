"""Programs that tests start can be interrupted, also when the tests run in the background of a shell."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
WAITS = "import time; print('ready', flush=True); time.sleep(3600)"


def test_a_child_is_stopped_by_sigint() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            child.send_signal(signal.SIGINT)
            assert child.wait(PATIENCE_S) == -signal.SIGINT
        finally:
            child.kill()


def test_a_child_is_stopped_by_sigint_when_pytest_ignores_it() -> None:
    inner = f"{Path(__file__).relative_to(ROOT)}::{test_a_child_is_stopped_by_sigint.__name__}"
    script = f"trap '' INT; exec '{sys.executable}' -m pytest -q -p no:cacheprovider '{inner}'"
    done = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

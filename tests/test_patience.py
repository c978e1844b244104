"""Every window of a browser waits as long as all other waits, and no test waits for a browser for ever."""

import re
import subprocess
import sys
from pathlib import Path

from tests.browser_timeout import TIMED_OUT
from tests.patience import PATIENCE_S

TESTS = Path(__file__).parent
OPENED = re.compile(r"browser\.new_(?:context|page)\(.*\n(?! *context\.set_default_timeout\(PATIENCE_MS\))")


def test_no_test_opens_a_window_without_patience() -> None:
    files = [*TESTS.glob("web/*.py"), *TESTS.glob("flutter/*.py")]
    tests = [path for path in files if not path.stem.endswith("_screenshots")]
    assert [path.name for path in tests if OPENED.search(path.read_text("utf-8"))] == []


WAITS_FOR_EVER = """
import time
from greenlet import greenlet
from tests.browser_timeout import watch

def test_page():
    greenlet(dispatch).switch()

def dispatch():
    time.sleep(3600)

watch("test_page", 0.1, lambda: print("captured until now"))
test_page()
"""


def test_a_wait_in_another_greenlet_ends_with_the_stack_of_the_test() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAITS_FOR_EVER],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == TIMED_OUT
    assert done.stderr.startswith("test_page still waits after 0 seconds:\n")
    assert "in test_page" in done.stderr
    assert done.stdout == "captured until now\n"

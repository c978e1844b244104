"""What makes a run of all tests quick: long files go first, and lines are counted only where they count.

That the core is covered is shown by its own tests. The others run uncounted, which takes half the time.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
CORE_FOLDERS = (
    "catalog",
    "context",
    "dialects",
    "export",
    "requests",
    "tags",
    "transcript",
    "view",
    "wire",
)
"""Folders whose tests count for the coverage of the pure packages."""
FIRST_FOLDERS = ("gateway", "safety", "server", "journeys", "agents", "store")
"""Folders with files that take long: begun late, one of them would keep all others waiting."""
LAST_FOLDER = "web"
"""Whoever drives a browser has an event loop running from then on, and can run no test with its own."""

# How long one example takes says more about the machine than about the code; `ci` has no deadline either.
settings.register_profile("default", deadline=None)

# A shell starts a command in the background with SIGINT ignored, and programs inherit that: a test that
# interrupts one would wait for ever. With a handler here, they start with the default one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are processors, since many tests wait for others half of the time."""
    return 2 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadfile` each worker takes the next file in this order."""
    for item in items:
        if _folder(item) not in CORE_FOLDERS:
            item.add_marker(pytest.mark.no_cover)
    items.sort(key=_folder_order)


def _folder_order(item: pytest.Item) -> int:
    """Which folder's turn it is: the long ones, then the others, and those with a browser at last."""
    folder = _folder(item)
    return (
        FIRST_FOLDERS.index(folder)
        if folder in FIRST_FOLDERS
        else len(FIRST_FOLDERS) + (folder == LAST_FOLDER)
    )


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]

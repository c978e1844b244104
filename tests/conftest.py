"""What makes a run of all tests quick: long files go first, and lines are counted only where they count.

That the core is covered is shown by its own tests. The others run uncounted, which takes half the time.
"""

import os
import signal
import tempfile
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
LONG_FILES = (
    "safety/test_injection.py",
    "safety/test_schemathesis.py",
    "faults/test_scenarios.py",
    "gateway/test_agents.py",
    "gateway/test_disk.py",
    "gateway/test_slow_readers.py",
    "gateway/test_fairness.py",
    "safety/test_access_matrix.py",
    "safety/test_workspace_isolation.py",
    "safety/test_secret_leaks.py",
    "test_benchmarks.py",
    "dialects/test_properties.py",
    "export/test_markdown.py",
    "server/test_turn_stream.py",
    "store/test_search.py",
    "store/test_isolation.py",
    "web/test_safety.py",
    "web/test_page_races.py",
    "web/test_accessibility.py",
    "web/test_examples.py",
    "web/test_page_access.py",
)
"""Files that take long, longest first: begun late, one of them would keep all others waiting."""
LAST_FOLDER = "web"
"""Whoever drives a browser has an event loop running from then on, and can run no test with its own."""

# How long one example takes says more about the machine than about the code; `ci` has no deadline either.
settings.register_profile("default", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=1_000)

# A shell starts a command in the background with SIGINT ignored, and programs inherit that: a test that
# interrupts one would wait for ever. With a handler here, they start with the default one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests a home of their own: whoever runs them keeps their sessions, settings and keys."""
    home = tempfile.TemporaryDirectory(prefix="thinkaloud-tests-", ignore_cleanup_errors=True)
    os.environ["THINKALOUD_HOME"] = home.name
    config.add_cleanup(home.cleanup)


def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are processors, since many tests wait for others half of the time."""
    return 2 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadfile` each worker takes the next file in this order."""
    for item in items:
        if _folder(item) not in CORE_FOLDERS:
            item.add_marker(pytest.mark.no_cover)
    items.sort(key=_file_order)


def _file_order(item: pytest.Item) -> tuple[bool, int]:
    """Return whose turn it is: those with a browser at last, and in both halves the long files first."""
    file = item.path.relative_to(TESTS).as_posix()
    return _folder(item) == LAST_FOLDER, LONG_FILES.index(file) if file in LONG_FILES else len(LONG_FILES)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]

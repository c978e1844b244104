"""What makes a run of all tests quick: long files go first, and the same examples are tried in every run."""

import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.examples import USUAL
from tests.patience import PATIENCE_MS, PATIENCE_S
from tests.some_cases import choose_marked_cases

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = which("chromium-headless-shell") or which("chromium") or ""
"""The same engine; without the windows that nobody sees here, it takes two thirds of the time."""

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
"""Folders with the tests of the pure packages; `make test` runs them in a process that counts lines."""
LONG_FILES = (
    "faults/test_scenarios.py",
    "safety/test_schemathesis.py",
    "safety/test_injection.py",
    "gateway/test_agents.py",
    "cluster/test_cluster.py",
    "cluster/test_failover.py",
    "gateway/test_disk.py",
    "gateway/test_slow_readers.py",
    "gateway/test_fairness.py",
    "safety/test_access_matrix.py",
    "safety/test_workspace_isolation.py",
    "safety/test_secret_leaks.py",
    "guides/test_guides.py",
    "journeys/test_interruptions.py",
    "server/test_import_history.py",
    "test_project.py",
    "test_benchmarks.py",
    "test_packages.py",
    "test_release.py",
    "dialects/test_properties.py",
    "export/test_markdown.py",
    "server/test_turn_stream.py",
    "store/test_search.py",
    "store/test_isolation.py",
    "cli/test_ask_agent.py",
    "cli/test_serve.py",
    "cli/test_ask.py",
    "surfaces/test_chat_app.py",
    "web/test_page_races.py",
    "web/test_safety.py",
    "web/test_page_access.py",
    "web/test_examples.py",
    "web/test_docs_site.py",
    "web/test_page_recovery.py",
    "web/test_streams.py",
    "web/test_speed.py",
    "flutter/test_flutter_block.py",
    "flutter/test_flutter_stories.py",
    "flutter/test_flutter_app.py",
    "web/test_page_parts.py",
    "web/test_page_queue.py",
    "web/test_page_paste.py",
    "web/test_page_settings.py",
    "web/test_accessibility.py",
    "web/test_page_reconnect.py",
    "web/test_page_features.py",
    "web/test_page_states.py",
    "web/test_stories.py",
    "web/test_element.py",
    "web/test_page_agents.py",
    "web/test_open_rule.py",
    "web/test_interface.py",
    "web/test_markdown.py",
    "web/test_page_long.py",
    "flutter/test_flutter_command.py",
)
"""Files that take long, longest first: begun late, one of them would keep all others waiting.

Those with a browser run at the end, so that even half a minute is long for them.
"""
LAST_FOLDERS = ("web", "flutter")
"""Whoever drives a browser has an event loop running from then on, and can run no test with its own."""

# How long one example takes says more about the machine than about the code; `ci` has no deadline either.
settings.register_profile("default", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=10, derandomize=True, database=None)
settings.register_profile(
    "ci",
    settings.get_profile("ci"),
    # The same ones in every run, so that more of them would find nothing new; `make test-all` tries all.
    max_examples=USUAL if "ALL_CASES" in os.environ else USUAL // 2,
)
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


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist, nobody asks
def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are processors, since many tests wait for others half of the time."""
    return 2 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--dist loadfile` each worker takes the next file in this order."""
    choose_marked_cases(config, items)
    for item in items:
        # How long a thing takes is measured without counting its lines, which takes three times as long.
        if "linear_time" in item.nodeid:
            item.add_marker(pytest.mark.no_cover)
    items.sort(key=_file_order)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the tests and the modules: they live until the end.

    A walk over these 800,000 objects takes half a second, and pytest alone takes five when it ends.
    """
    gc.collect()
    gc.freeze()


def _file_order(item: pytest.Item) -> tuple[bool, int]:
    """Return whose turn it is: those with a browser at last, and in both halves the long files first."""
    file = item.path.relative_to(TESTS).as_posix()
    return _folder(item) in LAST_FOLDERS, LONG_FILES.index(file) if file in LONG_FILES else len(LONG_FILES)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a test that its own limit cannot end, because it waits for the browser."""
    if not _drives_browser(item):
        return (yield)
    from tests.browser_timeout import watch

    capture = item.config.pluginmanager.getplugin("capturemanager")
    limit_s = float(item.config.getini("timeout")) + PATIENCE_S
    timer = watch(item.nodeid, limit_s, partial(capture.suspend_global_capture, in_=True))
    try:
        return (yield)
    finally:
        timer.cancel()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Do not wait once more in a test that was ended in this way."""
    if not _drives_browser(item):
        return
    from tests.browser_timeout import stack_of_first_try

    if stack := stack_of_first_try(item.nodeid):
        pytest.fail(stack, pytrace=False)


def _drives_browser(item: pytest.Item) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """One for all tests that need one: a process can drive no second one."""
    if not CHROMIUM:
        pytest.skip("there is no Chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()

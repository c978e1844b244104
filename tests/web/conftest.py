"""One browser for all tests of the element, and a fresh page for each."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.site import WEB, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")

# Where there is no way to drive a browser, these tests are not there.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    if not (WEB / "dist" / "thinking-block.js").is_file():
        pytest.skip("the element is not built: npm ci && npm run build in web/")
    served = Site()
    yield served
    served.close()


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    if not CHROMIUM.is_file():
        pytest.skip("there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def options() -> dict[str, Any]:
    """What a test wants of its browser context; override by parametrizing."""
    return {}


@pytest.fixture
def page(browser: "Browser", site: Site, options: dict[str, Any]) -> Iterator["Page"]:
    context = browser.new_context(**{"viewport": {"width": 800, "height": 700}, **options})
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(site.url + "/")
    page.wait_for_function("() => window.ready")
    yield page
    context.close()
    assert faults == []

"""A fresh page of the one browser for each test of the element."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import patient_context
from tests.web.site import WEB, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from tests.web.chat_page import GatewayProcess, PageVisit

# Where there is no way to drive a browser, these tests are not there.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    if not (WEB / "dist" / "thinking-block.js").is_file():
        pytest.skip("the element is not built: make element")
    server = Site()
    yield server
    server.close()


@pytest.fixture
def options() -> dict[str, Any]:
    """What a test wants of its browser context; override by parametrizing."""
    return {}


@pytest.fixture
def page(browser: "Browser", site: Site, options: dict[str, Any]) -> Iterator["Page"]:
    faults: list[str] = []
    with patient_context(browser, **{"viewport": {"width": 800, "height": 700}, **options}) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(site.url + "/")
        page.wait_for_function("() => window.ready")
        yield page
    assert faults == []


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator["GatewayProcess"]:
    """One for all tests of a file, with a home of its own."""
    from tests.web.chat_page import gateway_at

    with gateway_at(tmp_path_factory.mktemp("home")) as process:
        yield process


@pytest.fixture
def visit(browser: "Browser", gateway: "GatewayProcess") -> Iterator["PageVisit"]:
    from tests.web.chat_page import open_visit

    with open_visit(browser, gateway.url) as opened:
        yield opened

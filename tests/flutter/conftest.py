"""One Flet app and one browser page for all tests of a process: starting the client takes seconds."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from tests.patience import patient_context

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from tests.flutter.flet_site import FletScreen, FletSite

# Where there is no way to drive a browser, or no Flet, these tests are not there.
collect_ignore_glob = [] if find_spec("playwright") and find_spec("flet_web") else ["test_*.py"]


@pytest.fixture(scope="session")
def flet_site() -> Iterator["FletSite"]:
    from tests.flutter.flet_site import FletSite

    site = FletSite()
    yield site
    site.close()


@pytest.fixture(scope="session")
def screen(browser: "Browser", flet_site: "FletSite") -> Iterator["FletScreen"]:
    """A page without motion, so that what is read is where it will stay."""
    from tests.flutter.flet_site import FletScreen

    options = {"viewport": {"width": 800, "height": 1200}, "reduced_motion": "reduce"}
    with patient_context(browser, **options) as context:
        yield FletScreen(flet_site, context.new_page())

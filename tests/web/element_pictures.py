"""Pictures of the element in every state: `python -m tests.web.element_pictures FOLDER [NAMES]`."""

import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tests.web.conftest import CHROMIUM
from tests.web.scenes import STATES, show
from tests.web.site import Site

LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 700}},
    "portuguese": {"query": "?lang=pt-BR"},
    "rtl": {"query": "?dir=rtl"},
    "forced": {"forced_colors": "active"},
    "print": {"print": True},
}
"""How the browser is set; a `query` is what the page itself is asked for."""

SPACED = "() => { stage.style.display = 'grid'; stage.style.gap = '0.75rem'; }"


def picture(browser: Browser, site: Site, look: dict[str, Any], path: Path) -> None:
    """All states below one another."""
    wishes = {"viewport": {"width": 760, "height": 700}, **look}
    query, prints = wishes.pop("query", ""), wishes.pop("print", False)
    page = browser.new_page(**wishes)
    page.goto(f"{site.url}/{query}")
    page.wait_for_function("() => window.ready")
    page.evaluate(SPACED)
    for events, wish in STATES.values():
        show(page, events, **wish)
    if prints:
        page.emulate_media(media="print")
    page.wait_for_timeout(500)
    page.screenshot(path=path, full_page=True)
    page.close()


def main() -> None:
    folder, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    site = Site()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names or LOOKS:
            picture(browser, site, LOOKS[name], Path(folder) / f"{name}.png")
        browser.close()
    site.close()


if __name__ == "__main__":
    main()

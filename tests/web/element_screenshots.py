"""Pictures of the element in every state: `python -m tests.web.element_screenshots FOLDER [NAMES]`."""

import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tests.conftest import CHROMIUM
from tests.web.element_states import STATES, show_block
from tests.web.site import Site

VARIANTS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 700}},
    "portuguese": {"query": "?lang=pt-BR"},
    "rtl": {"query": "?dir=rtl"},
    "forced": {"forced_colors": "active"},
    "print": {"print": True},
}
"""How the browser is set; a `query` is what the page itself is asked for."""

SPACING_SCRIPT = "() => { stage.style.display = 'grid'; stage.style.gap = '0.75rem'; }"


def take_screenshot(browser: Browser, site: Site, variant: dict[str, Any], path: Path) -> None:
    """All states below one another."""
    options = {"viewport": {"width": 760, "height": 700}, **variant}
    query, prints = options.pop("query", ""), options.pop("print", False)
    page = browser.new_page(**options)
    page.goto(f"{site.url}/{query}")
    page.wait_for_function("() => window.ready")
    page.evaluate(SPACING_SCRIPT)
    for events, state_options in STATES.values():
        show_block(page, events, **state_options)
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
        for name in names or VARIANTS:
            take_screenshot(browser, site, VARIANTS[name], Path(folder) / f"{name}.png")
        browser.close()
    site.close()


if __name__ == "__main__":
    main()

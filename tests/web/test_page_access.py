"""The chat page for everybody: axe on every state in every look, and one voice."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.patience import PATIENCE_S
from tests.web import page_screenshots
from tests.web.chat_page import (
    WEB,
    GatewayProcess,
    ask,
    gateway_at,
    open_visit,
    wait_for_answers,
    with_approval_agent,
)

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
RULES = """async () => {
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await axe.run(document, {runOnly: rules, resultTypes: ["violations"]});
  const told = node => node.html.slice(0, 200) + " " + node.failureSummary;
  return found.violations.map(({id, nodes}) => [id, nodes.slice(0, 3).map(told)]);
}"""
STATES = (
    page_screenshots.start_page,
    page_screenshots.streaming,
    page_screenshots.opened_thinking,
    page_screenshots.approval,
    page_screenshots.side_panel,
    page_screenshots.thought_only,
    page_screenshots.links,
    page_screenshots.menu,
    page_screenshots.agent_form,
    page_screenshots.picker,
    page_screenshots.settings,
    page_screenshots.search,
    page_screenshots.attached,
    page_screenshots.commands,
    page_screenshots.shortcut_sheet,
    page_screenshots.share,
    page_screenshots.figures,
    page_screenshots.waiting,
    page_screenshots.long_question,
    page_screenshots.edited_question,
    page_screenshots.suggestions,
)
VARIANTS = {
    name: variant_options
    for name, variant_options in page_screenshots.VARIANTS.items()
    if name not in page_screenshots.VARIANT_SCENES
}
OPPOSITE_LOOKS = (("light", "narrow-dark-pt"), ("dark", "narrow"))
"""In either pair a state is seen light and dark, wide and narrow; `make test-all` takes all four looks."""


def looks_and_states() -> Iterator[Any]:
    """Yield the looks one after the other, each with the states that are seen in it."""
    for look in VARIANTS:
        for index, state in enumerate(STATES):
            if "ALL_CASES" in os.environ or look in OPPOSITE_LOOKS[index % 2]:
                yield pytest.param(look, state, id=f"{look}-{state.__name__}")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with gateway_at(with_approval_agent(tmp_path_factory.mktemp("home"))) as running:
        yield running


class Looks:
    """One page for all states of a look, until another look is wanted."""

    def __init__(self, browser: Browser, gateway: GatewayProcess) -> None:
        self._browser, self._gateway = browser, gateway
        self._opened = ExitStack()
        self._page: tuple[str, Page] | None = None

    def page(self, look: str) -> Page:
        if self._page is None or self._page[0] != look:
            self.close()
            self._page = look, self._open(VARIANTS[look])
        return self._page[1]

    def _open(self, options: dict[str, Any]) -> Page:
        language = options.get("locale", "en-US")
        self._gateway.call("/api/preferences", {"language": language}, "PUT")
        visit = open_visit(self._browser, self._gateway.url, **{**options, "reduced_motion": "reduce"})
        page = self._opened.enter_context(visit).open()
        page.wait_for_function("language => document.documentElement.lang === language", arg=language)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        return page

    def close(self) -> None:
        self._opened.close()


@pytest.fixture(scope="module")
def looks(browser: Browser, gateway: GatewayProcess) -> Iterator[Looks]:
    opened = Looks(browser, gateway)
    yield opened
    opened.close()


def _begin_anew(page: Page) -> None:
    """Close what is open, and begin a new conversation."""
    open_parts = page.locator("dialog[open], .aside, .side.open, :popover-open")
    until = time.monotonic() + PATIENCE_S
    while open_parts.count():  # a search field takes the first Escape for itself
        assert time.monotonic() < until, "Escape does not close it"
        page.keyboard.press("Escape")
    page.evaluate("() => { location.hash = ''; }")
    page.wait_for_selector(".puzzle")


@pytest.mark.parametrize(("look", "state"), list(looks_and_states()))
def test_axe_finds_nothing(
    looks: Looks, gateway: GatewayProcess, look: str, state: Callable[[Page, GatewayProcess], None]
) -> None:
    """R130 to R136 for the page around the block, in each of its states."""
    page = looks.page(look)
    _begin_anew(page)
    state(page, gateway)
    assert page.evaluate(RULES) == []


def test_one_voice_speaks_at_boundaries_only(browser: Browser, gateway: GatewayProcess) -> None:
    """R135: one status region for the page; few words over a whole turn, and never the thought itself."""
    gateway.call("/api/preferences", {}, "PUT")
    with open_visit(browser, gateway.url) as visit:
        page = visit.open()
        page.evaluate(
            """() => { const said = window.said = []; new MutationObserver(() => {
              for (const {textContent} of document.querySelectorAll("body > [role=status]"))
                if (textContent && said.at(-1) !== textContent) said.push(textContent);
            }).observe(document.body, {subtree: true, childList: true, characterData: true}); }"""
        )
        ask(page, "make 24 from 6 4")
        wait_for_answers(page)
        page.wait_for_function("() => window.said.some(one => one.includes('Answer ready'))")
        announcements = page.evaluate("() => window.said")
        assert page.locator("body > [role=status]").count() == 1
        assert announcements
        assert len(announcements) <= 3
        assert not [announcement for announcement in announcements if "leaves" in announcement]
        assert any("Answer ready" in announcement for announcement in announcements), announcements


def test_right_to_left_moves_everything_to_the_other_side(browser: Browser, gateway: GatewayProcess) -> None:
    with open_visit(browser, gateway.url) as visit:
        page = visit.open()
        page.evaluate("() => { document.documentElement.dir = 'rtl'; }")
        side = page.locator(".side").bounding_box()
        assert side is not None
        assert side["x"] > 900
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_style_sheet_knows_no_left_and_right() -> None:
    sheet = (WEB / "page" / "page.css").read_text(encoding="utf-8")
    sides = r"-(?:left|right)\b|[\s;{](?:left|right)\s*:|text-align:\s*(?:left|right)"
    assert re.findall(sides, sheet.replace(".to-right", "")) == []
    four = re.findall(r"(?:padding|margin|inset): ([\w.-]+) ([\w.-]+) ([\w.-]+) ([\w.-]+);", sheet)
    assert [four_sides for four_sides in four if four_sides[1] != four_sides[3]] == []

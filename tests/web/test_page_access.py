"""The chat page for everybody: axe on every state in every look, and one voice."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.web.page_visits import PUZZLE, WEB, Gateway, ask, finished, gateway_at, visiting

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
RULES = """async () => {
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await axe.run(document, {runOnly: rules});
  const told = node => node.html.slice(0, 200) + " " + node.failureSummary;
  return found.violations.map(({id, nodes}) => [id, nodes.slice(0, 3).map(told)]);
}"""
TEXT = (
    "# Title\n\nSome *text*, `code`, a [link](https://example.org), $x^2$\n\n```python\nx = 1  # one\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done"
)
THOUGHT = "First **one**, then `two`.\n\n- and three"

WIDE = {"width": 1280, "height": 860}
NARROW = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateway_at(tmp_path_factory.mktemp("home")) as running:
        yield running


def _empty(page: Page, gateway: Gateway) -> None:
    page.wait_for_selector(".puzzle")


def _answered(page: Page, gateway: Gateway) -> None:
    session = gateway.keep("Access", ("a question", THOUGHT, TEXT), ("another", THOUGHT, "Short."))
    page.evaluate("id => { location.hash = id; }", session)
    finished(page, 2)
    page.wait_for_selector(".hl-number")
    page.evaluate("() => document.querySelectorAll('thinking-block')[0].expandAll()")
    page.wait_for_timeout(400)


def _streaming(page: Page, gateway: Gateway) -> None:
    ask(page, PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")


def _picker(page: Page, gateway: Gateway) -> None:
    page.click(".composer .chip")
    page.wait_for_selector(".option")


def _search(page: Page, gateway: Gateway) -> None:
    gateway.keep("Search", ("a question", THOUGHT, TEXT))
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.search")
    page.keyboard.type("question")
    page.wait_for_selector(".hit")


def _side(page: Page) -> None:
    if page.locator(".opener").is_visible():
        page.click(".opener")


def _settings(page: Page, gateway: Gateway) -> None:
    _side(page)
    page.locator(".side-foot .side-item").last.click()
    page.wait_for_selector(".dialog select")


def _agent(page: Page, gateway: Gateway) -> None:
    _side(page)
    page.locator(".side-foot .side-item").first.click()
    page.locator(".dialog .primary").click()
    page.wait_for_selector("fieldset")


def _menu(page: Page, gateway: Gateway) -> None:
    _answered(page, gateway)
    page.click("[popovertarget=actions]")


STATES: dict[str, Callable[[Page, Gateway], None]] = {
    "empty": _empty,
    "answered": _answered,
    "streaming": _streaming,
    "picker": _picker,
    "search": _search,
    "settings": _settings,
    "agent": _agent,
    "menu": _menu,
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": WIDE},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "narrow": {"viewport": NARROW},
    "narrow, dark, pt-BR": {"viewport": NARROW, "color_scheme": "dark", "locale": "pt-BR"},
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(browser: Browser, gateway: Gateway, state: str, look: str) -> None:
    """R130 to R136 for the page around the block."""
    language = LOOKS[look].get("locale", "en-US")
    gateway.call("/api/preferences", {"language": language}, "PUT")
    with visiting(browser, gateway.url, **{**LOOKS[look], "reduced_motion": "reduce"}) as visit:
        page = visit.open()
        page.wait_for_function("language => document.documentElement.lang === language", arg=language)
        STATES[state](page, gateway)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate(RULES) == []


def test_one_voice_speaks_at_boundaries_only(browser: Browser, gateway: Gateway) -> None:
    """R135: one status region for the page; few words over a whole turn, and never the thought itself."""
    gateway.call("/api/preferences", {}, "PUT")
    with visiting(browser, gateway.url) as visit:
        page = visit.open()
        page.evaluate(
            """() => { const said = window.said = []; new MutationObserver(() => {
              for (const {textContent} of document.querySelectorAll("body > [role=status]"))
                if (textContent && said.at(-1) !== textContent) said.push(textContent);
            }).observe(document.body, {subtree: true, childList: true, characterData: true}); }"""
        )
        ask(page, PUZZLE)
        finished(page)
        page.wait_for_timeout(2500)
        said = page.evaluate("() => window.said")
        assert page.locator("body > [role=status]").count() == 1
        assert said
        assert len(said) <= 3
        assert not [one for one in said if "leaves" in one]
        assert any("Answer ready" in one for one in said), said


def test_right_to_left_moves_everything_to_the_other_side(browser: Browser, gateway: Gateway) -> None:
    with visiting(browser, gateway.url) as visit:
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

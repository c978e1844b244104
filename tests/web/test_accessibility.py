"""What a screen reader, a keyboard and a careful eye get: the computed tree, not the attributes we wrote."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Page
from tests.patience import PATIENCE_S, patient_context
from tests.web.element_states import (
    STATES,
    answer_after_thought,
    feed_more,
    running_thought,
    show_block,
    working_agent,
)
from tests.web.site import WEB, Site

LINE = "Let me check the dates first. The user asked for Friday, and the ferry only…"
"""What is read out of a line that may be as long as there is room."""

T = TypeVar("T")

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"

RULES = """async () => {
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await axe.run(document, {runOnly: rules, resultTypes: ["violations"]});
  return found.violations.map(({id, nodes}) => [id, nodes.map(node =>
    node.html + " " + node.failureSummary)]);
}"""


def _tree(page: Page) -> list[dict[str, Any]]:
    """The computed accessibility tree, without what is ignored."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        {
            "role": node["role"]["value"],
            "name": node.get("name", {}).get("value", ""),
            **{property["name"]: property["value"].get("value") for property in node.get("properties", [])},
        }
        for node in nodes
        if not node["ignored"]
    ]


def _disclosures(page: Page) -> list[tuple[str, bool]]:
    return [
        (node["name"], node["expanded"])
        for node in _tree(page)
        if node["role"] in ("DisclosureTriangle", "button") and "expanded" in node
    ]


def _expect(page: Page, read: Callable[[], T], expected: T) -> None:
    """Wait until something read from the tree, which the browser updates in its own time, is as expected."""
    until_s = time.monotonic() + PATIENCE_S
    while (found := read()) != expected and time.monotonic() < until_s:
        page.wait_for_timeout(25)
    assert found == expected


@pytest.mark.parametrize(
    ("state", "name", "expanded"),
    [
        ("live", "Thinking...", False),
        ("live open", "Thinking...", True),
        ("done", f"Thought for 4.2 seconds, 18 words {LINE}", False),
        ("done open", "Thought for 4.2 seconds, 18 words", True),
        ("stopped", f"Stopped, 18 words {LINE}", False),
        ("cut", "Cut off, 18 words", True),
        ("lost", "Connection lost, 18 words", True),
        ("failed", "Failed, 18 words", True),
        ("no answer", "Thought for 4.2 seconds, 18 words", True),
        (
            "redacted",
            "Thought for 4.2 seconds Thought; the provider redacted the text, so it cannot be shown.",
            False,
        ),
        ("waiting", "Waiting…", False),
    ],
)
def test_the_header_is_a_disclosure_with_a_name(page: Page, state: str, name: str, expanded: bool) -> None:
    """R130, R131: a disclosure that says what it is and whether it is open."""
    events, options = STATES[state]
    show_block(page, events, **options)
    _expect(page, lambda: _disclosures(page), [(name, expanded)])


def test_a_closed_panel_is_not_there(page: Page) -> None:
    """R132: what is closed is in nobody's tree and in no tab order."""
    show_block(page, running_thought() + answer_after_thought(), id="block")
    page.wait_for_function("() => block.shadowRoot.querySelector('.text p')")  # drawn ahead, and still closed
    names = " ".join(node["name"] for node in _tree(page))
    assert "weekdays" not in names
    page.evaluate(
        "() => { const last = document.createElement('button'); last.id = 'last'; stage.append(last); }"
    )
    assert _tabs(page, 3) == ["summary", "last", "the page"]


def test_an_open_panel_is_a_group_with_a_name(page: Page) -> None:
    show_block(page, running_thought() + answer_after_thought(), open=True, id="block")
    page.wait_for_function("() => block.shadowRoot.querySelector('.text p')")
    _expect(
        page,
        lambda: [node["name"] for node in _tree(page) if node["role"] == "group" and node["name"]],
        ["Thinking"],
    )


def test_steps_are_a_list_with_status_words(page: Page) -> None:
    """R099, R103: a list; a failed tool says so in words."""
    show_block(page, working_agent(), open=True, now=5000)
    names = [
        "Policy Checker is working…",
        "Thought for 2.3s 4 words",
        "web_search query: venues 800 ms Done",
        "Policy Checker is working… Check the catering rules",
        "Thought for 100 ms",
        "fetch Failed 100 ms",
    ]
    _expect(page, lambda: [name for name, _ in _disclosures(page)], names)
    tree = _tree(page)
    assert sum(node["role"] == "list" for node in tree) == 2
    assert sum(node["role"] == "listitem" for node in tree) == 5


FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at === document.body ? "the page" : at.getAttribute("part") || at.id;
}"""


AT_REST = """async () => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  await Promise.all(block.shadowRoot.getAnimations({subtree: true}).map(one => one.finished));
}"""


def _tabs(page: Page, count: int) -> list[str]:
    """What gets the focus, key by key."""
    focused = []
    for _ in range(count):
        page.keyboard.press("Tab")
        focused.append(page.evaluate(FOCUSED))
    return focused


def test_everything_can_be_reached_and_left_by_keys_alone(page: Page) -> None:
    """R133."""
    show_block(
        page,
        running_thought("See [this](https://x.y).\n\n```\ncode\n```\n") + answer_after_thought(),
        id="block",
    )
    assert _tabs(page, 1) == ["summary"]
    page.keyboard.press("Enter")
    assert page.evaluate("() => block.open")
    page.evaluate(AT_REST)  # no hand is quicker than the frame that shows what was opened
    assert _tabs(page, 6) == ["body", "link", "copy-code", "copy", "reset", "close"]
    page.keyboard.press("Enter")
    assert not page.evaluate("() => block.open")
    assert page.evaluate("() => block.shadowRoot.activeElement.getAttribute('part')") == "summary"
    page.keyboard.press("Space")
    assert page.evaluate("() => block.open")


def test_few_words_are_announced_over_a_long_stream(page: Page) -> None:
    """R134, R135: a status line of the page speaks at the beginning and at the end,
    and never reads the thinking."""
    show_block(page, running_thought("Hm."), id="block", policy={"while_streaming": "expanded"})
    page.evaluate(
        """async () => {
          window.said = [];
          new MutationObserver(() => said.push(document.querySelector("[role=status]")?.textContent ?? ""))
            .observe(document.body, {subtree: true, childList: true, characterData: true});
          for (let n = 0; n < 5000; n++) {
            block.feed({seq: block.told++, at_ms: n, event: {type: "block.grew", block: 0,
              text: ` word${n}`}});
            if (n % 100 === 0) await new Promise(resolve => setTimeout(resolve, 30));
          }
        }"""
    )
    feed_more(page, answer_after_thought(9000))
    page.wait_for_function("() => said.some(text => text.startsWith('Thought'))")
    announcements = [text for text in page.evaluate("() => said") if text]
    assert announcements == ["Thinking...", "Thought for 9 seconds"]
    page.wait_for_timeout(5000)
    assert page.evaluate("() => said").count("") <= 1
    assert page.evaluate("() => document.querySelectorAll('[role=status]').length") == 1


def test_a_policy_can_silence_it(page: Page) -> None:
    show_block(page, running_thought("Hm."), id="block", policy={"live_region": "off"})
    page.wait_for_timeout(1300)
    feed_more(page, answer_after_thought())
    assert page.evaluate("() => document.querySelectorAll('[role=status], [role=alert]').length") == 0


def test_each_line_of_thinking_is_read_out_once_and_none_while_a_tool_works(page: Page) -> None:
    """Where the policy wants thinking read out, the newest line stays in the view while a call works."""
    page.clock.install()
    show_block(page, running_thought("Find the cat."), id="block", policy={"live_region": "content"})
    page.evaluate(
        """() => {
          window.said = [];
          new MutationObserver(() => said.push(document.querySelector("[role=status]").textContent))
            .observe(document.body, {subtree: true, childList: true});
        }"""
    )
    page.clock.run_for(20_000)
    call = {"type": "block.started", "block": 1, "kind": "tool_call", "name": "search"}
    feed_more(page, [({"type": "block.ended", "block": 0}, 900), (call, 1000)])
    feed_more(page, [({"type": "block.ended", "block": 1}, 1100)])
    page.clock.run_for(30_000)
    announcements = [text for text in page.evaluate("() => said") if text]
    assert announcements.count("Find the cat.") <= 1, announcements
    assert "Find the cat." not in announcements[-1], announcements
    assert any("search" in text for text in announcements), announcements


def test_the_body_is_busy_while_it_grows_and_never_live(page: Page) -> None:
    show_block(page, running_thought(), id="block", open=True)
    body = (
        "() => { const body = block.shadowRoot.querySelector('.body'); return [body.ariaBusy, "
        "body.ariaLive, !!body.closest('[aria-live], [role=log]')]; }"
    )
    assert page.evaluate(body) == ["true", None, False]
    feed_more(page, answer_after_thought())
    assert page.evaluate(body) == ["false", None, False]


@pytest.mark.parametrize(("lang", "scheme"), [("en", "light"), ("pt-BR", "dark")])
def test_axe_finds_nothing(browser: Any, site: Site, lang: str, scheme: str) -> None:
    """Every state, in both languages, light and dark: colours do not depend on words."""
    options = {"color_scheme": scheme, "bypass_csp": True, "reduced_motion": "reduce"}
    with patient_context(browser, **options) as context:
        page = context.new_page()
        page.goto(f"{site.url}/?lang={lang}")
        page.wait_for_function("() => window.ready")
        page.evaluate(
            "() => { const title = document.createElement('h1'); title.textContent = 'Thinking'; "
            "stage.prepend(title); }"
        )
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for state, (events, options) in STATES.items():
            show_block(page, events, id="block", **options)
            assert page.evaluate(RULES) == [], state
            page.evaluate("() => block.remove()")


@pytest.mark.parametrize("options", [{"forced_colors": "active"}], ids=["forced"])
def test_in_forced_colours_the_focus_and_the_border_are_seen(page: Page) -> None:
    show_block(page, running_thought(), id="block", now=1000)
    page.keyboard.press("Tab")
    assert page.evaluate("() => getComputedStyle(block.shadowRoot.activeElement).outlineStyle") == "solid"
    assert (
        page.evaluate("() => getComputedStyle(block.shadowRoot.querySelector('.root')).borderTopStyle")
        == "solid"
    )


@pytest.mark.parametrize("options", [{"viewport": {"width": 400, "height": 400}}], ids=["200%"])
def test_at_twice_the_size_nothing_is_cut_off(page: Page) -> None:
    show_block(page, working_agent(), id="block", open=True, now=5000)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    small = (
        "() => [...block.shadowRoot.querySelectorAll('summary, button')].filter(one => "
        "one.checkVisibility() && one.offsetHeight < 24).length"
    )
    assert page.evaluate(small) == 0

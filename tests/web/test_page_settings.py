"""Settings of the chat page: of a user in a workspace, kept by the gateway, the same in every window."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.chat_page import (
    QUICK_QUESTION,
    SLOW_PUZZLE,
    GatewayProcess,
    PageVisit,
    ask,
    gateway_at,
    open_visit,
    thinking_text,
    wait_for_answers,
)

THOUGHT = "First the **marigold**, then the fern.\n\nThe marigold wants sun.\n\nSo the fern it is."
ANNOUNCED_SCRIPT = """() => { const said = window.said = []; new MutationObserver(() => {
  for (const {textContent} of document.querySelectorAll("body > [role=status]"))
    if (textContent && said.at(-1)?.[0] !== textContent) said.push([textContent, performance.now()]);
}).observe(document.body, {subtree: true, childList: true, characterData: true}); }"""


@pytest.fixture
def visit(browser: Browser, gateway: GatewayProcess) -> Iterator[PageVisit]:
    gateway.call("/api/preferences", {}, "PUT")
    with open_visit(browser, gateway.url) as opened:
        yield opened


def _open(page: Page, nth: int = 0) -> bool:
    return bool(page.evaluate("nth => document.querySelectorAll('thinking-block')[nth].open", nth))


def _wait_for_preferences(page: Page, **expected: Any) -> None:
    """Wait until the gateway has this among the preferences."""
    page.wait_for_function(
        """async wanted => {
          const kept = await (await fetch("/api/preferences")).json();
          const all = {...kept, ...kept.display};
          return Object.entries(wanted).every(([name, value]) => all[name] === value);
        }""",
        arg=expected,
    )


def _settings(page: Page) -> None:
    page.get_by_role("button", name="Settings", exact=True).click()
    page.wait_for_selector("dialog select")


def test_settings_are_kept_for_the_user_and_seen_in_every_window(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """R054, R055, R062: kept by the gateway, and nothing that is stored changes with them."""
    session = gateway.import_exchanges("Settings", ("one", THOUGHT, "A fern."))
    page, second_page = visit.open(session), visit.open(session)
    wait_for_answers(second_page)
    page.bring_to_front()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_label("When it is done").select_option("expanded")
    page.wait_for_selector("text=Saved")
    with page.expect_response(lambda response: response.request.method == "PUT"):
        page.get_by_label("Screen reader announcements").select_option("off")
    display = gateway.call("/api/preferences")["display"]
    assert (display["after_complete"], display["live_region"]) == ("expanded", "off")
    page.wait_for_function("() => document.querySelector('thinking-block').open")
    second_page.wait_for_function("() => document.querySelector('thinking-block').open")
    page.reload()
    wait_for_answers(page)
    assert _open(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_label("When it is done")).to_have_value("expanded")
    page.get_by_label("Text of thoughts").select_option("plain")
    page.keyboard.press("Escape")
    expect(page.locator("thinking-block").first).to_have_attribute("render", "plain")
    assert gateway.call(f"/api/sessions/{session}/messages")["items"][1]["thinking"] == THOUGHT


def test_another_language_changes_every_word_at_once(visit: PageVisit, gateway: GatewayProcess) -> None:
    """R126 to R129."""
    session = gateway.import_exchanges("Idioma", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_label("Language").select_option("pt-BR")
    page.wait_for_selector("text=Nova conversa")
    assert page.evaluate("() => document.documentElement.lang") == "pt-BR"
    assert "Pensou por" in page.locator("thinking-block").get_by_text("Pensou por").first.inner_text()
    page.reload()
    page.wait_for_selector("text=Nova conversa")
    assert gateway.call("/api/preferences")["language"] == "pt-BR"


def test_another_language_is_shown_where_the_gateway_cannot_keep_it(visit: PageVisit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_label("Language").wait_for()
    page.route("**/api/preferences", lambda route: route.abort())
    page.get_by_label("Language").select_option("pt-BR")
    page.get_by_role("button", name="Configurações", exact=True).wait_for()
    page.wait_for_selector(".toast.bad")


def test_a_browser_in_portuguese_is_met_in_portuguese(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path) as gateway, open_visit(browser, gateway.url, locale="pt-BR") as visit:
        page = visit.open()
        page.wait_for_selector("text=Pergunte e veja o pensamento")
        page.click(".puzzle >> nth=2")
        wait_for_answers(page)
        assert "318 dias" in (page.text_content(".answer") or "")


def test_thinking_is_hidden_and_shown_by_key_and_by_command(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """R115 to R119: `/thinking` and the key do the same, with the same words."""
    session = gateway.import_exchanges("Toggle", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    wait_for_answers(page)
    state = "() => document.querySelector('thinking-block').state.view.open"
    page.keyboard.press("Alt+t")
    page.wait_for_selector("text=Thinking blocks: hidden")
    assert page.evaluate(state) == "hidden"
    _wait_for_preferences(page, show_thinking=False)
    ask(page, "/thinking")
    page.wait_for_selector("text=Thinking blocks: shown")
    assert page.evaluate(state) == "collapsed"
    assert page.locator(".exchange").count() == 1, "the command was sent as a question"


def test_hiding_reaches_thoughts_opened_by_hand(visit: PageVisit, gateway: GatewayProcess) -> None:
    """R055, R118: the eye, the key and the command hide every thought; showing gives each its state back."""
    session = gateway.import_exchanges("Hide", ("one", THOUGHT, "A fern."), ("two", "Again.", "Still."))
    page = visit.open(session)
    wait_for_answers(page, 2)
    states = "() => [...document.querySelectorAll('thinking-block')].map(one => one.state.view.open)"
    page.locator("thinking-block [part=summary]").first.click()
    assert page.evaluate(states) == ["expanded", "collapsed"]
    eye = page.get_by_role("button", name="Show or hide thinking")
    for n in range(3):
        if n == 0:
            eye.click()
        elif n == 1:
            page.keyboard.press("Alt+t")
        else:
            ask(page, "/thinking")
        page.wait_for_function(f"() => ({states})().join() === 'hidden,hidden'")
        ask(page, "/thinking hide")
        assert page.evaluate(states) == ["hidden", "hidden"], n
        ask(page, "/thinking show")
        page.wait_for_function(f"() => ({states})().join() === 'expanded,collapsed'")
    _wait_for_preferences(page, show_thinking=True)
    page.keyboard.press("Alt+t")
    _wait_for_preferences(page, show_thinking=False)
    page.reload()
    wait_for_answers(page, 2)
    assert page.evaluate(states) == ["hidden", "hidden"], "a choice of before the hide is back after a reload"
    assert page.locator(".exchange").count() == 2, "a command was sent as a question"


def test_an_unknown_command_is_not_sent_without_asking(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, "/thinkin hide")
    dialog = page.locator("dialog[open]")
    dialog.get_by_text("There is no command /thinkin.").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="detached")
    expect(page.locator("#message")).to_have_value("/thinkin hide")
    assert page.locator(".exchange").count() == 0
    page.locator("#message").press("Enter")
    dialog.get_by_role("button", name="Send as a message").click()
    expect(page.locator(".exchange")).to_have_count(1)
    expect(page.locator("#message")).to_have_value("")


@pytest.mark.parametrize("remember", ["none", "session"])
def test_hiding_is_remembered_only_where_remember_says_so(
    visit: PageVisit, gateway: GatewayProcess, remember: str
) -> None:
    """R055, R056: `none` lasts until the page is loaded again, `session` until the window is closed."""
    session = gateway.import_exchanges("Remember", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    wait_for_answers(page)
    change = (
        "async remember => { const got = await (await fetch('/api/preferences')).json(); "
        "got.display.remember = remember; await fetch('/api/preferences', {method: 'PUT', "
        "headers: {'Content-Type': 'application/json'}, body: JSON.stringify(got)}); }"
    )
    page.evaluate(change, remember)
    page.reload()
    wait_for_answers(page)
    page.wait_for_load_state("networkidle")  # the preferences are there
    state = "() => document.querySelector('thinking-block').state.view.open"
    page.keyboard.press("Alt+t")
    page.wait_for_selector("text=Thinking blocks: hidden")
    assert page.evaluate(state) == "hidden"
    page.reload()
    wait_for_answers(page)
    assert page.evaluate(state) == {"none": "collapsed", "session": "hidden"}[remember]
    _wait_for_preferences(page, show_thinking=True)


def test_expand_all_and_collapse_all(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("All", ("one", THOUGHT, "A fern."), ("two", "Again.", "Still."))
    page = visit.open(session)
    wait_for_answers(page, 2)
    page.get_by_role("button", name="Expand all thinking").click()
    assert _open(page, 0)
    assert _open(page, 1)
    page.reload()
    wait_for_answers(page, 2)
    assert not _open(page, 0), "R056: which block was open is not remembered"
    page.get_by_role("button", name="Expand all thinking").click()
    page.get_by_role("button", name="Collapse all thinking").click()
    assert not _open(page, 0)
    assert not _open(page, 1)


def test_how_thoughts_are_drawn_is_kept_by_the_gateway(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Drawn", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    wait_for_answers(page)
    page.get_by_role("button", name="Expand all thinking").click()
    expect(page.locator("thinking-block strong", has_text="marigold")).to_be_visible()
    _settings(page)
    page.get_by_label("Text of thoughts").select_option("plain")
    _wait_for_preferences(page, render="plain")
    page.keyboard.press("Escape")
    expect(page.locator("thinking-block").get_by_text("First the **marigold**")).to_be_visible()
    page.route("**/api/preferences", lambda route: None)  # the first paint does not wait for the gateway
    page.reload()
    wait_for_answers(page)
    expect(page.locator("thinking-block").first).to_have_attribute("render", "plain")


def test_the_keys_for_all_thinking_can_be_changed(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Keys", ("one", THOUGHT, "A fern."), ("two", "Again.", "Still."))
    page = visit.open(session)
    wait_for_answers(page, 2)
    page.keyboard.press("Alt+e")
    assert (_open(page, 0), _open(page, 1)) == (True, True)
    page.keyboard.press("Alt+e")
    assert (_open(page, 0), _open(page, 1)) == (False, False)
    _settings(page)
    changer = page.locator(".key")
    expect(changer).to_have_attribute("aria-label", "Expand or collapse all thinking: Alt+E. Change")
    changer.click()
    page.keyboard.press("Alt+n")
    page.wait_for_selector("text=These keys do something else already")
    page.keyboard.press("x")
    page.wait_for_selector(".toast.bad >> text=With Ctrl, Alt or a function key")
    page.keyboard.press("Escape")
    assert changer.inner_text() == "Alt+E", "Escape changed something, or closed the dialog"
    changer.click()
    page.keyboard.press("Control+Shift+U")
    _wait_for_preferences(page, expand_key="Ctrl+Shift+KeyU")
    expect(changer).to_have_text("Ctrl+Shift+U")
    expect(changer).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.reload()
    wait_for_answers(page, 2)
    page.keyboard.press("Alt+e")
    assert not _open(page)
    page.keyboard.press("Control+Shift+U")
    assert _open(page)
    _settings(page)
    changer.click()
    page.keyboard.press("Delete")
    _wait_for_preferences(page, expand_key="")
    expect(changer).to_have_text("None")


@pytest.mark.parametrize("level", ["status", "content"])
def test_more_tells_the_topic_and_no_more_often_than_every_ten_seconds(
    visit: PageVisit, gateway: GatewayProcess, level: str
) -> None:
    """R135: brief is the beginning and the end; more is also what is being thought about, now and then."""
    gateway.call("/api/preferences", {"display": {"live_region": level}}, "PUT")
    page = visit.open()
    page.wait_for_function(
        'level => localStorage.thinkaloud?.includes(`"live_region":"${level}"`)', arg=level
    )
    page.clock.install()
    page.evaluate(ANNOUNCED_SCRIPT)
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block")
    while not page.locator(".reply-foot").count():  # its clock runs ahead of the gateway's
        page.clock.fast_forward(1000)  # with one frame; to run for it would draw sixty
        page.wait_for_timeout(100)
    lines = thinking_text(page).splitlines()
    topics = [
        (text, at) for text, at in page.evaluate("() => window.said") if any(text in line for line in lines)
    ]
    if level == "status":
        assert topics == []
        return
    assert len(topics) > 1, "nothing was told of what it thinks about"
    assert all(later - previous >= 10_000 for (_, previous), (_, later) in pairwise(topics))


def test_announcements_that_are_off_are_off(visit: PageVisit, gateway: GatewayProcess) -> None:
    gateway.call("/api/preferences", {"display": {"live_region": "off"}}, "PUT")
    page = visit.open()
    page.wait_for_function('() => localStorage.thinkaloud?.includes(\'"live_region":"off"\')')
    page.evaluate(ANNOUNCED_SCRIPT)
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    assert page.evaluate("() => window.said") == []


def test_each_workspace_has_its_own_conversations_and_settings(browser: Browser, tmp_path: Path) -> None:
    """R054: shown by name; changed where there are several, and then everything is that workspace's."""
    with gateway_at(tmp_path) as gateway, open_visit(browser, gateway.url) as visit:
        gateway.import_exchanges("At home", ("one", THOUGHT, "A fern."))
        page = visit.open()
        _settings(page)
        expect(page.get_by_role("dialog").get_by_text("default", exact=True)).to_be_visible()
        assert page.get_by_label("Workspace").count() == 0, "a choice where there is none"
        page.keyboard.press("Escape")
        research = gateway.command("users", "join", "local", "--workspace", "research")
        _settings(page)
        page.get_by_label("Workspace").select_option("research")
        page.wait_for_selector("text=What you ask is kept here.")
        ask(page, QUICK_QUESTION)
        wait_for_answers(page)
        _settings(page)
        expect(page.get_by_label("Workspace")).to_have_value(research)
        page.get_by_label("Language").select_option("pt-BR")
        page.wait_for_selector("text=Nova conversa")
        assert gateway.call("/api/preferences")["language"] == "en-US"
        page.route("**/api/preferences", lambda route: None)
        page.reload()
        page.wait_for_selector("text=Nova conversa")
        page.unroute_all()
        page.locator(".side-foot .side-item").last.click()
        page.get_by_label("Espaço de trabalho").select_option("default")
        page.get_by_role("link", name="At home").wait_for()
        expect(page.get_by_role("button", name="New conversation")).to_be_visible()
        assert page.get_by_role("link").filter(has_text="51").count() == 0


def test_workspace_without_membership_is_left(visit: PageVisit) -> None:
    page = visit.open()
    page.evaluate("() => localStorage.setItem('thinkaloud-workspace', 'wsp_gone')")
    page.reload()
    page.wait_for_function("() => !localStorage.getItem('thinkaloud-workspace')")
    page.wait_for_selector(".puzzle")
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)

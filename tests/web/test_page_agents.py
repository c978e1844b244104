"""Agents on the chat page, with a real gateway: who answers, calls that wait, costs, and how deep it goes."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.chat_page import (
    QUICK_QUESTION,
    SLOW_PUZZLE,
    GatewayProcess,
    PageVisit,
    ask,
    block_events,
    gateway_at,
    open_visit,
    wait_for_answers,
    with_approval_agent,
)

DEEP = ("Planner", "Reader", "Scout", "Checker", "Clerk")
LABEL = "() => document.querySelector('thinking-block').state.view.label"
ANSWER = "() => document.querySelector('thinking-block').state.answer"
SAID_SCRIPT = """window.said = []; new MutationObserver(() => {
  for (const {textContent} of document.querySelectorAll("body > [role=status]"))
    if (textContent && said.at(-1) !== textContent) said.push(textContent);
}).observe(document, {subtree: true, childList: true, characterData: true});"""
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with gateway_at(with_approval_agent(tmp_path_factory.mktemp("home"))) as running:
        yield running


def _ask_agent(page: Page, name: str, question: str = QUICK_QUESTION) -> None:
    page.locator(".composer .chip").first.click()
    page.locator(".option", has_text=name).click()
    ask(page, question)


def _waiting(page: Page) -> None:
    page.wait_for_selector(".approval")
    assert "checker wants to run" in page.inner_text(".approval")
    assert page.inner_text(".approval dt") == "task"
    assert f"Question: {QUICK_QUESTION}" in page.inner_text(".approval pre")


def test_a_call_waits_over_a_reload_until_it_is_allowed(visit: PageVisit, gateway: GatewayProcess) -> None:
    """The page asks as soon as the log says so, and what was allowed runs."""
    page = visit.open()
    _ask_agent(page, "Careful")
    _waiting(page)
    page.add_init_script(SAID_SCRIPT)
    page.reload()
    _waiting(page)
    # The line is free for the next words after a second, so that they may be gone by now.
    page.wait_for_function("text => said.includes(text)", arg="A tool waits for your approval: checker")
    page.get_by_role("button", name="Allow").click()
    wait_for_answers(page)
    expect(page.locator(".approval")).to_have_count(0)
    assert "The checker agrees." in (page.text_content(".answer") or "")
    (turn,) = gateway.call(f"/api/sessions/{page.url.partition('#')[2]}")["turns"]
    parts = gateway.call(f"/api/sessions/{turn['session']}/messages")["items"][-1]["parts"]
    (call,) = [part for part in parts if part["kind"] == "tool_call"]
    assert (call["approval"], call["result"]) == ("granted", "Right.")


def test_words_typed_while_a_call_waits_do_not_approve_it(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    _ask_agent(page, "Careful")
    _waiting(page)
    for key in ("s", "t", "o", "p", "y", "Enter", "Control+y", "Space"):
        page.keyboard.press(key)
    _waiting(page)
    page.get_by_role("button", name="Decline").click()
    wait_for_answers(page)
    turn = gateway.call(f"/api/sessions/{page.url.partition('#')[2]}")["turns"][0]
    parts = gateway.call(f"/api/sessions/{turn['session']}/messages")["items"][1]["parts"]
    assert [part["approval"] for part in parts if part["kind"] == "tool_call"] == ["denied"]


def test_replies_are_separated_by_a_blank_line_live_and_after_a_reload(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """The page folds the same entries then and now, so the answer has the same paragraphs."""
    page = visit.open()
    _ask_agent(page, "Careful")
    _waiting(page)
    assert page.evaluate(LABEL) == "checker waits for approval"
    page.get_by_role("button", name="Allow").click()
    wait_for_answers(page)
    (turn,) = gateway.call(f"/api/sessions/{page.url.partition('#')[2]}")["turns"]
    content = gateway.call(f"/api/sessions/{turn['session']}/messages")["items"][-1]["content"]
    assert page.evaluate(ANSWER) == content
    page.reload()
    wait_for_answers(page)
    assert page.evaluate(ANSWER) == content


def test_a_call_that_is_declined_is_not_made_and_the_answer_comes_without(visit: PageVisit) -> None:
    page = visit.open()
    _ask_agent(page, "Careful")
    _waiting(page)
    page.get_by_role("button", name="Decline").click()
    wait_for_answers(page)
    assert "What the checker said" in (page.text_content(".answer") or "")
    page.evaluate("() => document.querySelector('thinking-block').expandAll()")
    expect(page.locator("thinking-block").get_by_text("Declined")).to_be_visible()


def test_the_agent_that_was_asked_is_named_live_and_afterwards(
    visit: PageVisit, browser: Browser, gateway: GatewayProcess
) -> None:
    page = visit.open()
    _ask_agent(page, "Planner")
    page.wait_for_selector("thinking-block[status=streaming]")
    expect(page.get_by_role("heading", name="Answer by Planner")).to_have_count(1)
    page.reload()
    expect(page.get_by_role("heading", name="Answer by Planner")).to_have_count(1)
    top = "() => document.querySelector('thinking-block').getBoundingClientRect().top"
    top_before = page.evaluate(top)
    wait_for_answers(page)
    assert page.inner_text(".facts") == "Planner"
    assert page.evaluate(top) == top_before, "nothing moves at the end"
    page.evaluate("() => document.querySelector('thinking-block').expandAll()")
    steps = page.locator("thinking-block .body > .steps > .step > details > summary > .step-index:visible")
    expect(steps).to_have_text(["Step 1", "Step 2", "Step 3"])
    with open_visit(browser, gateway.url) as elsewhere:
        second_page = elsewhere.open(page.url.partition("#")[2])
        wait_for_answers(second_page)
        assert second_page.inner_text(".facts") == "Planner"
        expect(second_page.get_by_role("button", name="Who answers: Planner")).to_be_visible()


def test_answer_now_makes_an_agent_answer_without_tools(visit: PageVisit) -> None:
    page = visit.open()
    _ask_agent(page, "Planner", SLOW_PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 40")
    page.locator(".composer").get_by_role("button", name="Answer now").click()
    wait_for_answers(page)
    assert "952" in (page.text_content(".answer") or "")
    assert "calculator" not in (page.text_content(".answer") or ""), "the tools were to be left out"


def test_the_header_keeps_its_badge_and_its_arrow_in_narrow_windows(
    browser: Browser, gateway: GatewayProcess
) -> None:
    """Label, tools and the arrow: all of it inside of 360 pixels, in both languages."""
    events = block_events(0, "reasoning", "Let us see what there is to see. " * 40)
    for number in range(1, 13):
        events += block_events(number, "tool_call", "{}", name="calculator", result="24")
    events += [*block_events(13, "text", "Done."), {"type": "turn.ended", "finish": "stop"}]
    session = gateway.import_events("Many tools", events)
    for language in ("en-US", "pt-BR"):
        gateway.call("/api/preferences", {"language": language}, "PUT")
        with open_visit(browser, gateway.url, locale=language, **NARROW) as visit:
            page = visit.open(session)
            wait_for_answers(page)
            shown = page.evaluate(
                """() => {
                  const root = document.querySelector("thinking-block").shadowRoot;
                  const {right} = root.querySelector("[part~=summary]").getBoundingClientRect();
                  return ["label", "badge", "chevron"].map(part => {
                    const one = root.querySelector(`[part~=summary] > [part~=${part}]`);
                    const inside = one.getBoundingClientRect().right <= right;
                    return [part, inside, one.scrollWidth <= one.clientWidth];
                  });
                }"""
            )
            assert shown == [[part, True, True] for part in ("label", "badge", "chevron")], language
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    gateway.call("/api/preferences", {}, "PUT")


def test_cost_is_shown_if_known(visit: PageVisit, gateway: GatewayProcess) -> None:
    usage = {"input": 1000, "output": 1000, "reasoning": 400}
    events: list[dict[str, Any]] = [*block_events(0, "reasoning", "Hm."), *block_events(1, "text", "A fern.")]
    events += [{"type": "usage.reported", "usage": usage}, {"type": "turn.ended", "finish": "stop"}]
    session = gateway.import_events("Priced", events, model="claude-opus-4-5", provider="anthropic")
    page = visit.open(session)
    expect(page.locator(".facts")).to_have_text(
        "claude-opus-4-5 · 1,000 tokens in · 1,000 out · 400 thinking · 0.03 USD"
    )
    assert "genai-prices" in (page.locator(".facts").get_attribute("title") or "")
    unknown = gateway.import_events("Unpriced", events, provider="ollama")
    page.evaluate("id => { location.hash = id; }", unknown)
    expect(page.locator("h1")).to_have_text("Unpriced")
    with page.expect_response("**/api/turns/*"):
        page.reload()
    expect(page.locator(".facts")).to_have_text("trial · 1,000 tokens in · 1,000 out · 400 thinking")


def _nested(gateway: GatewayProcess) -> str:
    """Five assistants, each working for the one before; the deepest thinks and uses a tool."""
    events: list[dict[str, Any]] = []
    for number, name in enumerate(DEEP):
        events += block_events(
            number, "assistant_call", f"Task for {name}", name=name, parent=number - 1 if number else None
        )
    last = len(DEEP) - 1
    events += block_events(last + 1, "reasoning", "Deep down I **look** at it.", parent=last)
    events += block_events(last + 2, "tool_call", "{}", name="lens", parent=last, result="a fern")
    events += [
        {"type": "tool.finished", "block": n, "result": f"{DEEP[n]} is done"} for n in range(last, -1, -1)
    ]
    events += [*block_events(last + 3, "text", "A fern."), {"type": "turn.ended", "finish": "stop"}]
    return gateway.import_events("Nested", events)


def test_assistants_deeper_than_three_levels_open_in_the_side_panel(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open(_nested(gateway))
    wait_for_answers(page)
    page.get_by_role("button", name="Expand all thinking").click()
    thinking = page.locator(".exchange thinking-block")
    expect(thinking.get_by_text("Task for Scout").first).to_be_visible()
    assert (
        thinking.get_by_text("Deep down I").count() == 0
        or not thinking.get_by_text("Deep down I").is_visible()
    )
    thinking.locator("summary", has_text="Checker").click()
    beside = page.get_by_role("complementary", name="What Checker did")
    expect(beside.get_by_role("heading", name="Checker")).to_be_focused()
    assert "Planner › Reader › Scout › Checker" in beside.inner_text()
    expect(beside.get_by_text("Checker is done")).to_be_visible()
    # A step that was drawn while it ran may be open already, so that a click would close it.
    beside.locator("thinking-block").evaluate("block => block.expandAll()")
    expect(beside.get_by_text("Clerk is done")).to_be_visible()
    expect(beside.locator("summary", has_text="lens")).to_be_visible()
    page.keyboard.press("Escape")
    expect(beside).to_have_count(0)
    focus = "() => document.activeElement.shadowRoot?.activeElement?.textContent ?? ''"
    assert "Checker" in page.evaluate(focus)
    thinking.locator("summary", has_text="Checker").click()
    expect(beside).to_be_visible()
    page.keyboard.press("Alt+n")
    expect(beside).to_have_count(0)


def test_new_agent_is_within_reach_in_a_low_window(browser: Browser, gateway: GatewayProcess) -> None:
    """The list is longer than the dialog, and its button does not go out of sight with it."""
    for name in ("Puzzler", "Close reader"):
        gateway.call("/api/agents", {"name": name, "model": "builtin/solver"})
    with open_visit(browser, gateway.url, viewport={"width": 800, "height": 400}) as visit:
        page = visit.open("")
        page.get_by_role("button", name="Conversations and settings").click()
        page.get_by_role("button", name="Agents", exact=True).click()
        expect(page.get_by_role("button", name="New agent")).to_be_in_viewport(ratio=1)

"""The chat page as people meet it: a first visit, and all that may come between question and answer."""

import signal
from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.web.chat_page import (
    ANSWER,
    PUZZLE,
    QUICK_QUESTION,
    SLOW_PUZZLE,
    PageVisit,
    ask,
    gateway_at,
    open_visit,
    thinking_text,
    wait_for_answers,
)

PASSED = "() => document.querySelector('thinking-block').state.view?.duration_ms ?? 0"


def test_a_first_visit_needs_no_key_and_one_click(visit: PageVisit) -> None:
    """R064, R065, R069: the thought is inside the reply, above the answer, and closed."""
    page = visit.open()
    assert page.inner_text(".welcome h2") == "Ask, and watch it think"
    expect(page.locator(".puzzle")).to_have_count(3)
    assert "ANTHROPIC_API_KEY" in page.inner_text(".connect")
    page.click(".puzzle >> nth=0")
    page.wait_for_selector("thinking-block[status=streaming]")
    wait_for_answers(page)
    assert page.text_content(".answer") == ANSWER
    assert "Found after" in thinking_text(page)
    order = page.evaluate("() => [...document.querySelector('.reply').children].map(one => one.localName)")
    assert order.index("thinking-block") < order.index("div")
    assert page.evaluate("() => document.querySelector('thinking-block').open") is False
    assert page.title().startswith(PUZZLE)


def test_reload_in_mid_stream_resumes_text_and_clock(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.wait_for_function("() => document.querySelector('thinking-block').text.length > 60")
    text_before = thinking_text(page)
    passed = page.evaluate(PASSED)
    page.reload()
    page.wait_for_selector("thinking-block[status=streaming]")
    assert page.evaluate(PASSED) >= passed, "the clock began anew"
    page.wait_for_function(
        "before => document.querySelector('thinking-block').text.length > before", arg=len(text_before)
    )
    assert thinking_text(page).startswith(text_before)
    wait_for_answers(page)
    assert page.text_content(".answer") == ANSWER
    assert page.locator(".exchange").count() == 1


def test_offline_and_back_loses_nothing(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    visit.context.set_offline(True)
    page.wait_for_selector(".offline:not([hidden])")
    page.wait_for_selector(".link-state:not([hidden])")
    ask(page, "is anybody there")
    visit.context.set_offline(False)
    page.wait_for_selector(".offline", state="hidden")
    wait_for_answers(page, 2)
    assert "952" in (page.text_content(".answer >> nth=0") or "")
    expect(page.locator(".link-state:visible")).to_have_count(0)
    expect(page.locator(".exchange").filter(has_text="is anybody there")).to_have_count(1)
    assert page.input_value("#message") == "", "what was asked offline has waited, and was sent"


def test_a_question_that_does_not_get_through_is_given_back(visit: PageVisit) -> None:
    page = visit.open()
    page.clock.install()
    visit.context.set_offline(True)
    ask(page, "hello")
    while not page.locator(".error-card").count():
        page.clock.run_for(500)  # it tries again for some seconds
    assert "offline" in page.inner_text(".error-card")
    assert page.input_value("#message") == "hello"
    visit.context.set_offline(False)


def test_turn_of_a_killed_gateway_is_shown_as_interrupted(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path) as gateway, open_visit(browser, gateway.url) as visit:
        page = visit.open()
        ask(page, SLOW_PUZZLE)
        page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 60")
        text_before = thinking_text(page)
        gateway.stop(signal.SIGKILL)
        page.wait_for_selector(".link-state:not([hidden])")
        gateway.start()
        wait_for_answers(page)
        assert thinking_text(page).startswith(text_before[:40])
        expect(page.locator(".link-state:visible")).to_have_count(0)
        notice = page.evaluate("() => document.querySelector('thinking-block').state.notice")
        assert notice, "how it ended is not said"
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        ask(page, QUICK_QUESTION)
        wait_for_answers(page, 2)
        assert "51" in (page.text_content(".answer >> nth=-1") or "")


def test_two_windows_show_the_same_conversation_live(visit: PageVisit) -> None:
    first_page, two = visit.open(), visit.open()  # a busy machine opens a window longer than the turn lasts
    ask(first_page, PUZZLE)
    first_page.wait_for_url("**/#ses_*")
    two.evaluate("id => { location.hash = id; }", first_page.url.partition("#")[2])
    two.wait_for_selector("thinking-block[status=streaming]")
    wait_for_answers(first_page)
    wait_for_answers(two)
    assert two.text_content(".answer") == ANSWER
    ask(two, QUICK_QUESTION)
    wait_for_answers(two, 2)
    first_page.wait_for_function("() => document.querySelectorAll('.exchange').length === 2")
    wait_for_answers(first_page, 2)
    assert "51" in (first_page.text_content(".answer >> nth=1") or "")


def test_stop_keeps_the_text_so_far(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 40")
    page.get_by_role("button", name="Stop", exact=True).click()
    wait_for_answers(page)
    assert len(thinking_text(page)) > 40
    assert "Stopped" in page.evaluate("() => document.querySelector('thinking-block').state.notice")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


def test_a_silent_stream_is_said_to_be_silent(visit: PageVisit) -> None:
    """No wheel turns for ever: after a while without a word the page says so, and offers to stop."""
    page = visit.open()
    page.clock.install()
    page.route("**/api/turns/*/events*", lambda route: None)
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block")
    page.clock.run_for(21_000)
    page.wait_for_selector("text=Still waiting for the first word")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    page.clock.run_for(25_000)
    page.wait_for_selector("text=Connection lost. Trying again")

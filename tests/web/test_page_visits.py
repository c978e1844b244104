"""The chat page as people meet it: a first visit, and all that may come between question and answer."""

import signal
from pathlib import Path

from playwright.sync_api import Browser
from tests.web.page_visits import (
    ANSWER,
    PUZZLE,
    QUICK,
    SLOW,
    Visit,
    ask,
    finished,
    gateway_at,
    thought,
    visiting,
)

PASSED = "() => document.querySelector('thinking-block').state.view?.duration_ms ?? 0"


def test_a_first_visit_needs_no_key_and_one_click(visit: Visit) -> None:
    """R064, R065, R069: the thought is inside the reply, above the answer, and closed."""
    page = visit.open()
    assert page.inner_text(".welcome h2") == "Ask, and watch it think"
    assert page.locator(".puzzle").count() == 3
    assert "ANTHROPIC_API_KEY" in page.inner_text(".connect")
    page.click(".puzzle >> nth=0")
    page.wait_for_selector("thinking-block[status=streaming]")
    finished(page)
    assert page.text_content(".answer") == ANSWER
    assert "Found:" in thought(page)
    order = page.evaluate("() => [...document.querySelector('.reply').children].map(one => one.localName)")
    assert order.index("thinking-block") < order.index("div")
    assert page.evaluate("() => document.querySelector('thinking-block').open") is False
    assert page.title().startswith(ANSWER)


def test_a_reload_in_mid_stream_goes_on_with_text_and_clock(visit: Visit) -> None:
    page = visit.open()
    ask(page, PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.wait_for_function("() => document.querySelector('thinking-block').text.length > 60")
    before = thought(page)
    passed = page.evaluate(PASSED)
    page.reload()
    page.wait_for_selector("thinking-block[status=streaming]")
    assert page.evaluate(PASSED) >= passed, "the clock began anew"
    page.wait_for_function(
        "before => document.querySelector('thinking-block').text.length > before", arg=len(before)
    )
    assert thought(page).startswith(before)
    finished(page)
    assert page.text_content(".answer") == ANSWER
    assert page.locator(".exchange").count() == 1


def test_offline_and_back_loses_nothing(visit: Visit) -> None:
    page = visit.open()
    ask(page, SLOW)
    page.wait_for_selector("thinking-block[status=streaming]")
    visit.context.set_offline(True)
    page.wait_for_selector(".offline:not([hidden])")
    page.wait_for_selector(".link-state:not([hidden])")
    ask(page, "is anybody there")
    visit.context.set_offline(False)
    page.wait_for_selector(".offline", state="hidden")
    finished(page)
    assert "952" in (page.text_content(".answer >> nth=0") or "")
    assert page.locator(".link-state:visible").count() == 0
    assert page.input_value("#message") == "is anybody there", "a draft is kept while a turn runs"


def test_a_question_that_does_not_get_through_is_given_back(visit: Visit) -> None:
    page = visit.open()
    page.clock.install()
    visit.context.set_offline(True)
    ask(page, "hello")
    while not page.locator(".toast.bad").count():
        page.clock.run_for(500)  # it tries again for some seconds
    assert "offline" in page.inner_text(".toast.bad")
    assert page.input_value("#message") == "hello"
    visit.context.set_offline(False)


def test_a_gateway_that_is_killed_and_comes_back_ends_the_turn_honestly(
    browser: Browser, tmp_path: Path
) -> None:
    with gateway_at(tmp_path) as gateway, visiting(browser, gateway.url) as visit:
        page = visit.open()
        ask(page, SLOW)
        page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 60")
        before = thought(page)
        gateway.stop(signal.SIGKILL)
        page.wait_for_selector(".link-state:not([hidden])")
        gateway.start()
        finished(page)
        assert thought(page).startswith(before[:40])
        assert page.locator(".link-state:visible").count() == 0
        said = page.evaluate("() => document.querySelector('thinking-block').state.notice")
        assert said, "how it ended is not said"
        assert page.get_by_role("button", name="Resume").is_visible()
        ask(page, QUICK)
        finished(page, 2)
        assert "51" in (page.text_content(".answer >> nth=-1") or "")


def test_two_windows_show_the_same_conversation_live(visit: Visit) -> None:
    one = visit.open()
    ask(one, PUZZLE)
    one.wait_for_url("**/#ses_*")
    two = visit.open(one.url.partition("#")[2])
    two.wait_for_selector("thinking-block[status=streaming]")
    finished(one)
    finished(two)
    assert two.text_content(".answer") == ANSWER
    ask(two, QUICK)
    finished(two, 2)
    one.wait_for_function("() => document.querySelectorAll('.exchange').length === 2")
    finished(one, 2)
    assert "51" in (one.text_content(".answer >> nth=1") or "")


def test_stopping_keeps_what_was_said(visit: Visit) -> None:
    page = visit.open()
    ask(page, SLOW)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 40")
    page.get_by_role("button", name="Stop", exact=True).click()
    finished(page)
    assert len(thought(page)) > 40
    assert "Stopped" in page.evaluate("() => document.querySelector('thinking-block').state.notice")
    assert page.get_by_role("button", name="Send", exact=True).is_visible()


def test_a_silent_stream_is_said_to_be_silent(visit: Visit) -> None:
    """No wheel turns for ever: after a while without a word the page says so, and offers to stop."""
    page = visit.open()
    page.clock.install()
    page.route("**/api/turns/*/events*", lambda route: None)
    ask(page, SLOW)
    page.wait_for_selector("thinking-block")
    page.clock.run_for(21_000)
    page.wait_for_selector("text=Still waiting for the first word")
    assert page.get_by_role("button", name="Stop", exact=True).is_visible()
    page.clock.run_for(25_000)
    page.wait_for_selector("text=Connection lost. Trying again")

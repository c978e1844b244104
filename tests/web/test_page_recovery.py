"""Ways on and ways back: what to do when no answer came, when it broke off, and links to single steps."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.chat_page import (
    QUICK_QUESTION,
    SLOW_PUZZLE,
    GatewayProcess,
    PageVisit,
    ask,
    block_events,
    wait_for_answers,
)

ENDED = {"type": "turn.ended", "finish": "stop"}
LOST = {"type": "turn.failed", "code": "cut_off", "message": ""}


def test_thinking_without_an_answer_can_be_retried_or_taken_as_a_draft(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """What it thought stays in sight, with a sentence on what happened and two ways on."""
    session = gateway.import_events(
        QUICK_QUESTION, [*block_events(0, "reasoning", "Seventeen.\n\nTimes three."), ENDED], model="solver"
    )
    page = visit.open(session)
    wait_for_answers(page)
    expect(page.locator(".error-card")).to_contain_text("Model provided reasoning but no response")
    page.get_by_role("button", name="Use as draft").click()
    expect(page.locator("#message")).to_have_value("Times three.")
    expect(page.locator("#message")).to_be_focused()
    page.fill("#message", "")
    page.get_by_role("button", name="Try again").click()
    wait_for_answers(page, 2)
    assert "51" in (page.text_content(".answer >> nth=-1") or "")
    assert page.locator(".exchange >> nth=1").get_by_role("button", name="Try again").count() == 0


@pytest.mark.parametrize(
    ("events", "prompt"),
    [((), QUICK_QUESTION), (block_events(1, "text", "17 times"), "Please go on where you stopped.")],
    ids=["no word", "some words"],
)
def test_a_turn_whose_connection_was_lost_can_be_resumed(
    visit: PageVisit, gateway: GatewayProcess, events: list[dict[str, Any]], prompt: str
) -> None:
    """With something of an answer the model is asked to go on; without, the question is asked again."""
    session = gateway.import_events(
        QUICK_QUESTION, [*block_events(0, "reasoning", "Seventeen."), *events, LOST], model="solver"
    )
    page = visit.open(session)
    wait_for_answers(page)
    page.get_by_role("button", name="Resume").click()
    wait_for_answers(page, 2)
    assert page.inner_text(".bubble p >> nth=-1") == prompt


def test_a_stream_that_the_gateway_refused_can_be_resumed(visit: PageVisit) -> None:
    """What came stays; when the gateway answers again, it goes on from there."""
    page = visit.open()
    error = {"error": {"code": "internal", "message": "A mistake of the gateway's."}}
    page.route("**/api/turns/*/events*", lambda route: route.fulfill(status=500, json=error))
    ask(page, QUICK_QUESTION)
    page.wait_for_selector(".link-state >> text=A mistake of the gateway's.")
    page.unroute_all()
    page.get_by_role("button", name="Resume").click()
    wait_for_answers(page)
    assert "51" in (page.text_content(".answer") or "")
    expect(page.locator(".link-state:visible")).to_have_count(0)


def _stepped(gateway: GatewayProcess) -> str:
    events = [
        *block_events(0, "reasoning", "First a thought. " * 60),
        *block_events(1, "assistant_call", "Check it", name="Checker"),
        *block_events(2, "reasoning", "Below the checker, a thought.", parent=1),
        {"type": "tool.finished", "block": 1, "result": "Right."},
        *block_events(3, "reasoning", "Last a thought. " * 60),
        *block_events(4, "text", "A fern."),
        ENDED,
    ]
    return gateway.import_events("Steps", events)


def _in_sight(page: Page, text: str) -> None:
    """Wait until this text of a thought is open, and where the reader looks."""
    place = page.locator("thinking-block").get_by_text(text).last
    expect(place).to_be_in_viewport()


def test_a_link_to_a_step_is_copied_and_opens_it(visit: PageVisit, gateway: GatewayProcess) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open(_stepped(gateway))
    wait_for_answers(page)
    page.get_by_role("button", name="Link to a step").click()
    dialog = page.get_by_role("dialog", name="Link to a step")
    expect(dialog.get_by_role("button", name=re.compile("Copy link: "))).to_have_count(4)
    dialog.get_by_role("listitem").filter(has_text="Below the checker").get_by_role("button").last.click()
    page.wait_for_selector("text=Copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    (turn,) = gateway.call(f"/api/sessions/{page.url.partition('#')[2]}")["turns"]
    assert link == f"{gateway.url}/#think-{turn['id']}-2"
    second_page = visit.open(link.partition("#")[2])
    wait_for_answers(second_page)
    _in_sight(second_page, "Below the checker, a thought.")
    assert second_page.locator(".sessions [aria-current]").inner_text() == "Steps"
    second_page.evaluate("hash => { location.hash = hash; }", f"think-{turn['id']}-3")
    _in_sight(second_page, "Last a thought.")


def test_a_link_to_a_turn_that_is_gone_says_so(visit: PageVisit) -> None:
    page = visit.open("think-trn_AAAAAAAAAAAAAAAAAAAAAA-0")
    page.wait_for_selector("text=This conversation is not there any more")


def test_after_a_stopped_question_the_next_is_understood(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 40")
    page.get_by_role("button", name="Stop", exact=True).click()
    wait_for_answers(page)
    ask(page, QUICK_QUESTION)
    wait_for_answers(page, 2)
    assert "51" in (page.text_content(".answer >> nth=-1") or "")

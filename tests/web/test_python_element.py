"""The element as programs in Python feed it: a turn as HTML by itself, and lines of a stream that resumes."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.integrations.test_element import HOSTILE

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import fold
from thinkaloud.integrations.element import entry_lines, turn_html

EVENTS: list[Event] = [
    TurnStarted(),
    BlockStarted(0, Kind.REASONING),
    BlockGrew(0, HOSTILE),
    BlockEnded(0),
    BlockStarted(1, Kind.TEXT),
    BlockGrew(1, f"Answer {HOSTILE}"),
    BlockEnded(1),
    TurnEnded(),
]
CONSUME = """async (lines) => {
  window.block ??= put();
  await block.consume(new Response(lines));
  block.refresh();
  return {status: block.getAttribute("status"), text: block.text, answer: block.toMarkdown()};
}"""


@pytest.fixture
def blank_page(page: Page) -> Iterator[Page]:
    """A page without a policy of its own, as a notebook's; what it asks for is counted."""
    page.goto("about:blank")
    yield page
    assert page.evaluate("() => document.images.length") == 0


def test_html_of_a_turn_shows_hostile_text_as_text(blank_page: Page) -> None:
    blank_page.set_content(turn_html(fold(EVENTS), {"preset": "koder"}))
    block = blank_page.locator("thinking-block")
    expect(block).to_have_attribute("status", "done")
    expect(block.locator(".summary .label")).to_contain_text("Thought")
    block.locator("summary.summary").click()
    expect(block.locator(".text")).to_have_text(HOSTILE)
    expect(blank_page.locator("details")).to_have_count(1)
    expect(blank_page.locator("thinking-block + div")).to_have_text(f"Answer {HOSTILE}")


def test_two_turns_on_a_page_need_one_script(blank_page: Page) -> None:
    turn = fold(EVENTS)
    blank_page.set_content(f"{turn_html(turn)}{turn_html(turn, with_script=False)}")
    expect(blank_page.locator("thinking-block[status=done]")).to_have_count(2)


def test_lines_resume_where_they_broke_off(page: Page) -> None:
    entries = [Entry(seq, event, 1_000 * seq) for seq, event in enumerate(EVENTS)]
    broken = page.evaluate(CONSUME, entry_lines(entries[:3]))
    assert (broken["status"], broken["text"]) == ("disconnected", HOSTILE)
    resumed = page.evaluate(CONSUME, entry_lines(entries[1:]))
    assert resumed == {"status": "done", "text": HOSTILE, "answer": f"Answer {HOSTILE}"}

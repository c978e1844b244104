"""How thinking, the answer and an edited question look on the chat page, read from what was kept."""

from playwright.sync_api import FloatRect
from tests.web.chat_page import GatewayProcess, PageVisit

STYLES = """() => ["thinking-block", ".answer"].map(name => {
  const {fontSize, lineHeight, color, backgroundColor} = getComputedStyle(document.querySelector(name));
  return {fontSize: parseFloat(fontSize), lineHeight: parseFloat(lineHeight), color, backgroundColor};
})"""


def test_stored_thinking_is_shown_apart_from_the_answer(visit: PageVisit, gateway: GatewayProcess) -> None:
    """R053, R066, R067: the thought comes out of the message's own field, and is smaller than the answer."""
    with_thought = gateway.import_exchanges("With", ("Why?", "A thought about it.", "Because."))
    without = gateway.import_exchanges("Without", ("Why?", "", "Because."))
    page = visit.open(with_thought)
    page.wait_for_selector(".answer >> text=Because.")
    page.wait_for_selector("thinking-block[status=done]")
    assert page.evaluate("() => document.querySelector('thinking-block').text") == "A thought about it."
    thinking, answer = page.evaluate(STYLES)
    assert thinking["fontSize"] < answer["fontSize"]
    page.goto(f"{gateway.url}/#{without}")
    page.reload()
    page.wait_for_selector(".answer >> text=Because.")
    _, alone = page.evaluate(STYLES)
    assert alone == answer


def test_focus_of_an_edited_question_is_drawn_around_its_field(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """The outline is outside of the field, which is as wide as the exchange."""
    page = visit.open(gateway.import_exchanges("Edited", ("Why?", "A thought about it.", "Because.")))
    page.wait_for_selector(".answer >> text=Because.")
    page.hover(".asked")
    page.get_by_role("button", name="Edit the question").click()
    field = page.locator(".edit textarea")
    box = field.bounding_box()
    assert box
    beside: FloatRect = {"x": box["x"] - 2, "y": box["y"] + 20, "width": 2, "height": 20}
    focused = page.screenshot(clip=beside)
    field.blur()
    assert page.screenshot(clip=beside) != focused

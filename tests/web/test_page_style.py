"""How thinking looks beside the answer on the chat page, read from what was kept."""

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

"""How the element looks, where a look was promised."""

from playwright.sync_api import Page
from tests.web.element_states import answer_after_thought, running_thought, show_block, working_agent

CHEVRON = """() => {
  const chevron = block.shadowRoot.querySelector(".summary > .chevron");
  const [{right}, {right: edge}] = [chevron, block].map(one => one.getBoundingClientRect());
  return {rotate: getComputedStyle(chevron).rotate, from_edge: Math.round(edge - right)};
}"""


def test_a_chevron_at_the_edge_says_whether_it_is_open(page: Page) -> None:
    """R081, R096."""
    page.emulate_media(reduced_motion="reduce")
    show_block(page, running_thought() + answer_after_thought(), id="block", policy={"preset": "trace"})
    closed = page.evaluate(CHEVRON)
    page.evaluate("() => { block.open = true; }")
    opened = page.evaluate(CHEVRON)
    assert (closed["rotate"], opened["rotate"]) == ("none", "90deg")
    assert 0 <= opened["from_edge"] <= 16


def test_a_rule_divides_an_open_block_into_header_and_body(page: Page) -> None:
    """R076."""
    show_block(page, running_thought() + answer_after_thought(), id="block", open=True)
    rule = page.evaluate(
        """() => {
          const style = getComputedStyle(block.shadowRoot.querySelector("[part=body]"));
          return [style.borderBlockStartStyle, style.borderBlockStartWidth, style.borderBlockStartColor];
        }"""
    )
    assert rule[:2] == ["solid", "1px"]
    assert not rule[2].endswith(", 0)"), "a transparent rule is none"


def test_one_element_serves_an_answer_and_the_trace_of_an_agent(page: Page) -> None:
    """R063: the same block holds the one thought of a chat and all the steps of an agent."""
    show_block(page, running_thought() + answer_after_thought(), id="block", open=True)
    show_block(page, working_agent(), id="trace", open=True)
    elements = page.evaluate(
        """() => [block, trace].map(one => [one.localName, one.shadowRoot.querySelectorAll(".step").length,
          !!one.shadowRoot.querySelector("[part=body] .text")])"""
    )
    assert elements == [["thinking-block", 0, True], ["thinking-block", 5, True]]

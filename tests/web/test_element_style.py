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


def test_first_words_stay_in_one_line_however_narrow_the_block_is(page: Page) -> None:
    """R069: what does not fit is cut with an ellipsis, and the header does not grow."""
    show_block(page, running_thought() + answer_after_thought(), id="block")
    for width in (800, 320, 160):
        page.evaluate("width => { block.style.width = `${width}px`; }", width)
        lines = page.evaluate(
            """() => {
              const words = block.shadowRoot.querySelector(".summary > .preview");
              const range = document.createRange();
              range.selectNodeContents(words);
              const tops = [...range.getClientRects()].map(rect => Math.round(rect.top));
              return [words.textContent, new Set(tops).size, getComputedStyle(words).textOverflow];
            }"""
        )
        assert lines[0], "there are first words to cut"
        assert lines[1:] == [1, "ellipsis"], width


def test_label_and_number_of_tools_are_whole_in_a_narrow_block(page: Page) -> None:
    """Below 30rem the badge is the number alone, so that nothing in an open header is cut."""
    show_block(
        page, [*working_agent(), ({"type": "turn.ended", "finish": "stop"}, 125_000)], id="block", open=True
    )
    widths = """() => [...block.shadowRoot.querySelectorAll(".summary > :is(.label, .badge)")].map(one =>
      [one.innerText, one.scrollWidth <= one.clientWidth])"""
    for width, badge in ((700, "2 tools used"), (280, "2"), (250, "2")):
        page.evaluate("width => { block.style.width = `${width}px`; }", width)
        assert page.evaluate(widths) == [["Thought for 2.3s", True], [badge, True]], width

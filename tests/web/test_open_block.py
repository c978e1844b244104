"""What is behind the header: steps on a rail, readable calls, times, a body that shows that more follows."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.element_states import TWO_FRAMES, answer_after_thought, feed_more, running_thought, show_block

Event = dict[str, Any]
FERNS = [{"name": "bracken", "height": 120}, {"name": "maidenhair", "height": 40}]


def call(number: int, name: str, text: str, result: str, at: tuple[int, int]) -> list[tuple[Event, int]]:
    """A call of a tool that began and came back at these times."""
    return [
        ({"type": "block.started", "block": number, "kind": "tool_call", "name": name}, at[0]),
        ({"type": "block.grew", "block": number, "text": text}, at[0]),
        ({"type": "block.ended", "block": number}, at[0]),
        ({"type": "tool.finished", "block": number, "result": result}, at[1]),
    ]


def run() -> list[tuple[Event, int]]:
    """Two tools, and an assistant with a thought of its own."""
    return [
        ({"type": "turn.started"}, 0),
        *call(0, "calc", '{"expression": "8 × (7 + 4 − 8)"}', '{"value": 24}', (0, 500)),
        *call(1, "search", '{"query": "ferns", "limit": 2}', json.dumps(FERNS), (500, 2000)),
        ({"type": "block.started", "block": 2, "kind": "assistant_call", "name": "Checker"}, 2000),
        ({"type": "block.grew", "block": 2, "text": "Check the heights"}, 2000),
        ({"type": "block.ended", "block": 2}, 2000),
        ({"type": "block.started", "block": 3, "kind": "reasoning", "parent": 2}, 2100),
        ({"type": "block.grew", "block": 3, "text": "Both are right."}, 2100),
        ({"type": "block.ended", "block": 3}, 3900),
        ({"type": "tool.finished", "block": 2, "result": "They are right."}, 4000),
    ]


STEPS = """() => [...block.shadowRoot.querySelectorAll(".body > .steps > .step")].map(step => {
  const text = part => {
    const one = step.querySelector(`[part='${part}']`);
    return one && one.checkVisibility() ? one.innerText : "";
  };
  return {line: text("preview"), time: text("step-time"), input: text("input"), result: text("result"),
    cells: [...step.querySelectorAll("td, th")].map(one => one.textContent),
    rail: getComputedStyle(step, "::before").content !== "none"};
})"""


def read_steps(page: Page) -> list[dict[str, Any]]:
    """What is visible of each step."""
    page.evaluate(TWO_FRAMES)
    steps: list[dict[str, Any]] = page.evaluate(STEPS)
    return steps


def test_calls_are_readable(page: Page) -> None:
    """Arguments and results as fields and tables, times on the right, a rail between the steps."""
    show_block(page, run(), id="block", open=True, now=5000)
    calc, search, checker = read_steps(page)
    assert calc["line"] == "expression: 8 × (7 + 4 − 8)"
    assert (calc["time"], calc["result"]) == ("500 ms", "value: 24")
    assert (search["line"], search["input"]) == ("", "query: ferns\nlimit: 2")
    assert search["cells"] == ["name", "height", "bracken", "120", "maidenhair", "40"]
    assert search["time"] == "1.5s"
    assert (checker["line"], checker["time"]) == ("Check the heights", "2s")
    assert [step["rail"] for step in (calc, search, checker)] == [True, True, False]


def test_result_of_an_assistant_stands_after_its_steps(page: Page) -> None:
    show_block(page, run(), id="block", open=True, now=5000)
    tops = page.evaluate(
        """() => {
          const step = block.shadowRoot.querySelector(".step[data-kind=assistant_call]");
          return [step.querySelector(".steps"), [...step.querySelectorAll(".result")].at(-1)].map(one =>
            one.getBoundingClientRect().top);
        }"""
    )
    assert tops[0] < tops[1]
    text = page.evaluate("() => block.shadowRoot.querySelector('.body').innerText")
    assert text.count("Check the heights") == 1


def test_json_that_is_not_complete_or_no_object_stays_as_it_is(page: Page) -> None:
    events = [
        ({"type": "turn.started"}, 0),
        *call(0, "odd", '{"a": 1', "[1, 2", (0, 1)),
        *call(1, "deep", "", '{"a": {"b": [1]}}', (0, 1)),
        *call(2, "empty", "{}", "* no list *", (0, 1)),
    ]
    show_block(page, events, id="block", open=True, now=10)
    odd, deep, empty = read_steps(page)
    assert (odd["line"], odd["result"]) == ('{"a": 1', "[1, 2")
    assert '"b": [' in deep["result"]
    assert (empty["line"], empty["result"]) == ("", "* no list *")


def test_code_and_tables_in_a_result_are_drawn(page: Page) -> None:
    code = "Two lines:\n```python\nfor a in b:\n    print(a)\n```"
    events = [
        ({"type": "turn.started"}, 0),
        *call(0, "read", "", code, (0, 1)),
        *call(1, "list", "", "| fern | height |\n|---|--:|\n| bracken | 120 |", (0, 1)),
    ]
    show_block(page, events, id="block", open=True, now=10)
    read, listed = read_steps(page)
    assert "```" not in read["result"]
    assert page.locator("thinking-block .result pre").inner_text() == "for a in b:\n    print(a)\n"
    assert listed["cells"] == ["fern", "height", "bracken", "120"]


def test_timeline_shows_the_run_to_scale(page: Page) -> None:
    show_block(page, run(), id="block", open=True, now=5000)
    page.locator("thinking-block button[part=timeline]").click()
    page.wait_for_function("() => block.shadowRoot.querySelector('ol.timeline')")
    bars = page.evaluate(
        """() => {
          const track = block.shadowRoot.querySelector(".bar-track").getBoundingClientRect();
          return [...block.shadowRoot.querySelectorAll(".bar-row")].map(row => {
            const {left, width} = row.querySelector(".bar").getBoundingClientRect();
            const name = row.querySelector(".bar-name").textContent;
            return [name, Math.round((left - track.left) / track.width * 40),
              Math.round(width / track.width * 40), row.querySelector(".bar-time").textContent];
          });
        }"""
    )
    assert bars == [
        ["calc", 0, 5, "500 ms"],
        ["search", 5, 15, "1.5s"],
        ["Checker", 20, 20, "2s"],
        ["Thinking", 21, 18, "1.8s"],
    ]
    expect(page.locator("thinking-block .steps").first).not_to_be_visible()
    page.locator("thinking-block button[part=timeline]").click()
    expect(page.locator("thinking-block .body > .steps")).to_be_visible()


def test_timeline_of_many_steps_in_a_narrow_block(page: Page) -> None:
    """Its usual names are not cut, and what does not fit can be shown."""
    page.evaluate("() => { document.documentElement.lang = 'pt-BR'; stage.style.inlineSize = '280px'; }")
    thought = [
        ({"type": "block.started", "block": 0, "kind": "reasoning"}, 0),
        ({"type": "block.grew", "block": 0, "text": "A fern."}, 0),
        ({"type": "block.ended", "block": 0}, 1),
    ]
    calls = [entry for at in range(1, 21) for entry in call(at, "search", "", "A fern.", (at, at + 1))]
    ended = ({"type": "turn.ended", "finish": "stop"}, 30)
    show_block(page, [({"type": "turn.started"}, 0), *thought, *calls, ended], id="block", open=True, now=40)
    page.evaluate("() => block.ready")
    page.locator("thinking-block button[part=timeline]").click()
    expect(page.locator("thinking-block [part=show-all]")).to_be_visible()
    name = page.locator("thinking-block .bar-name", has_text="Pensamento")
    assert name.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_body_that_scrolls_shows_that_more_follows(page: Page) -> None:
    """A fade at its end, and a button that shows all of it; a short one has neither."""
    show_block(page, running_thought("A line.\n\n" * 80), id="block", open=True, now=1000)
    page.evaluate(
        """() => { block.tell({type: "block.ended", block: 0}, 2000);
          block.tell({type: "turn.ended", finish: "stop"}, 2000); }"""
    )
    button = page.locator("thinking-block [part=show-all]")
    height = "() => block.shadowRoot.querySelector('.body').clientHeight"
    fade = "() => getComputedStyle(block.shadowRoot.querySelector('.body'), '::after').position"
    assert page.evaluate(fade) == "sticky"
    before = page.evaluate(height)
    button.click()
    assert page.evaluate(height) > before * 2
    assert button.inner_text() == "Show less"
    button.click()
    assert page.evaluate(height) == before
    page.evaluate("() => block.remove()")
    show_block(page, running_thought("One line."), id="block", open=True, now=1000)
    expect(button).to_be_hidden()


@pytest.mark.parametrize("lang", ["en", "pt-BR"])
def test_separators_stand_between_the_words_in_both_directions(page: Page, lang: str) -> None:
    """The dot of the word count stands on the side of the label."""
    page.evaluate("lang => { document.documentElement.lang = lang; }", lang)
    sides = []
    for direction in ("ltr", "rtl"):
        page.evaluate("dir => { document.documentElement.dir = dir; stage.replaceChildren(); }", direction)
        ended: list[tuple[dict[str, Any], int]] = [
            ({"type": "block.ended", "block": 0}, 4200),
            ({"type": "turn.ended", "finish": "stop"}, 4200),
        ]
        show_block(page, running_thought() + ended, id="block")
        sides.append(
            page.evaluate(
                """() => ["before", "after"].map(side => {
                  const meta = block.shadowRoot.querySelector("[part=meta]");
                  return getComputedStyle(meta, `::${side}`).content !== "none";
                })"""
            )
        )
    assert sides == [[True, False], [False, True]]


def test_r077_gear_turns_where_the_page_wants_one(page: Page) -> None:
    """R077: the icon is a dot that breathes, or a gear that turns; at rest it is the thought."""
    show_block(page, running_thought(), id="block", now=1000, attributes={"running-icon": "gear"})
    moving = """() => { const sign = block.shadowRoot.querySelector("[part=icon] slot").firstChild;
      return [sign.localName, sign.getAnimations().length]; }"""
    assert page.evaluate(moving) == ["svg", 1]
    feed_more(page, answer_after_thought())
    assert page.evaluate(moving) == ["svg", 0]


PARTS_OF_THE_ICON = """() => {
  const path = block.shadowRoot.querySelector("[part=icon] slot path");
  return path.getAttribute("d").match(/M[^M]*/g).map(shape => {
    const part = path.cloneNode();
    part.setAttribute("d", shape);
    path.after(part);
    const { x, y, width, height } = part.getBBox();
    const canvas = document.createElement("canvas").getContext("2d");
    const inside = (h, v) => canvas.isPointInPath(new Path2D(shape), x + h * width, y + v * height);
    const corners = [[0.05, 0.05], [0.95, 0.05], [0.05, 0.95], [0.95, 0.95]].filter(([h, v]) => inside(h, v));
    part.remove();
    return { x, y, width, corners: corners.length, filled: inside(0.5, 0.5) };
  });
}"""


def test_r077_icon_at_rest_is_a_thought_bubble(page: Page) -> None:
    """R069 R077: a round outline, and two dots that go away from it to the lower left."""
    show_block(page, [*running_thought(), *answer_after_thought()], id="block", now=5000)
    bubble, first_dot, second_dot = page.evaluate(PARTS_OF_THE_ICON)
    assert bubble["filled"]
    assert bubble["corners"] == 0, "a square has corners"
    assert bubble["width"] > 8
    assert max(first_dot["width"], second_dot["width"]) < 1
    assert bubble["y"] < first_dot["y"] < second_dot["y"]
    assert second_dot["x"] < first_dot["x"] < bubble["x"] + bubble["width"] / 2


OPEN_STEPS = (
    "() => [...block.shadowRoot.querySelectorAll('.body > .steps > .step > details')].map(one => one.open)"
)


def test_only_the_step_at_work_or_the_last_is_open(page: Page) -> None:
    """A person who opens the block sees one step open; a step that was opened by hand stays open."""
    show_block(page, run(), id="block", now=5000)
    page.locator("thinking-block [part=summary]").click()
    page.wait_for_function(f"() => String(({OPEN_STEPS})()) === 'false,false,true'")
    page.locator("thinking-block .step[data-block='0'] > details > summary").click()
    feed_more(page, [({"type": "block.started", "block": 4, "kind": "tool_call", "name": "calc"}, 4100)])
    page.wait_for_function(f"() => String(({OPEN_STEPS})()) === 'true,false,false,true'")
    page.evaluate("() => block.expandAll()")
    assert page.evaluate(OPEN_STEPS) == [True] * 4
    page.evaluate("() => block.collapseAll()")
    assert not page.evaluate("() => block.open")


@pytest.mark.parametrize("width", [280, 1200])
def test_lines_of_a_header_use_the_room_there_is(page: Page, width: int) -> None:
    """While it streams the end of the newest line is in sight, at rest the beginning."""
    text = "one two three four five six seven eight nine ten " * 6 + "and last"
    page.set_viewport_size({"width": width + 40, "height": 600})
    page.evaluate("width => { stage.style.cssText = `width:${width}px`; }", width)
    show_block(page, running_thought(text), id="block", now=2000)
    box = """() => {
      const line = block.shadowRoot.querySelector("[part=preview]");
      const inner = line.firstChild.getBoundingClientRect(), outer = line.getBoundingClientRect();
      return {width: outer.width, left: inner.left - outer.left, right: inner.right - outer.right};
    }"""
    live = page.evaluate(box)
    assert live["width"] > width * 0.8
    assert live["left"] < 0
    assert abs(live["right"]) <= 1
    feed_more(page, answer_after_thought())
    rest = page.evaluate(box)
    assert rest["right"] > 0
    assert abs(rest["left"]) < 30
    assert rest["width"] > width / 2


def test_closed_trace_says_done_with_a_check_mark(page: Page) -> None:
    """R103: beside the summary while it is closed, and once only, below it, while it is open."""
    show_block(page, running_thought() + answer_after_thought(), id="block", policy={"preset": "trace"})
    mark = "() => getComputedStyle(block.shadowRoot.querySelector('[part=label]'), '::before').content"
    assert "✓" in page.evaluate(mark)
    page.locator("thinking-block [part=summary]").click()
    assert "✓" not in page.evaluate(mark)
    expect(page.locator("thinking-block [part=status] svg")).to_be_visible()


def test_first_words_of_the_agent_preset_grow_while_it_streams(page: Page) -> None:
    """R069: drawn by themselves, without an event that changes the turn otherwise."""
    show_block(page, running_thought("The agent"), id="block", policy={"preset": "agent"}, now=1000)
    line = page.locator("thinking-block [part=preview]")
    expect(line).to_have_text("The agent")
    feed_more(page, [({"type": "block.grew", "block": 0, "text": " needs the budget"}, 1000)])
    expect(line).to_have_text("The agent needs the budget")

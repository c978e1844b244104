"""What a delta costs as the trace grows: the same at the end of half a megabyte as at its beginning."""

import pytest
from playwright.sync_api import Page

KILOBYTES = 500
DELTA = 96
"""Characters; four of what a model sends at once, to be done four times as soon."""
MOST_GROWTH = 3.0
"""How much more a frame of the last tenth may cost than one of the first: a quadratic cost is far above."""
CLOCK_MS = 0.3
"""What a browser's clock may be off by over so many readings, where hardly anything was done."""

STREAM = """async ({shape, open, render, kilobytes, size}) => {
  const node = put({render});
  node.policy = {while_streaming: open ? "expanded" : "peek"};
  const line = {
    prose: "The user wants to know which **ferry** runs on a `weekday`, and why. \\n\\n",
    list: "- one thing to check, then [another](https://example.org/a)\\n",
    code: "const value = compute(1, 2, 3); // of the trace\\n",
    line: "and then there is more of it ",
  }[shape];
  const fence = shape === "code" ? "```js\\n" : "";
  const text = (fence + line.repeat(Math.ceil(kilobytes * 1024 / line.length))).slice(0, kilobytes * 1024);
  const frames = [];
  let seq = 0, spent = 0;
  const feed = event => node.feed({seq: seq++, at_ms: seq, event});
  feed({type: "block.started", block: 0, kind: "reasoning"});
  for (let at = 0; at < text.length; at += size) {
    const start = performance.now();
    feed({type: "block.grew", block: 0, text: text.slice(at, at + size)});
    // A frame holds several deltas of a fast stream; drawing each fourth is more often than in life.
    if ((at / size) % 4 === 0) node.refresh();
    spent += performance.now() - start;
    if ((at / size) % 16 === 0) {
      frames.push(spent);
      spent = 0;
    }
    if ((at / size) % 128 === 0) await new Promise(resolve => requestAnimationFrame(resolve));
  }
  // The median: a machine that does something else for a while makes a few of them long, growth all of them.
  const tenth = Math.floor(frames.length / 10);
  const median = part => part.toSorted((one, other) => one - other)[Math.floor(part.length / 2)];
  const report = {
    first: median(frames.slice(4, tenth)),
    last: median(frames.slice(-tenth)),
    nodes: node.shadowRoot.querySelectorAll(".body *").length,
  };
  node.remove();
  return report;
}"""


@pytest.mark.parametrize("shape", ["prose", "list", "code", "line"])
@pytest.mark.parametrize(
    ("open_", "render"),
    [(False, "markdown"), (True, "markdown"), (True, "plain")],
    ids=["closed", "markdown", "plain"],
)
def test_a_delta_costs_the_same_at_the_end(page: Page, shape: str, open_: bool, render: str) -> None:
    options = {"shape": shape, "open": open_, "render": render, "kilobytes": KILOBYTES, "size": DELTA}
    cost = _measure_delta(page, options)
    for _ in range(2):
        if cost["last"] >= MOST_GROWTH * cost["first"] + CLOCK_MS:
            cost = _measure_delta(page, options)  # a busy machine gets another chance
    assert cost["last"] < MOST_GROWTH * cost["first"] + CLOCK_MS
    if not open_:
        assert cost["nodes"] == 0


def _measure_delta(page: Page, options: dict[str, object]) -> dict[str, float]:
    cost: dict[str, float] = page.evaluate(STREAM, options)
    print(options, cost)
    return cost


def test_many_deltas_are_one_drawing(page: Page) -> None:
    draw_count = page.evaluate(
        """async () => {
          const node = put();
          let drawings = 0;
          node.feed({seq: 0, at_ms: 0, event: {type: "block.started", block: 0, kind: "reasoning"}});
          new MutationObserver(() => drawings++).observe(node.shadowRoot, {subtree: true,
            childList: true, characterData: true});
          for (let n = 1; n < 1000; n++) node.feed({seq: n, at_ms: n, event: {type: "block.grew",
            block: 0, text: `word${n} `}});
          await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
          return drawings;
        }"""
    )
    assert draw_count <= 2


PAINT = """async ({kilobytes, space}) => {
  const sentence = `and then there is more of it, for ever and ever${space}`;
  const text = sentence.repeat(Math.ceil(kilobytes * 1024 / sentence.length));
  const node = put({live: "open"});
  const start = performance.now();
  node.feed({seq: 0, at_ms: 0, event: {type: "block.started", block: 0, kind: "reasoning"}});
  node.feed({seq: 1, at_ms: 1, event: {type: "block.grew", block: 0, text}});
  node.refresh();
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const spent = performance.now() - start;
  const drawn = node.shadowRoot.querySelector(".body").textContent.replace(/\\s+/g, "").length;
  node.remove();
  return {spent, drawn: drawn === text.replace(/\\s+/g, "").length};
}"""
TWO_FRAMES_MS = 34
MOST_FOR_ONE_LINE = 5.0
"""How much more one line may cost than the same text in lines: laid out as a whole, a hundred times that."""


def test_one_line_of_a_megabyte_costs_what_many_lines_do(page: Page) -> None:
    for space in (" ", "\n\n"):
        page.evaluate(PAINT, {"kilobytes": 64, "space": space})
    lines = page.evaluate(PAINT, {"kilobytes": 1024, "space": "\n\n"})
    line = page.evaluate(PAINT, {"kilobytes": 1024, "space": " "})
    assert lines["drawn"]
    assert line["drawn"]
    assert line["spent"] <= MOST_FOR_ONE_LINE * (lines["spent"] + TWO_FRAMES_MS)

"""What a delta costs as the trace grows: the same at the end of 250 kilobytes as at its beginning."""

import pytest
from playwright.sync_api import Page

KILOBYTES = 250
PARTS = 10
MOST_GROWTH = 2.0
"""How much more the last tenth may cost than the first: it is flat, and a quadratic cost gives ten."""

START = """({shape, open, render, kilobytes}) => {
  const node = window.streamed = put({render});
  node.policy = {while_streaming: open ? "expanded" : "peek"};
  const line = {
    prose: "The user wants to know which **ferry** runs on a `weekday`, and why. \\n\\n",
    list: "- one thing to check, then [another](https://example.org/a)\\n",
    code: "const value = compute(1, 2, 3); // of the trace\\n",
    line: "and then there is more of it ",
  }[shape];
  const fence = shape === "code" ? "```js\\n" : "";
  const text = (fence + line.repeat(Math.ceil(kilobytes * 1024 / line.length))).slice(0, kilobytes * 1024);
  let seq = 0;
  const feed = event => node.feed({seq: seq++, at_ms: seq, event});
  feed({type: "block.started", block: 0, kind: "reasoning"});
  window.streamPart = (part, parts) => {
    const size = 96; // four of what a model sends at once, to be done four times as soon
    const end = Math.floor(text.length * (part + 1) / parts);
    for (let at = Math.floor(text.length * part / parts), deltas = 0; at < end; at += size, deltas++) {
      feed({type: "block.grew", block: 0, text: text.slice(at, Math.min(at + size, end))});
      // A frame holds several deltas of a fast stream; drawing each fourth is more often than in life.
      if (deltas % 4 === 0) node.refresh();
      if (deltas % 32 === 0) node.offsetHeight; // lays out what is new, without painting a page of any height
    }
  };
}"""


class ProcessorTime:
    """The processor time of the page's thread, which does not depend on what else the machine does."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read_s(self) -> float:
        """Return the time that the page has taken so far for scripts, layout and style."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        values: dict[str, float] = {metric["name"]: metric["value"] for metric in metrics}
        return values["TaskDuration"]


@pytest.mark.parametrize("shape", ["prose", "list", "code", "line"])
@pytest.mark.parametrize(
    ("open_", "render"),
    [(False, "markdown"), (True, "markdown"), (True, "plain")],
    ids=["closed", "markdown", "plain"],
)
def test_a_delta_costs_the_same_at_the_end(page: Page, shape: str, open_: bool, render: str) -> None:
    processor_time = ProcessorTime(page)
    page.evaluate(START, {"shape": shape, "open": open_, "render": render, "kilobytes": KILOBYTES})
    costs_s = []
    for part in range(PARTS):
        before_s = processor_time.read_s()
        page.evaluate("([part, parts]) => streamPart(part, parts)", [part, PARTS])
        costs_s.append(processor_time.read_s() - before_s)
    # The first part also pays for compiling the scripts.
    assert costs_s[-1] < MOST_GROWTH * costs_s[1], costs_s
    if not open_:
        assert page.evaluate("streamed.shadowRoot.querySelectorAll('.body *').length") == 0


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
  node.feed({seq: 0, at_ms: 0, event: {type: "block.started", block: 0, kind: "reasoning"}});
  node.feed({seq: 1, at_ms: 1, event: {type: "block.grew", block: 0, text}});
  node.refresh();
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const drawn = node.shadowRoot.querySelector(".body").textContent.replace(/\\s+/g, "").length;
  node.remove();
  return drawn === text.replace(/\\s+/g, "").length;
}"""
MOST_FOR_ONE_LINE = 5.0
"""How much more one line may cost than the same text in lines: laid out as a whole, a hundred times that."""


def test_one_line_of_a_megabyte_costs_what_many_lines_do(page: Page) -> None:
    processor_time = ProcessorTime(page)

    def paint_s(kilobytes: int, space: str) -> float:
        before_s = processor_time.read_s()
        assert page.evaluate(PAINT, {"kilobytes": kilobytes, "space": space})
        return processor_time.read_s() - before_s

    for space in (" ", "\n\n"):
        paint_s(64, space)
    assert paint_s(1024, " ") <= MOST_FOR_ONE_LINE * paint_s(1024, "\n\n")

"""The script of the widget in a page, with a model like those of notebooks."""

import pytest
from playwright.sync_api import Page, expect

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockStarted,
    Entry,
    Event,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.integrations.element import entry_lines, script, script_path

BEGIN: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, "I look.\n\n" * 60)]
# The model keeps what was sent, and counts what is read of it.
MODEL = """(source) => {
  const state = {turn_id: "1", attributes: {}, policy: {}, batch_count: 0}, listeners = new Set();
  window.reads = 0;
  window.model = {
    get: name => { reads++; return state[name]; },
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
  };
  window.send = lines => {
    state[`batch_${state.batch_count++}`] = lines;
    for (const listener of listeners) listener();
  };
  window.render = async () => {
    const el = document.createElement("div");
    document.body.append(el);
    const widget = (await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})))).default;
    widget.render({model, el});
    return el;
  };
}"""


class Notebook:
    """A page with one widget, and the entries that were sent to it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._seq = -1
        page.evaluate(MODEL, f"{script()}\n{script_path('notebook.js').read_text('utf-8')}")

    def send(self, *events: Event) -> None:
        first = self._seq + 1
        self._seq += len(events)
        lines = entry_lines(Entry(seq, event, 1_000 * seq) for seq, event in enumerate(events, first))
        self.page.evaluate("lines => send(lines)", lines)

    def render(self) -> None:
        self.page.evaluate("async () => { await render(); }")


@pytest.fixture
def notebook(page: Page) -> Notebook:
    page.goto("about:blank")
    page.set_content("<!doctype html><body></body>")
    return Notebook(page)


def test_a_view_that_begins_late_shows_all(notebook: Notebook) -> None:
    notebook.send(*BEGIN)
    notebook.render()
    notebook.send(BlockEnded(0), BlockStarted(1, Kind.TEXT), BlockGrew(1, "# Title\n\n**Bold**"))
    block = notebook.page.locator("thinking-block")
    expect(block.locator(".summary .label")).to_have_text("Thought for 2s")
    expect(notebook.page.locator("div.text strong")).to_have_text("Bold")
    notebook.render()
    expect(notebook.page.locator("thinking-block .summary .label")).to_have_text(["Thought for 2s"] * 2)
    expect(notebook.page.locator("div.text strong")).to_have_text(["Bold"] * 2)


def test_text_that_becomes_a_thought_leaves_the_answer(notebook: Notebook) -> None:
    notebook.render()
    notebook.send(TurnStarted(), BlockStarted(0, Kind.TEXT), BlockGrew(0, "Hidden"))
    answer = notebook.page.locator(".thinkaloud-turn > div")
    expect(answer).to_have_text("Hidden")
    notebook.send(BlockReclassified(0, Kind.REASONING), BlockEnded(0))
    expect(answer).to_have_text("")
    notebook.send(BlockStarted(1, Kind.TEXT), BlockGrew(1, "Shown"), BlockEnded(1), TurnEnded())
    expect(answer).to_have_text("Shown")


def test_what_a_person_opened_and_scrolled_stays_in_the_saved_output(notebook: Notebook) -> None:
    notebook.send(*BEGIN, BlockEnded(0), BlockStarted(1, Kind.TEXT), BlockGrew(1, "Yes."), BlockEnded(1))
    notebook.send(TurnEnded())
    notebook.render()
    page, block = notebook.page, notebook.page.locator("thinking-block")
    block.locator("summary.summary").click()
    expect(block.locator(".text")).to_be_visible()
    body = "document.querySelector('thinking-block').shadowRoot.querySelector('.body')"
    page.wait_for_function(f"() => {body}.scrollHeight > {body}.clientHeight + 200")
    block.locator(".body").hover()
    page.mouse.wheel(0, 120)
    at = f"() => {body}.scrollTop"
    page.wait_for_function(f"() => ({at})() === 120")
    page.evaluate("""() => {
      document.querySelector(".thinkaloud-turn").parentNode.remove();
      const place = document.createElement("section");
      document.body.append(place);
      globalThis[Symbol.for("thinkaloud.views")].adopt("1", place);
    }""")
    expect(page.locator("section thinking-block .text")).to_be_visible()
    page.wait_for_function(f"() => ({at})() === 120")


def test_a_batch_reads_only_what_is_new(notebook: Notebook) -> None:
    notebook.render()
    notebook.send(*BEGIN)
    reads = []
    for _ in range(50):
        notebook.page.evaluate("() => { reads = 0; }")
        notebook.send(BlockGrew(0, "more " * 200))
        reads.append(notebook.page.evaluate("() => reads"))
    assert reads == [2] * 50  # the batch, and the next one, which is not there yet

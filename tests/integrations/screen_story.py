"""What is on a screen: the block in whichever frame it stands, fed by its program, and told stories."""

import time
from contextlib import suppress
from typing import Any

import msgspec
from playwright.sync_api import Error, Frame, Locator, Page
from tests.integrations.screen_stream import StreamServer
from tests.patience import PATIENCE_S
from tests.web.story_page import PageStory

from thinkaloud.core.canon import Event

NEW_BLOCK = "thinking-block:not([data-known])"

# Notes which entry every block was fed with last.
COUNT_ENTRIES = """
const define = customElements.define;
customElements.define = function (name, element, options) {
  if (name === "thinking-block") {
    const { feed } = element.prototype;
    element.prototype.feed = function (message) {
      feed.call(this, message);
      this.newestSeq = message.seq;
    };
  }
  define.call(this, name, element, options);
};
"""

# As on the page of the tests, the body and what finds a summary are there from the first state on.
BEGIN_SCRIPT = """async (node) => {
  const first = document.createElement("thinking-block");
  document.body.append(first);
  first.setAttribute("live", "open");
  first.policy = {header: "summary"};
  first.text = "-";
  first.refresh();
  await first.ready;
  first.remove();
  window.story = node;
  node.dataset.known = "";
  await node.ready;
}"""
SET_CLOCK = "at => { window.story.clock = () => at; }"
IS_FED = "seq => window.story.newestSeq >= seq"
DRAW = "async () => { window.story.refresh(); await window.story.ready; }"


def new_block(page: Page) -> Locator:
    """Wait for the block of the turn that has just begun, in whichever frame of the page it is."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for frame in page.frames:
            with suppress(Error):  # a frame may go away while it is asked
                if frame.locator(NEW_BLOCK).count():
                    return frame.locator(NEW_BLOCK).first
        page.wait_for_timeout(50)
    raise AssertionError(f"there is no block on the page: {page.locator('body').inner_text()[:2000]}")


class ScreenStory(PageStory):
    """One story on a screen: its events go through the screen's program."""

    def __init__(self, page: Page, stream: StreamServer, begin: Any, story: dict[str, Any]) -> None:
        self._whole_page = page
        self._stream = stream
        self._begin_turn = begin
        super().__init__(page, story)

    def _begin(self, locale: str) -> None:
        self._stream.prepare(self._policy, locale)
        self._begin_turn(self._whole_page)

    def _feed(self, events: list[dict[str, Any]], at_ms: int | None) -> None:
        seq = self._stream.send(msgspec.convert(events, list[Event]), at_ms) if events else None
        if self._page is self._whole_page:
            # Some screens show a block with the first entries only.
            block = new_block(self._whole_page)
            self._page = frame_of(block)
            block.evaluate(BEGIN_SCRIPT)
        if seq is not None:
            self._page.wait_for_function(IS_FED, arg=seq)
        self._page.evaluate(SET_CLOCK, at_ms)
        self._page.evaluate(DRAW)


def frame_of(block: Locator) -> Frame:
    """Return the frame in which a block stands."""
    handle = block.element_handle()
    frame = handle.owner_frame()
    assert frame is not None, "the block is gone"
    return frame

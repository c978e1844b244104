"""The one script from plain HTML: it does the job alone, and loads the rest only where a page needs it."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.web.site import Site

SCRIPT = "/dist/thinking-block.global.js"
LABEL = "() => block.shadowRoot.querySelector('[part=label]').textContent"
PREVIEW = "() => block.shadowRoot.querySelector('[part=preview]').textContent"


@pytest.fixture
def loaded(browser: Any, site: Site) -> Iterator[list[str]]:
    """The paths that a page asks for, in order; the page itself is under `page`."""
    paths: list[str] = []
    yield paths


@pytest.fixture
def plain(browser: Any, site: Site, loaded: list[str]) -> Iterator[Page]:
    """A page of HTML with one script tag, under the strict policy."""
    context = browser.new_context()
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: loaded.append(request.url.removeprefix(site.url)))
    page.goto(site.url + "/plain")
    page.wait_for_function("() => block.shadowRoot")
    yield page
    context.close()
    assert faults == []


def test_plain_html_needs_one_script(plain: Page, loaded: list[str]) -> None:
    """Text, a duration and a click: header, markdown, links, counts, with nothing else loaded."""
    assert plain.evaluate(LABEL) == "Thought for 4.2s"
    plain.locator("thinking-block [part=summary]").click()
    assert plain.locator("thinking-block strong").text_content() == "docs"
    assert loaded == ["/plain", SCRIPT]


def test_entries_steps_and_streams_need_no_more(plain: Page, loaded: list[str]) -> None:
    plain.evaluate(
        """async () => {
          block.reset();
          const events = [
            {type: "turn.started"},
            {type: "block.started", block: 0, kind: "tool_call", name: "search"},
            {type: "block.ended", block: 0},
            {type: "tool.finished", block: 0, result: "3 cats"},
            {type: "turn.ended", finish: "stop"},
          ];
          await block.consume(events.map((event, seq) => ({seq, event, at_ms: seq})));
          block.expandAll();
        }"""
    )
    assert plain.locator("thinking-block .step .label").text_content() == "search"
    assert loaded == ["/plain", SCRIPT]


def test_another_language_is_loaded_where_a_page_speaks_it(plain: Page, loaded: list[str]) -> None:
    plain.evaluate("async () => { block.lang = 'pt'; block.refresh(); await block.ready; }")
    assert plain.evaluate(LABEL) == "Pensou por 4,2s"
    assert loaded[2:] == ["/dist/portuguese.js"]


def test_other_dialects_and_records_are_loaded_with_the_first_of_them(plain: Page, loaded: list[str]) -> None:
    """And what comes while they load waits its turn."""
    plain.evaluate(
        """async () => {
          block.reset();
          block.feed({type: "reasoning-delta", id: "0", delta: "One, "});
          block.feed({type: "reasoning-delta", id: "0", delta: "two."});
          block.feed({type: "abort"});
          await block.ready;
        }"""
    )
    assert plain.evaluate("() => [block.text, block.getAttribute('status')]") == ["One, two.", "aborted"]
    plain.evaluate(
        """async () => {
          block.reset();
          block.upsertStep({id: "a", type: "reasoning", content: "First"});
          block.appendStep("a", " then.");
          await block.ready;
        }"""
    )
    assert plain.evaluate("() => block.text") == "First then."
    assert loaded[2:] == ["/dist/others.js"]


def test_a_sentence_is_looked_for_where_a_header_wants_a_summary(plain: Page, loaded: list[str]) -> None:
    plain.evaluate(
        "async () => { block.text = 'Hmm, the user wants a cat. Or two.'; block.policy = {header: 'summary'}; "
        "block.refresh(); await block.ready; }"
    )
    assert plain.evaluate(PREVIEW) == "The user wants a cat"
    assert loaded[2:] == ["/dist/sentence.js"]


def test_without_its_chunks_a_page_still_shows_thinking(plain: Page) -> None:
    """A site that serves the script alone speaks English."""
    plain.route("**/portuguese.js", lambda route: route.abort())
    failed = plain.evaluate("() => { block.lang = 'pt'; block.refresh(); return block.ready.catch(() => true); }")
    assert failed is True
    assert plain.evaluate(LABEL) == "Thought for 4.2s"

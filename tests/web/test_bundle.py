"""From plain HTML: one script tag does the job, and what else there is comes only where a page needs it."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.patience import PATIENCE_S, patient_context
from tests.web.site import WEB, Site

MODULE = "/dist/thinking-block.js"
LABEL = "() => block.shadowRoot.querySelector('[part=label]').textContent"
PREVIEW = "() => block.shadowRoot.querySelector('[part=preview]').textContent"
BODY = "() => block.shadowRoot.querySelector('[part=body]').textContent"

# A turn with a call of a tool, and what comes back from it.
TOOL = """
  const events = [
    {type: "turn.started"},
    {type: "block.started", block: 0, kind: "tool_call", name: "search"},
    {type: "block.ended", block: 0},
    {type: "tool.finished", block: 0, result: "3 cats"},
    {type: "turn.ended", finish: "stop"},
  ];
  await block.consume(events.map((event, seq) => ({seq, event, at_ms: seq})));
  block.expandAll();
  await block.ready;
"""


@pytest.fixture
def loaded() -> list[str]:
    """The paths that a page asks for, in order."""
    return []


@pytest.fixture
def path() -> str:
    return "/plain"


@pytest.fixture
def plain(browser: Any, site: Site, loaded: list[str], path: str) -> Iterator[Page]:
    """A page of HTML with one script tag, under the strict policy; nothing happens there in idle time."""
    faults: list[str] = []
    with patient_context(browser) as context:
        page = context.new_page()
        page.add_init_script("window.requestIdleCallback = () => 1")
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: loaded.append(request.url.removeprefix(site.url)))
        page.goto(site.url + path)
        page.wait_for_function("() => block.shadowRoot")
        yield page
    assert faults == []


def test_a_header_needs_one_script(plain: Page, loaded: list[str]) -> None:
    assert plain.evaluate(LABEL) == "Thought for 4.2s"
    assert plain.evaluate(PREVIEW) == "I need the docs first."
    assert loaded == ["/plain", MODULE]


def test_body_is_loaded_when_the_block_opens(plain: Page, loaded: list[str]) -> None:
    plain.locator("thinking-block [part=summary]").click()
    expect(plain.locator("thinking-block strong")).to_have_text("docs")
    assert loaded[2:] == ["/dist/body.js"]


def test_it_is_loaded_in_idle_time_for_a_find_in_the_page(browser: Any, site: Site) -> None:
    with patient_context(browser) as context:
        page = context.new_page()
        page.goto(site.url + "/plain")
        page.wait_for_function("() => block.shadowRoot.querySelector('strong')")
        assert not page.evaluate("() => block.open")


def test_stream_reader_is_loaded_with_the_first_stream(plain: Page, loaded: list[str]) -> None:
    plain.evaluate(f"async () => {{ block.reset(); {TOOL} }}")
    assert plain.locator("thinking-block .step .label").text_content() == "search"
    assert loaded[2:] == ["/dist/streams.js", "/dist/body.js"]


def test_nothing_that_an_event_source_says_is_lost_meanwhile(plain: Page) -> None:
    plain.evaluate(
        """async () => {
          block.reset();
          const source = new EventTarget();
          const over = block.consume(source);
          source.dispatchEvent(new MessageEvent("message", {data: JSON.stringify(
            {seq: 0, event: {type: "block.started", block: 0, kind: "reasoning"}, at_ms: 0})}));
          source.dispatchEvent(new MessageEvent("message", {data: JSON.stringify(
            {seq: 1, event: {type: "block.grew", block: 0, text: "Early."}, at_ms: 1})}));
          source.readyState = 2;
          source.dispatchEvent(new Event("error"));
          await over;
        }"""
    )
    assert plain.evaluate("() => block.text") == "Early."


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
    assert loaded[2:] == ["/dist/other-formats.js"]


def test_a_sentence_is_looked_for_where_a_header_wants_a_summary(plain: Page, loaded: list[str]) -> None:
    plain.evaluate(
        """async () => {
          block.text = "Hmm, the user wants a cat. Or two.";
          block.policy = {header: "summary"};
          block.refresh();
          await block.ready;
        }"""
    )
    assert plain.evaluate(PREVIEW) == "The user wants a cat"
    assert loaded[2:] == ["/dist/sentence.js"]


def test_without_its_chunks_a_page_still_shows_thinking(plain: Page) -> None:
    """A site that serves the script alone speaks English, and shows the text as it was written."""
    plain.route("**/portuguese.js", lambda route: route.abort())
    plain.route("**/body.js", lambda route: route.abort())
    failed = plain.evaluate(
        """() => {
          block.lang = "pt";
          block.open = true;
          return block.ready.then(() => "", String);
        }"""
    )
    assert "Failed to fetch" in failed
    assert plain.evaluate(LABEL) == "Thought for 4.2s"
    assert plain.evaluate(BODY) == "I need the **docs** first."


@pytest.mark.parametrize("path", ["/one-file"])
def test_one_file_holds_it_all(plain: Page, loaded: list[str]) -> None:
    """For a page that is not served, or wants to load one thing and no more."""
    plain.evaluate(f"async () => {{ block.reset(); {TOOL} }}")
    assert plain.locator("thinking-block .step .label").text_content() == "search"
    plain.evaluate("async () => { block.lang = 'pt'; block.refresh(); await block.ready; }")
    assert plain.evaluate(LABEL) == "Concluído"
    assert loaded == ["/one-file", "/dist/thinking-block.global.js"]


def test_nothing_is_larger_than_its_gate(site: Site) -> None:
    completed = subprocess.run(
        ["node", "scripts/size.mjs"], cwd=WEB, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    # And the README tells what it prints, but for what another version of zlib may change.
    sizes = dict(re.findall(r"^(\S+): .* ([\d.]+) KB", completed.stdout, re.M))
    told = re.findall(r"^\| `(\S+)` \| ([\d.]+) KB \|", (WEB / "README.md").read_text("utf-8"), re.M)
    assert len(told) == 8
    for name, size in told:
        assert float(size) == pytest.approx(float(sizes[name]), abs=0.15), name

"""`consume` reads a provider's own response as Python reads it, and the element shows it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.dialects.recordings import MISSING_REASON, OWN_RECORDINGS, REAL_BY_NAME
from tests.patience import PATIENCE_S, patient_context
from tests.web.generate_vectors import VECTORS, encoded, own_vectors, real_vectors
from tests.web.site import WEB, Site

RECORDINGS_BY_CHUNK = {
    "openai-chat": "openai_chat/deepseek",
    "openai-responses": "openai_responses/summary_parts",
    "anthropic": "anthropic_messages/thinking_signed",
    "gemini": "gemini/thought_parts",
    "ollama": "ollama/thinking",
}


def test_vectors_match_python() -> None:
    """They have drifted: run `make core`."""
    assert VECTORS.read_text("utf-8") == encoded(own_vectors())


@pytest.mark.skipif(not REAL_BY_NAME, reason=MISSING_REASON)
def test_real_responses_are_read_as_python_reads_them(site: Site, tmp_path: Path) -> None:
    vectors = real_vectors()
    file = tmp_path / "vectors.json"
    file.write_text(encoded(vectors), "utf-8")
    completed = subprocess.run(
        ["node", WEB / "test" / "stream-vectors.mjs", file],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert completed.stdout == f"{len(vectors)} vectors are read as expected.\n", completed.stderr[-4000:]


@pytest.fixture
def page(browser: Any, site: Site) -> Any:
    with patient_context(browser) as context:
        page = context.new_page()
        page.add_init_script("window.requestIdleCallback = () => 1")
        page.goto(site.url + "/plain")
        page.wait_for_function("() => block.shadowRoot")
        yield page


@pytest.mark.parametrize("chunk", sorted(RECORDINGS_BY_CHUNK))
def test_a_response_of_fetch_is_shown(page: Page, site: Site, chunk: str) -> None:
    """The reader of its dialect is loaded, and no other."""
    folder = OWN_RECORDINGS / RECORDINGS_BY_CHUNK[chunk]
    (body,) = folder.glob("body.*")
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url.removeprefix(site.url)))
    page.evaluate(
        """async (text) => {
          block.reset();
          await block.consume(new Response(text));
          block.open = true;
          await block.ready;
        }""",
        body.read_text("utf-8"),
    )
    thoughts = page.evaluate("() => block.text")
    assert thoughts
    expect(page.locator("thinking-block [part=body]")).to_contain_text(thoughts.split()[0].strip("*"))
    expected = ["/dist/streams.js", "/dist/providers.js", f"/dist/{chunk}.js", "/dist/body.js"]
    assert loaded == expected


def test_unreadable_stream_is_an_error(page: Page) -> None:
    message = page.evaluate(
        """async () => {
          block.reset();
          block.setAttribute("status", "pending");
          const answer = new Response("<!doctype html>\\n<title>Bad gateway</title>");
          return block.consume(answer).then(() => "", (error) => error.message);
        }"""
    )
    assert 'it starts with "<!doctype html>' in message
    assert "OpenAI" in message
    assert "cannot read" in page.evaluate("() => block.state.notice")

"""The element in Firefox: the open rule, a selection, streams and providers' responses, by real clicks.

`make browsers` runs these tests; `make test` has the Chromium that all other tests of the web use.
"""

import os
from collections.abc import Iterator

import pytest
from tests.browsers.firefox import FIREFOX, Firefox
from tests.dialects.recordings import RECORDINGS
from tests.web.element_states import (
    FEED_SCRIPT,
    TELL_SCRIPT,
    answer_after_thought,
    running_thought,
    working_agent,
)
from tests.web.site import Site

pytestmark = [
    pytest.mark.skipif(not os.environ.get("BROWSERS"), reason="these tests are for `make browsers`"),
    pytest.mark.skipif(not FIREFOX, reason="there is no Firefox: install firefox-esr"),
]

OPEN = "() => block.shadowRoot.querySelector('details').open"
HEADER = "block.shadowRoot.querySelector('summary')"
RESPONSES = ("openai_chat/deepseek", "openai_responses/summary_parts", "anthropic_messages/thinking_signed")
OTHER_RESPONSES = ("gemini/thought_parts", "ollama/thinking")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with Firefox(tmp_path_factory.mktemp("firefox")) as firefox:
        yield firefox


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    server = Site()
    yield server
    server.close()


@pytest.fixture
def firefox(browser: Firefox, site: Site) -> Firefox:
    browser.resize(800, 700)
    browser.go_to(site.url + "/")
    browser.evaluate("async () => { while (!window.ready) await new Promise(done => setTimeout(done, 20)); }")
    return browser


def show(firefox: Firefox, *, id: str = "block", **options: object) -> None:
    firefox.evaluate(FEED_SCRIPT, [running_thought(), {"id": id, "now": 3000, **options}])


def test_what_a_person_opened_stays_open(firefox: Firefox) -> None:
    """T4: over the end of the stream; a second click closes it."""
    show(firefox)
    assert not firefox.evaluate(OPEN)
    firefox.click(HEADER)
    assert firefox.evaluate(OPEN)
    firefox.evaluate(TELL_SCRIPT, ["block", answer_after_thought()])
    assert firefox.evaluate(OPEN)
    firefox.click(HEADER)
    assert not firefox.evaluate(OPEN)


def test_it_closes_by_itself_unless_something_in_it_is_selected(firefox: Firefox) -> None:
    for selects in (False, True):
        show(firefox, id=f"block{selects}", policy={"preset": "preview"})
        firefox.evaluate("id => { window.block = document.getElementById(id); }", f"block{selects}")
        assert firefox.evaluate(OPEN)
        if selects:
            left, top, right = firefox.evaluate(
                """() => {
                  const box = block.shadowRoot.querySelector('.body .text').getBoundingClientRect();
                  return [box.left + 5, box.top + box.height / 2, box.left + 150].map(Math.round);
                }"""
            )
            firefox.drag((left, top), (right, top))
        firefox.evaluate(TELL_SCRIPT, [f"block{selects}", answer_after_thought()])
        assert firefox.evaluate(OPEN) == selects


def test_a_stream_over_http_is_drawn_with_a_width_that_stays(firefox: Firefox) -> None:
    """The newest line keeps its end in sight, and the element its width, as text comes."""
    show(firefox)
    widths = firefox.evaluate(
        """async () => {
          const widths = new Set();
          for (let n = 0; n < 30; n++) {
            block.tell({type: "block.grew", block: 0, text: ` word${n}`}, 100 * n);
            await new Promise(requestAnimationFrame);
            widths.add(block.getBoundingClientRect().width);
          }
          return [...widths];
        }"""
    )
    assert len(widths) == 1
    shown = firefox.evaluate(
        """() => {
          const line = block.shadowRoot.querySelector("[part=preview]");
          const text = line.firstChild.getBoundingClientRect();
          const box = line.getBoundingClientRect();
          return [line.textContent.endsWith("word29"), text.left < box.left, text.right <= box.right + 1];
        }"""
    )
    assert shown == [True, True, True]


@pytest.mark.parametrize("name", RESPONSES + OTHER_RESPONSES)
def test_consume_reads_a_providers_response(firefox: Firefox, name: str) -> None:
    thought, answer, status = firefox.evaluate(
        """async (text) => {
          const node = put();
          const bytes = new TextEncoder().encode(text);
          const stream = new ReadableStream({start(to) {
            for (let at = 0; at < bytes.length; at += 7) to.enqueue(bytes.slice(at, at + 7));
            to.close();
          }});
          await node.consume(new Response(stream));
          node.refresh();
          return [node.text, node.state.answer, node.getAttribute("status")];
        }""",
        RECORDINGS[name].body.decode(),
    )
    turn = RECORDINGS[name].turn()
    blocks = [block for block in turn.blocks if block.kind.value == "reasoning" and block.text.strip()]
    assert thought == "\n\n".join(block.text for block in blocks)
    assert answer == turn.answer
    assert status == "done"


def test_consume_rejects_what_it_cannot_read(firefox: Firefox) -> None:
    message = firefox.evaluate(
        "() => put().consume(new Response('<!doctype html>')).then(() => '', error => error.message)"
    )
    assert 'it starts with "<!doctype html>"' in message


def test_only_the_step_at_work_is_open(firefox: Firefox) -> None:
    firefox.evaluate(FEED_SCRIPT, [working_agent(), {"id": "block", "now": 5000}])
    firefox.click(HEADER)
    firefox.evaluate("() => { block.refresh(); return block.ready; }")
    details = "block.shadowRoot.querySelectorAll('.body > .steps > .step > details')"
    assert firefox.evaluate(f"() => [...{details}].map(one => one.open)") == [False, False, True]


def test_the_page_scrolls_over_an_open_block(firefox: Firefox) -> None:
    show(firefox)
    firefox.click(HEADER)
    firefox.evaluate("() => { document.body.style.paddingBottom = '3000px'; }")
    x, y = firefox.evaluate(
        """() => {
          const box = block.shadowRoot.querySelector('.body').getBoundingClientRect();
          return [Math.round(box.left + 30), Math.round(box.top + 10)];
        }"""
    )
    firefox.scroll_wheel(x, y, 300)
    scrolled = "async () => { await new Promise(done => setTimeout(done, 500)); return scrollY; }"
    assert firefox.evaluate(scrolled) > 0

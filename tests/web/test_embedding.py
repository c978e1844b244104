"""The element in pages of all kinds: widths, wheels, other documents, memory, and what a framework sets."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.patience import patient_context
from tests.web.element_states import WORDS, answer_after_thought, running_thought, show_block
from tests.web.site import WEB, Site

PLACES = {
    "bubble": ("display:block", "inline-size:fit-content;max-inline-size:85%;padding:8px"),
    "grid": ("display:grid;grid-template-columns:1fr auto", ""),
    "flex row": ("display:flex;gap:8px", ""),
    "column of 280 px": ("display:block", "inline-size:280px"),
    "flex column": ("display:flex;flex-direction:column;align-items:flex-start", ""),
}
"""The styles of an outer box, and of the box inside that holds the block."""

PLACE_SCRIPT = """async places => {
  const sizes = {};
  for (const [name, [outer, inner]] of Object.entries(places)) {
    const box = document.createElement("div");
    const home = document.createElement("div");
    box.style.cssText = outer;
    home.style.cssText = inner;
    const node = put();
    stage.append(box);
    box.append(home);
    home.append(node);
    if (outer.includes("flex")) home.replaceWith(node);
    const seen = sizes[name] = [];
    const measure = async () => {
      node.refresh();
      await node.ready;
      seen.push([node.offsetWidth, document.documentElement.scrollWidth]);
    };
    node.setAttribute("status", "pending");
    await measure();
    let seq = 0;
    const tell = event => node.feed({seq: seq++, at_ms: seq, event});
    tell({type: "turn.started"});
    tell({type: "block.started", block: 0, kind: "reasoning"});
    const long = " one line that is longer than any box here may be, over and over. ".repeat(9);
    for (const text of ["Hm", long, "\\nno"]) {
      tell({type: "block.grew", block: 0, text});
      await measure();
    }
    tell({type: "block.grew", block: 0, text: "\\n\\n```\\n" + "x".repeat(400) + "\\n```\\n"});
    node.open = true;
    await measure();
    node.open = false;
    tell({type: "block.ended", block: 0});
    tell({type: "turn.ended", finish: "stop"});
    await measure();
    box.remove();
  }
  return sizes;
}"""


@pytest.mark.parametrize("options", [{"viewport": {"width": 800, "height": 600}}], ids=["800"])
def test_width_does_not_follow_what_streams(page: Page) -> None:
    """The same width over a whole stream in every place, and no wider page."""
    for name, sizes in page.evaluate(PLACE_SCRIPT, PLACES).items():
        widths = {width for width, _ in sizes}
        assert len(widths) == 1, (name, sizes)
        assert min(widths) >= 260, (name, sizes)
        assert all(page_width <= 800 for _, page_width in sizes), (name, sizes)


def test_narrow_column_gets_the_narrow_header(page: Page) -> None:
    """The room that the block has decides, not the window: the first words stand below the label."""
    page.evaluate("() => { stage.style.inlineSize = '280px'; stage.style.padding = 0; }")
    show_block(page, running_thought() + answer_after_thought(), id="block")
    tops = page.evaluate(
        """() => ["label", "preview"].map(name =>
          block.shadowRoot.querySelector(`[part=${name}]`).getBoundingClientRect().top)"""
    )
    assert tops[1] > tops[0] + 10


def test_header_of_an_open_block_hides_what_scrolls_below_it(page: Page) -> None:
    """A header that sticks to the top of the window is not transparent."""
    show_block(page, running_thought("A line.\n\n" * 80), id="block", open=True, now=1000)
    colour = page.evaluate(
        """() => {
          const header = block.shadowRoot.querySelector("[part=summary]");
          const {position, backgroundColor} = getComputedStyle(header);
          const root = getComputedStyle(block.shadowRoot.querySelector("[part=root]")).backgroundColor;
          return [position, backgroundColor === root, backgroundColor];
        }"""
    )
    assert colour[:2] == ["sticky", True]
    assert "rgba" not in colour[2]


def test_wheel_over_an_open_block_scrolls_the_page(page: Page) -> None:
    """Over a block of one line, and over a long one at its end."""
    page.evaluate("() => { stage.style.blockSize = '3000px'; }")
    for text in ("One line.", "A line.\n\n" * 80):
        page.evaluate("() => { stage.replaceChildren(); scrollTo(0, 0); }")
        show_block(page, running_thought(text), id="block", open=True, now=1000)
        box = page.locator("thinking-block [part=body]").bounding_box()
        assert box is not None
        page.evaluate("() => { const body = block.shadowRoot.querySelector('.body'); body.scrollTop = 1e6; }")
        page.mouse.move(box["x"] + 40, box["y"] + box["height"] / 2)
        page.mouse.wheel(0, 300)
        page.wait_for_function("() => scrollY > 0")


MEMORY_SCRIPT = """async count => {
  const made = [];
  for (let n = 0; n < count; n++) {
    const node = put({live: n % 50 ? "preview" : "open"});
    node.feed({seq: 0, at_ms: 0, event: {type: "turn.started"}});
    node.feed({seq: 1, at_ms: 0, event: {type: "block.started", block: 0, kind: "reasoning"}});
    node.feed({seq: 2, at_ms: 0, event: {type: "block.grew", block: 0, text: "Hm."}});
    node.refresh();
    node.remove();
    made.push(new WeakRef(node));
  }
  window.made = made;
}"""


def test_blocks_removed_while_streaming_are_freed(page: Page) -> None:
    """Of 1,000 blocks that left the page in the middle of a thought, none stays in memory or in motion."""
    page.evaluate(MEMORY_SCRIPT, 1000)
    assert page.evaluate("() => document.getAnimations().length") == 0
    alive = 1000
    for _ in range(200):
        page.request_gc()
        alive = page.evaluate("() => made.filter(one => one.deref()).length")
        if alive == 0:
            break
        page.wait_for_timeout(100)
    assert alive == 0


def test_block_that_returns_breathes_again(page: Page) -> None:
    """A block that is moved within the page goes on as before."""
    show_block(page, running_thought(), id="block", now=1000)
    count = "() => block.shadowRoot.querySelector('.dot').getAnimations().length"
    assert page.evaluate("() => { const gone = block; gone.remove(); stage.append(gone); }") is None
    assert page.evaluate(count) == 1


def test_block_property_has_a_clock_and_a_duration(page: Page) -> None:
    """R083: JSON without stamps is timed from its arrival; JSON that arrives complete has no time."""
    texts = page.evaluate(
        """async () => {
          const node = put();
          let now = 1_000_000_000_000;
          node.clock = () => now;
          const label = name => node.shadowRoot.querySelector(`[part=${name}]`).textContent;
          const set = async (status, content) => {
            node.block = {status, steps: [{id: "a", type: "reasoning", content}]};
            await node.ready;
            node.refresh();
          };
          await set("thinking", "One");
          now += 3000;
          await set("thinking", "One, two");
          const live = [label("label"), label("timer")];
          now += 1200;
          await set("done", "One, two, three");
          const known = put();
          known.block = {status: "done", steps: [{id: "a", type: "reasoning", content: "x"}]};
          await known.ready;
          known.refresh();
          return [...live, label("label"), known.shadowRoot.querySelector("[part=label]").textContent];
        }"""
    )
    assert texts == ["Thinking...", "3s", "Thought for 4.2s", "Thought"]


def test_text_with_a_duration_is_complete(page: Page) -> None:
    """Whatever is set first; a status that the page gives wins."""
    labels = page.evaluate(
        """text => [["duration", "text"], ["text", "duration"], ["status", "duration", "text"]].map(order => {
          const node = put();
          for (const name of order) {
            if (name === "text") node.text = text;
            else if (name === "duration") node.setAttribute("duration-ms", "4200");
            else node.setAttribute("status", "streaming");
            node.refresh();
          }
          return node.shadowRoot.querySelector("[part=label]").textContent;
        })""",
        WORDS,
    )
    assert labels == ["Thought for 4.2s", "Thought for 4.2s", "Thinking..."]


def test_child_text_that_grows_is_shown(page: Page) -> None:
    """As a framework writes it: one text node whose data changes."""
    shown = page.evaluate(
        """async () => {
          const node = put({status: "streaming", live: "open"});
          const child = document.createTextNode("Let me");
          HTMLElement.prototype.append.call(node, child);
          const texts = [];
          for (const more of ["", " check", " the dates."]) {
            child.data += more;
            await new Promise(resolve => setTimeout(resolve));
            node.refresh();
            await node.ready;
            texts.push(node.shadowRoot.querySelector("[part=body]").textContent.trim());
          }
          node.setAttribute("status", "done");
          return [...texts, node.text, node.getAttribute("status")];
        }"""
    )
    assert shown == ["Let me", "Let me check", "Let me check the dates.", "Let me check the dates.", "done"]


def test_block_works_in_another_document(page: Page) -> None:
    """In an iframe or a picture-in-picture window: with its styles, and with the frames of that window."""
    show_block(page, running_thought(), id="block", open=True, now=1000)
    state: dict[str, Any] = page.evaluate(
        """async () => {
          const frame = document.createElement("iframe");
          document.body.append(frame);
          await new Promise(resolve => setTimeout(resolve));
          window.requestAnimationFrame = () => { throw new Error("this window is hidden"); };
          const node = block;
          node.removeAttribute("id");
          frame.contentDocument.body.append(node);
          node.feed({seq: 99, at_ms: 2000, event: {type: "block.grew", block: 0, text: " Not on Sunday."}});
          const body = node.shadowRoot.querySelector("[part=body]");
          for (let n = 0; n < 100 && !body.textContent.includes("Sunday"); n++)
            await new Promise(resolve => setTimeout(resolve, 20));
          const root = node.shadowRoot.querySelector("[part=root]");
          return {
            text: body.textContent.includes("Not on Sunday."),
            sheets: node.shadowRoot.adoptedStyleSheets.length,
            border: frame.contentWindow.getComputedStyle(root).borderTopWidth,
          };
        }"""
    )
    assert state == {"text": True, "sheets": 2, "border": "1px"}


def test_one_file_needs_no_connection_while_streams_hold_all_of_them(page: Page, site: Site) -> None:
    """HTTP/1.1 has six connections for an origin: what is loaded already does not wait for a seventh."""
    page.goto(site.url + "/one-file")
    page.wait_for_function("() => customElements.get('thinking-block')")
    drawn = page.evaluate(
        """async () => {
          for (let n = 0; n < 6; n++) void import(`/stream?${n}`);
          block.open = true;
          await block.ready;
          return block.shadowRoot.querySelector("[part=body] strong").textContent;
        }"""
    )
    assert drawn == "docs"


def test_style_sheet_hides_the_text_of_an_element_that_is_not_defined_yet(browser: Browser) -> None:
    """The room of its header is kept meanwhile, so that nothing moves; without scripts the text is shown."""
    style = (WEB / "dist" / "thinking-block.css").read_text("utf-8")
    block = '<thinking-block duration-ms="4200">I need the **docs** first.</thinking-block>'
    html = f'<!doctype html><style>{style}</style>{block}<p id="after">After</p>'
    place = "() => document.getElementById('after').getBoundingClientRect().top"
    with patient_context(browser) as context:
        page = context.new_page()
        page.set_content(html)
        assert not page.locator("thinking-block").is_visible()
        before = page.evaluate(place)
        page.add_script_tag(path=WEB / "dist" / "thinking-block.global.js")
        expect(page.locator("thinking-block .label")).to_have_text("Thought for 4.2s")
        assert page.evaluate(place) == before
    with patient_context(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.set_content(html)
        expect(page.get_by_text("I need the **docs** first.")).to_be_visible()


def test_style_sheet_keeps_room_for_a_message_and_does_not_hide_a_text_for_ever(browser: Browser) -> None:
    """A message in the page is as good as a text. A script that never comes leaves the text to be read."""
    style = (WEB / "dist" / "thinking-block.css").read_text("utf-8")
    blocks = ["<thinking-block message='{}'></thinking-block>", "<thinking-block></thinking-block>"]
    html = "".join(f"<div>{block}</div>" for block in [*blocks, "<thinking-block>The docs.</thinking-block>"])
    heights = "() => Array.from(document.querySelectorAll('div'), div => div.offsetHeight)"
    with patient_context(browser) as context:
        page = context.new_page()
        page.set_content(f"<!doctype html><style>{style}</style>{html}")
        assert page.evaluate(heights) == [42, 0, 42]
        assert not page.get_by_text("The docs.").is_visible()
        delays = "() => document.getAnimations().map(one => (one.finish(), one.effect.getTiming().delay))"
        assert page.evaluate(delays) == [5000, 5000]
        expect(page.get_by_text("The docs.")).to_be_visible()
        assert page.evaluate(heights)[:2] == [0, 0]

"""What a page can set on the element, and what it is told: attributes, properties, methods, events, slots."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.patience import patient_context
from tests.web.element_states import (
    TWO_FRAMES,
    Event,
    answer_after_thought,
    feed_more,
    running_thought,
    show_block,
)
from tests.web.site import Site

PARTS = """name => [...block.shadowRoot.querySelectorAll(`[part="${name}"]`)]
  .filter(one => one.checkVisibility()).map(one => one.textContent)"""
EVENTS = """() => {
  window.told = [];
  for (const name of ["toggle", "step-toggle", "status", "copy"])
    block.addEventListener(`thinking-${name}`, ({detail}) => told.push([name, detail]));
}"""
SEARCHED: list[tuple[Event, int]] = [
    *running_thought(),
    ({"type": "block.ended", "block": 0}, 900),
    ({"type": "block.started", "block": 1, "kind": "tool_call", "name": "search"}, 900),
    ({"type": "block.ended", "block": 1}, 950),
    ({"type": "tool.finished", "block": 1, "result": "3 cats"}, 1200),
    ({"type": "block.started", "block": 2, "kind": "text"}, 1250),
    ({"type": "block.grew", "block": 2, "text": "Three."}, 1250),
    ({"type": "block.ended", "block": 2}, 1300),
    ({"type": "turn.ended", "finish": "stop"}, 1300),
]


def visible_texts(page: Page, part: str) -> list[str]:
    page.evaluate(TWO_FRAMES)  # what was opened counts as visible only after the next frame
    texts: list[str] = page.evaluate(PARTS, part)
    return texts


def test_it_stays_open_for_a_while_after_the_end_where_a_page_wants_that(page: Page) -> None:
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    show_block(page, running_thought("Hm."), id="block", policy={"while_streaming": "expanded"})
    page.evaluate("() => block.setAttribute('auto-close-delay', '800')")
    feed_more(page, answer_after_thought())
    assert page.evaluate("() => block.open")
    page.clock.run_for(700)
    assert page.evaluate("() => block.open")
    page.clock.run_for(200)
    assert not page.evaluate("() => block.open")


def test_a_person_who_opens_it_meanwhile_keeps_it_open(page: Page) -> None:
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    show_block(page, running_thought("Hm."), id="block", policy={"while_streaming": "expanded"})
    page.evaluate("() => block.setAttribute('auto-close-delay', '800')")
    feed_more(page, answer_after_thought())
    page.evaluate("() => { block.open = true; }")
    page.clock.run_for(2000)
    assert page.evaluate("() => block.open")


def test_tokens_are_held_against_a_budget(page: Page) -> None:
    show_block(
        page, running_thought() + answer_after_thought(), id="block", policy={"after_complete": "expanded"}
    )
    assert visible_texts(page, "budget") == []
    page.evaluate("""() => {
      block.setAttribute("tokens", "1200");
      block.setAttribute("token-budget", "4000");
      block.refresh();
    }""")
    assert visible_texts(page, "tokens") == ["1,200 of 4,000 tokens"]
    meter = page.evaluate(
        "() => { const {value, max} = block.shadowRoot.querySelector('meter'); return [value, max]; }"
    )
    assert meter == [1200, 4000]


def test_an_unknown_count_is_held_against_nothing(page: Page) -> None:
    show_block(page, SEARCHED, id="block", policy={"after_complete": "expanded"})
    page.evaluate("() => { block.setAttribute('token-budget', '4000'); block.refresh(); }")
    assert visible_texts(page, "tokens") == []
    assert visible_texts(page, "budget") == []


def test_the_body_is_as_tall_as_so_many_lines(page: Page) -> None:
    show_block(
        page,
        running_thought("line\n\n" * 60) + answer_after_thought(),
        id="block",
        policy={"after_complete": "expanded"},
    )
    measure = "() => block.shadowRoot.querySelector('[part=body]').clientHeight"
    page.evaluate("() => { block.setAttribute('max-lines', '3'); block.refresh(); }")
    three = page.evaluate(measure)
    page.evaluate("() => { block.setAttribute('max-lines', '6'); block.refresh(); }")
    six = page.evaluate(measure)
    line = page.evaluate("() => parseFloat(getComputedStyle(block).lineHeight)")
    assert abs(six - three - 3 * line) <= 1


def test_one_block_of_a_name_group_is_open(page: Page) -> None:
    page.evaluate("""() => {
      for (const id of ["a", "b", "c"]) {
        const node = put({name: id === "c" ? "other" : "same", status: "done"});
        node.id = id;
        node.text = id;
        node.refresh();
      }
    }""")
    page.locator("#a [part=summary]").click()
    page.locator("#c [part=summary]").click()
    page.locator("#b [part=summary]").click()
    assert page.evaluate("() => [a.open, b.open, c.open]") == [False, True, True]


def test_headless_it_keeps_the_state_and_the_page_draws(page: Page) -> None:
    show_block(page, running_thought("A thought."), id="block")
    page.evaluate("""() => {
      const own = document.createElement("p");
      own.textContent = "Drawn by the page";
      block.append(own);
      block.setAttribute("headless", "");
      block.refresh();
    }""")
    assert visible_texts(page, "root") == []
    expect(page.get_by_text("Drawn by the page")).to_be_visible()
    assert page.evaluate("() => [block.state.view.label, block.state.view.peek]") == [
        "Thinking...",
        "A thought.",
    ]


def test_children_are_for_a_page_without_script(page: Page) -> None:
    page.evaluate(
        "() => { const node = put(); node.id = 'block'; node.text = 'Own.'; node.append(new Text('x')); }"
    )
    show_block(page, running_thought("Once."), id="other")
    page.evaluate("() => other.append(document.createElement('i'))")
    assert (
        page.evaluate("() => [...other.shadowRoot.querySelectorAll('slot')].pop().checkVisibility()") is False
    )


def test_a_page_may_write_numbers_and_times_its_own_way(page: Page) -> None:
    page.evaluate("""() => {
      const node = put({status: "done", "started-at": "1", "duration-ms": "4200"});
      node.id = "block";
      node.formatters = {duration: ms => `${ms / 1000} seconds`, count: n => `#${n}`};
      node.text = "One two";
      node.refresh();
    }""")
    assert visible_texts(page, "label") == ["Thought for 4.2 seconds"]
    assert visible_texts(page, "meta") == ["#2 words"]


def test_markdown_leaves_thinking_out_unless_asked_for_it(page: Page) -> None:
    show_block(page, running_thought("Two\n```\nfences\n```\n") + answer_after_thought(), id="block")
    assert page.evaluate("() => block.toMarkdown()") == "Saturday."
    markdown = page.evaluate("() => block.toMarkdown({thinking: true})")
    assert markdown.startswith("<details><summary>Thinking · 4.2s · 2 words</summary>")
    assert "\n````\nTwo\n```\nfences\n```\n\n````\n" in markdown
    assert markdown.endswith("</details>\n\nSaturday.")


def test_a_page_may_say_how_a_turn_failed(page: Page) -> None:
    show_block(page, running_thought(), id="block")
    page.evaluate("""() => {
      const own = document.createElement("b");
      own.slot = "error";
      own.textContent = "Ask the operator.";
      block.append(own);
    }""")
    ended: list[tuple[Event, int]] = [
        ({"type": "block.ended", "block": 0, "interrupted": True}, 900),
        ({"type": "turn.failed", "code": "overloaded", "message": "Too many"}, 900),
    ]
    feed_more(page, ended)
    expect(page.get_by_text("Ask the operator.")).to_be_visible()


def test_a_page_may_show_that_there_is_no_thinking(page: Page) -> None:
    page.evaluate("""() => {
      const node = put();
      node.id = "block";
      const own = document.createElement("p");
      own.slot = "empty";
      own.textContent = "No thinking here";
      node.append(own);
      node.refresh();
    }""")
    expect(page.get_by_text("No thinking here")).to_be_visible()
    page.evaluate("() => { block.text = 'Now there is.'; block.refresh(); }")
    expect(page.get_by_text("No thinking here")).to_be_hidden()


def test_without_thinking_and_without_words_for_that_it_takes_no_room(page: Page) -> None:
    page.evaluate("() => { put().id = 'block'; }")
    assert page.evaluate("() => block.getBoundingClientRect().height") == 0


def test_a_page_may_add_to_every_step_of_a_kind(page: Page) -> None:
    show_block(page, SEARCHED, id="block")
    page.evaluate("""() => {
      const own = document.createElement("template");
      own.slot = "step-tool_call";
      own.content.append("log");
      block.append(own);
      block.expandAll();
    }""")
    expect(page.locator("thinking-block [part=step-extra]:not([hidden])")).to_have_text(["log"])


def test_a_choice_can_be_given_back(page: Page) -> None:
    """The button stands there only where something was chosen."""
    show_block(page, running_thought() + answer_after_thought(), id="block")
    page.locator("thinking-block [part=summary]").click()
    expect(page.locator("thinking-block [part=reset]")).to_have_text("Reset to default")
    page.locator("thinking-block [part=reset]").click()
    assert not page.evaluate("() => block.open")
    page.evaluate("() => { block.policy = {after_complete: 'expanded'}; block.refresh(); }")
    assert page.evaluate("() => block.open")
    expect(page.locator("thinking-block [part=reset]")).to_be_hidden()


def test_toggle_events_for_blocks_and_steps(page: Page) -> None:
    show_block(page, SEARCHED, id="block")
    page.evaluate(EVENTS)
    page.locator("thinking-block [part=summary]").click()
    page.locator("thinking-block [part=step-summary]").first.click()
    events = page.evaluate("() => told")
    assert events[0] == ["toggle", {"open": True, "by": "user", "block": None}]
    assert events[1] == ["step-toggle", {"open": True, "by": "user", "block": 0}]


@pytest.mark.parametrize("garbage", [None, 7, "text", [], {}, {"steps": 3}])
def test_invalid_message_is_an_error(page: Page, garbage: object) -> None:
    show_block(page, running_thought("Kept."), id="block")
    replies = page.evaluate(
        """async garbage => {
          try { block.feed(garbage); await block.ready; } catch (error) { return String(error); }
          return "";
        }""",
        garbage,
    )
    assert "thinking-block cannot read" in replies
    feed_more(page, answer_after_thought())
    assert page.evaluate("() => block.text") == "Kept."


@pytest.mark.parametrize("options", [{"reduced_motion": "reduce"}])
def test_the_dot_is_still_where_nothing_should_move(page: Page) -> None:
    show_block(page, running_thought(), id="block")
    assert page.evaluate("() => block.shadowRoot.getAnimations({subtree: true}).length") == 0


def test_the_header_of_a_tall_block_stays_in_sight(page: Page) -> None:
    """Whoever is in the middle of a long thought can close it."""
    show_block(page, running_thought("A line of it.\n\n" * 200), id="block", open=True, now=1000)
    page.evaluate(
        "() => { block.style.setProperty('--thinking-max-block-size', 'none'); scrollTo(0, 2000); }"
    )
    header = page.locator("thinking-block [part=summary]")
    box = header.bounding_box()
    assert box is not None
    assert box["y"] == 0
    header.click()
    assert not page.evaluate("() => block.open")


def test_properties_set_before_the_definition_are_kept(browser: Browser, site: Site) -> None:
    """A page may set properties on an element that is not known yet."""
    with patient_context(browser) as context:
        page = context.new_page()
        page.goto(site.url + "/without")
        values = page.evaluate("""async () => {
          block.policy = {preset: "trace"};
          block.text = "Mine.";
          block.open = true;
          block.renderer = root => ({feed: text => root.append(`<${text}>`)});
          await import("/dist/thinking-block.js");
          block.refresh();
          await block.ready;
          return [block.policy.preset, block.text, block.open,
            block.shadowRoot.querySelector("[part=content] .text").textContent];
        }""")
    assert values == ["trace", "Mine.", True, "<Mine.>"]


def test_headless_from_the_first_on_it_has_steps(browser: Browser, site: Site) -> None:
    """On a page where nothing else has loaded what knows of steps."""
    with patient_context(browser) as context:
        page = context.new_page()
        page.goto(site.url + "/without")
        values = page.evaluate("""async () => {
          block.setAttribute("headless", "");
          await import("/dist/thinking-block.js");
          block.refresh();
          await block.ready;
          return block.state.view.steps.map(step => step.kind);
        }""")
    assert values == ["reasoning"]


def test_renderer_set_late_draws_the_present_text(page: Page) -> None:
    show_block(page, running_thought("Late."), id="block", open=True)
    page.evaluate("""() => {
      block.renderer = root => ({feed: text => root.append(`<${text}>`)});
      block.refresh();
    }""")
    assert page.evaluate("() => block.shadowRoot.querySelector('.text').textContent") == "<Late.>"


@pytest.mark.parametrize("name", ["tokens", "token-budget", "max-lines", "duration-ms", "started-at"])
def test_invalid_number_attributes_are_ignored(page: Page, name: str) -> None:
    show_block(page, running_thought(), id="block", attributes={name: "many"}, open=True)
    page.evaluate(
        "([name]) => { block.reset(); block.setAttribute(name, 'lots'); block.append('Hm.'); "
        "block.setAttribute('status', 'done'); block.refresh(); }",
        [name],
    )
    assert visible_texts(page, "label") == ["Thought"]
    assert not visible_texts(page, "budget")


def test_a_policy_that_cannot_be_is_refused_and_the_rest_is_heard(page: Page) -> None:
    """The policy before it stays, and the attributes still drive the block."""
    values = page.evaluate("""() => {
      const node = put();
      node.id = "block";
      node.policy = {preset: "trace"};
      let why = "";
      try { node.policy = {preset: "no such"}; } catch (error) { why = error.name; }
      node.append("Hm.");
      node.setAttribute("status", "done");
      node.refresh();
      return [why, node.policy.preset, node.state.status];
    }""")
    assert values == ["RangeError", "trace", "done"]


def test_a_wish_that_is_not_there_is_the_presets(page: Page) -> None:
    """Pages pass on what they have, and often that is nothing."""
    show_block(page, running_thought(), id="block", policy={"preset": "trace", "while_streaming": None})
    page.evaluate("() => { block.policy = {preset: 'trace', while_streaming: undefined}; }")
    assert page.evaluate("() => [block.policy.while_streaming, block.policy.header]") == [
        "expanded",
        "summary",
    ]


def test_inside_another_shadow_it_speaks_as_the_page_and_knows_its_like(page: Page) -> None:
    """A chat that is an element itself has its blocks in a tree of its own."""
    values = page.evaluate("""async () => {
      document.documentElement.lang = "pt-BR";
      const home = document.createElement("div");
      document.getElementById("stage").append(home);
      const root = home.attachShadow({mode: "open"});
      const both = [0, 1].map(() => {
        const node = document.createElement("thinking-block");
        node.setAttribute("name", "one");
        node.append("Hm.");
        node.state; // a look at it before it has a place does not settle its language
        root.append(node);
        return node;
      });
      await Promise.all(both.map(node => node.ready));
      for (const node of both) node.open = true;
      return [both.map(node => node.open), both[0].shadowRoot.querySelector("[part=label]").textContent];
    }""")
    assert values == [[False, True], "Pensando..."]


def test_another_language_reaches_the_code_in_a_thought(page: Page) -> None:
    show_block(page, running_thought("```\n1\n```\n"), id="block", attributes={"lang": "pt"}, open=True)
    page.evaluate("async () => { await block.ready; block.refresh(); }")
    assert visible_texts(page, "copy-code") == ["Copiar"]
    page.evaluate("() => { block.setAttribute('lang', 'en'); block.refresh(); }")
    assert visible_texts(page, "copy-code") == ["Copy"]


def test_a_table_may_name_its_language_with_an_underscore(page: Page) -> None:
    page.evaluate("""() => {
      const node = put({"duration-ms": 4200});
      node.id = "block";
      node.strings = {name: "de_DE", words: {complete: "{duration} nachgedacht"}};
      node.append("Hm.");
      node.setAttribute("status", "done");
      node.refresh();
    }""")
    assert visible_texts(page, "label") == ["4.2s nachgedacht"]
    assert visible_texts(page, "sr") == ["4,2 Sekunden nachgedacht, 1 word Hm."]


def test_where_the_clipboard_refuses_nothing_breaks(page: Page) -> None:
    """The fixture fails on any fault of the page. Who calls `copy` is told."""
    show_block(page, running_thought("```\n1\n```\n"), id="block", open=True)
    values = page.evaluate("""async () => {
      navigator.clipboard.writeText = async () => { throw new Error("refused"); };
      for (const part of ["copy", "copy-code"])
        block.shadowRoot.querySelector(`[part="${part}"]`).click();
      return await block.copy().catch(error => error.message);
    }""")
    page.wait_for_timeout(50)
    assert values == "refused"
    assert visible_texts(page, "copy-code") == ["Copy"]


def test_toggle_event_names_policy_or_user(page: Page) -> None:
    """By whom, once each; a person's act is told as theirs alone."""
    page.evaluate(
        "() => { window.told = []; "
        "document.addEventListener('thinking-toggle', ({detail}) => told.push([detail.open, detail.by])); }"
    )
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    feed_more(page, answer_after_thought())
    assert page.evaluate("() => told") == [[False, "policy"]]
    page.evaluate("() => { block.open = true; block.open = null; }")
    assert page.evaluate("() => told.slice(1)") == [[True, "user"], [False, "policy"]]


def test_chunks_name_their_message_once(page: Page) -> None:
    """AG-UI: what follows without a name goes on, and what comes next ends it."""
    chunks = page.evaluate(
        """async () => {
          const node = put();
          for (const [type, delta, messageId] of [
            ["REASONING_MESSAGE_CHUNK", "Let me ", "m1"], ["REASONING_MESSAGE_CHUNK", "see."],
            ["TEXT_MESSAGE_CHUNK", "It is ", "m2"], ["TEXT_MESSAGE_CHUNK", "four."],
          ]) node.feed({type, delta, ...(messageId && {messageId})});
          await node.ready;
          node.refresh();
          const {view, answer} = node.state;
          return [node.text, answer, view.status];
        }"""
    )
    assert chunks == ["Let me see.", "It is four.", "done"]


def test_a_growing_message_of_the_ai_sdk_is_appended_to(page: Page) -> None:
    """Set again and again, as a framework does with each part of the stream, the text that is drawn stays."""
    page.evaluate("() => { window.block = put({id: 'block', live: 'open'}); }")
    grow = """async ([text, state]) => {
      const parts = [{type: "step-start"}, {type: "reasoning", text, state}];
      block.message = {id: "m", role: "assistant", parts};
      await block.ready;
      block.refresh();
    }"""
    page.evaluate(grow, ["I look ", "streaming"])
    expect(page.locator("#block")).to_have_attribute("status", "streaming")
    page.evaluate("() => { window.drawn = block.shadowRoot.querySelector('.body p'); }")
    page.evaluate(grow, ["I look it up.", "streaming"])
    assert page.evaluate("() => drawn.isConnected && drawn.textContent") == "I look it up."
    page.evaluate(grow, ["I look it up.", "done"])
    page.evaluate("() => block.setAttribute('status', 'done')")
    expect(page.locator("#block")).to_have_attribute("status", "done")


def test_status_that_the_page_gave_holds_for_the_next_message(page: Page) -> None:
    """A framework whose `status` did not change does not set it again; one that takes it away is heard."""
    page.evaluate("() => { window.block = put({id: 'block', status: 'aborted'}); }")
    show = """async text => {
      const parts = text ? [{type: "reasoning", text, state: "streaming"}] : null;
      block.message = parts && {id: text, role: "assistant", parts};
      await block.ready;
      block.refresh();
    }"""
    for text in ("", "One.", "", "Two."):
        page.evaluate(show, text)
        expect(page.locator("#block")).to_have_attribute("status", "aborted")
    page.evaluate(show, "")
    page.evaluate("() => block.removeAttribute('status')")
    page.evaluate(show, "Three.")
    expect(page.locator("#block")).to_have_attribute("status", "streaming")


def test_message_may_be_set_before_the_element_is_defined(browser: Browser, site: Site) -> None:
    """A framework sets it while the script is still on its way."""
    with patient_context(browser) as context:
        page = context.new_page()
        page.goto(site.url + "/without")
        page.evaluate("""async () => {
          block.textContent = "";
          const reasoning = {type: "reasoning", text: "I look it up."};
          const call = {type: "tool-find", toolCallId: "c", state: "output-available", input: {}, output: 3};
          const parts = [reasoning, call, {type: "text", text: "Three."}];
          block.message = {id: "m", role: "assistant", parts};
          await import("/dist/thinking-block.js");
          await block.ready;
        }""")
        assert page.evaluate("() => [block.text, block.toMarkdown()]") == ["I look it up.", "Three."]
        page.evaluate("() => { block.message = null; }")
        assert page.evaluate("() => block.text") == ""

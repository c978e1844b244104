"""The element from outside: the seven tests every surface must pass, its inputs, its clock, its manners."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.patience import PATIENCE_MS
from tests.web.element_states import (
    TWO_FRAMES,
    WORDS,
    Event,
    answer_after_thought,
    feed_more,
    running_thought,
    sealed_thought,
    show_block,
    turn_end_in_thought,
    working_agent,
)
from tests.web.site import WEB

PART = (
    "name => { const one = block.shadowRoot.querySelector(`[part='${name}']`); return one && "
    "one.checkVisibility() ? one.textContent : ''; }"
)


def part(page: Page, name: str) -> str:
    """What stands in a part of the header, the first of that name."""
    page.evaluate("() => block.refresh()")
    page.evaluate(TWO_FRAMES)
    return str(page.evaluate(PART, name))


def moving(page: Page) -> list[str]:
    """What is in motion inside the block."""
    return list(
        page.evaluate(
            "() => block.shadowRoot.getAnimations({subtree: true}).map(one => one.id || "
            "one.transitionProperty)"
        )
    )


def test_t1_a_live_thought_is_seen(page: Page) -> None:
    """T1, R083: "Thinking...", a breathing dot and a clock."""
    show_block(page, running_thought(), id="block", now=3000)
    assert (part(page, "label"), part(page, "timer")) == ("Thinking...", "3s")
    assert "breathe" in moving(page)
    assert page.evaluate("() => block.matches(':state(streaming)')")


def test_t2_at_its_end_the_label_says_how_long_and_it_closes_smoothly(page: Page) -> None:
    """T2, R073, R078, R084."""
    show_block(page, running_thought(), id="block", policy={"preset": "trace", "header": "auto"})
    heights = page.evaluate(
        """async ([events, patience]) => {
          const moves = block.shadowRoot.getAnimations({subtree: true}).filter(one => one.transitionProperty);
          await Promise.all(moves.map(one => one.finished));
          block.style.setProperty("--thinking-duration", "2s");  // a busy machine draws few frames
          const heights = [block.offsetHeight];
          for (const [event, at] of events) block.tell(event, at);
          for (const start = performance.now(); performance.now() - start < patience;) {
            await new Promise(resolve => requestAnimationFrame(resolve));
            heights.push(block.offsetHeight);
            if (heights.at(-1) < 60) break;
          }
          return heights;
        }""",
        [answer_after_thought(), PATIENCE_MS],
    )
    assert part(page, "label") == "Thought for 4.2s"
    assert part(page, "meta") == "18 words"
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) > 4  # it took its time
    assert heights[-1] < 60


def test_t3_no_thought_no_block(page: Page) -> None:
    """T3, R005, R108: nothing is drawn and no room is taken."""
    text = [
        ({"type": "block.started", "block": 0, "kind": "text"}, 0),
        ({"type": "block.grew", "block": 0, "text": "Hi."}, 0),
    ]
    show_block(page, [({"type": "turn.started"}, 0), *text], id="block")
    assert page.evaluate("() => [block.offsetHeight, getComputedStyle(block).display]") == [0, "none"]


def test_t4_what_was_opened_by_hand_stays_open(page: Page) -> None:
    """T4, R074."""
    show_block(page, running_thought(), id="block", now=1000)
    page.locator("thinking-block [part=summary]").click()
    feed_more(page, answer_after_thought())
    assert page.evaluate("() => block.open")


def test_t5_several_blocks_are_independent(page: Page) -> None:
    """T5, R087."""
    for n in range(3):
        show_block(page, running_thought() + answer_after_thought(), id=f"b{n}")
    page.locator("#b0 [part=summary]").click()
    page.locator("#b2 [part=summary]").click()
    assert page.evaluate("() => [b0, b1, b2].map(one => one.open)") == [True, False, True]


@pytest.mark.parametrize("options", [{"reduced_motion": "reduce"}], ids=["reduced"])
def test_t6_without_motion_it_closes_at_once(page: Page) -> None:
    """T6, R136: and the dot stands still, so nothing but the clock and the words tell of progress."""
    show_block(page, running_thought(), id="block", policy={"preset": "trace"})
    assert moving(page) == []
    feed_more(page, answer_after_thought())
    assert moving(page) == []
    assert page.evaluate("() => block.offsetHeight") < 60


def test_t7_whatever_the_provider_it_is_drawn(page: Page) -> None:
    """T7: a thought in the model's own words, a provider's titled summary, and one that cannot be read."""
    show_block(page, running_thought() + answer_after_thought(), id="b0")
    titled = running_thought("**Reading the question**\n\nA route.")
    titled[1][0]["provenance"] = "summary"
    show_block(page, titled + answer_after_thought(), id="b1")
    show_block(page, sealed_thought("encrypted"), id="b2")
    previews = page.evaluate(
        "() => [b0, b1, b2].map(one => one.shadowRoot.querySelector('[part=preview]').textContent)"
    )
    assert previews == [
        "Let me check the dates first. The user asked for Friday, and the ferry only runs on weekdays.",
        "Reading the question",
        "Thought; the provider encrypted the text, so it cannot be shown.",
    ]


@pytest.mark.parametrize(
    ("end", "status", "label", "notice"),
    [
        (
            {"type": "turn.ended", "finish": "cancelled"},
            "aborted",
            "Stopped",
            "Stopped before the answer was complete.",
        ),
        (
            {"type": "turn.ended", "finish": "length"},
            "truncated",
            "Cut off",
            "The length limit cut the answer off.",
        ),
        (
            {"type": "turn.failed", "code": "cut_off"},
            "disconnected",
            "Connection lost",
            "The connection was lost before the answer was complete.",
        ),
        (
            {"type": "turn.failed", "code": "x", "message": "No key."},
            "error",
            "Failed",
            "The answer failed: No key.",
        ),
    ],
    ids=["aborted", "truncated", "disconnected", "error"],
)
def test_each_outcome_has_its_label_and_notice(
    page: Page, end: dict[str, Any], status: str, label: str, notice: str
) -> None:
    show_block(page, running_thought() + turn_end_in_thought(end), id="block")
    assert page.evaluate("() => block.getAttribute('status')") == status
    assert (part(page, "label"), part(page, "notice")) == (label, notice)


def test_the_other_name_is_the_same_element(page: Page) -> None:
    """R112."""
    show_block(page, running_thought() + answer_after_thought(), id="block", tag="koder-thinking-block")
    assert part(page, "label") == "Thought for 4.2s"


def test_plain_html_is_enough(page: Page) -> None:
    """Text inside the element, a status and a duration: no line of script."""
    page.evaluate(
        """() => {
          const node = document.createElement("thinking-block");
          node.id = "block";
          node.textContent = "I need to find the docs.";
          node.setAttribute("duration-ms", "4200");
          node.setAttribute("tokens", "234");
          node.setAttribute("provenance", "raw");
          stage.append(node);
        }"""
    )
    assert part(page, "label") == "Thought for 4.2s"
    assert page.evaluate("() => block.getAttribute('status')") == "done"
    # What is behind the header is drawn when the page has nothing better to do.
    page.wait_for_function(
        "() => block.shadowRoot.querySelector('[part=tokens]')?.textContent === '234 tokens'"
    )


def test_fed_by_hand(page: Page) -> None:
    """`append`, and a status that says how it ended."""
    page.clock.set_fixed_time(datetime.now(UTC))  # on a busy machine it would think for six seconds
    page.evaluate(
        "() => { const node = put({status: 'streaming', 'started-at': Date.now() - 5000}); "
        "node.id = 'block'; node.append('Hm. '); node.append('Yes.'); }"
    )
    assert (part(page, "label"), part(page, "timer")) == ("Thinking...", "5s")
    page.evaluate("() => block.setAttribute('duration-ms', 4200)")
    page.evaluate("() => block.setAttribute('status', 'done')")
    assert part(page, "label") == "Thought for 4.2s"
    assert page.evaluate("() => block.text") == "Hm. Yes."


def test_the_thinking_block_as_json(page: Page) -> None:
    """R120 to R125: set whole, again and again as it grows; what is there already is not drawn anew."""
    step = {"id": "1", "type": "reasoning", "content": "First I"}
    page.evaluate(
        (
            "async step => { const node = put(); node.id = 'block'; node.policy = {preset: 'trace'}; "
            "node.block = {summary: '', status: 'thinking', steps: [step]}; await node.ready; "
            "window.first = node.shadowRoot.querySelector('.text'); }"
        ),
        step,
    )
    assert part(page, "label") == "Thinking…"
    page.evaluate(
        "step => { block.block = {status: 'thinking', steps: [step]}; block.refresh(); }",
        step | {"content": "First I look."},
    )
    assert page.evaluate("() => [first.isConnected, first.textContent]") == [True, "First I look."]
    steps = [
        step | {"content": "First I look."},
        {
            "id": "2",
            "type": "tool_call",
            "content": "search",
            "toolName": "search",
            "toolInput": "cats",
            "toolResult": "3 cats",
        },
        {
            "id": "3",
            "type": "assistant_call",
            "content": "Ask",
            "assistantName": "Planner",
            "assistantTask": "Plan",
            "assistantResult": "Done",
            "childSteps": [{"id": "4", "type": "reasoning", "content": "Hm."}],
        },
    ]
    page.evaluate(
        (
            "steps => { block.block = {summary: 'Looked for cats', status: 'done', steps}; "
            "block.expandAll(); block.refresh(); }"
        ),
        steps,
    )
    assert part(page, "label") == "Done"
    assert part(page, "preview") == "Looked for cats"
    assert part(page, "badge") == "2 tools used"
    assert part(page, "notice") == ""
    labels = (
        "() => [...block.shadowRoot.querySelectorAll('li > details > summary > .label')].map(one => "
        "one.textContent)"
    )
    # The first step was seen while it ran, so it may have a duration.
    first, *others = page.evaluate(labels)
    assert re.fullmatch(r"Thought( for .+)?", first)
    assert others == ["search", "Planner", "Thought"]


def test_block_shows_what_a_tool_does_and_can_be_taken_away(page: Page) -> None:
    """R101: `content` beside `toolInput` is the description of the tool."""
    call = {
        "id": "1",
        "type": "tool_call",
        "content": "Adds two numbers.",
        "toolName": "add",
        "toolInput": "{}",
    }
    page.evaluate("() => { put().id = 'block'; }")
    page.evaluate(
        (
            "async step => { block.block = {status: 'done', steps: [step]}; await block.ready; "
            "block.expandAll(); block.refresh(); }"
        ),
        call,
    )
    page.wait_for_function("() => block.shadowRoot.textContent.includes('Adds two numbers.')")
    for nothing in ("null", "{status: 'done', steps: []}"):
        page.evaluate("step => { block.block = {status: 'done', steps: [step]}; block.refresh(); }", call)
        assert part(page, "summary")
        page.evaluate(f"async () => {{ block.block = {nothing}; await block.ready; }}")
        assert part(page, "summary") == ""


def test_block_takes_the_answer_of_the_gateway(page: Page) -> None:
    """R004, R078: the time of the thinking is the one that the gateway measured."""
    answer = {
        "content": [{"type": "text", "text": "42"}],
        "reasoning_content": "Six times seven.",
        "reasoning_meta": {"model_supports": True, "duration_ms": 4200, "tokens": 234},
    }
    page.evaluate(
        "async answer => { const node = put(); node.id = 'block'; node.block = answer; await node.ready; }",
        answer,
    )
    assert part(page, "label") == "Thought for 4.2s"
    assert page.evaluate("() => [block.text, block.state.answer]") == ["Six times seven.", "42"]


AI_SDK = [
    {"type": "start"},
    {"type": "start-step"},
    {"type": "reasoning-start", "id": "0"},
    {"type": "reasoning-delta", "id": "0", "delta": "Look it "},
    {"type": "reasoning-delta", "id": "0", "delta": "up."},
    {"type": "reasoning-end", "id": "0"},
    {"type": "tool-input-start", "toolCallId": "c1", "toolName": "search"},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"q":1}'},
    {"type": "tool-input-available", "toolCallId": "c1", "toolName": "search", "input": {"q": 1}},
    {"type": "tool-output-available", "toolCallId": "c1", "output": {"hits": 3}},
    {"type": "finish-step"},
    {"type": "reasoning-start", "id": "0"},
    {"type": "reasoning-delta", "id": "0", "delta": "Good."},
    {"type": "reasoning-end", "id": "0"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "Three."},
    {"type": "text-end", "id": "1"},
    {"type": "finish"},
]
AG_UI = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "timestamp": 1000},
    {"type": "REASONING_START", "messageId": "m0", "timestamp": 1000},
    {"type": "REASONING_MESSAGE_START", "messageId": "m1", "role": "reasoning", "timestamp": 1000},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m1", "delta": "Look it up.", "timestamp": 2000},
    {"type": "REASONING_MESSAGE_END", "messageId": "m1", "timestamp": 3000},
    {"type": "REASONING_END", "messageId": "m0", "timestamp": 3000},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "search", "timestamp": 3000},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"q":1}', "timestamp": 3000},
    {"type": "TOOL_CALL_END", "toolCallId": "c1", "timestamp": 3000},
    {
        "type": "TOOL_CALL_RESULT",
        "messageId": "m2",
        "toolCallId": "c1",
        "content": '{"hits":3}',
        "timestamp": 4000,
    },
    {"type": "REASONING_MESSAGE_CHUNK", "messageId": "m3", "delta": "Good.", "timestamp": 4000},
    {"type": "REASONING_MESSAGE_END", "messageId": "m3", "timestamp": 4500},
    {"type": "TEXT_MESSAGE_START", "messageId": "m4", "role": "assistant", "timestamp": 4500},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m4", "delta": "Three.", "timestamp": 4500},
    {"type": "TEXT_MESSAGE_END", "messageId": "m4", "timestamp": 4500},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "timestamp": 5000},
]
STATE_SCRIPT = """() => { const {view, answer} = block.state; return [view.status, view.steps.map(step =>
  [step.kind, step.text, step.result]), answer]; }"""


@pytest.mark.parametrize("messages", [AI_SDK, AG_UI], ids=["AI SDK", "AG-UI"])
def test_other_dialects_tell_the_same_story(page: Page, messages: list[dict[str, Any]]) -> None:
    """R030: reasoning-start, -delta and -end among them."""
    page.evaluate(
        "async messages => { const node = put(); node.id = 'block'; await node.consume(messages); }", messages
    )
    assert page.evaluate(STATE_SCRIPT) == [
        "done",
        [
            ["reasoning", "Look it up.", ""],
            ["tool_call", "q: 1", '{"hits":3}'],
            ["reasoning", "Good.", ""],
        ],
        "Three.",
    ]
    if messages is AG_UI:
        assert part(page, "label") == "Thought for 2.5s"


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"type": "abort"}, "aborted"),
        ({"type": "error", "errorText": "No."}, "error"),
        ({"type": "RUN_ERROR", "message": "No."}, "error"),
    ],
    ids=["abort", "error", "RUN_ERROR"],
)
def test_other_dialects_end_badly(page: Page, message: dict[str, Any], status: str) -> None:
    started = [{"type": "reasoning-delta", "id": "0", "delta": "Hm."}, message]
    page.evaluate(
        (
            "async messages => { const node = put(); node.id = 'block'; await "
            "node.consume(messages); node.refresh(); }"
        ),
        started,
    )
    assert page.evaluate("() => block.getAttribute('status')") == status


STREAMS = {
    "objects": (
        "entries => ({ async *[Symbol.asyncIterator]() { for (const entry of entries) yield entry; } })"
    ),
    "objects in a stream": (
        "entries => new ReadableStream({ start(c) { for (const entry of entries) c.enqueue(entry); "
        "c.close(); } })"
    ),
    "server-sent events": """entries => new ReadableStream({ start(c) {
        const bytes = new TextEncoder().encode(entries.map(one =>
          `id: ${one.seq}\\ndata: ${JSON.stringify(one)}\\n\\n`).join(": ping\\n\\n") + "data: [DONE]\\n\\n");
        for (let at = 0; at < bytes.length; at += 7) c.enqueue(bytes.slice(at, at + 7));
        c.close(); } })""",
    "lines of JSON": """entries => new Blob([entries.map(one =>
      JSON.stringify(one)).join("\\n")]).stream()""",
    "an event source": """entries => { const source = new EventTarget(); source.readyState = 1;
      source.close = () => {};
        setTimeout(() => { for (const one of entries) source.dispatchEvent(new MessageEvent("message",
          {data: JSON.stringify(one)}));
          source.readyState = 2; source.dispatchEvent(new Event("error")); }); return source; }""",
}


def _entries(events: list[tuple[dict[str, Any], int]]) -> list[dict[str, Any]]:
    return [{"seq": seq, "at_ms": at, "event": event} for seq, (event, at) in enumerate(events)]


@pytest.mark.parametrize("kind", STREAMS)
def test_any_stream_can_be_consumed(page: Page, kind: str) -> None:
    entries = _entries(running_thought("Größe: 漢字.") + answer_after_thought())
    page.evaluate(
        "async entries => { const node = put(); node.id = 'block'; "
        f"await node.consume(({STREAMS[kind]})(entries)); }}",
        entries,
    )
    assert (part(page, "label"), part(page, "preview")) == ("Thought for 4.2s", "Größe: 漢字.")


def test_a_stream_that_just_stops_lost_its_connection_and_can_go_on(page: Page) -> None:
    entries = _entries(
        [
            *running_thought("First "),
            ({"type": "block.grew", "block": 0, "text": "then."}, 50),
            *answer_after_thought(),
        ]
    )
    page.evaluate(
        "async entries => { const node = put(); node.id = 'block'; await node.consume(entries); }",
        entries[:3],
    )
    assert part(page, "label") == "Connection lost"
    page.evaluate("async entries => { await block.consume(entries); }", entries[3:])
    assert part(page, "label") == "Thought for 4.2s"
    assert page.evaluate("() => block.text") == "First then."


def test_a_stream_can_be_stopped(page: Page) -> None:
    page.evaluate(
        """async entries => {
          const node = put(), stop = new AbortController();
          node.id = "block";
          const stream = new ReadableStream({ start(c) { for (const entry of entries) c.enqueue(entry);
            }, cancel() { window.cancelled = true; } });
          const done = node.consume(stream, {signal: stop.signal});
          while (!node.text) await new Promise(requestAnimationFrame);
          stop.abort();
          await done;
        }""",
        _entries(running_thought()),
    )
    assert part(page, "label") == "Stopped"
    assert page.evaluate("() => window.cancelled") is True


def test_repeated_entries_are_applied_once(page: Page) -> None:
    """After a reconnection a server may say again what was said."""
    show_block(page, running_thought("Once."), id="block")
    page.evaluate(
        "entries => { for (const entry of entries) block.feed(entry); }", _entries(running_thought("Once."))
    )
    assert page.evaluate("() => block.text") == "Once."


def test_clock_continues_from_the_server_timestamp(page: Page) -> None:
    """R079: over a reload too; the newest stamp says how long it thinks already, and not the page."""
    page.evaluate(
        (
            "events => { const node = put(); node.id = 'block'; const start = Date.now() - 65000; "
            "events.forEach(([event], seq) => "
            "node.feed({seq, event, at_ms: start + (seq < 2 ? 0 : 65000)})); }"
        ),
        running_thought(),
    )
    begun_at = part(page, "timer")
    assert re.fullmatch(r"1m \d+s", begun_at), "it began at the server's stamp"
    page.wait_for_function(f"before => ({PART})('timer') !== before", arg=begun_at)
    seconds = [int(text.removeprefix("1m ").removesuffix("s")) for text in (begun_at, part(page, "timer"))]
    assert 5 <= seconds[0] < seconds[1]


def test_waiting_time_is_shown_apart_from_thinking_time(page: Page) -> None:
    waited = [({"type": "turn.started"}, 0), *running_thought(at=3000)[1:], *answer_after_thought(5000)]
    show_block(page, waited, id="block", open=True)
    assert (part(page, "label"), part(page, "waited")) == ("Thought for 2s", "Waited 3s")


def test_a_page_may_show_the_wait(page: Page) -> None:
    show_block(page, [({"type": "turn.started"}, 0)], id="block", attributes={"status": "pending"}, now=2300)
    assert (part(page, "label"), part(page, "timer")) == ("Waiting…", "2s")
    feed_more(page, running_thought()[1:])
    assert part(page, "label") == "Thinking..."


def test_a_silent_stream_is_said_to_be_silent(page: Page) -> None:
    page.clock.install()
    show_block(page, running_thought(), id="block", now=1000)
    page.clock.run_for(25_000)
    assert part(page, "preview") == "Still waiting…"


def test_still_waiting_stays_until_something_comes(page: Page) -> None:
    """The gateway notices after a while that a provider is silent: that is no word of the model."""
    page.clock.install()
    show_block(page, running_thought(), id="block", now=1000)
    page.clock.run_for(25_000)
    feed_more(page, [({"type": "notice.given", "code": "silent", "text": ""}, 26_000)])
    page.clock.run_for(10_000)
    assert part(page, "preview") == "Still waiting…"
    feed_more(page, [({"type": "block.grew", "block": 0, "text": "\nThe ferry runs on Friday."}, 36_000)])
    assert part(page, "preview") == "The ferry runs on Friday."


@pytest.mark.parametrize("wrong_by_ms", [3_600_000, -3_600_000])
def test_time_counts_from_arrival_whatever_the_readers_clock_says(page: Page, wrong_by_ms: int) -> None:
    """R079: only the stamps say when it began; the reader's own time says what has passed since they came."""
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    page.evaluate(
        """wrong => {
          window.block = put({id: "block"});
          const now = Date.now() - wrong;
          block.feed({seq: 0, at_ms: now, event: {type: "turn.started"}});
          block.feed({seq: 1, at_ms: now, event: {type: "block.started", block: 0, kind: "reasoning"}});
          block.feed({seq: 2, at_ms: now, event: {type: "block.grew", block: 0, text: "I check the dates."}});
        }""",
        wrong_by_ms,
    )
    page.clock.run_for(3200)
    assert part(page, "timer") == "3s"


def test_call_at_work_is_named_and_timed_in_the_header(page: Page) -> None:
    """R079: the time of the tool counts while it works, and is no part of the thinking time."""
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    show_block(page, [*running_thought(), ({"type": "block.ended", "block": 0}, 2000)], id="block")
    page.evaluate("() => { block.clock = null; }")
    feed_more(page, [({"type": "block.started", "block": 1, "kind": "tool_call", "name": "timetable"}, 2000)])
    feed_more(page, [({"type": "block.ended", "block": 1}, 2000)])
    page.clock.run_for(4500)
    assert (part(page, "label"), part(page, "timer")) == ("Calling timetable…", "4s")
    finished = {"type": "tool.finished", "block": 1, "result": "18:32"}
    feed_more(page, [(finished, 7000), ({"type": "block.started", "block": 2, "kind": "text"}, 7000)])
    feed_more(page, [({"type": "block.grew", "block": 2, "text": "At 18:32."}, 7000)])
    assert part(page, "label") == "Thought for 2s"


@pytest.mark.parametrize("width", [320, 800])
def test_header_keeps_its_height_while_it_thinks(page: Page, width: int) -> None:
    """From the wait for the first word on: with a line to show or without, with a tool at work or without."""
    page.set_viewport_size({"width": width, "height": 700})
    show_block(page, [({"type": "turn.started"}, 0)], id="block", attributes={"status": "pending"}, now=2300)
    steps: list[list[tuple[Event, int]]] = [
        [({"type": "block.started", "block": 0, "kind": "reasoning"}, 0)],
        [({"type": "block.grew", "block": 0, "text": "A"}, 100)],
        [({"type": "block.grew", "block": 0, "text": " ferry runs on weekdays.\n"}, 200)],
        [({"type": "block.grew", "block": 0, "text": "8 −"}, 300)],
        [
            ({"type": "block.started", "block": 1, "kind": "tool_call", "name": "timetable"}, 400),
            ({"type": "block.ended", "block": 0}, 400),
        ],
        [({"type": "block.ended", "block": 1}, 500)],
        [({"type": "tool.finished", "block": 1, "result": "18:32"}, 900)],
        [({"type": "block.started", "block": 2, "kind": "reasoning"}, 900)],
        [({"type": "block.grew", "block": 2, "text": "It leaves at 18:32."}, 900)],
    ]
    height = "() => block.shadowRoot.querySelector('.root').getBoundingClientRect().height"
    heights = [page.evaluate(height)]
    for events in steps:
        feed_more(page, events)
        heights.append(page.evaluate(height))
    assert max(heights) - min(heights) < 1, heights  # an ellipsis of another font may add half a pixel


def test_the_language_follows_the_page_or_a_table(page: Page) -> None:
    """R126, R127, R128."""
    show_block(page, running_thought() + answer_after_thought(), id="block", attributes={"lang": "pt-BR"})
    assert (part(page, "label"), part(page, "meta")) == ("Pensou por 4,2s", "18 palavras")
    page.evaluate(
        "() => { block.strings = {name: 'de-DE', decimal: ',', thousands: '.', ones: [1], words: "
        "{'ai.thinking.complete': '{duration} nachgedacht', words: '{n} Wort|{n} Wörter'}}; }"
    )
    assert (part(page, "label"), part(page, "meta")) == ("4,2s nachgedacht", "18 Wörter")


def test_a_closed_block_has_no_body(page: Page) -> None:
    show_block(page, running_thought("word " * 20_000), id="block", now=1000)
    assert page.evaluate("() => block.shadowRoot.querySelector('.body').childElementCount") == 0


def test_the_reader_is_followed_until_they_scroll_up(page: Page) -> None:
    show_block(page, running_thought("line\n\n" * 200), id="block", open=True, now=1000)
    end = (
        "() => { const body = block.shadowRoot.querySelector('.body'); return body.scrollHeight - "
        "body.scrollTop - body.clientHeight; }"
    )
    more = [({"type": "block.grew", "block": 0, "text": "more\n\n" * 20}, 100)]
    feed_more(page, more)
    assert page.evaluate(end) < 8
    page.locator("thinking-block .body").hover()
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => ({end})() > 200")
    feed_more(page, more)
    assert page.evaluate(end) > 200
    page.evaluate(
        "() => { const body = block.shadowRoot.querySelector('.body'); body.scrollTop = body.scrollHeight; }"
    )
    page.evaluate(TWO_FRAMES)  # the first one tells the block where its reader is
    feed_more(page, more)
    assert page.evaluate(end) < 8


def test_status_events_fire_on_status_changes_only(page: Page) -> None:
    page.evaluate(
        "() => { window.told = []; for (const name of ['status', 'first-paint', 'toggle']) "
        "document.addEventListener(`thinking-${name}`, ({detail}) => told.push([name, detail])); "
        "}"
    )
    show_block(
        page,
        running_thought()
        + [({"type": "block.grew", "block": 0, "text": "more"}, 10)] * 50
        + answer_after_thought(),
        id="block",
    )
    assert page.evaluate("() => told") == [
        ["first-paint", None],
        ["status", {"from": "", "to": "streaming"}],
        ["status", {"from": "streaming", "to": "done"}],
    ]


@pytest.mark.parametrize("open_", [True, False], ids=["open", "closed"])
def test_buttons_that_a_page_asks_for(page: Page, open_: bool) -> None:
    page.evaluate(
        "() => { window.told = []; for (const name of ['retry', 'answer-now']) "
        "document.addEventListener(`thinking-${name}`, () => told.push(name)); }"
    )
    show_block(
        page, running_thought(), id="block", open=open_, now=1000, attributes={"actions": "retry answer-now"}
    )
    retry = page.locator("thinking-block [part=retry]")
    hurry = page.locator("thinking-block [part=answer-now]")
    hurry.click()
    expect(retry).to_be_hidden()
    feed_more(page, turn_end_in_thought({"type": "turn.failed", "code": "x"}))
    retry.click()
    expect(hurry).to_be_hidden()
    assert page.evaluate("() => [told, block.open]") == [["answer-now", "retry"], open_]


@pytest.mark.parametrize(
    "options", [{"permissions": ["clipboard-read", "clipboard-write"]}], ids=["clipboard"]
)
def test_thoughts_and_code_can_be_copied(page: Page) -> None:
    show_block(
        page, running_thought("Run:\n\n```\nls -l\n```\n") + answer_after_thought(), id="block", open=True
    )
    page.locator("thinking-block [part=copy-code]").click()
    assert page.evaluate("() => navigator.clipboard.readText()") == "ls -l\n"
    page.locator("thinking-block [part=copy]").click()
    assert page.evaluate("() => navigator.clipboard.readText()") == "Run:\n\n```\nls -l\n```\n"


def test_late_reclassification_takes_the_tail_away(page: Page) -> None:
    show_block(page, running_thought("Think. Answer."), id="block", open=True, now=10)
    feed_more(
        page,
        [
            ({"type": "block.ended", "block": 0}, 20),
            ({"type": "block.reclassified", "block": 0, "kind": "text", "tail": 7, "into": 1}, 20),
        ],
    )
    page.evaluate("() => block.refresh()")
    assert page.evaluate(
        "() => [block.shadowRoot.querySelector('.text').textContent, block.state.answer]"
    ) == ["Think. ", "Answer."[-7:]]


@pytest.mark.parametrize(
    ("lang", "notice"),
    [("en", "The model seems to be repeating itself."), ("pt-BR", "O modelo parece estar se repetindo.")],
)
def test_a_thought_that_repeats_itself_says_so(page: Page, lang: str, notice: str) -> None:
    """In the reader's language, as on the other surfaces, and alone as well as among steps."""
    page.evaluate("lang => { document.documentElement.lang = lang; }", lang)
    repeats = {"type": "notice.given", "code": "repeating", "text": "The same again.", "block": 0}
    show_block(page, [*running_thought(), (repeats, 10)], id="block", open=True, now=10)
    assert part(page, "step-notice") == notice
    expect(page.locator("thinking-block [part=step-notice]")).to_be_visible()
    call = {"type": "block.started", "block": 1, "kind": "tool_call", "name": "search"}
    feed_more(page, [({"type": "block.ended", "block": 0}, 20), (call, 20)])
    page.evaluate("() => block.expandAll()")
    assert part(page, "step-notice") == notice


def test_approvals_and_notes_are_shown_on_their_step(page: Page) -> None:
    call: list[tuple[dict[str, Any], int]] = [
        ({"type": "turn.started"}, 0),
        ({"type": "block.started", "block": 0, "kind": "tool_call", "name": "delete_file"}, 0),
        ({"type": "block.ended", "block": 0}, 0),
        ({"type": "approval.asked", "block": 0}, 0),
        ({"type": "notice.given", "code": "slow", "text": "This takes a while.", "block": 0}, 0),
    ]
    show_block(page, call, id="block", open=True, now=10)
    assert page.locator("thinking-block li [part=label]").text_content() == "delete_file waits for approval"
    assert part(page, "step-state") == ""
    assert part(page, "step-notice") == "This takes a while."
    feed_more(page, [({"type": "approval.settled", "block": 0, "granted": False, "by": "me"}, 10)])
    assert part(page, "step-state") == "Declined"
    assert page.locator("thinking-block li [part=label]").text_content() == "delete_file"


def test_replies_are_counted_together(page: Page) -> None:
    reply = {"type": "reply.ended", "finish": "tool_calls", "usage": {"reasoning": 100, "output": 5}}
    show_block(
        page,
        [
            *running_thought(),
            ({"type": "block.ended", "block": 0}, 10),
            (reply, 10),
            (reply | {"usage": {"reasoning": 34}}, 20),
        ],
        id="block",
        open=True,
    )
    page.wait_for_function(f"() => {{ block.refresh(); return ({PART})('tokens') === '134 tokens'; }}")


def test_a_step_that_failed_and_nested_steps(page: Page) -> None:
    """R101, R102, R110."""
    show_block(page, working_agent(), id="block", open=True, now=5000)
    texts = page.evaluate(
        "() => [...block.shadowRoot.querySelectorAll('.result')].map(one => one.textContent)"
    )
    assert texts == ["Three venues found.", "404"]


def test_the_manifest_names_the_whole_contract() -> None:
    manifest = json.loads((WEB / "custom-elements.json").read_bytes())
    (element,) = [
        declaration
        for module in manifest["modules"]
        for declaration in module["declarations"]
        if declaration.get("tagName") == "thinking-block"
    ]
    assert {item["name"] for item in element["attributes"]} >= {
        "status",
        "live",
        "rest",
        "preset",
        "render",
    }
    assert {item["name"] for item in element["events"]} >= {
        "thinking-toggle",
        "thinking-status",
        "thinking-copy",
    }
    assert {item["name"] for item in element["cssParts"]} >= {
        "root",
        "summary",
        "label",
        "timer",
        "body",
        "step",
        "footer",
    }
    assert len(element["cssProperties"]) >= 17
    assert {item["name"] for item in element["slots"]} >= {"", "icon", "label", "badge", "before", "actions"}
    assert {item["name"] for item in element["members"]} >= {
        "append",
        "feed",
        "consume",
        "expandAll",
        "collapseAll",
        "text",
        "open",
    }
    assert WORDS


def test_moved_block_keeps_the_user_choice(page: Page) -> None:
    """A framework that takes it out and puts it back changes nothing."""
    show_block(page, running_thought() + answer_after_thought(), id="block", attributes={"preset": "agent"})
    page.locator("thinking-block [part=summary]").click()
    page.evaluate("() => { stage.prepend(block); block.refresh(); }")
    assert page.evaluate("() => block.open")


def test_between_two_thoughts_a_closed_block_stays_without_a_body(page: Page) -> None:
    show_block(page, running_thought() + answer_after_thought()[:3], id="block", now=5000)
    page.wait_for_function(
        "() => block.shadowRoot.querySelector('.text p')"
    )  # drawn ahead for the browser's search
    feed_more(
        page,
        [
            ({"type": "block.ended", "block": 1}, 5000),
            ({"type": "block.started", "block": 2, "kind": "reasoning"}, 5000),
            ({"type": "block.grew", "block": 2, "text": "More. " * 2000}, 5000),
        ],
    )
    assert (
        page.evaluate("() => block.shadowRoot.querySelector('.body').textContent.includes('More.')") is False
    )


def test_a_wait_that_ends_without_a_thought_leaves_nothing(page: Page) -> None:
    show_block(page, [({"type": "turn.started"}, 0)], id="block", attributes={"status": "pending"}, now=2300)
    feed_more(page, [({"type": "block.started", "block": 0, "kind": "text"}, 2300)])
    assert page.evaluate("() => block.offsetHeight") == 0


@pytest.mark.parametrize("again", [0, 4], ids=["from the beginning", "from there"])
def test_a_connection_lost_between_two_blocks_can_go_on_as_well(page: Page, again: int) -> None:
    """Nothing was open when it broke off. A server may go on from there, or say all of it again."""
    entries = _entries(running_thought("Once.") + answer_after_thought())
    page.evaluate(
        "async entries => { const node = put(); node.id = 'block'; await node.consume(entries); }",
        entries[:4],
    )
    assert part(page, "label") == "Connection lost"
    page.evaluate("async entries => { await block.consume(entries); }", entries[again:])
    assert part(page, "label") == "Thought for 4.2s"
    assert page.evaluate("() => [block.text, block.state.answer]") == ["Once.", "Saturday."]


def test_a_line_of_json_may_hold_any_character(page: Page) -> None:
    """A line separator may stand in JSON as it is. It ends no line of a stream."""
    page.evaluate(
        "async lines => { const node = put(); node.id = 'block'; await node.consume([lines]); }",
        "\n".join(
            json.dumps(entry, ensure_ascii=False)
            for entry in _entries(running_thought("a\u2028b") + answer_after_thought())
        ),
    )
    assert page.evaluate("() => block.text") == "a\u2028b"


def test_at_the_end_of_the_turn_an_event_source_is_closed(page: Page) -> None:
    """It would connect again for ever, and `consume` would never be done."""
    page.evaluate(
        """async entries => {
          const node = put(), source = new EventTarget();
          node.id = "block";
          source.close = () => { window.closed_by_us = true; };
          const done = node.consume(source);
          for (const entry of entries)
            source.dispatchEvent(new MessageEvent("message", {data: JSON.stringify(entry)}));
          await done;
        }""",
        _entries(running_thought() + answer_after_thought()),
    )
    assert page.evaluate("() => window.closed_by_us") is True


def test_a_stream_that_tells_no_story_is_let_go(page: Page) -> None:
    """What was told before is kept, nothing more is asked of the source, and the caller learns why."""
    bad: list[tuple[dict[str, Any], int]] = [({"type": "block.grew", "block": 9, "text": "?"}, 10)]
    page.evaluate(
        """async entries => {
          const node = put();
          node.id = "block";
          await node.consume(new ReadableStream({ start(c) { for (const entry of entries) c.enqueue(entry); },
            cancel() { window.cancelled = true; } })).catch((error) => { window.problem = error.message; });
        }""",
        _entries(running_thought("Kept.") + bad),
    )
    assert page.evaluate("() => [block.text, window.cancelled]") == ["Kept.", True]
    assert "This event does not fit here" in page.evaluate("() => window.problem")


def test_repeated_call_end_makes_no_second_call(page: Page) -> None:
    call = {"toolCallId": "a"}
    messages = [
        {"type": "TOOL_CALL_END", "toolCallId": "never began"},
        {"type": "TOOL_CALL_START", "toolCallName": "search", **call},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_RESULT", "content": "3 cats", **call},
    ]
    page.evaluate(
        "async messages => { const node = put(); node.id = 'block'; for (const one of messages) "
        "node.feed(one); await node.ready; }",
        messages,
    )
    assert page.evaluate("() => block.state.view.steps.map(one => [one.label, one.result])") == [
        ["search", "3 cats"]
    ]


def test_a_step_may_have_nothing_to_say(page: Page) -> None:
    """A call without input is a call."""
    page.evaluate(
        "async () => { const node = put(); node.id = 'block'; "
        "node.upsertStep({id: 'a', type: 'tool_call', toolName: 'now', content: null}); await node.ready; }"
    )
    assert page.evaluate("() => block.state.view.steps.map(one => [one.label, one.text])") == [["now", ""]]


def test_a_server_whose_clock_is_ahead_has_a_time_all_the_same(page: Page) -> None:
    """R079: for a block that is fed by hand, too. The time goes on from the server's stamp."""
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    page.evaluate(
        "() => { const node = put({'started-at': Date.now() + 3600000}); node.id = 'block'; "
        "node.append('Hm.'); node.refresh(); }"
    )
    page.clock.run_for(3100)
    assert page.evaluate(PART, "timer") == "3s"


def test_a_block_that_moves_while_it_waits_to_close_closes(page: Page) -> None:
    """The wait begins anew where it comes back."""
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    attributes = {"auto-close-delay": "800", "live": "open"}
    show_block(page, running_thought(), id="moved", attributes=attributes)
    feed_more(page, answer_after_thought(), "moved")
    assert page.evaluate("() => moved.open")
    page.evaluate("() => stage.prepend(moved)")
    page.clock.run_for(1000)
    assert not page.evaluate("() => moved.open")


def test_another_turn_does_not_stay_open_for_a_reader_of_the_last(page: Page) -> None:
    """The focus kept the first turn open. That was about that turn."""
    show_block(page, running_thought(), id="block", attributes={"live": "open"})
    page.evaluate("() => block.shadowRoot.querySelector('[part=body]').focus()")
    feed_more(page, answer_after_thought())
    assert page.evaluate("() => block.open")
    page.evaluate("() => { block.reset(); block.setAttribute('live', 'closed'); block.append('Hm.'); }")
    assert part(page, "label") == "Thinking..."
    assert not page.evaluate("() => block.open")

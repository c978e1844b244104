"""Short ways to put a block on the page in a state: entries as JSON, and the script that feeds them."""

from typing import Any

from playwright.sync_api import Page

Event = dict[str, Any]

WORDS = "Let me check the dates first. The user asked for **Friday**, and the ferry only runs on weekdays."

# What was opened is shown, and is in the tree of the browser, only after the frame that follows.
TWO_FRAMES = """() => new Promise(done => {
  // A test that has stopped the clock has stopped its frames as well.
  if (!String(requestAnimationFrame).includes("native code")) done();
  else requestAnimationFrame(() => requestAnimationFrame(done));
})"""
FEED_SCRIPT = """async ([events, {attributes, policy, now, open, id, tag}]) => {
  const node = put(attributes ?? {}, tag ?? "thinking-block");
  node.id = id ?? "";
  if (policy) node.policy = policy;
  let last = 0;
  node.clock = () => now ?? last;
  node.told = 0;
  node.tell = (event, at) => { last = Math.max(last, at ?? last); node.feed({seq: node.told++,
    at_ms: at ?? last, event}); node.refresh(); };
  for (const [event, at] of events) node.tell(event, at);
  if (open) node.expandAll();
  node.refresh();
  await node.ready;
  // What was opened is shown, and is in the tree of the browser, with the frame after the one that begins it.
  const frame = () => new Promise(requestAnimationFrame);
  if (open) await frame().then(frame);
}"""

TELL_SCRIPT = (
    "([id, events]) => { for (const [event, at] of events) document.getElementById(id).tell(event, at); }"
)


def show_block(page: Page, events: list[tuple[Event, int]], **options: Any) -> None:
    """Put a block on the page and feed it these events."""
    page.evaluate(FEED_SCRIPT, [events, options])


def feed_more(page: Page, events: list[tuple[Event, int]], block: str = "block") -> None:
    """Tell more to a block that is there."""
    page.evaluate(TELL_SCRIPT, [block, events])


def running_thought(text: str = WORDS, at: int = 0) -> list[tuple[Event, int]]:
    """A thought that is going on."""
    return [
        ({"type": "turn.started"}, at),
        ({"type": "block.started", "block": 0, "kind": "reasoning", "provenance": "raw"}, at),
        ({"type": "block.grew", "block": 0, "text": text}, at),
    ]


def answer_after_thought(at: int = 4200) -> list[tuple[Event, int]]:
    """The thought is over and an answer came."""
    return [
        ({"type": "block.ended", "block": 0}, at),
        ({"type": "block.started", "block": 1, "kind": "text"}, at),
        ({"type": "block.grew", "block": 1, "text": "Saturday."}, at),
        ({"type": "block.ended", "block": 1}, at + 100),
        ({"type": "usage.reported", "usage": {"reasoning": 234}}, at + 100),
        ({"type": "turn.ended", "finish": "stop"}, at + 100),
    ]


def turn_end_in_thought(end: Event, *, interrupted: bool = True, at: int = 4200) -> list[tuple[Event, int]]:
    """The turn ends in the thought."""
    return [({"type": "block.ended", "block": 0, "interrupted": interrupted}, at), (end, at)]


def sealed_thought(form: str) -> list[tuple[Event, int]]:
    """A thought that cannot be read, and an answer."""
    seal = {"dialect": "d", "form": form, "payload": "x"}
    started = {"type": "block.started", "block": 0, "kind": "reasoning"}
    return [
        ({"type": "turn.started"}, 0),
        (started, 0),
        ({"type": "block.sealed", "block": 0, "seal": seal}, 0),
        *answer_after_thought(),
    ]


def working_agent() -> list[tuple[Event, int]]:
    """A thought, a tool that came back, an assistant at work with a thought and a failed tool of its own."""
    return [
        ({"type": "turn.started"}, 0),
        ({"type": "block.started", "block": 0, "kind": "reasoning"}, 0),
        ({"type": "block.grew", "block": 0, "text": "Start with a search."}, 0),
        ({"type": "block.ended", "block": 0}, 2300),
        ({"type": "block.started", "block": 1, "kind": "tool_call", "name": "web_search"}, 2300),
        ({"type": "block.grew", "block": 1, "text": '{"query": "venues"}'}, 2300),
        ({"type": "block.ended", "block": 1}, 2300),
        ({"type": "tool.finished", "block": 1, "result": "Three venues found."}, 3100),
        ({"type": "block.started", "block": 2, "kind": "assistant_call", "name": "Policy Checker"}, 3100),
        ({"type": "block.grew", "block": 2, "text": "Check the catering rules"}, 3100),
        ({"type": "block.ended", "block": 2}, 3100),
        ({"type": "block.started", "block": 3, "kind": "reasoning", "parent": 2}, 3200),
        ({"type": "block.grew", "block": 3, "text": "Look at section 4."}, 3200),
        ({"type": "block.ended", "block": 3}, 3300),
        ({"type": "block.started", "block": 4, "kind": "tool_call", "name": "fetch", "parent": 2}, 3300),
        ({"type": "block.ended", "block": 4}, 3300),
        ({"type": "tool.finished", "block": 4, "error": "404"}, 3400),
    ]


STATES: dict[str, tuple[list[tuple[Event, int]], dict[str, Any]]] = {
    "live": (running_thought(), {"now": 3000}),
    "live open": (
        running_thought(
            "# Plan\n\n- a\n- b\n\n```js\n1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q "
            "[l](https://x.y) ![i](https://x.y)\n"
        ),
        {"now": 3000, "open": True},
    ),
    "done": (running_thought() + answer_after_thought(), {}),
    "done open": (running_thought() + answer_after_thought(), {"open": True}),
    "hidden": (running_thought() + answer_after_thought(), {"policy": {"preset": "toggle"}}),
    "label": (running_thought() + answer_after_thought(), {"policy": {"preset": "koder"}}),
    "preview": (running_thought() + answer_after_thought(), {"policy": {"preset": "preview"}}),
    "at work": (working_agent(), {"policy": {"preset": "trace"}, "now": 5000}),
    "at work open": (working_agent(), {"open": True, "now": 5000}),
    "redacted": (sealed_thought("redacted"), {}),
    "encrypted open": (sealed_thought("encrypted"), {"open": True}),
    "stopped": (running_thought() + turn_end_in_thought({"type": "turn.ended", "finish": "cancelled"}), {}),
    "cut": (running_thought() + turn_end_in_thought({"type": "turn.ended", "finish": "length"}), {}),
    "lost": (
        running_thought() + turn_end_in_thought({"type": "turn.failed", "code": "cut_off"}),
        {"attributes": {"actions": "retry"}},
    ),
    "failed": (
        running_thought()
        + turn_end_in_thought({"type": "turn.failed", "code": "overloaded", "message": "Try later."}),
        {"open": True},
    ),
    "no answer": (
        running_thought() + turn_end_in_thought({"type": "turn.ended", "finish": "stop"}, interrupted=False),
        {},
    ),
    "waiting": ([({"type": "turn.started"}, 0)], {"attributes": {"status": "pending"}, "now": 2300}),
    "budget": (
        running_thought() + answer_after_thought(),
        {"open": True, "attributes": {"token-budget": "2000", "actions": "retry"}},
    ),
    "approval": (
        [
            ({"type": "turn.started"}, 0),
            ({"type": "block.started", "block": 0, "kind": "tool_call", "name": "delete_file"}, 0),
            ({"type": "block.ended", "block": 0}, 0),
            ({"type": "approval.asked", "block": 0}, 0),
        ],
        {"open": True, "now": 1000},
    ),
}

"""Stories told to the element in a real page: acts by clicks, words read off the nodes."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Page

_LIVE = ("pending", "thinking", "streaming", "running")
STORIES = Path(__file__).parents[2] / "stories"
FILES = sorted(path for path in STORIES.glob("*.json") if path.name != "schema.json")

# A header that asks for a summary has the page load what finds one; from then on every state tells it.
START_SCRIPT = """async ({policy, locale}) => {
  const first = put();
  first.policy = {header: "summary"};
  first.text = "-";
  first.refresh();
  await first.ready;
  first.remove();
  const node = put({lang: locale});
  node.policy = policy;
  window.seq = 0;
  window.story = node;
  await node.ready;
}"""

STEP_SCRIPT = """async ({events, at}) => {
  const node = window.story;
  node.clock = () => at;
  for (const event of events) node.feed({seq: window.seq++, event, at_ms: at});
  node.refresh();
  await node.ready;
}"""

# What stands on the screen, from the nodes alone; null for what is not there.
SCREEN_SCRIPT = """() => {
  const node = window.story, tree = node.shadowRoot;
  const seen = one => !!one && one.checkVisibility({visibilityProperty: true});
  const all = part => [...tree.querySelectorAll(`[part="${part}"]`)];
  const top = part => all(part).find(one => !one.closest("li") && seen(one))?.textContent ?? "";
  const root = tree.querySelector("[part=root]");
  const details = root.querySelector("details");
  const open = !seen(details) ? "hidden" : details.open ? "expanded" : root.dataset.open;
  const step = li => {
    const part = name => li.querySelector(`:scope > details [part="${name}"]`);
    const say = name => { const one = part(name); return one && !one.hidden ? one.textContent : ""; };
    return {
      block: Number(li.dataset.block), kind: li.dataset.kind, status: li.dataset.status, label: say("label"),
      step: say("step-index"), words: say("meta"), open: li.querySelector("details").open ?
        "expanded" : li.dataset.open,
      steps: [...li.querySelectorAll(":scope > details > .step-body > ol > li")].map(step),
    };
  };
  // Below the header: the parts of each step's header, and each line of the texts below it. What is open is
  // asked of the disclosures: while they move, a text may be in sight that is on its way out.
  const rows = [];
  const inSight = one => {
    if (one.hidden) return false;
    let outer = (one.closest("summary") ? one.closest("details").parentNode : one).closest("details");
    while (outer?.open) outer = outer.parentNode.closest("details");
    return !outer;
  };
  const HEADER = [".step-summary > .meta", ".step-summary > .preview", ".step-summary > .step-time"];
  const BELOW = [".text > *", ".step-notice", ".input", ".result", ".placeholder"];
  const PARTS = [".step-summary > .label", ...HEADER, ...BELOW];
  for (const one of details.open ? root.querySelectorAll(PARTS.map(part => `.body ${part}`).join()) : []) {
    if (!inSight(one) || !one.textContent) continue;
    if (one.matches(".label")) {
      const mark = one.closest("details").open ? "▼" : "▶";
      const index = one.parentNode.querySelector(".step-index").textContent;
      rows.push([mark, index, one.textContent].filter(Boolean).join(" "));
    } else rows.push(...one.textContent.split("\\n"));
  }
  return {
    rows, shown: node.matches(":state(empty)") ? false : seen(root),
    status: root.dataset.status, header: root.dataset.header, label: top("label"), open,
    timer: top("timer"), words: top("meta"),
    text: top("preview"), badge: top("badge"), badge_title: tree.querySelector("[part=badge]").title,
    marker: top("marker"), notice: top("notice"),
    icon: all("icon").some(one => !one.closest("li") && seen(one) &&
      (one.querySelector("slot") ?? one).childNodes.length > 0),
    empty_badge: all("badge").some(one => seen(one) && !one.textContent),
    tokens: top("tokens"),
    steps: [...tree.querySelectorAll(".body > ol > li")].map(step),
  };
}"""

STATE_SCRIPT = (
    "() => JSON.parse(JSON.stringify(window.story.state, (key, value) => key === 'source' ? "
    "undefined : value))"
)


def load(path: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads(path.read_bytes())
    return story


class PageStory:
    """One story on one page, or on a frame of one."""

    def __init__(self, page: Page | Frame, story: dict[str, Any]) -> None:
        self._page = page
        self._policy = story.get("policy", {})
        self._begin(story.get("locale", "en-US"))

    def step(self, step: dict[str, Any]) -> list[str]:
        self._feed(step.get("events", [step["event"]] if "event" in step else []), step.get("at_ms"))
        if "user" in step:
            self._act(step["user"])
        expect = step.get("expect", {})
        return [
            *self._state_problems(expect),
            *self._screen_problems(expect),
            *self._row_problems(expect),
        ]

    def _begin(self, locale: str) -> None:
        self._page.evaluate(START_SCRIPT, {"policy": self._policy, "locale": locale})

    def _feed(self, events: list[dict[str, Any]], at_ms: int | None) -> None:
        self._page.evaluate(STEP_SCRIPT, {"events": events, "at": at_ms})

    def _act(self, user: dict[str, Any]) -> None:
        (act, which), *_ = user.items()
        if act == "toggle_all":
            self._page.evaluate("() => story.toggleAll()")
        elif act == "toggle_thinking":
            self._page.evaluate("() => story.toggleThinking()")
        elif act == "show_thinking":
            self._page.evaluate("shown => story.showThinking(shown)", which)
        else:
            self._choose(act, None if which == "panel" else which)
        self._page.evaluate("() => story.refresh()")

    def _choose(self, act: str, which: int | None) -> None:
        """By a real click where the header in question is in sight; through the element where it is not."""
        lone = self._page.evaluate("() => story.state.view.steps.length === 1")
        part = "summary" if which is None or lone else f"li[data-block='{which}'] > details > summary"
        header = self._page.locator(
            f"thinking-block [part={part}]" if part == "summary" else f"thinking-block {part}"
        )
        opened = header.evaluate("node => node.parentNode.open") if header.count() else None
        reachable = header.count() == 1 and header.is_visible() and opened == (act == "close")
        if act != "give_back" and reachable:
            header.click()
            header.blur()  # a reader whose focus stays inside would keep it open
            return
        key = None if lone else which
        choice = {"open": True, "close": False, "give_back": None}[act]
        self._page.evaluate("([key, choice]) => story.choose(key, choice)", [key, choice])

    def _state_problems(self, expect: dict[str, Any]) -> list[str]:
        state = self._page.evaluate(STATE_SCRIPT)
        view = state["view"]
        facts = {"shown": view is not None, "answer": state["answer"], "notice": state["notice"]}
        if view is not None:
            facts = {**view, "words": view["words_text"], "tokens": view["tokens_text"]} | facts
            facts["blocks"] = [block | {"words": block["words_text"]} for block in view["blocks"]]
        # The header in one line and rows are drawn as several parts; `_screen_problems` reads them.
        expected = {name: value for name, value in expect.items() if name not in ("header", "rows")}
        return list(_compare("state", expected, facts))

    def _screen_problems(self, expect: dict[str, Any]) -> list[str]:
        screen = self._page.evaluate(SCREEN_SCRIPT)
        expected: dict[str, Any] = {
            name: expect[name] for name in ("shown", "status", "badge_title") if name in expect
        }
        hidden = screen["open"] == "hidden"
        for name in ("label", "words", "badge"):
            if name in expect and not hidden and not self._omitted(name, screen):
                expected[name] = expect[name].removeprefix("🔧 ")
        for name in ("open", "marker", "notice"):
            if name in expect and screen["shown"]:
                expected[name] = expect[name]
        if "peek" in expect and screen["open"] == "peek":
            expected["text"] = expect["peek"]
        if screen["open"] == "expanded":
            expected |= {"tokens": expect["tokens"]} if "tokens" in expect else {}
            blocks = {block["block"]: block for block in expect.get("blocks", [])}
            steps = {step["block"]: step for step in expect.get("steps", [])}
            drawn_steps = {step["block"]: step for step in screen["steps"]}
            for number, facts in drawn_steps.items():
                for expected_step in (blocks.get(number, {}), steps.get(number, {})):
                    names = ("status", "step", "label", "words", "open", "kind")
                    expected_facts = {name: expected_step[name] for name in names if name in expected_step}
                    if problems := list(_compare(f"screen step {number}", expected_facts, facts)):
                        return problems
        expected["empty_badge"] = False
        header = [_header_problem(expect["header"], screen)] if "header" in expect and not hidden else []
        return [*_compare("screen", expected, screen), *filter(None, header)]

    def _row_problems(self, expect: dict[str, Any]) -> list[str]:
        rows = self._page.evaluate(SCREEN_SCRIPT)["rows"] if "rows" in expect else None
        return [f"rows: expected {expect['rows']}, got {rows}"] if rows != expect.get("rows") else []

    def _omitted(self, name: str, screen: dict[str, Any]) -> bool:
        """What a header that is made of the first words alone does not say."""
        bare = self._policy.get("preset") in ("preview", "agent") or self._policy.get("header") == "preview"
        return bare and name in ("label", "words") and screen["status"] == "done"


def _header_problem(expected: str, screen: dict[str, Any]) -> str:
    """Say which part of a header in one line is not drawn.

    While a thought streams, the page shows its newest line and whole seconds, so that only the label is the
    same, and the first words in the style of them. An open block shows its text, and no first words of it.
    """
    _, _, line = expected.partition(" ")
    facts, _, first_words = line.partition(" — ")
    parts = [*facts.split(" · "), first_words]
    if screen["status"] in _LIVE:
        parts = [parts[0], first_words if screen["header"] == "preview" else ""]
    elif screen["open"] == "expanded":
        parts.pop()
    drawn = [screen[name] for name in ("label", "timer", "words", "text")]
    missing = [part for part in parts if part and not any(_says(text, part) for text in drawn)]
    if not screen["icon"]:
        missing.append("the icon")
    return f"screen.header: {missing} is missing in {drawn}" if missing else ""


def _says(actual: object, expected: object) -> bool:
    """Return whether a text is the expected one; a line that a story cuts may use more room."""
    if not isinstance(actual, str) or not isinstance(expected, str):
        return actual == expected
    cut_at_end = expected.endswith("…") and actual.startswith(expected[:-1])
    cut_at_start = expected.startswith("…") and actual.endswith(expected[1:])
    return actual == expected or cut_at_end or cut_at_start


def _compare(path: str, expect: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    problems = []
    for name, expected_value in expect.items():
        actual = facts.get(name, "(nothing)")
        if isinstance(expected_value, list):
            if len(expected_value) != len(actual):
                problems.append(f"{path}.{name}: expected {len(expected_value)}, got {actual!r}")
                continue
            for index, (expected_item, actual_item) in enumerate(zip(expected_value, actual, strict=True)):
                problems += _compare(f"{path}.{name}[{index}]", expected_item, actual_item)
        elif not _says(actual, expected_value):
            problems.append(f"{path}.{name}: expected {expected_value!r}, got {actual!r}")
    return problems

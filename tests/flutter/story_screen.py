"""Stories on the Flutter block in a real browser: acts by clicks, words read from the semantics tree.

A header is one button: its label, then its facts, badge and first words. The fields that the block draws
nowhere are `summary` apart from the header, and the kind of a step, which is its icon.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import UNSET, UnsetType
from tests.flutter.flet_site import FletScreen, Node
from tests.view.stories import Expected, ExpectedBlock, ExpectedStep, Step, Story, UserAct

from thinkaloud.core.canon import Entry
from thinkaloud.core.view import PANEL, read_policy, show_thinking, toggle_all, toggle_thinking
from thinkaloud.core.view.labels import TOOL_ICON
from thinkaloud.surfaces.flutter.conversation import TurnColumn

ANNOUNCEMENT = "thinking-announcement"


class FlutterStory:
    """One story on one page that other stories have used before."""

    def __init__(self, screen: FletScreen, story: Story) -> None:
        self._screen = screen
        self._policy = read_policy(story.policy)
        self._now_ms: int | None = None
        self.turn = TurnColumn(policy=self._policy, locale=story.locale, clock=lambda: self._now_ms)
        screen.mount(self.turn)

    def step(self, step: Step) -> list[str]:
        """Take one step and say what is not as expected."""

        def feed() -> None:
            self._now_ms = step.at_ms
            for event in step.all_events:
                self.turn.feed(Entry(self.turn.turn.seq + 1, event, step.at_ms))
            self.turn.flush()
            self.turn.thinking.redraw()  # the clock has moved

        self._screen.site.call(feed)
        self._screen.settle()
        if step.user is not UNSET:
            self._act(step.user)
        return list(self._problems(step.expect))

    def _act(self, user: UserAct) -> None:
        block, call = self.turn.thinking, self._screen.site.call
        if user.toggle_all is not UNSET:
            numbers = range(len(block.turn.blocks))
            call(lambda: block.replace_choices(toggle_all(block.open_states(), numbers)))
        elif user.toggle_thinking is not UNSET:
            self._policy = toggle_thinking(self._policy)
            call(lambda: self.turn.apply_policy(self._policy))
        elif user.show_thinking is not UNSET:
            self._policy = show_thinking(self._policy, user.show_thinking)
            call(lambda: self.turn.apply_policy(self._policy))
        elif user.give_back is not UNSET:
            lone = block.view is not None and len(block.view.steps) == 1
            key = PANEL if lone else _key(user.give_back)
            call(lambda: block.choose(key, None))
        else:
            which = user.open if user.open is not UNSET else user.close
            assert which is not UNSET
            self._choose(_key(which), open=user.open is not UNSET)
        self._screen.settle()

    def _choose(self, key: int, *, open: bool) -> None:
        """Press the header if it is there and a press does it; a hidden block is chosen without one."""
        headers = {node.name: node for node in self._screen.nodes() if node.role == "button"}
        view = self.turn.thinking.view
        header = _name(PANEL if view is not None and len(view.steps) == 1 else key)
        if header in headers and (headers[header].expanded == "true") is not open:
            before = dict(self.turn.thinking.choices)
            self._screen.click(header)  # which is gone when the last open thought closes the panel
            self._screen.wait_until(lambda: self.turn.thinking.choices != before)
        else:
            self._screen.site.call(lambda: self.turn.thinking.choose(key, open))

    def _problems(self, expect: Expected) -> Iterator[str]:
        nodes = [node for node in self._screen.nodes() if node.name != ANNOUNCEMENT]
        headers = {node.name: node for node in nodes if node.role == "button"}
        texts = [node.text for node in nodes]
        if expect.shown is not UNSET and expect.shown != bool(headers) and expect.open != "hidden":
            yield f"shown: expected {expect.shown}, got {texts}"
        if expect.notice is not UNSET and (expect.notice in texts) != bool(expect.notice):
            yield f"notice: expected {expect.notice!r}, got {texts}"
        if expect.answer is not UNSET and self.turn.answer.text != expect.answer:
            yield f"answer: expected {expect.answer!r}, got {self.turn.answer.text!r}"
        if expect.answer is not UNSET and expect.answer.strip() and expect.answer.strip() not in texts:
            yield f"answer: expected {expect.answer!r} on the screen, got {texts}"
        if expect.rows is not UNSET:
            thinking_nodes = [node for node in nodes if node.text != self.turn.answer.text]
            drawn = _rows_text(thinking_nodes).replace("\n", " ")
            if drawn != " ".join(expect.rows):
                yield f"rows: expected {expect.rows}, got {drawn!r}"
        if headers and expect.shown is not False:
            yield from self._panel_problems(expect, headers, texts)
            panel = headers.get(_name(PANEL))
            if panel is None or panel.expanded == "true":
                yield from self._step_problems(expect.steps, headers, texts)
                yield from self._block_problems(expect.blocks, headers, texts)

    def _panel_problems(self, expect: Expected, headers: dict[str, Node], texts: list[str]) -> Iterator[str]:
        if expect.marker is not UNSET and (expect.marker in texts) != bool(expect.marker):
            yield f"marker: expected {expect.marker!r}, got {texts}"
        panel = headers.get(_name(PANEL))
        if expect.open == "hidden" or panel is None:
            return
        opened = panel.expanded == "true"
        peeking = expect.peek is not UNSET and expect.open == "peek"
        if expect.open is not UNSET and opened != (expect.open == "expanded"):
            yield f"open: expected {expect.open}, got {panel}"
        if peeking and expect.peek and expect.peek not in texts:
            yield f"peek: expected {expect.peek!r}, got {texts}"
        if expect.tokens is not UNSET and opened and expect.tokens not in " · ".join(texts).split(" · "):
            yield f"tokens: expected {expect.tokens!r}, got {texts}"
        if expect.header is not UNSET:
            yield from self._header_problems(expect.header, panel, collapsed=expect.open == "collapsed")
        for name in ("label", "words", "duration", "badge", "badge_title"):
            yield from self._text_problems(name, getattr(expect, name), panel, texts)

    def _header_problems(self, header: str, panel: Node, *, collapsed: bool) -> Iterator[str]:
        _, _, line = header.partition(" ")
        facts, _, first_words = line.partition(" — ")
        parts = [*facts.split(" · "), *([first_words] if first_words and collapsed else [])]
        if panel.expanded == "true" and self._policy.header == "summary":
            parts = parts[:1]  # the status is below the open panel
        missing = [part for part in parts if part not in panel.text]
        if missing:
            yield f"header: {missing} is missing in {panel.text!r}"

    def _text_problems(
        self, name: str, expected: str | UnsetType, panel: Node, texts: list[str]
    ) -> Iterator[str]:
        view = self.turn.thinking.view
        assert view is not None
        first_words_alone = self._policy.header == "preview" and view.status == "done"
        summary_alone = self._policy.header == "summary" and name in ("words", "duration")
        below_the_header = name == "badge_title" and panel.expanded != "true"
        if expected is UNSET or first_words_alone or summary_alone or below_the_header:
            return
        words = expected.removeprefix(f"{TOOL_ICON} ")
        if not words and name == "badge" and ("used" in panel.text or "usada" in panel.text):
            yield f"badge: expected none, got {panel.text!r}"
        if words and words not in "\n".join(texts):
            yield f"{name}: expected {expected!r}, got {texts}"

    def _step_problems(
        self, expected: list[ExpectedStep] | UnsetType, headers: dict[str, Node], texts: list[str]
    ) -> Iterator[str]:
        lone = self.turn.thinking.view is not None and len(self.turn.thinking.view.steps) == 1
        waiting = [] if expected is UNSET else list(expected)
        while waiting:
            step = waiting.pop()
            header = headers.get(_name(step.block))
            if header is None:
                if not (lone and step.kind == "reasoning"):
                    yield f"step {step.block}: not on the screen: {texts}"
                continue
            if step.label is not UNSET and step.label not in header.text:
                yield f"step {step.block}: expected {step.label!r}, got {header.text!r}"
            if step.open is not UNSET and (header.expanded == "true") != (step.open == "expanded"):
                yield f"step {step.block}: expected {step.open}, got {header}"
            if step.open == "expanded":
                for text in (step.text, step.result):
                    if text is not UNSET and text and text not in "\n".join(texts):
                        yield f"step {step.block}: expected {text!r}, got {texts}"
                waiting += [] if step.steps is UNSET else step.steps

    def _block_problems(
        self, expected: list[ExpectedBlock] | UnsetType, headers: dict[str, Node], texts: list[str]
    ) -> Iterator[str]:
        several = self.turn.thinking.view is not None and len(self.turn.thinking.view.steps) > 1
        for block in [] if expected is UNSET else expected:
            header = headers.get(_name(block.block)) if several else None
            if header is not None:
                quoted = header.text.startswith("“")
                for text in (block.step, block.label, block.words):
                    if text is not UNSET and text not in header.text and not quoted:
                        yield f"block {block.block}: expected {text!r}, got {header.text!r}"
                if block.open is not UNSET and (header.expanded == "true") != (block.open == "expanded"):
                    yield f"block {block.block}: expected {block.open}, got {header}"
            for text in (block.placeholder, block.provenance):
                shown = (block.open == "expanded" or not several) and not (
                    several and text is block.provenance
                )
                if text is not UNSET and text and shown and text not in texts:
                    yield f"block {block.block}: expected {text!r}, got {texts}"


def _rows_text(nodes: list[Node]) -> str:
    """Return what stands below the header of the panel, in one line: a header gives all its parts as one."""
    below = [node for node in nodes if node.name != _name(PANEL)]
    marks = {"true": "▼ ", "false": "▶ ", None: ""}
    return " ".join(marks[node.expanded] + node.text.replace(" · ", " ") for node in below if node.text)


def _name(key: int) -> str:
    return f"thinking-{'panel' if key == PANEL else key}"


def _key(which: int | Literal["panel"]) -> int:
    return PANEL if which == "panel" else which

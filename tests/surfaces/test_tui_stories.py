"""Every story on the terminal user interface: acts by mouse clicks, words read off the rows of the screen.

A story's `header` is the line of a panel in one row. A terminal draws it behind `▶` or `▼`; the preset
`preview` draws the first words in quotes and no icon. The fields that a terminal draws nowhere are `duration`
and `summary` apart from the header, and the kind of a step, which is its icon.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from msgspec import UNSET, UnsetType
from tests.surfaces.tui import TestClock, WidgetApp, feed, settle
from tests.view.stories import FOLDER, Expected, ExpectedBlock, ExpectedStep, Step, Story, UserAct, load
from textual.pilot import Pilot

from thinkaloud.core.view import PANEL, OpenState, read_policy, show_thinking, toggle_all, toggle_thinking
from thinkaloud.surfaces.tui.thinking_panel import ThinkingPanel
from thinkaloud.surfaces.tui.turn_view import TurnView

FILES = sorted(path for path in FOLDER.glob("*.json") if path.name != "schema.json")


class ScreenStory:
    """One story on a screen of 100 columns."""

    def __init__(self, story: Story, view: TurnView | None = None) -> None:
        self.clock = TestClock()
        self.policy = read_policy(story.policy)
        self.turn = view or TurnView(policy=self.policy, locale=story.locale, clock=self.clock)
        if view is not None:
            view._clock = view.thinking._clock = self.clock
            view.apply_policy(self.policy, story.locale)

    async def step(self, pilot: Pilot[None], step: Step) -> list[str]:
        self.clock.now_ms = step.at_ms
        feed(self.turn, step.all_events, step.at_ms)
        self.turn.thinking.redraw()  # the clock has moved
        await self._settle(pilot)
        if step.user is not UNSET:
            await self._act(pilot, step.user)
            await self._settle(pilot)
        return list(self._problems(step.expect))

    async def _settle(self, pilot: Pilot[None]) -> None:
        await settle(pilot, self.turn.thinking, self.turn.answer, self.turn.notices)

    async def _act(self, pilot: Pilot[None], user: UserAct) -> None:
        panel = self.turn.thinking
        if user.toggle_all is not UNSET:
            panel.replace_choices(toggle_all(panel.open_states(), range(len(panel.turn.blocks))))
        elif user.toggle_thinking is not UNSET:
            self.policy = toggle_thinking(self.policy)
            self.turn.apply_policy(self.policy)
        elif user.show_thinking is not UNSET:
            self.policy = show_thinking(self.policy, user.show_thinking)
            self.turn.apply_policy(self.policy)
        elif user.give_back is not UNSET:
            lone = panel.view is not None and len(panel.view.steps) == 1
            panel.choose(PANEL if lone else _key(user.give_back), None)
        else:
            which = user.open if user.open is not UNSET else user.close
            assert which is not UNSET
            await self._choose(pilot, _key(which), open=user.open is not UNSET)

    async def _choose(self, pilot: Pilot[None], key: int, *, open: bool) -> None:
        """Click the header if it is there and a click does it; a hidden block is chosen without a click."""
        panel = self.turn.thinking
        keys = [section.key for section in panel.sections]
        header = key if key in keys else PANEL
        shown_open = panel.screen_text().splitlines()[keys.index(header)] if header in keys else ""
        if header in keys and open is not (shown_open.lstrip()[:1] == "▼" or shown_open.endswith("⌄")):
            row = next(y for y in range(panel.row_count) if _section_key(panel, y) == header)
            before = dict(panel.choices)
            assert await pilot.click(panel, offset=(3, row))
            while panel.choices == before:  # a busy machine looks idle before the click has arrived
                await pilot.pause(0.02)
        else:
            panel.choose(key, open)

    def _problems(self, expect: Expected) -> Iterator[str]:
        panel, rows = self.turn.thinking, self.turn.thinking.screen_text().splitlines()
        view = panel.view
        if expect.shown is not UNSET and expect.shown != (view is not None):
            yield f"shown: expected {expect.shown}, got {rows}"
        if expect.notice is not UNSET and self.turn.notices.screen_text() != expect.notice:
            yield f"notice: expected {expect.notice!r}, got {self.turn.notices.screen_text()!r}"
        if expect.answer is not UNSET and self.turn.answer.screen_text() != expect.answer.rstrip():
            yield f"answer: expected {expect.answer!r}, got {self.turn.answer.screen_text()!r}"
        if view is None:
            if rows:
                yield f"no thinking, but the screen says {rows}"
            return
        yield from self._panel_problems(expect, rows)
        if expect.rows is not UNSET and (drawn := _row_texts(rows[1:])) != expect.rows:
            yield f"rows: expected {expect.rows}, got {drawn}"
        if view.open is OpenState.EXPANDED:
            yield from self._step_problems(expect.steps, rows)
            yield from self._block_problems(expect.blocks, rows)

    def _panel_problems(self, expect: Expected, rows: list[str]) -> Iterator[str]:
        if expect.open is not UNSET and (drawn := _drawn_open(rows, expect.open)) != expect.open:
            yield f"open: expected {expect.open}, got {drawn}: {rows}"
        if expect.marker is not UNSET and (rows == [expect.marker]) != bool(expect.marker):
            yield f"marker: expected {expect.marker!r}, got {rows}"
        if not rows or expect.open == "hidden":
            return
        if expect.header is not UNSET and _plain_header(rows[0]) != self._expected_header(expect.header):
            yield f"header: expected {expect.header!r}, got {rows[0]!r}"
        if (
            expect.peek is not UNSET
            and expect.peek
            and expect.open == "peek"
            and rows[1] != f"│ {expect.peek}"
        ):
            yield f"peek: expected {expect.peek!r}, got {rows}"
        if expect.tokens is not UNSET and expect.open == "expanded" and expect.tokens not in rows[-1]:
            yield f"tokens: expected {expect.tokens!r}, got {rows[-1]!r}"
        if self.turn.thinking.view is not None and not self.turn.thinking.view.badge and "  🔧" in rows[0]:
            yield f"badge: expected none, got {rows[0]!r}"
        for name in ("label", "words", "badge", "badge_title"):
            yield from self._text_problems(name, getattr(expect, name), rows)

    def _expected_header(self, header: str) -> str:
        """Return the header as it is drawn: where the text is in sight, its first words are not repeated."""
        assert self.turn.thinking.view is not None
        view, words = self.turn.thinking.view, _plain_words(header)
        in_sight = view.open is not OpenState.COLLAPSED and view.summary_by == "extract"
        return words.partition(" — ")[0] if in_sight else words

    def _text_problems(self, name: str, expected: str | UnsetType, rows: list[str]) -> Iterator[str]:
        view = self.turn.thinking.view
        assert view is not None
        first_words_alone = self.policy.header == "preview" and view.status == "done"
        summary_alone = self.policy.header == "summary" and name == "words"
        below_the_header = name == "badge_title" and view.open is not OpenState.EXPANDED
        if expected is UNSET or first_words_alone or summary_alone or below_the_header:
            return
        screen = "\n".join(rows)
        if expected and expected not in screen:
            yield f"{name}: expected {expected!r}, got {rows}"

    def _step_problems(self, expected: list[ExpectedStep] | UnsetType, rows: list[str]) -> Iterator[str]:
        waiting = [] if expected is UNSET else list(expected)
        drawn = {section.key for section in self.turn.thinking.sections}
        screen = "\n".join(rows)
        while waiting:
            step = waiting.pop()
            inside_closed = step.block not in drawn
            for text in (step.label, step.text, step.result):
                shown = step.open == "expanded" or text is step.label
                if text is not UNSET and text not in screen and shown and not inside_closed:
                    yield f"step {step.block}: expected {text!r}, got {rows}"
            if step.open is not UNSET and not inside_closed:
                yield from self._open_problems(step.block, step.open)
            waiting += [] if step.steps is UNSET or inside_closed or step.open == "collapsed" else step.steps

    def _block_problems(self, expected: list[ExpectedBlock] | UnsetType, rows: list[str]) -> Iterator[str]:
        several = len(self.turn.thinking.view.steps) > 1 if self.turn.thinking.view else False
        for block in [] if expected is UNSET else expected:
            if block.open is not UNSET and several:
                yield from self._open_problems(block.block, block.open)
            texts = [block.step, block.label, block.words] if several else []
            texts += [block.placeholder] if block.open == "expanded" or not several else []
            for text in texts:
                if text is not UNSET and text not in "\n".join(rows):
                    yield f"block {block.block}: expected {text!r}, got {rows}"

    def _open_problems(self, number: int, expected: str) -> Iterator[str]:
        panel = self.turn.thinking
        for y in range(panel.row_count):
            if _section_key(panel, y) == number:
                row = panel.row_at(y)
                assert row is not None
                opened = row.text.lstrip().startswith("▼")
                if opened != (expected in ("expanded", "peek")):
                    yield f"step {number}: expected {expected}, got {row.text!r}"


def _row_texts(rows: list[str]) -> list[str]:
    """Return the texts of rows without what only a terminal draws: gutters, icons and separators."""
    texts: list[str] = []
    for row in rows:
        line = row.strip().removeprefix("│ ").removeprefix("→ ")
        if line[:2] in ("▶ ", "▼ "):
            texts += re.split(" · | — |  ", re.sub("^(.) [🔧🤖] ", r"\1 ", line))
        else:
            texts.append(line)
    return texts


def _section_key(panel: ThinkingPanel, y: int) -> int | None:
    place = panel.section_at(y)
    return None if place is None else place[0].key


def _key(which: int | Literal["panel"]) -> int:
    return PANEL if which == "panel" else which


def _drawn_open(rows: list[str], expected: str) -> str:
    """Return how much is drawn, from the chevrons and the rows alone."""
    if not rows or not (rows[0][:1] in "▶▼" or rows[0][-1:] in "›⌄" or rows[0].startswith('"')):
        return "hidden"
    if rows[0].startswith("▶") or rows[0].endswith("›"):
        return "collapsed" if len(rows) == 1 else f"collapsed with {rows[1:]}"
    if expected == "peek":
        return "peek" if len(rows) == 2 and rows[1].startswith("│ ") else f"open with {rows[1:]}"
    return "expanded"


def _plain_header(row: str) -> str:
    """Return a drawn header without what only a terminal draws: chevron, quotes, hint, check and badge."""
    text = row.split("  🔧", maxsplit=1)[0].removesuffix("›").removesuffix("⌄").rstrip()
    text = text.replace(" · ✓ ", " · ")
    text = text.lstrip("▶▼ ").removesuffix(" (click to expand)")
    return _plain_words(text.strip('"'))


def _plain_words(header: str) -> str:
    return header.lstrip("⚙💭⚠ ")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_story_on_the_tui(path: Path) -> None:
    """T1, T2, T3, T4, T5, T7, R089: the words and states of a story, on the terminal user interface."""
    story = load(path)

    async def run() -> None:
        telling = ScreenStory(story)
        async with WidgetApp(telling.turn).run_test(size=(100, 40)) as pilot:
            for n, step in enumerate(story.steps):
                assert await telling.step(pilot, step) == [], f"step {n} of {story.story!r}"

    asyncio.run(run())

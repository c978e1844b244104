"""Runs stories in Python: strict structs for the files, and a runner that lists the differences.

A typo in a story is an error, because no struct takes a field it does not know. See docs/stories.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from thinkaloud.core.canon import Entry, Event
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import (
    PANEL,
    ThinkingView,
    UserChoices,
    Words,
    notice,
    read_policy,
    show_thinking,
    toggle_all,
    toggle_thinking,
    view,
)
from thinkaloud.surfaces.chat.panel_rows import HeaderRow, PassageRow, ThoughtRow, panel_rows

FOLDER = Path(__file__).parents[2] / "stories"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class UserAct(_Strict, frozen=True):
    """A user action: exactly one of these."""

    open: int | Literal["panel"] | UnsetType = UNSET
    close: int | Literal["panel"] | UnsetType = UNSET
    give_back: int | Literal["panel"] | UnsetType = UNSET
    toggle_all: Literal[True] | UnsetType = UNSET
    toggle_thinking: Literal[True] | UnsetType = UNSET
    show_thinking: bool | UnsetType = UNSET


class ExpectedStep(_Strict, frozen=True):
    """The expected texts of one step of the panel."""

    block: int
    kind: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    open: str | UnsetType = UNSET
    steps: list["ExpectedStep"] | UnsetType = UNSET


class ExpectedBlock(_Strict, frozen=True):
    """The expected texts of one thought."""

    block: int
    status: str | UnsetType = UNSET
    step: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    duration: str | UnsetType = UNSET
    words: str | UnsetType = UNSET
    open: str | UnsetType = UNSET
    preview: str | UnsetType = UNSET
    peek: str | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    provenance: str | UnsetType = UNSET


class Expected(_Strict, frozen=True):
    """What the screen must show after a step; fields that are not given are not compared."""

    shown: bool | UnsetType = UNSET
    status: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    header: str | UnsetType = UNSET
    open: str | UnsetType = UNSET
    duration: str | UnsetType = UNSET
    words: str | UnsetType = UNSET
    tokens: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    preview: str | UnsetType = UNSET
    peek: str | UnsetType = UNSET
    badge: str | UnsetType = UNSET
    badge_title: str | UnsetType = UNSET
    marker: str | UnsetType = UNSET
    notice: str | UnsetType = UNSET
    answer: str | UnsetType = UNSET
    rows: list[str] | UnsetType = UNSET
    blocks: list[ExpectedBlock] | UnsetType = UNSET
    steps: list[ExpectedStep] | UnsetType = UNSET


class Step(_Strict, frozen=True):
    """A step: events or a user action, and what the screen must show after it."""

    at_ms: int | None = None
    note: str = ""
    event: Event | UnsetType = UNSET
    events: list[Event] | UnsetType = UNSET
    user: UserAct | UnsetType = UNSET
    expect: Expected = msgspec.field(default_factory=Expected)

    @property
    def all_events(self) -> list[Event]:
        """The events of this step."""
        return ([] if self.event is UNSET else [self.event]) + ([] if self.events is UNSET else self.events)


class Story(_Strict, frozen=True, kw_only=True, rename={"schema": "$schema"}):
    """A script of events and user actions with the words and states that every surface must show."""

    schema: Literal["schema.json"] = "schema.json"
    story: str
    proves: list[str]
    policy: dict[str, str | bool] = msgspec.field(default_factory=dict)
    locale: str = "en-US"
    steps: list[Step]


class StoryRun:
    """The state of one running story, as a surface holds it: a turn, a policy and the user's choices."""

    def __init__(self, story: Story) -> None:
        self._locale = story.locale
        self._policy = read_policy(story.policy)
        self._user_choices = UserChoices()
        self._turn = Turn()

    def step(self, step: Step) -> list[str]:
        """Take one step and say what is not as expected."""
        for event in step.all_events:
            apply(self._turn, Entry(self._turn.seq + 1, event, step.at_ms))
        if step.user is not UNSET:
            self._act(step.user, self._view(step.at_ms))
        return list(self._differences(step.expect, self._view(step.at_ms)))

    @property
    def _choices(self) -> dict[int, bool]:
        return self._user_choices.current(self._policy)

    def _view(self, now_ms: int | None) -> ThinkingView | None:
        return view(self._turn, self._policy, self._locale, now_ms=now_ms, choices=self._choices)

    def _act(self, user: UserAct, thinking: ThinkingView | None) -> None:
        if user.open is not UNSET:
            self._choices[_choice_key(user.open)] = True
        if user.close is not UNSET:
            self._choices[_choice_key(user.close)] = False
        if user.give_back is not UNSET:
            del self._choices[_choice_key(user.give_back)]
        if user.toggle_all is not UNSET and thinking is not None:
            choices = toggle_all(
                [thinking.open, *(block.open for block in thinking.blocks)], range(len(self._turn.blocks))
            )
            self._choices.clear()
            self._choices.update(choices)
        if user.toggle_thinking is not UNSET:
            self._policy = toggle_thinking(self._policy)
        if user.show_thinking is not UNSET:
            self._policy = show_thinking(self._policy, user.show_thinking)

    def _differences(self, expect: Expected, thinking: ThinkingView | None) -> Iterator[str]:
        facts = {
            "shown": thinking is not None,
            "answer": self._turn.answer,
            "notice": notice(self._turn, self._locale),
        }
        if thinking is not None:
            facts |= _screen_facts(thinking) | {"rows": self._rows(thinking)}
        yield from _compare("", expect, facts)

    def _rows(self, thinking: ThinkingView) -> list[str]:
        texts: list[str] = []
        for row in panel_rows(thinking, self._policy, Words(self._locale)):
            if isinstance(row, HeaderRow) and row.key != PANEL:
                texts += [f"{'▼' if row.expanded else '▶'} {row.label}", *row.facts, row.text, row.duration]
            elif isinstance(row, ThoughtRow | PassageRow):
                texts += row.text.split("\n")
        return [text for text in texts if text]


def load(path: Path) -> Story:
    """Read a story; unknown fields are errors."""
    return msgspec.json.decode(path.read_bytes(), type=Story)


def story_problems(story: Story) -> list[str]:
    """Run a story and return the differences, by step and field."""
    run = StoryRun(story)
    return [
        f"{story.story!r}, step {n} (at {step.at_ms} ms): {difference}"
        for n, step in enumerate(story.steps)
        for difference in run.step(step)
    ]


def _choice_key(which: int | Literal["panel"]) -> int:
    return PANEL if which == "panel" else which


def _screen_facts(thinking: ThinkingView) -> dict[str, object]:
    """Return the view with the field names of stories: counts are the text on the screen."""
    screen = msgspec.structs.asdict(thinking) | {"words": thinking.words_text, "tokens": thinking.tokens_text}
    screen["blocks"] = [
        msgspec.structs.asdict(block) | {"words": block.words_text} for block in thinking.blocks
    ]
    screen["steps"] = [msgspec.structs.asdict(step) for step in thinking.steps]
    return screen


def _compare(path: str, expect: _Strict, facts: dict[str, object]) -> Iterator[str]:
    for name in expect.__struct_fields__:
        expected_value = getattr(expect, name)
        if expected_value is UNSET:
            continue
        if name not in facts:
            yield f"{path}{name}: expected {expected_value!r}, but no thinking is shown"
        elif isinstance(expected_value, list) and name != "rows":
            yield from _compare_all(f"{path}{name}", expected_value, facts[name])
        elif facts[name] != expected_value:
            yield f"{path}{name}: expected {expected_value!r}, got {_plain(facts[name])!r}"


def _compare_all(path: str, expected_items: list[_Strict], actual: object) -> Iterator[str]:
    assert isinstance(actual, list | tuple)
    items = [item if isinstance(item, dict) else msgspec.structs.asdict(item) for item in actual]
    if len(items) != len(expected_items):
        yield f"{path}: expected {len(expected_items)}, got {[item['block'] for item in items]}"
        return
    for n, (expect, item) in enumerate(zip(expected_items, items, strict=True)):
        yield from _compare(f"{path}[{n}].", expect, item)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value

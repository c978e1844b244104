"""Properties of random turns: they can be stored, split into smaller deltas, and continued anywhere."""

from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, split_at
from tests.transcript.turn_builders import SIGNATURE, with_joined_text

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import BlockStatus, Turn, apply, fold


class Step(NamedTuple):
    """A possible next event: its kind, and a number and text for its fields."""

    what: str
    number: int
    text: str


STEP_KINDS = [
    "start",
    "start",
    "grow",
    "grow",
    "grow",
    "end",
    "seal",
    "finish",
    "refile",
    "move",
    "usage",
    "note",
]


def steps_with(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Step]]:
    """Generate steps of a turn with these texts."""
    return st.lists(st.builds(Step, st.sampled_from(STEP_KINDS), st.integers(0, 9), texts), max_size=25)


STEPS = steps_with(st.text("ab é💭\n", min_size=1, max_size=6))
ENDINGS = st.sampled_from(
    [*(TurnEnded(finish) for finish in Finish), TurnFailed("cut_off"), TurnFailed("oops")]
)


class TurnGenerator:
    """Builds a valid turn from steps, skips impossible ones, and records the expected texts."""

    def __init__(self) -> None:
        self.events: list[Event] = [TurnStarted("openai_chat", "m")]
        self.texts: list[str] = []
        self.open: list[int] = []

    def add_step(self, step: Step) -> None:
        count = len(self.texts)
        number = step.number % count if count else 0
        if step.what == "start":
            parent = number if count and step.number % 3 == 0 else None
            self._start_block(BlockStarted(count, list(Kind)[step.number % 4], step.text, parent=parent))
        elif step.what == "usage":
            self.events.append(UsageReported(Usage(input=step.number or None, output=number)))
        elif step.what == "note":
            self.events += [NoticeGiven(step.text), SummaryWritten(step.text)]
        elif self.open and step.what in ("grow", "end"):
            self._grow_or_end(step, self.open[step.number % len(self.open)])
        elif count:
            self._change_block(step, number)

    def end(self, ending: TurnEnded | TurnFailed) -> list[Event]:
        return [*self.events, *(BlockEnded(number, interrupted=True) for number in self.open), ending]

    def _start_block(self, event: BlockStarted) -> None:
        self.events.append(event)
        self.open.append(event.block)
        self.texts.append("")

    def _grow_or_end(self, step: Step, number: int) -> None:
        if step.what == "grow":
            self.events.append(BlockGrew(number, step.text))
            self.texts[number] += step.text
        else:
            self.events.append(BlockEnded(number))
            self.open.remove(number)

    def _change_block(self, step: Step, number: int) -> None:
        text = self.texts[number]
        if step.what == "seal":
            self.events.append(BlockSealed(number, SIGNATURE))
        elif step.what == "finish":
            self.events.append(ToolFinished(number, step.text, "no" if step.number % 2 else ""))
        elif step.what == "refile":
            self.events.append(BlockReclassified(number, Kind.TEXT))
        elif step.what == "move" and text:
            tail = 1 + step.number % len(text)
            self.events.append(BlockReclassified(number, Kind.TEXT, tail, len(self.texts)))
            self.texts[number] = text[:-tail]
            self.texts.append(text[-tail:])


def generate_turn(steps: list[Step]) -> TurnGenerator:
    generator = TurnGenerator()
    for step in steps:
        generator.add_step(step)
    return generator


@given(STEPS, ENDINGS)
def test_folded_turn_holds_the_generated_texts(steps: list[Step], ending: TurnEnded | TurnFailed) -> None:
    generator = generate_turn(steps)
    turn = fold(generator.end(ending))
    assert [block.text for block in turn.blocks] == generator.texts
    assert [block.number for block in turn.blocks] == list(range(len(generator.texts)))
    assert turn.outcome is not None
    assert all(block.status is not BlockStatus.RUNNING for block in turn.blocks)


@given(STEPS, ENDINGS, st.none() | st.integers(0, 10**6))
def test_stored_entries_fold_to_the_same_turn(
    steps: list[Step], ending: TurnEnded | TurnFailed, at_ms: int | None
) -> None:
    entries = [Entry(seq, event, at_ms) for seq, event in enumerate(generate_turn(steps).end(ending))]
    stored = b"\n".join(msgspec.json.encode(entry) for entry in entries)
    decoded_entries = [msgspec.json.decode(line, type=Entry) for line in stored.splitlines()]
    assert decoded_entries == entries
    assert apply_all(decoded_entries) == apply_all(entries)


@given(STEPS, ENDINGS, SPLIT_POINTS)
def test_folding_does_not_depend_on_delta_size(
    steps: list[Step], ending: TurnEnded | TurnFailed, split_points: list[int]
) -> None:
    """R018: the result does not depend on how the text is split into deltas."""
    events = generate_turn(steps).end(ending)
    finer_events: list[Event] = []
    for event in events:
        if isinstance(event, BlockGrew):
            finer_events += [BlockGrew(event.block, piece) for piece in split_at(event.text, split_points)]
        else:
            finer_events.append(event)
    turn, finer_turn = fold(events), fold(finer_events)
    finer_turn.seq = turn.seq
    assert with_joined_text(finer_turn) == with_joined_text(turn)


@given(STEPS, st.integers(0, 60))
def test_fold_can_continue_anywhere(steps: list[Step], place: int) -> None:
    events = generate_turn(steps).end(TurnEnded(Finish.STOP))
    first = fold(events[:place])
    assert with_joined_text(fold(events[place:], first)) == with_joined_text(fold(events))


@given(STEPS, ENDINGS)
def test_reading_text_does_not_change_the_turn(steps: list[Step], ending: TurnEnded | TurnFailed) -> None:
    events = generate_turn(steps).end(ending)
    turn = Turn()
    for seq, event in enumerate(events):
        apply(turn, Entry(seq, event))
        assert len(turn.reasoning + turn.answer) <= sum(len(block.text) for block in turn.blocks)
    assert with_joined_text(turn) == with_joined_text(fold(events))


def apply_all(entries: list[Entry]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn

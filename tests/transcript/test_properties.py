"""What holds for every story: it can be stored and told again, cut finer, and broken off anywhere."""

from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.cutting import PLACES, cut
from tests.transcript.scripts import SIGNATURE, joined

from thinkaloud.canon import (
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
from thinkaloud.transcript import Status, Turn, apply, fold


class Wish(NamedTuple):
    """Something that might happen next: a word for it, and numbers and text to fill it in with."""

    what: str
    number: int
    text: str


WORDS = ["start", "start", "grow", "grow", "grow", "end", "seal", "finish", "refile", "move", "usage", "note"]


def wishes(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Wish]]:
    """What might happen in a turn, filled in with these texts."""
    return st.lists(st.builds(Wish, st.sampled_from(WORDS), st.integers(0, 9), texts), max_size=25)


WISHES = wishes(st.text("ab é💭\n", min_size=1, max_size=6))
ENDINGS = st.sampled_from(
    [*(TurnEnded(finish) for finish in Finish), TurnFailed("cut_off"), TurnFailed("oops")]
)


class Teller:
    """Makes a legal story out of wishes, by passing over those that cannot be, and knows what it told."""

    def __init__(self) -> None:
        self.events: list[Event] = [TurnStarted("openai_chat", "m")]
        self.texts: list[str] = []
        self.open: list[int] = []

    def tell(self, wish: Wish) -> None:
        count = len(self.texts)
        number = wish.number % count if count else 0
        if wish.what == "start":
            parent = number if count and wish.number % 3 == 0 else None
            self._started(BlockStarted(count, list(Kind)[wish.number % 4], wish.text, parent=parent))
        elif wish.what == "usage":
            self.events.append(UsageReported(Usage(input=wish.number or None, output=number)))
        elif wish.what == "note":
            self.events += [NoticeGiven(wish.text), SummaryWritten(wish.text)]
        elif self.open and wish.what in ("grow", "end"):
            self._changed(wish, self.open[wish.number % len(self.open)])
        elif count:
            self._corrected(wish, number)

    def end(self, ending: TurnEnded | TurnFailed) -> list[Event]:
        return [*self.events, *(BlockEnded(number, interrupted=True) for number in self.open), ending]

    def _started(self, event: BlockStarted) -> None:
        self.events.append(event)
        self.open.append(event.block)
        self.texts.append("")

    def _changed(self, wish: Wish, number: int) -> None:
        if wish.what == "grow":
            self.events.append(BlockGrew(number, wish.text))
            self.texts[number] += wish.text
        else:
            self.events.append(BlockEnded(number))
            self.open.remove(number)

    def _corrected(self, wish: Wish, number: int) -> None:
        text = self.texts[number]
        if wish.what == "seal":
            self.events.append(BlockSealed(number, SIGNATURE))
        elif wish.what == "finish":
            self.events.append(ToolFinished(number, wish.text, "no" if wish.number % 2 else ""))
        elif wish.what == "refile":
            self.events.append(BlockReclassified(number, Kind.TEXT))
        elif wish.what == "move" and text:
            tail = 1 + wish.number % len(text)
            self.events.append(BlockReclassified(number, Kind.TEXT, tail, len(self.texts)))
            self.texts[number] = text[:-tail]
            self.texts.append(text[-tail:])


def teller(wishes: list[Wish]) -> Teller:
    told = Teller()
    for wish in wishes:
        told.tell(wish)
    return told


@given(WISHES, ENDINGS)
def test_a_turn_holds_what_was_told(wishes: list[Wish], ending: TurnEnded | TurnFailed) -> None:
    told = teller(wishes)
    turn = fold(told.end(ending))
    assert [block.text for block in turn.blocks] == told.texts
    assert [block.number for block in turn.blocks] == list(range(len(told.texts)))
    assert turn.outcome is not None
    assert all(block.status is not Status.RUNNING for block in turn.blocks)


@given(WISHES, ENDINGS, st.none() | st.integers(0, 10**6))
def test_stored_entries_give_the_same_turn(
    wishes: list[Wish], ending: TurnEnded | TurnFailed, at_ms: int | None
) -> None:
    entries = [Entry(seq, event, at_ms) for seq, event in enumerate(teller(wishes).end(ending))]
    stored = b"\n".join(msgspec.json.encode(entry) for entry in entries)
    again = [msgspec.json.decode(line, type=Entry) for line in stored.splitlines()]
    assert again == entries
    assert all_applied(again) == all_applied(entries)


@given(WISHES, ENDINGS, PLACES)
def test_text_may_come_in_any_pieces(
    wishes: list[Wish], ending: TurnEnded | TurnFailed, places: list[int]
) -> None:
    """R018: where one delta ends and the next begins makes no difference."""
    events = teller(wishes).end(ending)
    finer: list[Event] = []
    for event in events:
        if isinstance(event, BlockGrew):
            finer += [BlockGrew(event.block, piece) for piece in cut(event.text, places)]
        else:
            finer.append(event)
    turn, again = fold(events), fold(finer)
    again.seq = turn.seq
    assert joined(again) == joined(turn)


@given(WISHES, st.integers(0, 60))
def test_a_story_may_be_broken_off_anywhere_and_gone_on_with(wishes: list[Wish], place: int) -> None:
    events = teller(wishes).end(TurnEnded(Finish.STOP))
    first = fold(events[:place])
    assert joined(fold(events[place:], first)) == joined(fold(events))


@given(WISHES, ENDINGS)
def test_reading_the_text_at_any_time_changes_nothing(
    wishes: list[Wish], ending: TurnEnded | TurnFailed
) -> None:
    events = teller(wishes).end(ending)
    watched = Turn()
    for seq, event in enumerate(events):
        apply(watched, Entry(seq, event))
        assert len(watched.reasoning + watched.answer) <= sum(len(block.text) for block in watched.blocks)
    assert joined(watched) == joined(fold(events))


def all_applied(entries: list[Entry]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn

"""Cost of `apply` per delta, in short and long turns, with one block and with many."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.timing import Timing, race
from thinkaloud import Entry, Event, Turn, apply
from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Finish, Kind, TurnEnded, TurnStarted

TITLE = "Folding entries into a turn"
MAX_GROWTH = 1.5
_WORD = " word"


class LongTurn(NamedTuple):
    """A turn with many deltas that alternate between blocks, all open until the end."""

    deltas: int
    blocks: int

    def entries(self) -> list[Entry]:
        """The entries of the turn."""
        return [Entry(seq, event, seq) for seq, event in enumerate(self._events())]

    def _events(self) -> Iterator[Event]:
        yield TurnStarted("openai_chat", "example-1")
        yield from (BlockStarted(number, Kind.REASONING) for number in range(self.blocks))
        yield from (BlockGrew(number % self.blocks, _WORD) for number in range(self.deltas))
        yield from (BlockEnded(number) for number in range(self.blocks))
        yield TurnEnded(Finish.STOP)


def measure(*, deltas: tuple[int, ...], blocks: tuple[int, ...], rounds: int) -> Section:
    """Fold turns of several lengths in one block, and turns of one length in several blocks."""
    by_deltas = {count: _measure(LongTurn(count, 1), rounds) for count in deltas}
    by_blocks = {count: _measure(LongTurn(deltas[-1], count), rounds) for count in blocks}
    growth = by_deltas[deltas[-1]].least / by_deltas[deltas[0]].least
    goal = Goal(
        f"`apply` is flat: a delta of {deltas[-1]:,} costs at most {MAX_GROWTH} × one of {deltas[0]:,}",
        f"{growth:.2f} × ({by_deltas[deltas[-1]].least:.0f} ns)",
        growth <= MAX_GROWTH,
    )
    parts = [
        _table("deltas in one block", by_deltas),
        _table(f"blocks open at a time, {deltas[-1]:,} deltas", by_blocks),
    ]
    return Section(TITLE, "\n\n".join(parts), (goal,))


def _measure(turn: LongTurn, rounds: int) -> Timing:
    """Nanoseconds per delta: the time of the turn minus its time without deltas."""
    entries = turn.entries()
    other_entries = [entry for entry in entries if not isinstance(entry.event, BlockGrew)]
    if _fold(entries).reasoning != _WORD * turn.deltas:
        raise WrongAnswer("a turn does not hold the text of its entries")
    timings = race({"all": partial(_fold, entries), "rest": partial(_fold, other_entries)}, rounds)
    return timings["all"].minus(timings["rest"]).per(turn.deltas).times(1e9)


def _fold(entries: list[Entry]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn


def _table(what: str, timings: dict[int, Timing]) -> str:
    first = next(iter(timings.values()))
    rows = (
        [f"{count:,}", f"{nanos.least:.0f}", f"{nanos.median:.0f}", f"{nanos.least / first.least:.2f}"]
        for count, nanos in timings.items()
    )
    return table((what, "ns/delta", "median", "× first"), rows)

"""Checks the history of a fault scenario against its rules. `python -m tests.faults.checker FILE...` runs it.

It knows nothing of the faults, the gateway process or the database: only of what readers received and what is
stored. An entry that a reader received is a promise, unless the reader was told that it is not saved.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
from tests.faults.history import (
    ClientHistory,
    Connected,
    EndReceived,
    EntryReceived,
    History,
    Observation,
    ResetReceived,
    StorageReported,
    TurnHistory,
    WriteHistory,
    read_histories,
)

from thinkaloud.core.canon import Entry, OutOfOrder, TurnEnded, TurnFailed
from thinkaloud.core.transcript import Turn, apply

WHOLE = "whole"
"""The end of an answer that is whole, as clients of compatible endpoints are told it."""
FINAL_STATES = ("done", "failed", "cancelled", "interrupted")
_entry_decoder = msgspec.json.Decoder(Entry)


class Violation(msgspec.Struct, frozen=True):
    """A broken rule: which one, where, and what was found."""

    rule: str
    where: str
    detail: str


class ReaderCopy:
    """What one reader has, made from what it received."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self.lines: list[str] = []
        """Its copy of the entries, as it shows them."""
        self.promised: dict[int, str] = {}
        """Every entry that it received as saved, also before a reset."""
        self.doubled: list[int] = []
        self.skipped: list[int] = []
        self.states: list[str] = []
        self._unsaved: dict[int, str] | None = None
        for observation in observations:
            self._take(observation)

    def _take(self, observation: Observation) -> None:
        match observation:
            case EntryReceived(id=number, line=line):
                self._take_entry(number, line)
            case StorageReported(saved=False):
                self._unsaved = {}
            case StorageReported(saved=True):
                self.promised |= self._unsaved or {}
                self._unsaved = None
            case ResetReceived():
                self.lines.clear()
            case EndReceived(state=state):
                self.states.append(state)
            case Connected():
                self._unsaved = None  # every connection reports anew that entries are not saved

    def _take_entry(self, number: int, line: str) -> None:
        if number < len(self.lines):
            self.doubled.append(number)
            return
        if number > len(self.lines):
            self.skipped.append(number)
        self.lines += [""] * (number - len(self.lines)) + [line]
        if self._unsaved is None:
            self.promised[number] = line
        else:
            self._unsaved[number] = line


Rule = Callable[[TurnHistory, list[ReaderCopy]], Iterator[str]]


def lost(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """Every entry that a reader received as saved is stored."""
    for copy in copies:
        for number in copy.promised:
            if number >= len(turn.stored):
                yield f"entry {number} was received and is not stored"


def changed(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """Every entry that a reader has is stored with the same bytes."""
    for copy in copies:
        for number, line in {**copy.promised, **dict(enumerate(copy.lines))}.items():
            if line and number < len(turn.stored) and line != turn.stored[number]:
                yield f"entry {number} was received as {line} and is stored as {turn.stored[number]}"


def doubled(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """No reader receives an entry twice, over all of its connections."""
    for copy in copies:
        for number in copy.doubled:
            yield f"entry {number} was received twice"


def skipped(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """Every reader receives the entries in the order of their numbers, without a gap."""
    for copy in copies:
        for number in copy.skipped:
            yield f"entry {number} was received before the one in front of it"


def ended(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """Every turn ends once, with its last entry, and is in a final state."""
    numbers = [entry.seq for entry in _entries(turn) if isinstance(entry.event, TurnEnded | TurnFailed)]
    if numbers != [len(turn.stored) - 1]:
        yield f"{len(turn.stored)} entries are stored, and the turn ends at {numbers}"
    if turn.state not in FINAL_STATES:
        yield f"the turn is still {turn.state or 'without a state'}"


def complete(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """Every reader learns the end, once, with the state that is stored, and then has all entries."""
    for copy in copies:
        if copy.states not in ([turn.state], []):
            yield f"a reader was told {copy.states}, and the state is {turn.state}"
        if len(copy.lines) != len(turn.stored):
            yield f"a reader has {len(copy.lines)} of {len(turn.stored)} entries"


def folded(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """The entries fold to the turn whose text is stored as a message."""
    folded_turn = Turn()
    try:
        for entry in _entries(turn):
            apply(folded_turn, entry)
    except OutOfOrder as error:
        yield str(error)
    if (folded_turn.reasoning, folded_turn.answer) != (turn.stored_thought, turn.stored_answer):
        yield "the entries do not give the text of the stored message"


def exact(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """The text is what the provider sent: all of it if the turn is done, else a beginning of it."""
    sent_texts = (turn.sent_thought, turn.sent_answer)
    for sent, stored in zip(sent_texts, (turn.stored_thought, turn.stored_answer), strict=True):
        if not sent.startswith(stored) or (turn.state == "done" and stored != sent):
            yield f"{len(stored)} characters are stored and {len(sent)} were sent; they differ"


def in_time(turn: TurnHistory, copies: list[ReaderCopy]) -> Iterator[str]:
    """The times of the entries never go back."""
    times_ms = [entry.at_ms for entry in _entries(turn) if entry.at_ms is not None]
    for number, (before_ms, after_ms) in enumerate(pairwise(times_ms), 1):
        if after_ms < before_ms:
            yield f"entry {number} is {before_ms - after_ms} ms before the one in front of it"


RULES: tuple[Rule, ...] = (lost, changed, doubled, skipped, ended, complete, folded, exact, in_time)


def created_once(write: WriteHistory) -> Iterator[str]:
    """What was acknowledged is there once, and what was not is there once or not at all."""
    if write.found > 1 or (write.acknowledged and not write.found):
        answer = "acknowledged" if write.acknowledged else "not acknowledged"
        yield f"{answer}, and there {write.found} times"


def told_one_end(client: ClientHistory) -> Iterator[str]:
    """A client of a compatible endpoint is told one end; none only if it was cut off."""
    if len(client.ends) > 1 or not (client.ends or client.may_break):
        yield f"the client was told {client.ends or 'no end'}"


def told_stored(client: ClientHistory) -> Iterator[str]:
    """A client that is told that its answer is whole finds this answer stored, and its turn done."""
    if WHOLE not in client.ends:
        return
    if client.state != "done":
        yield f"the client was told that its answer is whole, and the state is {client.state or 'unknown'}"
    if (client.thought, client.answer) != (client.stored_thought, client.stored_answer):
        yield "the client was told that its answer is whole, and another text is stored"


def told_exact(client: ClientHistory) -> Iterator[str]:
    """What a client receives is what the provider sent, from its beginning."""
    for sent, received in ((client.sent_thought, client.thought), (client.sent_answer, client.answer)):
        if not sent.startswith(received):
            yield f"{len(received)} characters were received, which are no beginning of what was sent"


CLIENT_RULES = (told_one_end, told_stored, told_exact)


def check(history: History) -> list[Violation]:
    """Return all violations of one history."""
    if isinstance(history, WriteHistory):
        return [Violation(created_once.__name__, history.name, detail) for detail in created_once(history)]
    if isinstance(history, ClientHistory):
        where = f"{history.name} {history.turn}"
        return [Violation(rule.__name__, where, detail) for rule in CLIENT_RULES for detail in rule(history)]
    copies = [ReaderCopy(observations) for observations in history.readers]
    return [
        Violation(rule.__name__, history.turn, detail) for rule in RULES for detail in rule(history, copies)
    ]


def entries_received(history: History) -> int:
    """Return how many entries all readers of a turn received."""
    if not isinstance(history, TurnHistory):
        return 0
    return sum(isinstance(item, EntryReceived) for reader in history.readers for item in reader)


def _entries(turn: TurnHistory) -> list[Entry]:
    """Return the stored entries, without those that a gap left out."""
    return [_entry_decoder.decode(line) for line in turn.stored if line]


def main(paths: list[str]) -> int:
    """Check the histories in files, print every violation, and return 1 if there is one."""
    kinds: Counter[str] = Counter()
    received = violations = 0
    for path in paths:
        for history in read_histories(Path(path)):
            kinds[type(history).__name__] += 1
            received += entries_received(history)
            for violation in check(history):
                violations += 1
                print(f"{path}: {violation.rule}: {violation.where}: {violation.detail}")
    print(
        f"{kinds['TurnHistory']} turns, {received} entries received, {kinds['WriteHistory']} writes, "
        f"{kinds['ClientHistory']} clients, {violations} violations"
    )
    return 1 if violations or not kinds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What happened in one round of a fault scenario, as plain values that can be written to a file.

Readers write down what they received, in order. Afterwards a new reader writes down what is stored. Nothing
is judged here; that is the task of `checker`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec


class Connected(msgspec.Struct, frozen=True, tag="connected"):
    """The reader connected, for the first time or again."""


class EntryReceived(msgspec.Struct, frozen=True, tag="entry"):
    """The reader received an entry. `line` is its exact text."""

    id: int
    line: str


class StorageReported(msgspec.Struct, frozen=True, tag="storage"):
    """The reader was told whether what it receives from now on is saved."""

    saved: bool


class ResetReceived(msgspec.Struct, frozen=True, tag="reset"):
    """The reader was told to forget its copy: the entries are sent again from the first."""


class EndReceived(msgspec.Struct, frozen=True, tag="end"):
    """The reader was told that the turn has ended, and in which state."""

    state: str


Observation = Connected | EntryReceived | StorageReported | ResetReceived | EndReceived


class TurnHistory(msgspec.Struct, frozen=True, kw_only=True, tag="turn"):
    """One turn: what the provider sent, what each reader received, and what is stored."""

    turn: str
    sent_thought: str
    sent_answer: str
    """The whole text that the provider sends if nothing breaks."""
    readers: tuple[tuple[Observation, ...], ...]
    """What each reader received, in order, over all of its connections."""
    stored: tuple[str, ...]
    """The entries that a new reader gets when all is over."""
    state: str
    """The state that the gateway gives when all is over."""
    stored_thought: str
    stored_answer: str
    """The text of the stored message. It is kept apart from the entries."""


class WriteHistory(msgspec.Struct, frozen=True, kw_only=True, tag="write"):
    """One request that creates something, perhaps repeated, and what it has created."""

    name: str
    acknowledged: bool
    """Whether any of the attempts got a successful response."""
    found: int
    """How many are there when all is over."""


class ClientHistory(msgspec.Struct, frozen=True, kw_only=True, tag="client"):
    """One request to a compatible endpoint: what its client received and was told, and what is stored."""

    name: str
    turn: str
    """Empty if the response had not begun."""
    sent_thought: str
    sent_answer: str
    """The whole text that the provider sends if nothing breaks."""
    thought: str
    answer: str
    """The text that the client received."""
    ends: tuple[str, ...]
    """The ends that it was told: `whole` and `error`."""
    may_break: bool
    """Whether it may be told no end, because its gateway was killed or its token revoked."""
    state: str
    stored_thought: str
    stored_answer: str


History = TurnHistory | WriteHistory | ClientHistory

_decoder: msgspec.json.Decoder[History] = msgspec.json.Decoder(History)


def append_histories(path: Path, histories: Iterable[History]) -> None:
    """Append histories to a file, one JSON object on each line."""
    with path.open("ab") as file:
        file.writelines(msgspec.json.encode(history) + b"\n" for history in histories)


def read_histories(path: Path) -> Iterator[History]:
    """Yield the histories of a file."""
    with path.open("rb") as file:
        yield from map(_decoder.decode, file)

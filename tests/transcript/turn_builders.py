"""Short ways to write the entries of a turn."""

from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Kind,
    Seal,
    SealForm,
    ToolFinished,
)
from thinkaloud.transcript import Turn, apply

SIGNATURE = Seal("anthropic_messages", SealForm.SIGNATURE, "c2lnbmVk", "claude")


def timed_turn(*timed_events: tuple[int | None, Event]) -> Turn:
    """A turn of events, each with its moment."""
    turn = Turn()
    for seq, (at_ms, event) in enumerate(timed_events):
        apply(turn, Entry(seq, event, at_ms))
    return turn


def with_joined_text(turn: Turn) -> Turn:
    """The same turn with each text in one piece, so that two turns can be compared."""
    for turn_block in turn.blocks:
        turn_block.pieces = [turn_block.text] if turn_block.text else []
    return turn


def block(number: int, kind: Kind, *texts: str, parent: int | None = None) -> list[Event]:
    """A whole block that came in these pieces."""
    pieces = [BlockGrew(number, text) for text in texts]
    return [BlockStarted(number, kind, parent=parent), *pieces, BlockEnded(number)]


def thought(number: int, *texts: str) -> list[Event]:
    return block(number, Kind.REASONING, *texts)


def answer(number: int, *texts: str) -> list[Event]:
    return block(number, Kind.TEXT, *texts)


def tool_call(number: int) -> list[Event]:
    """A tool call whose result is not there yet."""
    return block(number, Kind.TOOL_CALL, "{}")


def finished_tool_call(number: int) -> list[Event]:
    """A tool call with its result."""
    return [*tool_call(number), ToolFinished(number, "4")]


def sealed_thought(number: int) -> list[Event]:
    """A thought of which only the seal was sent."""
    return [BlockStarted(number, Kind.REASONING), BlockSealed(number, SIGNATURE), BlockEnded(number)]

"""Builders for the events of a turn."""

from thinkaloud.core.canon import (
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
from thinkaloud.core.transcript import Turn, apply

SIGNATURE = Seal("anthropic_messages", SealForm.SIGNATURE, "c2lnbmVk", "claude")


def timed_turn(*timed_events: tuple[int | None, Event]) -> Turn:
    """Fold events with timestamps into a turn."""
    turn = Turn()
    for seq, (at_ms, event) in enumerate(timed_events):
        apply(turn, Entry(seq, event, at_ms))
    return turn


def with_joined_text(turn: Turn) -> Turn:
    """Join the text pieces of each block, so that two turns can be compared."""
    for turn_block in turn.blocks:
        turn_block.pieces = [turn_block.text] if turn_block.text else []
    return turn


def block(number: int, kind: Kind, *texts: str, parent: int | None = None) -> list[Event]:
    """Return the events of a complete block whose text arrives in these pieces."""
    pieces = [BlockGrew(number, text) for text in texts]
    return [BlockStarted(number, kind, parent=parent), *pieces, BlockEnded(number)]


def thought(number: int, *texts: str) -> list[Event]:
    return block(number, Kind.REASONING, *texts)


def answer(number: int, *texts: str) -> list[Event]:
    return block(number, Kind.TEXT, *texts)


def tool_call(number: int) -> list[Event]:
    """Return the events of a tool call without a result."""
    return block(number, Kind.TOOL_CALL, "{}")


def finished_tool_call(number: int) -> list[Event]:
    """Return the events of a tool call with its result."""
    return [*tool_call(number), ToolFinished(number, "4")]


def sealed_thought(number: int) -> list[Event]:
    """Return the events of a reasoning block with a seal and no text."""
    return [BlockStarted(number, Kind.REASONING), BlockSealed(number, SIGNATURE), BlockEnded(number)]

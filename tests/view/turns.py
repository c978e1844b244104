"""Builds turns for tests: events with or without times."""

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import Turn, apply, fold

STOP = TurnEnded(Finish.STOP)


def timed_turn(*script: tuple[int, Event]) -> Turn:
    """Return a turn from events with their times."""
    turn = Turn()
    for seq, (at_ms, event) in enumerate(script):
        apply(turn, Entry(seq, event, at_ms))
    return turn


def untimed_turn(*events: Event) -> Turn:
    """Return a turn from events without times."""
    return fold(events)


def thought_events(block: int, text: str, parent: int | None = None) -> list[Event]:
    """Return the events of a complete thought."""
    return [BlockStarted(block, Kind.REASONING, parent=parent), BlockGrew(block, text), BlockEnded(block)]


def answer_events(block: int, text: str, parent: int | None = None) -> list[Event]:
    """Return the events of a complete text block."""
    return [BlockStarted(block, Kind.TEXT, parent=parent), BlockGrew(block, text), BlockEnded(block)]


def sealed_thought_events(block: int, *forms: SealForm) -> list[Event]:
    """Return the events of a thought with seals and no text."""
    seals = [BlockSealed(block, Seal("anthropic_messages", form, "c2VhbA==")) for form in forms]
    return [BlockStarted(block, Kind.REASONING), *seals, BlockEnded(block)]


def tool_call_events(
    block: int, name: str, text: str = "", result: str = "", parent: int | None = None
) -> list[Event]:
    """Return the events of a finished tool call."""
    started = BlockStarted(block, Kind.TOOL_CALL, name, parent=parent)
    return [started, BlockGrew(block, text), BlockEnded(block), ToolFinished(block, result)]


def assistant_call_events(block: int, name: str, task: str = "", parent: int | None = None) -> list[Event]:
    """Return the events of an assistant call that still runs."""
    return [BlockStarted(block, Kind.ASSISTANT_CALL, name, parent=parent), BlockGrew(block, task)]


def timed_thought(text: str = "Let me see.", start_ms: int = 0, end_ms: int = 4200) -> Turn:
    """Return a live turn with one thought between two times."""
    return timed_turn(
        (start_ms, TurnStarted()),
        (start_ms, BlockStarted(0, Kind.REASONING)),
        (start_ms, BlockGrew(0, text)),
        (end_ms, BlockEnded(0)),
    )

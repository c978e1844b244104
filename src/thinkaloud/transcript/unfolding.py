"""A turn back into entries that fold to it again: what a file keeps of it.

Text comes in one piece and a thought that was reclassified is told as what it became; all else is as it was.
"""

from collections.abc import Iterator
from typing import Literal, cast

from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.transcript.turn import Block, Ending, Outcome, Status, Turn

_Told = tuple[Event, int | None]
"""An event and its moment."""

_FINISHES = {
    Ending.CANCELLED: Finish.CANCELLED,
    Ending.REFUSED: Finish.REFUSAL,
    Ending.CUT_OFF: Finish.LENGTH,
    Ending.CALLED_TOOLS: Finish.TOOL_CALLS,
}
"""A finish that leads to this ending; any other ending follows from the blocks."""


def unfold(turn: Turn) -> list[Entry]:
    """Entries that fold to this turn."""
    return [Entry(seq, event, at_ms) for seq, (event, at_ms) in enumerate(_told(turn))]


def stamped(turn: Turn) -> bool:
    """Whether any moment of the turn is known."""
    return any(entry.at_ms is not None for entry in unfold(turn))


def _told(turn: Turn) -> Iterator[_Told]:
    yield TurnStarted(turn.dialect, turn.model), turn.started_ms
    for block in turn.blocks:
        yield from _block(block)
    if turn.summary_by:
        by = cast(Literal["provider", "extract", "model"], turn.summary_by)
        yield SummaryWritten(turn.summary, by), None
    if turn.usage != Usage():
        yield UsageReported(turn.usage), None
    for notice in turn.notices:
        yield notice, None
    if turn.outcome is not None:
        yield _end(turn, turn.outcome), turn.ended_ms


def _block(block: Block) -> Iterator[_Told]:
    started = BlockStarted(
        block.number,
        block.kind,
        block.name,
        block.call_id,
        block.assistant_id,
        block.parent,
        block.provenance,
    )
    yield started, block.started_ms
    if block.text:
        yield BlockGrew(block.number, block.text), None
    for seal in block.seals:
        yield BlockSealed(block.number, seal), None
    if block.result is not None:
        yield ToolFinished(block.number, block.result, block.error), block.ended_ms
    if block.status is not Status.RUNNING:
        yield BlockEnded(block.number, block.status is Status.INTERRUPTED), block.ended_ms


def _end(turn: Turn, outcome: Outcome) -> Event:
    broke_off = outcome.ending is Ending.CUT_OFF and outcome.cause == "cut_off"
    if (outcome.ending is Ending.FAILED or broke_off) and turn.message is None:
        return TurnFailed(outcome.cause, outcome.message)
    return TurnEnded(_FINISHES.get(outcome.ending, Finish.STOP), outcome.cause, turn.message)

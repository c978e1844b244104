"""Ends a live turn from outside: open blocks are marked interrupted and their text is kept.

A call that is still running gets an error as its result, because providers reject a conversation that
continues without a result for every call.
"""

from thinkaloud.core.canon import BlockEnded, Event, ToolFinished, TurnEnded, TurnFailed
from thinkaloud.core.transcript.turn import BlockStatus, Turn

STOPPED_ERROR = "The call was stopped before it returned a result."


def events_to_end_turn(turn: Turn, end: TurnEnded | TurnFailed) -> list[Event]:
    """Return the events that end a live turn with `end`; none if the turn has ended."""
    if not turn.live:
        return []
    return [*events_to_end_blocks(turn), end]


def events_to_end_blocks(turn: Turn, parent: int | None = None) -> list[Event]:
    """Return the events that end all open blocks of a turn, or below the call `parent`, innermost first."""
    reply_calls = [call for reply in turn.replies for call in reply.calls]
    events: list[Event] = []
    for block in reversed(turn.blocks):
        if parent is not None and (block.number == parent or not turn.within(block.number, parent)):
            continue
        if block.status is BlockStatus.RUNNING:
            events.append(BlockEnded(block.number, interrupted=True))
        elif block.awaiting_result and block.number in reply_calls:
            events.append(ToolFinished(block.number, error=STOPPED_ERROR))
    return events

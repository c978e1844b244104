"""How a turn is ended from outside: what was still open was interrupted, and what was said stands.

A call that somebody was still at came to nothing, and says so: whoever goes on with the conversation has a
result for it, as every provider demands.
"""

from thinkaloud.canon import BlockEnded, Event, ToolFinished, TurnEnded, TurnFailed
from thinkaloud.transcript.turn import BlockStatus, Turn

STOPPED_ERROR = "It was stopped before it came back."


def events_to_end_turn(turn: Turn, end: TurnEnded | TurnFailed) -> list[Event]:
    """The events that bring a live turn to this end; none where it is over already."""
    if not turn.live:
        return []
    return [*events_to_end_blocks(turn), end]


def events_to_end_blocks(turn: Turn, parent: int | None = None) -> list[Event]:
    """The events that end all that is open in a turn, or below one of its calls, the innermost first."""
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

"""How a turn is ended from outside: what was still open was interrupted, and what was said stands.

A call that somebody was still at came to nothing, and says so: whoever goes on with the conversation has a
result for it, as every provider demands.
"""

from thinkaloud.canon import BlockEnded, Event, ToolFinished, TurnEnded, TurnFailed
from thinkaloud.transcript.turn import Status, Turn

STOPPED = "It was stopped before it came back."


def stopped(turn: Turn, end: TurnEnded | TurnFailed) -> list[Event]:
    """The events that bring a live turn to this end; none where it is over already."""
    if not turn.live:
        return []
    return [*given_up(turn), end]


def given_up(turn: Turn, parent: int | None = None) -> list[Event]:
    """The events that end all that is open in a turn, or below one of its calls, the innermost first."""
    started = [call for reply in turn.replies for call in reply.calls]
    events: list[Event] = []
    for block in reversed(turn.blocks):
        if parent is not None and (block.number == parent or not turn.within(block.number, parent)):
            continue
        if block.status is Status.RUNNING:
            events.append(BlockEnded(block.number, interrupted=True))
        elif block.awaited and block.number in started:
            events.append(ToolFinished(block.number, error=STOPPED))
    return events

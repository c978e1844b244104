"""How a turn is ended from outside: what was still open was interrupted, and what was said stands."""

from thinkaloud.canon import BlockEnded, Event, TurnEnded, TurnFailed
from thinkaloud.transcript.turn import Status, Turn


def stopped(turn: Turn, end: TurnEnded | TurnFailed) -> list[Event]:
    """The events that bring a live turn to this end; none where it is over already."""
    if not turn.live:
        return []
    running = [block.number for block in turn.blocks if block.status is Status.RUNNING]
    return [*(BlockEnded(number, interrupted=True) for number in running), end]

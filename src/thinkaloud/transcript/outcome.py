"""How a turn came out, from what was said and from why it stopped.

A provider's "stop" says little: the same word ends an answer, a thought without an answer, and nothing
at all. The outcome looks at the blocks as well.
"""

from thinkaloud.canon import Finish, Kind, TurnEnded, TurnFailed
from thinkaloud.transcript.turn import CALLS, Ending, Outcome, Turn


def of_end(turn: Turn, event: TurnEnded) -> Outcome:
    """The outcome of a turn that came to its own end; `cause` is the provider's word for it."""
    return Outcome(_ending(turn, event.finish), event.said or event.finish.value)


def of_failure(event: TurnFailed) -> Outcome:
    """The outcome of a turn that broke: cut off when the stream just stopped, failed otherwise."""
    ending = Ending.CUT_OFF if event.code == "cut_off" else Ending.FAILED
    return Outcome(ending, event.code, event.message)


def _ending(turn: Turn, finish: Finish) -> Ending:
    match finish:
        case Finish.CANCELLED:
            return Ending.CANCELLED
        case Finish.REFUSAL:
            return Ending.REFUSED
        case Finish.LENGTH:
            return Ending.CUT_OFF
    if any(not block.blank for block in turn.top(Kind.TEXT)) and finish is not Finish.TOOL_CALLS:
        return Ending.ANSWERED
    if _calls_are_left(turn):
        return Ending.CALLED_TOOLS
    if any(not block.blank for block in turn.top(Kind.TEXT)):
        return Ending.ANSWERED
    thought = any(block.seals or not block.blank for block in turn.top(Kind.REASONING))
    return Ending.REASONING_ONLY if thought else Ending.EMPTY


def _calls_are_left(turn: Turn) -> bool:
    """Whether somebody has calls to answer. In a turn of several replies one that broke off leaves none."""
    if not turn.replies:
        return any(block.result is None for block in turn.top(*CALLS))
    left = (number for reply in turn.replies if reply.parent is None for number in reply.calls)
    return any(turn.blocks[number].awaited for number in left)

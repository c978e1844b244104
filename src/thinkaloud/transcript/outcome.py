"""How a turn came out, from what was said and from why it stopped.

A provider's "stop" says little: the same word ends an answer, a thought without an answer, and nothing
at all. The outcome looks at the blocks as well.
"""

from thinkaloud.canon import Finish, Kind, TurnEnded, TurnFailed
from thinkaloud.transcript.turn import CALL_KINDS, Ending, Outcome, Turn


def outcome_of_end(turn: Turn, event: TurnEnded) -> Outcome:
    """The outcome of a turn that came to its own end; `cause` is the provider's word for it."""
    return Outcome(_ending(turn, event.finish), event.said or event.finish.value)


def outcome_of_failure(event: TurnFailed) -> Outcome:
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
    if any(not block.blank for block in turn.own_blocks(Kind.TEXT)) and finish is not Finish.TOOL_CALLS:
        return Ending.ANSWERED
    if _has_pending_calls(turn):
        return Ending.CALLED_TOOLS
    if any(not block.blank for block in turn.own_blocks(Kind.TEXT)):
        return Ending.ANSWERED
    has_reasoning = any(block.seals or not block.blank for block in turn.own_blocks(Kind.REASONING))
    return Ending.REASONING_ONLY if has_reasoning else Ending.EMPTY


def _has_pending_calls(turn: Turn) -> bool:
    """Whether somebody has calls to answer. In a turn of several replies one that broke off leaves none."""
    if not turn.replies:
        return any(block.result is None for block in turn.own_blocks(*CALL_KINDS))
    call_numbers = (number for reply in turn.replies if reply.parent is None for number in reply.calls)
    return any(turn.blocks[number].awaiting_result for number in call_numbers)

"""How the thinking of a turn stands, as facts that every view shares: what is there to show, is it going on.

A thought that can be neither read nor proved is no thought: a blank block counts only with a seal.
Thinking is over as soon as the thought is, not when the turn is; but while tools or assistants work,
and until something follows them, it goes on.
"""

from enum import StrEnum

from thinkaloud.canon import Kind, SealForm
from thinkaloud.transcript import CALLS, Block, Ending, Status, Turn


class Standing(StrEnum):
    """Where thinking stands, for a whole turn or for one step of it."""

    THINKING = "thinking"
    DONE = "done"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class Unseen(StrEnum):
    """Why a thought has no text."""

    ENCRYPTED = "encrypted"
    REDACTED = "redacted"
    WITHHELD = "withheld"


def shown(block: Block) -> bool:
    """Whether a block is a step of the thinking that a person should know of."""
    if block.kind is Kind.REASONING:
        return bool(block.seals) or not block.blank
    return block.kind in CALLS


def thoughts(turn: Turn) -> list[Block]:
    """The turn's own thoughts that are to be shown, in order."""
    return [block for block in turn.top(Kind.REASONING) if shown(block)]


def unseen(block: Block) -> Unseen | None:
    """Why there is nothing to read in a sealed thought; None for one that can be read."""
    if not block.seals or not block.blank:
        return None
    forms = {seal.form for seal in block.seals}
    if SealForm.REDACTED in forms:
        return Unseen.REDACTED
    return Unseen.ENCRYPTED if SealForm.ENCRYPTED in forms else Unseen.WITHHELD


def standing_of(turn: Turn) -> Standing:
    """Where the turn's thinking stands. An answer cut off after the thinking was done leaves it done."""
    if turn.outcome is None:
        return Standing.THINKING if _goes_on(turn) else Standing.DONE
    match turn.outcome.ending:
        case Ending.FAILED:
            return Standing.ERROR
        case Ending.CUT_OFF | Ending.CANCELLED if _thinking_cut(turn):
            return Standing.INTERRUPTED
    return Standing.DONE


def step_standing(block: Block, *, live: bool, whole: Standing) -> Standing:
    """Where one step stands; one that the turn's end broke off stands as the `whole` turn does."""
    match block.status:
        case Status.ERROR:
            return Standing.ERROR
        case Status.INTERRUPTED:
            return Standing.INTERRUPTED if live else whole
    return Standing.THINKING if live and _running(block) else Standing.DONE


def connection_lost(turn: Turn) -> bool:
    """Whether the stream just stopped, without a word from the provider."""
    ending = turn.outcome
    return ending is not None and ending.ending is Ending.CUT_OFF and ending.cause == "cut_off"


def led_nowhere(turn: Turn) -> bool:
    """Whether the turn is over and its thoughts are all there is to read."""
    if turn.outcome is None or any(not block.blank for block in turn.top(Kind.TEXT)):
        return False
    return turn.outcome.ending in (Ending.REASONING_ONLY, Ending.CUT_OFF)


def last_under_way(turn: Turn) -> int | None:
    """The turn's last step, unless it is a call that came back: what went on when the turn was cut."""
    last = next((block for block in reversed(turn.top()) if shown(block)), None)
    return None if last is None or last.result is not None else last.number


def _goes_on(turn: Turn) -> bool:
    """Whether a step of a live turn is running, or the last thing that happened in it is a call."""
    told = [block for block in turn.top() if shown(block) or not block.blank]
    if any(_running(block) for block in told if shown(block)):
        return True
    return bool(told) and told[-1].kind in CALLS


def _running(block: Block) -> bool:
    return block.status is Status.RUNNING or block.awaited


def _thinking_cut(turn: Turn) -> bool:
    said = any(not block.blank for block in turn.top(Kind.TEXT))
    return not said or any(block.status is Status.INTERRUPTED for block in turn.top() if shown(block))

"""How the thinking of a turn stands, as facts that every view shares: what is there to show, is it going on.

A thought that can be neither read nor proved is no thought: a blank block counts only with a seal.
Thinking is over as soon as the thought is, not when the turn is; but while tools or assistants work,
and until something follows them, it goes on.

How long the thinking took, as far as the stamps say.

A thought that came in one burst says nothing about how long it took, so its time is unknown; the time
of the whole turn may still be known, approximately, from how long its first other word took to come.

All that one look at a turn depends on, found out once and handed to whoever builds a part of the view.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from thinkaloud.canon import Kind, SealForm
from thinkaloud.transcript import CALL_KINDS, Block, BlockStatus, Ending, ThinkingTime, Turn, thinking_time
from thinkaloud.transcript.timing import BURST_MS
from thinkaloud.view.policy import OpenState, Policy, block_choice, open_state
from thinkaloud.view.words import Words


class ThinkingState(StrEnum):
    """Where thinking stands, for a whole turn or for one step of it."""

    THINKING = "thinking"
    DONE = "done"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class HiddenReason(StrEnum):
    """Why a thought has no text."""

    ENCRYPTED = "encrypted"
    REDACTED = "redacted"
    WITHHELD = "withheld"


def visible(block: Block) -> bool:
    """Whether a block is a step of the thinking that a person should know of."""
    if block.kind is Kind.REASONING:
        return bool(block.seals) or not block.blank
    return block.kind in CALL_KINDS


def visible_thoughts(turn: Turn) -> list[Block]:
    """The turn's own thoughts that are to be shown, in order."""
    return [block for block in turn.own_blocks(Kind.REASONING) if visible(block)]


def hidden_reason(block: Block) -> HiddenReason | None:
    """Why there is nothing to read in a sealed thought; None for one that can be read."""
    if not block.seals or not block.blank:
        return None
    forms = {seal.form for seal in block.seals}
    if SealForm.REDACTED in forms:
        return HiddenReason.REDACTED
    return HiddenReason.ENCRYPTED if SealForm.ENCRYPTED in forms else HiddenReason.WITHHELD


def thinking_state(turn: Turn) -> ThinkingState:
    """Where the turn's thinking stands. An answer cut off after the thinking was done leaves it done."""
    if turn.outcome is None:
        return ThinkingState.THINKING if _in_progress(turn) else ThinkingState.DONE
    match turn.outcome.ending:
        case Ending.FAILED:
            return ThinkingState.ERROR
        case Ending.CUT_OFF | Ending.CANCELLED if _interrupted_while_thinking(turn):
            return ThinkingState.INTERRUPTED
    return ThinkingState.DONE


def step_state(block: Block, *, live: bool, turn_state: ThinkingState) -> ThinkingState:
    """Where one step stands; one that the turn's end broke off stands as the `whole` turn does."""
    match block.status:
        case BlockStatus.ERROR:
            return ThinkingState.ERROR
        case BlockStatus.INTERRUPTED:
            return ThinkingState.INTERRUPTED if live else turn_state
    return ThinkingState.THINKING if live and _running(block) else ThinkingState.DONE


def connection_lost(turn: Turn) -> bool:
    """Whether the stream just stopped, without a word from the provider."""
    outcome = turn.outcome
    return outcome is not None and outcome.ending is Ending.CUT_OFF and outcome.cause == "cut_off"


def ended_without_answer(turn: Turn) -> bool:
    """Whether the turn is over and its thoughts are all there is to read."""
    if turn.outcome is None or any(not block.blank for block in turn.own_blocks(Kind.TEXT)):
        return False
    return turn.outcome.ending in (Ending.REASONING_ONLY, Ending.CUT_OFF)


def interrupted_step(turn: Turn) -> int | None:
    """The turn's last step, unless it is a call that came back: what went on when the turn was cut."""
    last = next((block for block in reversed(turn.own_blocks()) if visible(block)), None)
    return None if last is None or last.result is not None else last.number


def _in_progress(turn: Turn) -> bool:
    """Whether a step of a live turn is running, or the last thing that happened in it is a call."""
    steps = [block for block in turn.own_blocks() if visible(block) or not block.blank]
    if any(_running(block) for block in steps if visible(block)):
        return True
    return bool(steps) and steps[-1].kind in CALL_KINDS


def _running(block: Block) -> bool:
    return block.status is BlockStatus.RUNNING or block.awaiting_result


def _interrupted_while_thinking(turn: Turn) -> bool:
    answered = any(not block.blank for block in turn.own_blocks(Kind.TEXT))
    return not answered or any(
        block.status is BlockStatus.INTERRUPTED for block in turn.own_blocks() if visible(block)
    )


def turn_time(turn: Turn, now_ms: int | None = None) -> ThinkingTime | None:
    """The thinking time of the turn; `now_ms` lets a live thought count."""
    time = thinking_time(turn, now_ms=now_ms)
    return time if time is not None and (time.approximate or time.ms >= BURST_MS) else None


def block_time(block: Block, now_ms: int | None = None) -> ThinkingTime | None:
    """The time of one thought; `now_ms` lets a live one count."""
    end_ms = now_ms if block.ended_ms is None else block.ended_ms
    if block.started_ms is None or end_ms is None or end_ms - block.started_ms < BURST_MS:
        return None
    return ThinkingTime(end_ms - block.started_ms)


class ViewContext(msgspec.Struct, frozen=True):
    """A turn, how a person wants to see it, and what is true of all of it."""

    turn: Turn
    policy: Policy
    words: Words
    now_ms: int | None
    choices: Mapping[int, bool]
    state: ThinkingState
    thoughts: list[Block]
    time: ThinkingTime | None
    unfinished_thought: int | None
    """The thought to keep in sight because the turn ended with it."""
    interrupted_block: int | None
    """The step that was under way when the turn was interrupted, whatever its provider said of it."""

    def step_state(self, block: Block) -> ThinkingState:
        """Where one step stands."""
        if block.number == self.interrupted_block:
            return self.state
        return step_state(block, live=self.turn.live, turn_state=self.state)

    def step_open_state(self, block: Block) -> OpenState:
        """How much of one step is shown."""
        return open_state(
            self.policy,
            live=self.step_state(block) is ThinkingState.THINKING,
            choice=block_choice(self.choices, block.number),
            unfinished=block.number == self.unfinished_thought,
        )

    def thought_time(self, block: Block) -> ThinkingTime | None:
        """How long one thought took; the turn's own time stands in for its only thought."""
        time = block_time(block, self.now_ms)
        if time is None and len(self.thoughts) == 1 and self.time is not None and self.time.approximate:
            return self.time
        return time


def view_context(
    turn: Turn, policy: Policy, words: Words, now_ms: int | None, choices: Mapping[int, bool]
) -> ViewContext:
    """Look at a turn once."""
    visible, state = visible_thoughts(turn), thinking_state(turn)
    return ViewContext(
        turn,
        policy,
        words,
        now_ms,
        choices,
        state,
        visible,
        turn_time(turn, now_ms),
        visible[-1].number if visible and ended_without_answer(turn) else None,
        interrupted_step(turn) if state is ThinkingState.INTERRUPTED else None,
    )

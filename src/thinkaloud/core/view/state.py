"""The state and the duration of a turn's thinking, computed once and shared by every part of a view.

A blank block counts as a thought only if it has a seal. Thinking is done when the thought ends, not when the
turn ends; it continues while tools or assistants run, and until something follows them. A thought that
arrived in one burst has no known duration; the turn may have an approximate one, taken from the time until
its first other text.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from thinkaloud.core.canon import Kind, SealForm
from thinkaloud.core.transcript import (
    CALL_KINDS,
    Block,
    BlockStatus,
    Ending,
    ThinkingTime,
    Turn,
    thinking_time,
)
from thinkaloud.core.transcript.timing import BURST_MS
from thinkaloud.core.view.policy import OpenState, Policy, block_choice, open_state
from thinkaloud.core.view.words import Words


class ThinkingState(StrEnum):
    """The state of the thinking of a whole turn or of one step."""

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
    """Return whether a block is shown as a step of the thinking."""
    if block.kind is Kind.REASONING:
        return bool(block.seals) or not block.blank
    return block.kind in CALL_KINDS


def visible_thoughts(turn: Turn) -> list[Block]:
    """Return the turn's own thoughts that are shown, in order."""
    return [block for block in turn.own_blocks(Kind.REASONING) if visible(block)]


def hidden_reason(block: Block) -> HiddenReason | None:
    """Return why a sealed thought has no text; None for a thought that can be read."""
    if not block.seals or not block.blank:
        return None
    forms = {seal.form for seal in block.seals}
    if SealForm.REDACTED in forms:
        return HiddenReason.REDACTED
    return HiddenReason.ENCRYPTED if SealForm.ENCRYPTED in forms else HiddenReason.WITHHELD


def thinking_state(turn: Turn) -> ThinkingState:
    """Return the state of the turn's thinking. It stays done if only the answer was cut off."""
    if turn.outcome is None:
        return ThinkingState.THINKING if _in_progress(turn) else ThinkingState.DONE
    match turn.outcome.ending:
        case Ending.FAILED:
            return ThinkingState.ERROR
        case Ending.CUT_OFF | Ending.CANCELLED if _interrupted_while_thinking(turn):
            return ThinkingState.INTERRUPTED
    return ThinkingState.DONE


def step_state(block: Block, *, live: bool, turn_state: ThinkingState) -> ThinkingState:
    """Return the state of one step; a step that the end of the turn interrupted gets `turn_state`."""
    match block.status:
        case BlockStatus.ERROR:
            return ThinkingState.ERROR
        case BlockStatus.INTERRUPTED:
            return ThinkingState.INTERRUPTED if live else turn_state
    return ThinkingState.THINKING if live and _running(block) else ThinkingState.DONE


def connection_lost(turn: Turn) -> bool:
    """Return whether the stream stopped before the provider ended the turn."""
    outcome = turn.outcome
    return outcome is not None and outcome.ending is Ending.CUT_OFF and outcome.cause == "cut_off"


def ended_without_answer(turn: Turn) -> bool:
    """Return whether the turn is over and has thoughts but no answer."""
    if turn.outcome is None or any(not block.blank for block in turn.own_blocks(Kind.TEXT)):
        return False
    return turn.outcome.ending in (Ending.REASONING_ONLY, Ending.CUT_OFF)


def interrupted_step(turn: Turn) -> int | None:
    """Return the last step of a turn, which ran when the turn was cut; None if it is a finished call."""
    for block in reversed(turn.own_blocks()):
        if visible(block):
            return block.number if block.result is None else None
    return None


def _in_progress(turn: Turn) -> bool:
    """Return whether a step of a live turn is running, or the last block is a call."""
    steps = [block for block in turn.own_blocks() if visible(block) or not block.blank]
    for block in steps:
        if visible(block) and _running(block):
            return True
    return bool(steps) and steps[-1].kind in CALL_KINDS


def call_at_work(turn: Turn) -> Block | None:
    """Return the call that a live turn waits for: the last one at work, unless a thought is at work too."""
    if turn.outcome is not None:
        return None
    working = [block for block in turn.own_blocks() if visible(block) and _running(block)]
    if not working or any(block.kind is Kind.REASONING for block in working):
        return None
    return working[-1]


def _running(block: Block) -> bool:
    return block.status is BlockStatus.RUNNING or block.awaiting_result


def _interrupted_while_thinking(turn: Turn) -> bool:
    if all(block.blank for block in turn.own_blocks(Kind.TEXT)):
        return True
    shown = filter(visible, turn.own_blocks())
    return any(block.status is BlockStatus.INTERRUPTED for block in shown)


def turn_time(turn: Turn, now_ms: int | None = None) -> ThinkingTime | None:
    """Return the thinking time of the turn; with `now_ms` a live thought counts until then."""
    time = thinking_time(turn, now_ms=now_ms)
    return time if time is not None and (time.approximate or time.ms >= BURST_MS) else None


def block_time(block: Block, now_ms: int | None = None) -> ThinkingTime | None:
    """Return the time of one thought; with `now_ms` a live one counts until then."""
    end_ms = now_ms if block.ended_ms is None else block.ended_ms
    if block.started_ms is None or end_ms is None or end_ms - block.started_ms < BURST_MS:
        return None
    return ThinkingTime(end_ms - block.started_ms)


class ViewContext(msgspec.Struct, frozen=True):
    """A turn, the display settings, and the facts that several parts of the view need."""

    turn: Turn
    policy: Policy
    words: Words
    now_ms: int | None
    choices: Mapping[int, bool]
    state: ThinkingState
    thoughts: list[Block]
    time: ThinkingTime | None
    unfinished_thought: int | None
    """The thought that stays open because the turn ended without an answer."""
    interrupted_block: int | None
    """The step that ran when the turn was interrupted, even if the provider marked it as ended."""
    last_steps: frozenset[int]
    """The last step of the turn, and of each assistant."""
    call: Block | None
    """The call that the turn waits for; the header names it and counts its time."""

    @property
    def header_time(self) -> ThinkingTime | None:
        """Return the time of the call at work, else the thinking time, which has no calls in it."""
        if self.call is None:
            return self.time
        if self.call.started_ms is None or self.now_ms is None:
            return None
        return ThinkingTime(max(0, self.now_ms - self.call.started_ms))

    def step_state(self, block: Block) -> ThinkingState:
        """Return the state of one step."""
        if block.number == self.interrupted_block:
            return self.state
        return step_state(block, live=self.turn.live, turn_state=self.state)

    def step_open_state(self, block: Block) -> OpenState:
        """Return how much of one step is shown."""
        live = self.step_state(block) is ThinkingState.THINKING
        in_front = live or block.number in self.last_steps
        return open_state(
            self.policy,
            live=live,
            choice=block_choice(self.policy, self.choices, block.number, in_front=in_front),
            unfinished=block.number == self.unfinished_thought,
        )

    def thought_time(self, block: Block) -> ThinkingTime | None:
        """Return the time of one thought; a turn's only thought may use the approximate time of the turn."""
        time = block_time(block, self.now_ms)
        if time is None and len(self.thoughts) == 1 and self.time is not None and self.time.approximate:
            return self.time
        return time


def view_context(
    turn: Turn, policy: Policy, words: Words, now_ms: int | None, choices: Mapping[int, bool]
) -> ViewContext:
    """Compute the context of a view from a turn and the display settings."""
    thoughts = visible_thoughts(turn)
    state = thinking_state(turn)
    last_step_by_parent = {block.parent: block.number for block in turn.blocks if visible(block)}
    return ViewContext(
        turn,
        policy,
        words,
        now_ms,
        choices,
        state,
        thoughts,
        turn_time(turn, now_ms),
        thoughts[-1].number if thoughts and ended_without_answer(turn) else None,
        interrupted_step(turn) if state is ThinkingState.INTERRUPTED else None,
        frozenset(last_step_by_parent.values()),
        call_at_work(turn),
    )

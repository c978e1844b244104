"""All that one look at a turn depends on, found out once and handed to whoever builds a part of the view."""

from collections.abc import Mapping

import msgspec

from thinkaloud.transcript import Block, ThinkingTime, Turn
from thinkaloud.view.opening import block_choice, open_state
from thinkaloud.view.policy import OpenState, Policy
from thinkaloud.view.standing import (
    ThinkingState,
    ended_without_answer,
    interrupted_step,
    step_state,
    thinking_state,
    visible_thoughts,
)
from thinkaloud.view.times import block_time, turn_time
from thinkaloud.view.words import Words


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

"""All that one look at a turn depends on, found out once and handed to whoever builds a part of the view."""

from collections.abc import Mapping

import msgspec

from thinkaloud.transcript import Block, Thinking, Turn
from thinkaloud.view.opening import chosen, open_state
from thinkaloud.view.policy import Open, Policy
from thinkaloud.view.standing import (
    Standing,
    last_under_way,
    led_nowhere,
    standing_of,
    step_standing,
    thoughts,
)
from thinkaloud.view.times import block_time, turn_time
from thinkaloud.view.words import Words


class Scene(msgspec.Struct, frozen=True):
    """A turn, how a person wants to see it, and what is true of all of it."""

    turn: Turn
    policy: Policy
    words: Words
    now_ms: int | None
    choices: Mapping[int, bool]
    standing: Standing
    thoughts: list[Block]
    time: Thinking | None
    unfinished: int | None
    """The thought to keep in sight because the turn ended with it."""
    broken: int | None
    """The step that was under way when the turn was interrupted, whatever its provider said of it."""

    def step(self, block: Block) -> Standing:
        """Where one step stands."""
        if block.number == self.broken:
            return self.standing
        return step_standing(block, live=self.turn.live, whole=self.standing)

    def open(self, block: Block) -> Open:
        """How much of one step is shown."""
        return open_state(
            self.policy,
            live=self.step(block) is Standing.THINKING,
            user=chosen(self.choices, block.number),
            unfinished=block.number == self.unfinished,
        )

    def time_of(self, block: Block) -> Thinking | None:
        """How long one thought took; the turn's own time stands in for its only thought."""
        time = block_time(block, self.now_ms)
        if time is None and len(self.thoughts) == 1 and self.time is not None and self.time.approximate:
            return self.time
        return time


def scene(turn: Turn, policy: Policy, words: Words, now_ms: int | None, choices: Mapping[int, bool]) -> Scene:
    """Look at a turn once."""
    seen, standing = thoughts(turn), standing_of(turn)
    return Scene(
        turn,
        policy,
        words,
        now_ms,
        choices,
        standing,
        seen,
        turn_time(turn, now_ms),
        seen[-1].number if seen and led_nowhere(turn) else None,
        last_under_way(turn) if standing is Standing.INTERRUPTED else None,
    )

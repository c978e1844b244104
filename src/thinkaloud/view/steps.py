"""The steps of the thinking as a tree: thoughts, tools and assistants in the order they began.

What an assistant did hangs below its call, to any depth. The tree is built from its leaves in one
pass, because a turn may nest deeper than a program may call itself.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

import msgspec

from thinkaloud.canon import Kind
from thinkaloud.transcript import CALLS, Approval, Block, Turn
from thinkaloud.view.graphemes import first_graphemes, one_line
from thinkaloud.view.labels import thought_label
from thinkaloud.view.policy import Open
from thinkaloud.view.scene import Scene
from thinkaloud.view.standing import Standing, shown, unseen
from thinkaloud.view.words import Words

RESULT_LIMIT = 280
"""Characters of a tool's input or result, or of an assistant's response, that a step holds."""
LINE_COLUMNS = 120
"""Columns of the one line that says what a tool or an assistant was asked."""

Step = TypeVar("Step")


class StepView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step as a surface draws it: what it is, where it stands, what it says, what hangs below it."""

    block: int
    kind: Kind
    status: Standing
    label: str
    text: str
    open: Open
    result: str = ""
    steps: tuple["StepView", ...] = ()


def nested(turn: Turn, make: Callable[[Block, tuple[Step, ...]], Step]) -> tuple[Step, ...]:
    """The turn's steps, each made from its block and from the steps below it."""
    below: defaultdict[int | None, list[Step]] = defaultdict(list)
    for block in reversed(turn.blocks):
        own = below.pop(block.number, [])
        below[block.parent] += [make(block, tuple(reversed(own)))] if shown(block) else own
    return tuple(reversed(below[None]))


def step_views(scene: Scene) -> tuple[StepView, ...]:
    """The steps of a turn, for surfaces."""

    def make(block: Block, below: tuple[StepView, ...]) -> StepView:
        return StepView(
            block.number,
            block.kind,
            scene.step(block),
            _label(scene, block),
            asked(block) if block.kind in CALLS else thought_text(scene.words, block),
            scene.open(block),
            came_back(block) or "",
            below,
        )

    return nested(scene.turn, make)


def tool_count(turn: Turn) -> tuple[int, int]:
    """How many tools and assistants the turn itself called, and how many with those its assistants called."""
    return len(turn.top(*CALLS)), sum(block.kind in CALLS for block in turn.blocks)


def name_of(words: Words, block: Block) -> str:
    """What to call a tool or an assistant that may have no name."""
    kind = "tool" if block.kind is Kind.TOOL_CALL else "assistant"
    return block.name or words.say(f"ai.thinking.{kind}")


def asked(block: Block) -> str:
    """What a tool or an assistant was asked, in one line."""
    return one_line(block.text, LINE_COLUMNS)


def came_back(block: Block) -> str | None:
    """What a call came back with, cut short: its error if it failed; None while nothing came."""
    said = block.error or block.result
    return None if said is None else first_graphemes(said, RESULT_LIMIT)


def thought_text(words: Words, block: Block) -> str:
    """A thought's text, or the honest line for one that cannot be read."""
    why = unseen(block)
    return block.text if why is None else words.say(f"ai.thinking.{why.value}")


def _label(scene: Scene, block: Block) -> str:
    standing = scene.step(block)
    if block.kind is Kind.REASONING:
        return thought_label(scene, standing, scene.time_of(block))
    name = name_of(scene.words, block)
    if block.approval is Approval.ASKED and standing is Standing.THINKING:
        return scene.words.say("ai.thinking.approval", name=name)
    if block.kind is Kind.ASSISTANT_CALL and standing is Standing.THINKING:
        return scene.words.say("ai.thinking.working", name=name)
    return name

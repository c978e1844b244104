"""The steps of the thinking as a tree: thoughts, tools and assistants in the order they began.

What an assistant did hangs below its call, to any depth. The tree is built from its leaves in one
pass, because a turn may nest deeper than a program may call itself.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

import msgspec

from thinkaloud.canon import Kind
from thinkaloud.transcript import CALL_KINDS, Approval, Block, Turn
from thinkaloud.view.graphemes import first_graphemes, one_line
from thinkaloud.view.labels import thought_label
from thinkaloud.view.policy import OpenState
from thinkaloud.view.scene import ViewContext
from thinkaloud.view.standing import ThinkingState, hidden_reason, visible
from thinkaloud.view.words import Words

RESULT_LIMIT = 280
"""Characters of a tool's input or result, or of an assistant's response, that a step holds."""
CALL_COLUMNS = 120
"""Columns of the one line that says what a tool or an assistant was asked."""

Step = TypeVar("Step")


class StepView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step as a surface draws it: what it is, where it stands, what it says, what hangs below it."""

    block: int
    kind: Kind
    status: ThinkingState
    label: str
    text: str
    open: OpenState
    result: str = ""
    steps: tuple["StepView", ...] = ()


def build_step_tree(turn: Turn, make: Callable[[Block, tuple[Step, ...]], Step]) -> tuple[Step, ...]:
    """The turn's steps, each made from its block and from the steps below it."""
    steps_by_parent: defaultdict[int | None, list[Step]] = defaultdict(list)
    for block in reversed(turn.blocks):
        children = steps_by_parent.pop(block.number, [])
        steps_by_parent[block.parent] += (
            [make(block, tuple(reversed(children)))] if visible(block) else children
        )
    return tuple(reversed(steps_by_parent[None]))


def step_views(context: ViewContext) -> tuple[StepView, ...]:
    """The steps of a turn, for surfaces."""

    def make_step(block: Block, children: tuple[StepView, ...]) -> StepView:
        return StepView(
            block.number,
            block.kind,
            context.step_state(block),
            _step_label(context, block),
            call_line(block) if block.kind in CALL_KINDS else thought_text(context.words, block),
            context.step_open_state(block),
            call_result(block) or "",
            children,
        )

    return build_step_tree(context.turn, make_step)


def tool_count(turn: Turn) -> tuple[int, int]:
    """How many tools and assistants the turn itself called, and how many with those its assistants called."""
    return len(turn.own_blocks(*CALL_KINDS)), sum(block.kind in CALL_KINDS for block in turn.blocks)


def call_name(words: Words, block: Block) -> str:
    """What to call a tool or an assistant that may have no name."""
    kind = "tool" if block.kind is Kind.TOOL_CALL else "assistant"
    return block.name or words.text(f"ai.thinking.{kind}")


def call_line(block: Block) -> str:
    """What a tool or an assistant was asked, in one line."""
    return one_line(block.text, CALL_COLUMNS)


def call_result(block: Block) -> str | None:
    """What a call came back with, cut short: its error if it failed; None while nothing came."""
    text = block.error or block.result
    return None if text is None else first_graphemes(text, RESULT_LIMIT)


def thought_text(words: Words, block: Block) -> str:
    """A thought's text, or the honest line for one that cannot be read."""
    hidden = hidden_reason(block)
    return block.text if hidden is None else words.text(f"ai.thinking.{hidden.value}")


def _step_label(context: ViewContext, block: Block) -> str:
    state = context.step_state(block)
    if block.kind is Kind.REASONING:
        return thought_label(context, state, context.thought_time(block))
    name = call_name(context.words, block)
    if block.approval is Approval.ASKED and state is ThinkingState.THINKING:
        return context.words.text("ai.thinking.approval", name=name)
    if block.kind is Kind.ASSISTANT_CALL and state is ThinkingState.THINKING:
        return context.words.text("ai.thinking.working", name=name)
    return name

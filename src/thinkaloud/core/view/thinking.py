"""Builds the view of a turn's thinking: one frozen value that holds every text a surface draws.

`view` is pure: the same turn, policy, locale, time and choices always give the same value. It returns None
for a turn without thinking. The steps form a tree: the steps of an assistant are children of its call.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec

from thinkaloud.core.canon import Kind, Provenance
from thinkaloud.core.transcript import CALL_KINDS, Block, Turn
from thinkaloud.core.view.labels import (
    call_label,
    count_text,
    header_line,
    notice,
    thought_label,
    time_text,
    tool_badge,
    turn_label,
)
from thinkaloud.core.view.policy import HeaderStyle, OpenState, Policy, open_state, panel_choice
from thinkaloud.core.view.state import (
    HiddenReason,
    ThinkingState,
    ViewContext,
    hidden_reason,
    view_context,
    visible,
)
from thinkaloud.core.view.summary import SummaryBy, summary_line
from thinkaloud.core.view.text import count_words, first_graphemes, json_fields, one_line, preview, tail
from thinkaloud.core.view.words import Words

RESULT_LIMIT = 280
"""Grapheme clusters of a tool's result, or of an assistant's response, that a step holds."""
INPUT_LIMIT = 4000
"""Grapheme clusters of a tool's input, or of an assistant's task, that a step holds."""
CALL_COLUMNS = 120
"""Columns of the line with the input of a tool or the task of an assistant."""

Step = TypeVar("Step")


class StepView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step as a surface draws it: its kind, status, texts and child steps.

    `text` is a thought, or in one line what a call was given. `input` is all of that, where it is more than
    the line says. `duration` is how long a call took; a thought says it in its label.
    """

    block: int
    kind: Kind
    status: ThinkingState
    label: str
    text: str
    open: OpenState
    input: str = ""
    description: str = ""
    result: str = ""
    duration: str = ""
    steps: tuple["StepView", ...] = ()


def build_step_tree(turn: Turn, make: Callable[[Block, tuple[Step, ...]], Step]) -> tuple[Step, ...]:
    """Return the steps of a turn, each made from its block and its child steps.

    The tree is built from its leaves in one pass: a turn may be nested deeper than the recursion limit.
    """
    steps_by_parent: defaultdict[int | None, list[Step]] = defaultdict(list)
    for block in reversed(turn.blocks):
        children = steps_by_parent.pop(block.number, [])
        steps_by_parent[block.parent] += (
            [make(block, tuple(reversed(children)))] if visible(block) else children
        )
    return tuple(reversed(steps_by_parent[None]))


def step_views(context: ViewContext) -> tuple[StepView, ...]:
    """Return the steps of a turn for surfaces."""

    def make_step(block: Block, children: tuple[StepView, ...]) -> StepView:
        text, whole_input = thought_text(context.words, block), ""
        if block.kind in CALL_KINDS:
            text, whole_input = call_input(block.text)
        return StepView(
            block=block.number,
            kind=block.kind,
            status=context.step_state(block),
            label=_step_label(context, block),
            text=text,
            open=context.step_open_state(block),
            input=whole_input,
            description=first_graphemes(block.description, INPUT_LIMIT),
            result=call_result(block) or "",
            duration=_call_duration(context, block),
            steps=children,
        )

    return build_step_tree(context.turn, make_step)


def tool_count(turn: Turn) -> tuple[int, int]:
    """Return how many calls the turn itself made, and how many including those of its assistants."""
    return len(turn.own_blocks(*CALL_KINDS)), sum(block.kind in CALL_KINDS for block in turn.blocks)


@lru_cache(maxsize=256)
def call_input(text: str) -> tuple[str, str]:
    """Return what a call was given in one line, and all of it where that is more; JSON by its fields."""
    fields = json_fields(text) if len(text) <= INPUT_LIMIT else None
    line, whole = text, text
    if fields is not None:
        line, whole = ", ".join(fields), "\n".join(fields)
    line = one_line(line, CALL_COLUMNS)
    whole = first_graphemes(whole, INPUT_LIMIT)
    return line, whole if line and whole != line else ""


def call_result(block: Block) -> str | None:
    """Return the shortened result of a call, or its error if it failed; None while it has neither."""
    text = block.error or block.result
    return None if text is None else first_graphemes(text, RESULT_LIMIT)


def thought_text(words: Words, block: Block) -> str:
    """Return the text of a thought, or the line that says why it cannot be read."""
    hidden = hidden_reason(block)
    return block.text if hidden is None else words.text(f"ai.thinking.{hidden.value}")


def _call_duration(context: ViewContext, block: Block) -> str:
    """Return how long a call took; empty for a thought, while a call works, and if it is unknown."""
    at_work = context.step_state(block) is ThinkingState.THINKING
    if block.kind not in CALL_KINDS or at_work or block.started_ms is None or block.ended_ms is None:
        return ""
    return context.words.duration(block.ended_ms - block.started_ms)


def _step_label(context: ViewContext, block: Block) -> str:
    if block.kind is Kind.REASONING:
        return thought_label(context, context.step_state(block), context.thought_time(block))
    return call_label(context, block)


DEFAULT_POLICY = Policy()
NO_CHOICES: Mapping[int, bool] = {}


class BlockView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thought of the turn itself: the parts of its header, and how much of it is shown."""

    block: int
    status: ThinkingState
    label: str
    open: OpenState
    step: str = ""
    duration: str = ""
    words: int | None = None
    words_text: str = ""
    preview: str = ""
    peek: str = ""
    unseen: HiddenReason | None = None
    placeholder: str = ""
    provenance: str = ""


class ThinkingView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The thinking of a turn: a header in parts and as one line, the thoughts, and all steps."""

    status: ThinkingState
    label: str
    header: str
    open: OpenState
    duration: str = ""
    duration_ms: int | None = None
    words: int | None = None
    words_text: str = ""
    tokens: int | None = None
    tokens_text: str = ""
    summary: str = ""
    summary_by: SummaryBy = SummaryBy.NOBODY
    preview: str = ""
    peek: str = ""
    tool_count: int = 0
    tool_count_deep: int = 0
    badge: str = ""
    badge_title: str = ""
    marker: str = ""
    notice: str = ""
    blocks: tuple[BlockView, ...] = ()
    steps: tuple[StepView, ...] = ()

    @property
    def open_states(self) -> list[OpenState]:
        """How much is shown of the panel and of each thought."""
        return [self.open, *(block.open for block in self.blocks)]


def view(
    turn: Turn,
    policy: Policy = DEFAULT_POLICY,
    locale: str = "en-US",
    *,
    now_ms: int | None = None,
    choices: Mapping[int, bool] = NO_CHOICES,
) -> ThinkingView | None:
    """Return the view of a turn's thinking; with `now_ms` the clock of a live thought runs.

    `choices` holds what the user opened (True) or closed (False), by block number or `PANEL`.
    """
    if not any(visible(block) for block in turn.own_blocks()):
        return None
    return _thinking_view(view_context(turn, policy, Words(locale), now_ms, choices))


def _thinking_view(context: ViewContext) -> ThinkingView:
    blocks = tuple(_block_view(context, n, block) for n, block in enumerate(context.thoughts, 1))
    steps = step_views(context)
    words = None if context.state is ThinkingState.THINKING else _total_words(blocks)
    summary, by = summary_line(context.turn)
    tools, tools_deep = tool_count(context.turn)
    panel_open = _panel_open_state(context)
    label = turn_label(context)
    time = time_text(context.words, context.header_time)
    words_text = count_text(context.words, "ai.thinking.words", words)
    first_preview = next((block.preview for block in blocks if block.preview), "")
    facts = [label, "" if context.state is ThinkingState.DONE else time, words_text]
    tokens = context.turn.usage.reasoning
    return ThinkingView(
        status=context.state,
        label=label,
        header=header_line(context, facts, _header_text(context.policy, first_preview, summary, by)),
        open=panel_open,
        duration=time,
        duration_ms=None if context.header_time is None else context.header_time.ms,
        words=words,
        words_text=words_text,
        tokens=tokens,
        tokens_text=count_text(context.words, "ai.thinking.tokens", tokens),
        summary=summary,
        summary_by=by,
        preview=first_preview,
        peek=_newest_phrase(context),
        tool_count=tools,
        tool_count_deep=tools_deep,
        badge=tool_badge(context.words, tools),
        badge_title=context.words.text("ai.thinking.tools_deep", n=tools_deep) if tools_deep > tools else "",
        marker=_hidden_marker(context, panel_open),
        notice=notice(context.turn, context.words.locale),
        blocks=blocks,
        steps=steps,
    )


def _block_view(context: ViewContext, n: int, block: Block) -> BlockView:
    state = context.step_state(block)
    time = context.thought_time(block)
    hidden = hidden_reason(block)
    live = state is ThinkingState.THINKING
    words = None if live or hidden else _finished_words(block.text)
    return BlockView(
        block=block.number,
        status=state,
        label=thought_label(context, state, time),
        open=context.step_open_state(block),
        step=context.words.text("ai.thinking.step", n=n) if len(context.thoughts) > 1 else "",
        duration=time_text(context.words, time),
        words=words,
        words_text=count_text(context.words, "ai.thinking.words", words),
        preview=preview(block.text),
        peek=tail(block.text) if live else "",
        unseen=hidden,
        placeholder=context.words.text(f"ai.thinking.{hidden.value}") if hidden else "",
        provenance=_provenance(context.words, block),
    )


@lru_cache(maxsize=256)
def _finished_words(text: str) -> int:
    """Count the words of a thought that grows no more. A live view is built for every frame."""
    return count_words(text)


def _panel_open_state(context: ViewContext) -> OpenState:
    numbers = [block.number for block in context.turn.own_blocks() if visible(block)]
    return open_state(
        context.policy,
        live=context.state is ThinkingState.THINKING,
        choice=panel_choice(context.choices, numbers),
        unfinished=context.unfinished_thought is not None,
    )


def _total_words(blocks: tuple[BlockView, ...]) -> int | None:
    """Return the word count of all thoughts; None if no thought can be read."""
    counts = [block.words for block in blocks if block.words is not None]
    return sum(counts) if counts else None


def _newest_phrase(context: ViewContext) -> str:
    """Return the newest line that can be read while it thinks; it stays while a call works."""
    if context.state is not ThinkingState.THINKING:
        return ""
    return next(filter(None, (tail(block.text) for block in reversed(context.thoughts))), "")


def _header_text(policy: Policy, first_preview: str, summary: str, by: SummaryBy) -> str:
    """Return the text beside the label: a summary that a model or provider wrote, else the first words."""
    match policy.header:
        case HeaderStyle.LABEL:
            return ""
        case HeaderStyle.PREVIEW:
            return first_preview
        case HeaderStyle.SUMMARY:
            return summary or first_preview
    return summary if by in (SummaryBy.MODEL, SummaryBy.PROVIDER) else first_preview


def _hidden_marker(context: ViewContext, panel_open: OpenState) -> str:
    complete = context.state is not ThinkingState.THINKING
    return context.words.text("ai.thinking.hidden") if complete and panel_open is OpenState.HIDDEN else ""


def _provenance(words: Words, block: Block) -> str:
    if block.provenance is Provenance.UNKNOWN:
        return ""
    return words.text(f"ai.thinking.provenance.{block.provenance.value}")

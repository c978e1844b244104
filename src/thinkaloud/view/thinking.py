"""What any surface draws of a turn's thinking: one frozen value with every word already chosen.

`view` is pure: the same turn, policy, language, moment and choices always give the same value. It
returns None for a turn without thinking, and then nothing is drawn.
"""

from collections.abc import Mapping

import msgspec

from thinkaloud.canon import Provenance
from thinkaloud.transcript import Block, Turn
from thinkaloud.view.labels import count_text, header_line, thought_label, time_text, tool_badge, turn_label
from thinkaloud.view.notices import notice
from thinkaloud.view.opening import open_state, panel_choice
from thinkaloud.view.policy import HeaderStyle, OpenState, Policy
from thinkaloud.view.preview import count_words, preview, tail
from thinkaloud.view.scene import ViewContext, view_context
from thinkaloud.view.standing import HiddenReason, ThinkingState, hidden_reason, visible
from thinkaloud.view.steps import StepView, step_views, tool_count
from thinkaloud.view.summary import SummaryBy, summary_line
from thinkaloud.view.words import Words

DEFAULT_POLICY = Policy()
NO_CHOICES: Mapping[int, bool] = {}


class BlockView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thought of the turn itself: its header in parts, and how much of it is open."""

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
    """The thinking of a turn: a header in parts and as one line, its thoughts, and all its steps."""

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


def view(
    turn: Turn,
    policy: Policy = DEFAULT_POLICY,
    locale: str = "en-US",
    *,
    now_ms: int | None = None,
    choices: Mapping[int, bool] = NO_CHOICES,
) -> ThinkingView | None:
    """The turn's thinking as it is to be shown; `now_ms` lets the clock of a live thought run.

    `choices` holds what a person opened (True) or closed (False), by block number or `PANEL`.
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
    label, time = turn_label(context), time_text(context.words, context.time)
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
        duration_ms=None if context.time is None else context.time.ms,
        words=words,
        words_text=words_text,
        tokens=tokens,
        tokens_text=count_text(context.words, "ai.thinking.tokens", tokens),
        summary=summary,
        summary_by=by,
        preview=first_preview,
        peek=_peek(blocks, steps),
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
    state, time, hidden = context.step_state(block), context.thought_time(block), hidden_reason(block)
    live = state is ThinkingState.THINKING
    words = None if live or hidden else count_words(block.text)
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


def _panel_open_state(context: ViewContext) -> OpenState:
    numbers = [block.number for block in context.turn.own_blocks() if visible(block)]
    return open_state(
        context.policy,
        live=context.state is ThinkingState.THINKING,
        choice=panel_choice(context.choices, numbers),
        unfinished=context.unfinished_thought is not None,
    )


def _total_words(blocks: tuple[BlockView, ...]) -> int | None:
    """All words of the turn's thoughts; None where none can be read."""
    counts = [block.words for block in blocks if block.words is not None]
    return sum(counts) if counts else None


def _peek(blocks: tuple[BlockView, ...], steps: tuple[StepView, ...]) -> str:
    """What is going on right now: the newest line of a thought, else who is at work."""
    lines = [block.peek for block in blocks if block.peek]
    labels = [step.label for step in steps if step.status is ThinkingState.THINKING]
    return next(iter(lines[-1:] or labels[-1:]), "")


def _header_text(policy: Policy, first_preview: str, summary: str, by: SummaryBy) -> str:
    """The words beside the label: a summary that somebody wrote, else the first words."""
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

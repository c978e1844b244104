"""What any surface draws of a turn's thinking: one frozen value with every word already chosen.

`view` is pure: the same turn, policy, language, moment and choices always give the same value. It
returns None for a turn without thinking, and then nothing is drawn.
"""

from collections.abc import Mapping

import msgspec

from thinkaloud.canon import Provenance
from thinkaloud.transcript import Block, Turn
from thinkaloud.view.labels import badge, counted, header_line, thought_label, time_text, turn_label
from thinkaloud.view.notices import notice
from thinkaloud.view.opening import chosen_panel, open_state
from thinkaloud.view.policy import Header, Open, Policy
from thinkaloud.view.preview import count_words, preview, tail
from thinkaloud.view.scene import Scene, scene
from thinkaloud.view.standing import Standing, Unseen, shown, unseen
from thinkaloud.view.steps import StepView, step_views, tool_count
from thinkaloud.view.summary import SummaryBy, summary_line
from thinkaloud.view.words import Words

DEFAULT_POLICY = Policy()
NO_CHOICES: Mapping[int, bool] = {}


class BlockView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thought of the turn itself: its header in parts, and how much of it is open."""

    block: int
    status: Standing
    label: str
    open: Open
    step: str = ""
    duration: str = ""
    words: int | None = None
    words_text: str = ""
    preview: str = ""
    peek: str = ""
    unseen: Unseen | None = None
    placeholder: str = ""
    provenance: str = ""


class ThinkingView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The thinking of a turn: a header in parts and as one line, its thoughts, and all its steps."""

    status: Standing
    label: str
    header: str
    open: Open
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
    if not any(shown(block) for block in turn.top()):
        return None
    return _panel(scene(turn, policy, Words(locale), now_ms, choices))


def _panel(look: Scene) -> ThinkingView:
    blocks = tuple(_block(look, n, block) for n, block in enumerate(look.thoughts, 1))
    steps = step_views(look)
    words = None if look.standing is Standing.THINKING else _total(blocks)
    line, by = summary_line(look.turn)
    tools, tools_deep = tool_count(look.turn)
    opened = _open(look)
    label, time = turn_label(look), time_text(look.words, look.time)
    words_text = counted(look.words, "ai.thinking.words", words)
    first = next((block.preview for block in blocks if block.preview), "")
    facts = [label, "" if look.standing is Standing.DONE else time, words_text]
    tokens = look.turn.usage.reasoning
    return ThinkingView(
        status=look.standing,
        label=label,
        header=header_line(look, facts, _header_text(look.policy, first, line, by)),
        open=opened,
        duration=time,
        duration_ms=None if look.time is None else look.time.ms,
        words=words,
        words_text=words_text,
        tokens=tokens,
        tokens_text=counted(look.words, "ai.thinking.tokens", tokens),
        summary=line,
        summary_by=by,
        preview=first,
        peek=_peek(blocks, steps),
        tool_count=tools,
        tool_count_deep=tools_deep,
        badge=badge(look.words, tools),
        badge_title=look.words.say("ai.thinking.tools_deep", n=tools_deep) if tools_deep > tools else "",
        marker=_marker(look, opened),
        notice=notice(look.turn, look.words.locale),
        blocks=blocks,
        steps=steps,
    )


def _block(look: Scene, n: int, block: Block) -> BlockView:
    standing, time, why = look.step(block), look.time_of(block), unseen(block)
    live = standing is Standing.THINKING
    words = None if live or why else count_words(block.text)
    return BlockView(
        block=block.number,
        status=standing,
        label=thought_label(look, standing, time),
        open=look.open(block),
        step=look.words.say("ai.thinking.step", n=n) if len(look.thoughts) > 1 else "",
        duration=time_text(look.words, time),
        words=words,
        words_text=counted(look.words, "ai.thinking.words", words),
        preview=preview(block.text),
        peek=tail(block.text) if live else "",
        unseen=why,
        placeholder=look.words.say(f"ai.thinking.{why.value}") if why else "",
        provenance=_provenance(look.words, block),
    )


def _open(look: Scene) -> Open:
    numbers = [block.number for block in look.turn.top() if shown(block)]
    return open_state(
        look.policy,
        live=look.standing is Standing.THINKING,
        user=chosen_panel(look.choices, numbers),
        unfinished=look.unfinished is not None,
    )


def _total(blocks: tuple[BlockView, ...]) -> int | None:
    """All words of the turn's thoughts; None where none can be read."""
    counts = [block.words for block in blocks if block.words is not None]
    return sum(counts) if counts else None


def _peek(blocks: tuple[BlockView, ...], steps: tuple[StepView, ...]) -> str:
    """What is going on right now: the newest line of a thought, else who is at work."""
    lines = [block.peek for block in blocks if block.peek]
    labels = [step.label for step in steps if step.status is Standing.THINKING]
    return next(iter(lines[-1:] or labels[-1:]), "")


def _header_text(policy: Policy, first: str, line: str, by: SummaryBy) -> str:
    """The words beside the label: a summary that somebody wrote, else the first words."""
    match policy.header:
        case Header.LABEL:
            return ""
        case Header.PREVIEW:
            return first
        case Header.SUMMARY:
            return line or first
    return line if by in (SummaryBy.MODEL, SummaryBy.PROVIDER) else first


def _marker(look: Scene, opened: Open) -> str:
    at_rest = look.standing is not Standing.THINKING
    return look.words.say("ai.thinking.hidden") if at_rest and opened is Open.HIDDEN else ""


def _provenance(words: Words, block: Block) -> str:
    if block.provenance is Provenance.UNKNOWN:
        return ""
    return words.say(f"ai.thinking.provenance.{block.provenance.value}")

"""A turn as JSON for other programs, and its answer as text for a clipboard, a title or speech.

The JSON structs are built from the same blocks; an unknown value is null or left out. The texts are built
from the turn's own answer only, so they can contain no thought, no tool or assistant output, and no seal.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Literal

import msgspec

from thinkaloud.core.canon import Kind, Provenance
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.transcript.turn import SEPARATOR
from thinkaloud.core.view.state import (
    HiddenReason,
    ThinkingState,
    block_time,
    connection_lost,
    hidden_reason,
    thinking_state,
    turn_time,
    visible,
    visible_thoughts,
)
from thinkaloud.core.view.summary import READ_AHEAD, first_sentence, opening_title, summary_line
from thinkaloud.core.view.text import (
    first_code_points,
    first_graphemes,
    first_words,
    lines_with_fences,
    one_line,
    strip_marks,
)
from thinkaloud.core.view.thinking import CALL_COLUMNS, RESULT_LIMIT, build_step_tree, call_result
from thinkaloud.core.view.words import Words


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A part of the answer."""

    text: str


class ReasoningMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about the thinking; `model_supports` is true if thinking was seen, else what the catalog says."""

    model_supports: bool | None
    duration_ms: int | None
    tokens: int | None
    approximate: bool = False
    """Whether `duration_ms` is an estimate; left out when it was measured."""


class ReasoningBlock(msgspec.Struct, frozen=True):
    """One thought; `unseen` says why a thought has no text."""

    block: int
    text: str
    duration_ms: int | None
    provenance: Provenance
    unseen: HiddenReason | None


class GatewayAnswer(msgspec.Struct, frozen=True):
    """An answer and its reasoning; `reasoning_content` is null when there is nothing to read."""

    content: list[TextPart]
    reasoning_content: str | None
    reasoning_meta: ReasoningMeta
    reasoning_blocks: list[ReasoningBlock]


class ThinkingStep(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A thought, a tool call or an assistant call, with its child steps."""

    id: str
    type: Literal["reasoning", "tool_call", "assistant_call"]
    content: str
    tool_name: str | None = None
    tool_input: str | None = None
    tool_result: str | None = None
    assistant_name: str | None = None
    assistant_id: str | None = None
    assistant_task: str | None = None
    assistant_result: str | None = None
    child_steps: tuple["ThinkingStep", ...] = ()
    timestamp: int | None = None


class ThinkingBlock(msgspec.Struct, frozen=True):
    """A summary, a status and the steps in the order in which they started."""

    summary: str
    status: Literal["thinking", "done", "error"]
    steps: tuple[ThinkingStep, ...]

    @property
    def tool_count(self) -> int:
        """Tools and assistants called by the turn itself."""
        return sum(step.type != "reasoning" for step in self.steps)


def gateway_answer(turn: Turn, *, model_supports: bool | None = None) -> GatewayAnswer:
    """Return the turn in the shape of the gateway's answers.

    `model_supports` says whether a catalog knows that the model can think. Thinking that was seen proves it.
    """
    thoughts = visible_thoughts(turn)
    readable = [block.text for block in thoughts if not block.blank]
    time = turn_time(turn)
    tokens = turn.usage.reasoning
    return GatewayAnswer(
        content=[TextPart(block.text) for block in turn.own_blocks(Kind.TEXT) if block.text],
        reasoning_content=SEPARATOR.join(readable) if readable else None,
        reasoning_meta=ReasoningMeta(
            model_supports=True if thoughts or tokens else model_supports,
            duration_ms=None if time is None else time.ms,
            tokens=tokens,
            approximate=time is not None and time.approximate,
        ),
        reasoning_blocks=[_reasoning_block(block) for block in thoughts],
    )


def thinking_block(turn: Turn) -> ThinkingBlock | None:
    """Return the turn's thinking as one block of steps; None if there is no thinking."""
    if not any(visible(block) for block in turn.own_blocks()):
        return None
    summary, _ = summary_line(turn)
    return ThinkingBlock(summary, _status(turn), build_step_tree(turn, _step))


def _reasoning_block(block: Block) -> ReasoningBlock:
    hidden = hidden_reason(block)
    time = block_time(block)
    return ReasoningBlock(
        block=block.number,
        text="" if hidden else block.text,
        duration_ms=None if time is None else time.ms,
        provenance=block.provenance,
        unseen=hidden,
    )


def _status(turn: Turn) -> Literal["thinking", "done", "error"]:
    # Three words for four states. A lost connection is an error, because the user should try again.
    # A turn that was stopped by the user or by a limit ended as requested, so it is done.
    state = thinking_state(turn)
    if state is ThinkingState.ERROR or connection_lost(turn):
        return "error"
    return "thinking" if state is ThinkingState.THINKING else "done"


def _step(block: Block, children: tuple[ThinkingStep, ...]) -> ThinkingStep:
    number = str(block.number)
    at_ms = block.started_ms
    line = one_line(block.text, CALL_COLUMNS)  # as written: readers tell it from a description by the input
    if block.kind is Kind.TOOL_CALL:
        return ThinkingStep(
            number,
            "tool_call",
            one_line(block.description, CALL_COLUMNS) or line or block.name,
            tool_name=block.name or None,
            tool_input=first_graphemes(block.text, RESULT_LIMIT) or None,
            tool_result=call_result(block),
            child_steps=children,
            timestamp=at_ms,
        )
    if block.kind is Kind.ASSISTANT_CALL:
        return ThinkingStep(
            number,
            "assistant_call",
            line or block.name,
            assistant_name=block.name or None,
            assistant_id=block.assistant_id or None,
            assistant_task=block.text or None,
            assistant_result=call_result(block),
            child_steps=children,
            timestamp=at_ms,
        )
    content = "" if hidden_reason(block) else block.text
    return ThinkingStep(number, "reasoning", content, child_steps=children, timestamp=at_ms)


TITLE_LIMIT = 60
"""Grapheme clusters of a title."""

_TAGS = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*\Z")
_CELLS = re.compile(r"[ \t]*\|[ \t]*")
_UNDERLINES = re.compile(r"(?<![\w\\])_+(?=\S)|(?<=\S)_+(?!\w)|~~+")


def copy_text(turn: Turn) -> str:
    """Return the answer verbatim."""
    return turn.answer


def title_text(text: str) -> str:
    """Return a title for a question or an answer: its heading or first sentence; empty if it is blank."""
    text = first_code_points(text, READ_AHEAD)
    prose = "\n".join(
        line
        for line, fence_before, fence_after in lines_with_fences(text)
        if not fence_before and not fence_after
    )
    title = opening_title(prose) or first_sentence(prose) or first_sentence(text)
    return first_words(title.rstrip(" :"), TITLE_LIMIT)


def speech_text(turn: Turn, locale: str = "en-US") -> str:
    """Return the answer for text-to-speech: without markdown marks and URLs, and a word in place of code."""
    paragraphs = groupby(_speech_lines(turn.answer, Words(locale).text("ai.speech.code")), key=bool)
    return "\n\n".join("\n".join(lines) for has_text, lines in paragraphs if has_text)


def _speech_lines(text: str, code: str) -> Iterator[str]:
    for line, fence_before, fence_after in lines_with_fences(text):
        if not fence_before:
            yield code if fence_after else _speech_line(line)


def _speech_line(line: str) -> str:
    """Return a line without marks.

    Marks are stripped twice, for an image inside a link. Repeating until nothing changes would be unbounded.
    """
    if _TABLE_RULE.match(line):
        return ""
    line = _UNDERLINES.sub("", _TAGS.sub("", line))
    return _CELLS.sub(", ", strip_marks(strip_marks(line)).strip("| "))

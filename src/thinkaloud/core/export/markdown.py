"""Writes a session as readable markdown that `read_markdown` reads back without loss.

Prompts and answers are written as they are; thoughts and tool calls are folded, with their texts in fences.
Headings, times and notices are for people only: the reader takes them from the comments. A plain text
extends to the next comment, so only a comment may follow it.
"""

import html
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from thinkaloud.core.canon import Kind, TurnEnded, TurnFailed
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.markdown_format import (
    BlockMark,
    BlockWithoutText,
    EndMark,
    FileHeader,
    Mark,
    MessageMark,
    ResultMark,
    TextForm,
    TextNote,
    TurnMark,
    TurnWithoutBlocks,
    between_markers,
    comment,
    format_text,
    readable,
    text_hash,
    unused_key,
)
from thinkaloud.core.export.record import (
    STRAIGHT_VERSION,
    Exchange,
    SessionRecord,
    end_event,
    turns_of,
    without_thoughts,
)
from thinkaloud.core.transcript import CALL_KINDS, Block, BlockStatus, Turn
from thinkaloud.core.view.labels import TOOL_ICON, call_name, count_text, notice
from thinkaloud.core.view.plain import ASSISTANT_ICON
from thinkaloud.core.view.state import block_time, hidden_reason
from thinkaloud.core.view.text import count_words, one_line
from thinkaloud.core.view.thinking import thought_text
from thinkaloud.core.view.words import Words

HEADING_COLUMNS = 240
"""Columns of a heading, a summary or a notice; a longer one is cut, and its comment has it whole."""

DETAILS_END = "</details>"

_STATUS_KEYS = {
    BlockStatus.ERROR: "ai.thinking.status.error",
    BlockStatus.INTERRUPTED: "ai.thinking.interrupted",
}


class ThinkingStyle(StrEnum):
    """How thoughts are written: folded, between two lines that mark them, as a callout, or not at all."""

    DETAILS = "details"
    MARKERS = "markers"
    CALLOUT = "callout"
    OMIT = "omit"


_THOUGHT_FORMS = {
    ThinkingStyle.DETAILS: TextForm.FENCE,
    ThinkingStyle.MARKERS: TextForm.MARKERS,
    ThinkingStyle.CALLOUT: TextForm.QUOTE,
    ThinkingStyle.OMIT: TextForm.NONE,
}


def write_markdown(
    record: SessionRecord, *, locale: str = "en-US", thinking: ThinkingStyle = ThinkingStyle.DETAILS
) -> str:
    """Return the markdown of a session; with `ThinkingStyle.OMIT` it holds no thought, sealed or not."""
    if thinking is ThinkingStyle.OMIT:
        record = without_thoughts(record)
    writer = _MarkdownWriter(Words(locale), thinking)
    for exchange, turn in zip(record.exchanges, turns_of(record), strict=True):
        writer.add_exchange(exchange, turn)
    heading = _escaped_line(record.title) or writer.words.text("ai.session.untitled")
    header = FileHeader(
        STRAIGHT_VERSION,
        len(record.exchanges),
        record.title,
        text_hash(heading),
        record.created_ms,
        record.agent,
    )
    return writer.file_text(header, f"# {heading}")


class _MarkdownWriter:
    """Collects the paragraphs of the file in order.

    Marks become comments only at the end, because the key of the comments must not occur in any text.
    """

    def __init__(self, words: Words, style: ThinkingStyle) -> None:
        self.words = words
        self._style = style
        self._pieces: list[str | Mark] = []

    def file_text(self, header: FileHeader, heading: str) -> str:
        key = unused_key(piece for piece in self._pieces if isinstance(piece, str))
        lines = [piece if isinstance(piece, str) else comment(key, piece) for piece in self._pieces]
        return "\n\n".join([comment(f"thinkaloud {key}", header), heading, *lines]) + "\n"

    def add_exchange(self, exchange: Exchange, turn: Turn) -> None:
        after_prompt = False
        for message in exchange.asked:
            if isinstance(message, ToolMessage):
                self._add_tool_result(message)
            else:
                self._add_prompt(message, heading=not after_prompt)
            after_prompt = isinstance(message, UserMessage)
        turn_mark = TurnMark(
            asked=len(exchange.asked),
            blocks=len(turn.blocks),
            model=exchange.model,
            provider=exchange.provider,
            prefix=exchange.prefix,
            created_ms=exchange.created_ms,
            turn=_turn_without_blocks(turn),
        )
        name = _escaped_line(exchange.model or turn.model) or self.words.text("ai.thinking.assistant")
        self._append(turn_mark, *self._image_lines(exchange.asked), f"## {name}")
        self._add_blocks(turn)
        self._add_end(turn, end_event(exchange))

    def _append(self, *pieces: str | Mark) -> None:
        self._pieces += [piece for piece in pieces if piece != ""]

    def _add_prompt(self, message: UserMessage, *, heading: bool) -> None:
        note, text = format_text(message.text, TextForm.PLAIN)
        heading_line = f"## {self.words.text('ai.session.you')}" if heading else ""
        self._append(
            heading_line, MessageMark(message=msgspec.structs.replace(message, text=""), text=note), text
        )

    def _add_tool_result(self, message: ToolMessage) -> None:
        note, text = format_text(message.result, TextForm.FENCE, _fence_language(message.result))
        name = _escaped_line(message.name) or self.words.text("ai.thinking.tool")
        label = self.words.text("ai.session.error" if message.failed else "ai.session.result")
        mark = MessageMark(message=msgspec.structs.replace(message, result=""), text=note)
        self._append(mark, _details_start(f"{TOOL_ICON} {name}", label), text, DETAILS_END)

    def _image_lines(self, messages: tuple[UserMessage | ToolMessage, ...]) -> Iterator[str]:
        for message in messages:
            for image in message.images if isinstance(message, UserMessage) else ():
                yield f"*{self.words.text('ai.session.image', name=_escaped_line(image.media_type))}*"

    def _add_blocks(self, turn: Turn) -> None:
        """Write each block with its children inside it, without recursion: calls nest to any depth."""
        children: defaultdict[int | None, list[Block]] = defaultdict(list)
        for block in reversed(turn.blocks):
            children[block.parent].append(block)
        stack = [(block, False) for block in children[None]]
        while stack:
            block, opened = stack.pop()
            folds, nests = self._foldable(block), self._foldable(block) and block.number in children
            if opened:
                self._append("</blockquote>" if nests else "")
                self._add_results(block)
                self._append(DETAILS_END if folds else "")
            else:
                self._add_block(block)
                self._append("<blockquote>" if nests else "")
                stack += [(block, True), *((child, False) for child in children.get(block.number, ()))]

    def _foldable(self, block: Block) -> bool:
        if block.kind is Kind.REASONING:
            return self._style is ThinkingStyle.DETAILS and bool(block.text or block.seals)
        return block.kind in CALL_KINDS

    def _add_block(self, block: Block) -> None:
        """Write a block's own text: an answer as it is, an assistant's text in a fence, the others folded."""
        if block.kind is Kind.REASONING:
            self._add_thought(block)
        elif block.kind in CALL_KINDS:
            note, text = format_text(block.text, TextForm.FENCE, _fence_language(block.text))
            icon = TOOL_ICON if block.kind is Kind.TOOL_CALL else ASSISTANT_ICON
            summary = _details_start(
                f"{icon} {_escaped_line(call_name(self.words, block))}", self._status_text(block)
            )
            self._append(_block_mark(block, note), summary, text)
        else:
            note, text = format_text(
                block.text, TextForm.FENCE if block.parent is not None else TextForm.PLAIN
            )
            self._append(_block_mark(block, note), text)

    def _add_thought(self, block: Block) -> None:
        time = block_time(block)
        facts = [
            self.words.text("ai.session.thinking"),
            "" if time is None else self.words.duration(time.ms),
            count_text(self.words, "ai.thinking.words", count_words(block.text)),
            self._status_text(block),
        ]
        callout = self._style is ThinkingStyle.CALLOUT
        first_line = f"> [!thinking]- {_join_facts(*facts)}" if callout else ""
        note, text = format_text(block.text, _THOUGHT_FORMS[self._style], first_line)
        if hidden_reason(block):
            note = TextNote(TextForm.NONE, exact=block.text or None)
            text = thought_text(self.words, block)
            if callout:
                text = f"{first_line}\n> {text}"
            elif self._style is ThinkingStyle.MARKERS:
                text = between_markers(text)
        self._append(_block_mark(block, note), _details_start(*facts) if self._foldable(block) else "", text)

    def _add_results(self, block: Block) -> None:
        for result, failed in ((block.result, False), (block.error or None, True)):
            if result is not None:
                note, text = format_text(result, TextForm.FENCE, _fence_language(result))
                label = self.words.text("ai.session.error" if failed else "ai.session.result")
                self._append(ResultMark(block=block.number, text=note, failed=failed), f"**{label}**", text)

    def _status_text(self, block: Block) -> str:
        return self.words.text(_STATUS_KEYS[block.status]) if block.status in _STATUS_KEYS else ""

    def _add_end(self, turn: Turn, end: TurnEnded | TurnFailed) -> None:
        self._append(EndMark(end=end), *(_alert("NOTE", event.text or event.code) for event in turn.notices))
        if ending_text := notice(turn, self.words.locale):
            self._append(_alert("WARNING", ending_text))


def _block_mark(block: Block, text: TextNote) -> BlockMark:
    stripped = msgspec.structs.replace(block, pieces=[], result=None, error="")
    block_without_text = msgspec.convert(stripped, BlockWithoutText, from_attributes=True)
    return BlockMark(
        block=block_without_text, text=text, returns=(block.result is not None) + bool(block.error)
    )


def _turn_without_blocks(turn: Turn) -> TurnWithoutBlocks:
    stripped = msgspec.structs.replace(turn, blocks=[], outcome=None, message=None, seq=-1)
    return msgspec.convert(stripped, TurnWithoutBlocks, from_attributes=True)


def _escaped_line(text: str) -> str:
    """Return a text as one line with HTML tags and images escaped."""
    return html.escape(one_line(readable(text), HEADING_COLUMNS), quote=False).replace("![", "!&#91;")


def _join_facts(*facts: str) -> str:
    return " · ".join(fact for fact in facts if fact)


def _details_start(*facts: str) -> str:
    return f"<details><summary>{_join_facts(*facts)}</summary>"


def _alert(kind: str, text: str) -> str:
    return f"> [!{kind}]\n> {_escaped_line(text)}"


def _fence_language(text: str) -> str:
    return "json" if text.startswith(("{", "[")) else ""

"""A session as markdown that a person reads and that `read_markdown` reads back without loss.

Answers and prompts stand as their own markdown; thoughts and tools are folded, their texts in fences. Only
texts are read back: headings, times and notices are drawn from the comments. A plain text goes on to the
next comment, so nothing but a comment may follow it.
"""

import html
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from thinkaloud.canon import Kind, TurnEnded, TurnFailed
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.transcript import CALLS, Block, Status, Turn
from thinkaloud.view.graphemes import one_line
from thinkaloud.view.labels import TOOL_ICON, counted
from thinkaloud.view.notices import notice
from thinkaloud.view.plain_lines import ASSISTANT_ICON
from thinkaloud.view.preview import count_words
from thinkaloud.view.session_marks import (
    Asked,
    Begun,
    Form,
    Head,
    KeptBlock,
    KeptTurn,
    Mark,
    Over,
    Part,
    Return,
    Written,
    comment,
    free_key,
    hash_of,
    readable,
    written,
)
from thinkaloud.view.session_record import (
    VERSION,
    Exchange,
    SessionRecord,
    end_of,
    turns_of,
    without_thoughts,
)
from thinkaloud.view.standing import unseen
from thinkaloud.view.steps import name_of, thought_text
from thinkaloud.view.times import block_time
from thinkaloud.view.words import Words

LINE_COLUMNS = 240
"""Columns of a heading, a summary or a notice; what is longer is cut there, and whole in its comment."""

CLOSED = "</details>"

_STANDINGS = {Status.ERROR: "ai.thinking.status.error", Status.INTERRUPTED: "ai.thinking.interrupted"}


class Style(StrEnum):
    """How thoughts stand in the file."""

    DETAILS = "details"
    CALLOUT = "callout"
    OMIT = "omit"


def write_markdown(record: SessionRecord, *, locale: str = "en-US", thinking: Style = Style.DETAILS) -> str:
    """The text of the file; with `Style.OMIT` nothing in it holds a thought, sealed or not."""
    if thinking is Style.OMIT:
        record = without_thoughts(record)
    page = _Page(Words(locale), thinking)
    for exchange, turn in zip(record.exchanges, turns_of(record), strict=True):
        page.exchange(exchange, turn)
    heading = _line(record.title) or page.words.say("ai.session.untitled")
    head = Head(VERSION, len(record.exchanges), record.title, hash_of(heading), record.created_ms)
    return page.joined(head, f"# {heading}")


class _Page:
    """The pieces of the file in order, each a paragraph of its own; marks become comments in the end."""

    def __init__(self, words: Words, style: Style) -> None:
        self.words = words
        self._style = style
        self._pieces: list[str | Mark] = []

    def joined(self, head: Head, heading: str) -> str:
        key = free_key(piece for piece in self._pieces if isinstance(piece, str))
        lines = [piece if isinstance(piece, str) else comment(key, piece) for piece in self._pieces]
        return "\n\n".join([comment(f"thinkaloud {key}", head), heading, *lines]) + "\n"

    def exchange(self, exchange: Exchange, turn: Turn) -> None:
        speaks = False
        for message in exchange.asked:
            if isinstance(message, ToolMessage):
                self._reply(message)
            else:
                self._prompt(message, heading=not speaks)
            speaks = isinstance(message, UserMessage)
        begun = Begun(
            asked=len(exchange.asked),
            blocks=len(turn.blocks),
            model=exchange.model,
            provider=exchange.provider,
            prefix=exchange.prefix,
            created_ms=exchange.created_ms,
            turn=_bare(turn),
        )
        name = _line(exchange.model or turn.model) or self.words.say("ai.thinking.assistant")
        self._put(begun, *self._pictures(exchange.asked), f"## {name}")
        self._blocks(turn)
        self._over(turn, end_of(exchange))

    def _put(self, *pieces: str | Mark) -> None:
        self._pieces += [piece for piece in pieces if piece != ""]

    def _prompt(self, message: UserMessage, *, heading: bool) -> None:
        note, text = written(message.text, Form.PLAIN)
        said = f"## {self.words.say('ai.session.you')}" if heading else ""
        self._put(said, Asked(message=msgspec.structs.replace(message, text=""), text=note), text)

    def _reply(self, message: ToolMessage) -> None:
        note, text = written(message.result, Form.FENCE, _language(message.result))
        name = _line(message.name) or self.words.say("ai.thinking.tool")
        said = self.words.say("ai.session.error" if message.failed else "ai.session.result")
        mark = Asked(message=msgspec.structs.replace(message, result=""), text=note)
        self._put(mark, _folded(f"{TOOL_ICON} {name}", said), text, CLOSED)

    def _pictures(self, asked: tuple[UserMessage | ToolMessage, ...]) -> Iterator[str]:
        for message in asked:
            for image in message.images if isinstance(message, UserMessage) else ():
                yield f"*{self.words.say('ai.session.image', name=_line(image.media_type))}*"

    def _blocks(self, turn: Turn) -> None:
        """Each block, with what hangs below it inside; without recursion, since calls nest to any depth."""
        below: defaultdict[int | None, list[Block]] = defaultdict(list)
        for block in reversed(turn.blocks):
            below[block.parent].append(block)
        todo = [(block, False) for block in below[None]]
        while todo:
            block, told = todo.pop()
            folds, nests = self._folds(block), self._folds(block) and block.number in below
            if told:
                self._put("</blockquote>" if nests else "")
                self._came_back(block)
                self._put(CLOSED if folds else "")
            else:
                self._block(block)
                self._put("<blockquote>" if nests else "")
                todo += [(block, True), *((child, False) for child in below.get(block.number, ()))]

    def _folds(self, block: Block) -> bool:
        if block.kind is Kind.REASONING:
            return self._style is Style.DETAILS and bool(block.text or block.seals)
        return block.kind in CALLS

    def _block(self, block: Block) -> None:
        """The block's own text: an answer as it is, what an assistant said in a fence, all else folded."""
        if block.kind is Kind.REASONING:
            self._thought(block)
        elif block.kind in CALLS:
            note, text = written(block.text, Form.FENCE, _language(block.text))
            icon = TOOL_ICON if block.kind is Kind.TOOL_CALL else ASSISTANT_ICON
            summary = _folded(f"{icon} {_line(name_of(self.words, block))}", self._standing(block))
            self._put(_part(block, note), summary, text)
        else:
            note, text = written(block.text, Form.FENCE if block.parent is not None else Form.PLAIN)
            self._put(_part(block, note), text)

    def _thought(self, block: Block) -> None:
        time = block_time(block)
        facts = [
            self.words.say("ai.session.thinking"),
            "" if time is None else self.words.duration(time.ms),
            counted(self.words, "ai.thinking.words", count_words(block.text)),
            self._standing(block),
        ]
        callout = self._style is Style.CALLOUT
        head = f"> [!thinking]- {_joined(*facts)}" if callout else ""
        note, text = written(block.text, Form.QUOTE if callout else Form.FENCE, head)
        if unseen(block):
            note, why = Written(Form.NONE, exact=block.text or None), thought_text(self.words, block)
            text = f"{head}\n> {why}" if callout else why
        self._put(_part(block, note), _folded(*facts) if self._folds(block) else "", text)

    def _came_back(self, block: Block) -> None:
        for back, failed in ((block.result, False), (block.error or None, True)):
            if back is not None:
                note, text = written(back, Form.FENCE, _language(back))
                said = self.words.say("ai.session.error" if failed else "ai.session.result")
                self._put(Return(block=block.number, text=note, failed=failed), f"**{said}**", text)

    def _standing(self, block: Block) -> str:
        return self.words.say(_STANDINGS[block.status]) if block.status in _STANDINGS else ""

    def _over(self, turn: Turn, end: TurnEnded | TurnFailed) -> None:
        self._put(Over(end=end), *(_alert("NOTE", told.text or told.code) for told in turn.notices))
        if ending := notice(turn, self.words.locale):
            self._put(_alert("WARNING", ending))


def _part(block: Block, text: Written) -> Part:
    bare = msgspec.structs.replace(block, pieces=[], result=None, error="")
    kept = msgspec.convert(bare, KeptBlock, from_attributes=True)
    return Part(block=kept, text=text, returns=(block.result is not None) + bool(block.error))


def _bare(turn: Turn) -> KeptTurn:
    bare = msgspec.structs.replace(turn, blocks=[], outcome=None, message=None, seq=-1)
    return msgspec.convert(bare, KeptTurn, from_attributes=True)


def _line(text: str) -> str:
    """A text in one line in which nothing is taken for a tag."""
    return html.escape(one_line(readable(text), LINE_COLUMNS), quote=False)


def _joined(*facts: str) -> str:
    return " · ".join(fact for fact in facts if fact)


def _folded(*facts: str) -> str:
    return f"<details><summary>{_joined(*facts)}</summary>"


def _alert(kind: str, text: str) -> str:
    return f"> [!{kind}]\n> {_line(text)}"


def _language(text: str) -> str:
    return "json" if text.startswith(("{", "[")) else ""

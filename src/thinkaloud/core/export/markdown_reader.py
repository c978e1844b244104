"""Reads a session from the markdown that `write_markdown` wrote, including edits of its texts.

An edited text replaces the original. Its block then loses its seals and its turn the provider's own message,
because a provider accepts signed text only unchanged. A comment that is missing, duplicated or out of
place is refused, with its line number.
"""

import html
import re
from collections import Counter
from typing import TypeVar

import msgspec

from thinkaloud.core.canon import Refused, TurnEnded, Wording, reason_of
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.markdown_format import (
    BlockMark,
    EndMark,
    FileHeader,
    Mark,
    MessageMark,
    ResultMark,
    TextNote,
    TurnMark,
    parse_text,
    text_hash,
)
from thinkaloud.core.export.record import (
    Exchange,
    SessionRecord,
    entries_of,
    read_json,
    refuse_newer_version,
    without_seals,
    write_json,
)
from thinkaloud.core.transcript import Block

M = TypeVar("M", bound=msgspec.Struct)

_HEADER_LINE = re.compile(r"\s*<!-- thinkaloud (ta\d{1,9}) (\{.*\}) -->[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^# (.*)$", re.MULTILINE)


class _MarkdownVersion(msgspec.Struct):
    version: int


_version_decoder, _header_decoder = msgspec.json.Decoder(_MarkdownVersion), msgspec.json.Decoder(FileHeader)
_mark_decoder: msgspec.json.Decoder[Mark] = msgspec.json.Decoder(Mark)


def read_markdown(text: str) -> SessionRecord:
    """Return the session in this text."""
    source = _MarkdownSource(_normalized_text(text))
    exchanges = []
    while source.next_mark is not None:
        exchanges.append(_read_exchange(source))
    expected_count = source.header.exchanges
    if len(exchanges) != expected_count:
        raise source.damage_error(
            Wording(
                "the first line announces {expected_count} exchanges, but the file has {count}",
                expected_count=expected_count,
                count=len(exchanges),
            )
        )
    record = SessionRecord(source.title, source.header.created_ms, tuple(exchanges), source.header.agent)
    return read_json(write_json(record))  # a round trip, which refuses a record that JSON cannot hold


class _MarkdownSource:
    """The file as marks in order, each with the section of text up to the next mark."""

    def __init__(self, text: str) -> None:
        header_line = _HEADER_LINE.match(text)
        if header_line is None:
            raise Refused(
                "This markdown is not a Thinkaloud session: the comment that starts every export is missing. "
                "Import an exported file with its first line, or send the text as a message."
            )
        self._text = text
        self._comments = list(re.finditer(rf"^<!-- {header_line[1]} (.*)$", text, re.MULTILINE))
        self._index = -1
        self._section = ""
        refuse_newer_version(self._decode(_version_decoder, header_line[2]).version)
        self.header = self._decode(_header_decoder, header_line[2])
        self.next_mark = self._decode_next()

    @property
    def title(self) -> str:
        """The title, or the heading if it was edited."""
        heading = _HEADING.search(self._text[: self._start(0)])
        if heading is None or text_hash(heading[1].strip()) == self.header.hash:
            return self.header.title
        return html.unescape(heading[1].strip())

    def take(self, kind: type[M]) -> M:
        """Return the next mark, which must be of this kind, and move on."""
        mark = self.next_mark
        self._index += 1
        if not isinstance(mark, kind):
            raise self.damage_error(
                Wording('a comment with "is":"{tag}" is expected here', tag=kind.__struct_config__.tag)
            )
        self._section = self._text[self._comments[self._index].end() : self._start(self._index + 1)]
        self.next_mark = self._decode_next()
        return mark

    def text(self, note: TextNote) -> tuple[str, bool]:
        """Return the text after the current mark, and whether it was edited."""
        text_and_edited = parse_text(note, self._section)
        if text_and_edited is None:
            raise self.damage_error(
                Wording("the {form} around its text has no start or no end", form=note.form)
            )
        return text_and_edited

    def damage_error(self, problem: Wording, *, at_next: bool = False) -> Refused:
        """Return an error that names the line of the current mark, or of the next one."""
        index = self._index + at_next
        line = 1 + self._text.count("\n", 0, self._start(index) if index >= 0 else 0)
        return Refused(
            "This session file is damaged at line {line}: {reason}. Restore the comments as they "
            "were exported, or export the session again. Only the texts between the comments may be "
            "edited.",
            line=line,
            reason=problem,
        )

    def _start(self, index: int) -> int:
        return self._comments[index].start() if index < len(self._comments) else len(self._text)

    def _decode_next(self) -> Mark | None:
        if self._index + 1 == len(self._comments):
            return None
        comment_text = self._comments[self._index + 1][1].rstrip()
        if not comment_text.endswith(" -->"):
            raise self.damage_error(Wording("the comment does not end on this line"), at_next=True)
        return self._decode(_mark_decoder, comment_text.removesuffix(" -->"), at_next=True)

    def _decode(self, decoder: msgspec.json.Decoder[M], json_text: str, *, at_next: bool = False) -> M:
        try:
            return decoder.decode(json_text)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self.damage_error(
                Wording("the comment cannot be read ({reason})", reason=reason_of(error)), at_next=at_next
            ) from None


def _normalized_text(text: str) -> str:
    """Return the text with "\\n" line ends: an export has no carriage return, so an editor added them."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(
            "This text has an unpaired surrogate at position {start}, so it was decoded incorrectly. "
            "Decode the file as UTF-8.",
            start=error.start,
        ) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _read_exchange(source: _MarkdownSource) -> Exchange:
    messages = []
    while isinstance(source.next_mark, MessageMark):
        messages.append(_read_message(source))
    turn_mark = source.take(TurnMark)
    if len(messages) != turn_mark.asked:
        raise source.damage_error(
            Wording(
                "this answer needs {asked} messages before it, but there are {count}",
                asked=turn_mark.asked,
                count=len(messages),
            )
        )
    blocks, changed = _read_blocks(source, turn_mark.blocks)
    end = source.take(EndMark).end
    original = msgspec.structs.replace(turn_mark.turn, blocks=blocks)
    turn = without_seals(original) if changed else original
    if changed and isinstance(end, TurnEnded):
        end = msgspec.structs.replace(end, message=None)
    entries = entries_of(turn, end)
    return Exchange(
        tuple(messages), entries, turn_mark.model, turn_mark.provider, turn_mark.prefix, turn_mark.created_ms
    )


def _read_message(source: _MarkdownSource) -> UserMessage | ToolMessage:
    mark = source.take(MessageMark)
    text, _ = source.text(mark.text)
    if isinstance(mark.message, UserMessage):
        return msgspec.structs.replace(mark.message, text=text)
    return msgspec.structs.replace(mark.message, result=text)


def _read_blocks(source: _MarkdownSource, count: int) -> tuple[list[Block], bool]:
    """Return the blocks of a turn in order, and whether any of their texts was edited."""
    blocks: dict[int, Block] = {}
    missing_results: Counter[int] = Counter()
    changed = False
    while isinstance(source.next_mark, BlockMark | ResultMark):
        mark = source.take(type(source.next_mark))
        text, edited = source.text(mark.text)
        number = mark.block if isinstance(mark, ResultMark) else mark.block.number
        if isinstance(mark, BlockMark) == (number in blocks):
            raise source.damage_error(
                Wording("block {number} is duplicated, or its result comes before it", number=number)
            )
        if isinstance(mark, BlockMark):
            blocks[number], missing_results[number] = mark.block, mark.returns
            mark.block.pieces = [text]
        else:
            missing_results[number] -= 1
            _set_result(blocks[number], text, failed=mark.failed)
        if edited:
            blocks[number].seals, changed = [], True
    if len(blocks) != count or blocks.keys() != set(range(len(blocks))) or any(missing_results.values()):
        raise source.damage_error(
            Wording("the answer needs {count} blocks with all their results before its end", count=count)
        )
    return [blocks[number] for number in range(count)], changed


def _set_result(block: Block, text: str, *, failed: bool) -> None:
    if failed:
        block.error = text
    else:
        block.result = text

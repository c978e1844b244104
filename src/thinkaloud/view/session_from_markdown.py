"""A session from the markdown that `write_markdown` wrote, perhaps after somebody changed its texts.

A text that was changed is taken as it is now; its block then loses its seals and its turn the provider's own
message, because signed words go back as they came or not at all. A comment that is missing, twice there or
out of place is refused, with its line.
"""

import html
import re
from collections import Counter
from typing import TypeVar

import msgspec

from thinkaloud.canon import Refused, TurnEnded
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.transcript import Block
from thinkaloud.view.session_json import read_json, write_json
from thinkaloud.view.session_marks import (
    Asked,
    Begun,
    Head,
    Mark,
    Over,
    Part,
    Return,
    Written,
    found,
    hash_of,
)
from thinkaloud.view.session_record import Exchange, SessionRecord, refuse_newer, retold, without_seals

M = TypeVar("M", bound=msgspec.Struct)

_HEAD = re.compile(r"\s*<!-- thinkaloud (ta\d{1,9}) (\{.*\}) -->[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^# (.*)$", re.MULTILINE)


class _Version(msgspec.Struct):
    version: int


_version, _head = msgspec.json.Decoder(_Version), msgspec.json.Decoder(Head)
_mark: msgspec.json.Decoder[Mark] = msgspec.json.Decoder(Mark)


def read_markdown(text: str) -> SessionRecord:
    """The session in this text."""
    source = _Source(_whole(text))
    exchanges = []
    while source.next is not None:
        exchanges.append(_exchange(source))
    told = source.head.exchanges
    if len(exchanges) != told:
        raise source.damaged(
            f"{told} exchanges belong here, as the first line says, and not {len(exchanges)}"
        )
    record = SessionRecord(source.title, source.head.created_ms, tuple(exchanges))
    return read_json(write_json(record))  # which refuses what the canonical file cannot hold


class _Source:
    """The file as marks in order, each with the part of the text that goes to the next one."""

    def __init__(self, text: str) -> None:
        opening = _HEAD.match(text)
        if opening is None:
            raise Refused(
                "This markdown is not a session of Thinkaloud: it does not begin with the comment that an "
                "export begins with. Import a file as it was exported, or paste the text as a message."
            )
        self._text = text
        self._comments = list(re.finditer(rf"^<!-- {opening[1]} (.*)$", text, re.MULTILINE))
        self._at = -1
        self._part = ""
        refuse_newer(self._decoded(_version, opening[2]).version)
        self.head = self._decoded(_head, opening[2])
        self.next = self._following()

    @property
    def title(self) -> str:
        """The title, or the heading in its place if somebody changed that."""
        heading = _HEADING.search(self._text[: self._start(0)])
        if heading is None or hash_of(heading[1].strip()) == self.head.hash:
            return self.head.title
        return html.unescape(heading[1].strip())

    def take(self, kind: type[M]) -> M:
        """The next mark, which must be of this kind."""
        mark = self.next
        self._at += 1
        if not isinstance(mark, kind):
            raise self.damaged(f'a comment with "is":"{kind.__struct_config__.tag}" belongs here')
        self._part = self._text[self._comments[self._at].end() : self._start(self._at + 1)]
        self.next = self._following()
        return mark

    def text(self, note: Written) -> tuple[str, bool]:
        """The text that stands after the mark that was taken, and whether it was changed."""
        seen = found(note, self._part)
        if seen is None:
            raise self.damaged(f"the {note.form} of its text does not begin or does not end")
        return seen

    def damaged(self, said: str, *, ahead: bool = False) -> Refused:
        """The refusal that names the line of the mark that was taken, or of the one ahead of it."""
        at = self._at + ahead
        line = 1 + self._text.count("\n", 0, self._start(at) if at >= 0 else 0)
        return Refused(
            f"This session is damaged at line {line}: {said}. Put the comments back as they were exported, "
            "or export the session again; texts between them may be changed."
        )

    def _start(self, at: int) -> int:
        return self._comments[at].start() if at < len(self._comments) else len(self._text)

    def _following(self) -> Mark | None:
        if self._at + 1 == len(self._comments):
            return None
        told = self._comments[self._at + 1][1].rstrip()
        if not told.endswith(" -->"):
            raise self.damaged("the comment does not end in this line", ahead=True)
        return self._decoded(_mark, told.removesuffix(" -->"), ahead=True)

    def _decoded(self, decoder: msgspec.json.Decoder[M], told: str, *, ahead: bool = False) -> M:
        try:
            return decoder.decode(told)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self.damaged(f"the comment cannot be read ({error})", ahead=ahead) from None


def _whole(text: str) -> str:
    """The text as it was written: no line of ours ends in a carriage return, so an editor put those in."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(
            f"This text has half a character at position {error.start}, so it was read in a wrong way. "
            "Read the file as UTF-8."
        ) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _exchange(source: _Source) -> Exchange:
    asked = []
    while isinstance(source.next, Asked):
        asked.append(_message(source))
    begun = source.take(Begun)
    if len(asked) != begun.asked:
        raise source.damaged(f"{begun.asked} messages belong before this answer, and not {len(asked)}")
    blocks, changed = _blocks(source, begun.blocks)
    end = source.take(Over).end
    told = msgspec.structs.replace(begun.turn, blocks=blocks)
    turn = without_seals(told) if changed else told
    if changed and isinstance(end, TurnEnded):
        end = msgspec.structs.replace(end, message=None)
    entries = retold(turn, end)
    return Exchange(tuple(asked), entries, begun.model, begun.provider, begun.prefix, begun.created_ms)


def _message(source: _Source) -> UserMessage | ToolMessage:
    mark = source.take(Asked)
    text, _ = source.text(mark.text)
    if isinstance(mark.message, UserMessage):
        return msgspec.structs.replace(mark.message, text=text)
    return msgspec.structs.replace(mark.message, result=text)


def _blocks(source: _Source, count: int) -> tuple[list[Block], bool]:
    """The blocks of a turn by their numbers, and whether any text of them was changed."""
    blocks: dict[int, Block] = {}
    owed: Counter[int] = Counter()
    changed = False
    while isinstance(source.next, Part | Return):
        mark = source.take(type(source.next))
        text, edited = source.text(mark.text)
        number = mark.block if isinstance(mark, Return) else mark.block.number
        if isinstance(mark, Part) == (number in blocks):
            raise source.damaged(f"block {number} is here twice, or not before what it came back with")
        if isinstance(mark, Part):
            blocks[number], owed[number] = mark.block, mark.returns
            mark.block.pieces = [text]
        else:
            owed[number] -= 1
            _came_back(blocks[number], text, failed=mark.failed)
        if edited:
            blocks[number].seals, changed = [], True
    if len(blocks) != count or blocks.keys() != set(range(len(blocks))) or any(owed.values()):
        raise source.damaged(
            f"{count} blocks with all they came back with belong before the end of the answer"
        )
    return [blocks[number] for number in range(count)], changed


def _came_back(block: Block, text: str, *, failed: bool) -> None:
    if failed:
        block.error = text
    else:
        block.result = text

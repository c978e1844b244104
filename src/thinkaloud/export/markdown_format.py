"""The comments in a session's markdown, and the texts between them.

A comment is one line, `<!-- KEY {...} -->`, with a key that no text of the file has. What a person reads is a
readable form of a text; where that is not the very text, because it has characters that no editor keeps, the
comment has the text as well. It has a hash in any case, which tells whether somebody has changed the text.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from itertools import count

import msgspec

from thinkaloud.canon import TurnEnded, TurnFailed
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.transcript import Block, Turn
from thinkaloud.view.text import fence_text, text_in_fence, unclosed_fence


class TextForm(StrEnum):
    """How a text stands in the file."""

    PLAIN = "plain"
    FENCE = "fence"
    QUOTE = "quote"
    NONE = "none"


class TextNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text in the file: its form, the hash of what is read there, and the very text where that differs."""

    form: TextForm
    hash: str = ""
    exact: str | None = None


class FileHeader(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first comment: what the file is, and how many exchanges it has."""

    version: int
    exchanges: int
    title: str
    hash: str
    """Of the heading, which a person may change."""
    created_ms: int | None = None


class BlockWithoutText(Block, omit_defaults=True):
    """A block without its texts."""


class TurnWithoutBlocks(Turn, omit_defaults=True):
    """A turn without its blocks and its end."""


class _MarkStruct(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="is"):
    pass


class MessageMark(_MarkStruct, frozen=True, tag="asked"):
    """The text of a message follows."""

    message: UserMessage | ToolMessage
    text: TextNote


class TurnMark(_MarkStruct, frozen=True, tag="turn"):
    """An answer follows: to how many messages, and in how many blocks."""

    asked: int
    blocks: int
    turn: TurnWithoutBlocks
    model: str = ""
    provider: str = ""
    prefix: str = ""
    created_ms: int | None = None


class BlockMark(_MarkStruct, frozen=True, tag="block"):
    """The text of a block follows; `returns` counts the marks of what it came back with."""

    block: BlockWithoutText
    text: TextNote
    returns: int = 0


class ResultMark(_MarkStruct, frozen=True, tag="return"):
    """The result of a block follows, or its error."""

    block: int
    text: TextNote
    failed: bool = False


class EndMark(_MarkStruct, frozen=True, tag="end"):
    """The answer is over."""

    end: TurnEnded | TurnFailed


Mark = MessageMark | TurnMark | BlockMark | ResultMark | EndMark

# A comment ends at the first "-->", and what editors do not keep is spelled out.
_INVISIBLE = (*range(0x7F, 0xA0), 0xFEFF)
_ESCAPES = {at: f"\\u{at:04x}" for at in (*b"<>", *_INVISIBLE, 0x2028, 0x2029)}
_READABLE: dict[int, str] = {at: chr(0x2400 + at) for at in range(0x20)} | dict.fromkeys(_INVISIBLE, "\ufffd")
_READABLE |= dict.fromkeys(map(ord, "\n\v\f\r\x85\u2028\u2029"), "\n") | {ord("\t"): "\t"}
_USED_KEYS = re.compile(r"<!-- ta(\d{1,9})")


def comment(prefix: str, mark: Mark | FileHeader) -> str:
    """The line of a mark."""
    json_text = msgspec.json.encode(mark).decode().translate(_ESCAPES).replace("--", "\\u002d\\u002d")
    return f"<!-- {prefix} {json_text} -->"


def unused_key(texts: Iterable[str]) -> str:
    """The first key that begins no comment in any of these texts."""
    used = {number for text in texts for number in _USED_KEYS.findall(text)}
    return next(f"ta{number}" for number in count(1) if str(number) not in used)


def readable(text: str) -> str:
    """The text with line ends as files have them, and pictures of characters that cannot be seen."""
    return text.replace("\r\n", "\n").translate(_READABLE)


def text_hash(text: str) -> str:
    """Enough of a hash to see that a text was changed."""
    return sha256(text.encode()).hexdigest()[:16]


def format_text(text: str, form: TextForm, opening: str = "") -> tuple[TextNote, str]:
    """How a text goes into the file: what the comment says of it, and what stands there.

    `head` is the language of a fence, or the first line of a quote.
    """
    if not text and form is not TextForm.PLAIN:
        return TextNote(TextForm.NONE), ""
    visible = readable(text)
    if form is TextForm.PLAIN and (fence := unclosed_fence(visible)):
        visible += f"\n{fence}"  # or all that follows would be code
    note = TextNote(form, text_hash(visible), None if visible == text else text)
    if form is TextForm.FENCE:
        return note, fence_text(visible, opening)
    return note, "\n".join(
        [opening, *map(_quote_line, visible.split("\n"))]
    ) if form is TextForm.QUOTE else visible


def parse_text(note: TextNote, section: str) -> tuple[str, bool] | None:
    """The text in a part of the file and whether somebody changed it; None where it is not to be found."""
    if note.form is TextForm.NONE:
        return note.exact or "", False
    candidates = _candidate_texts(note.form, section)
    for text in candidates:
        if text_hash(text) == note.hash:
            return (text if note.exact is None else note.exact), False
    return (candidates[-1], True) if candidates else None


def _candidate_texts(form: TextForm, section: str) -> list[str]:
    """What may be the text: a plain one may have got or lost empty lines around it."""
    if form is TextForm.PLAIN:
        return [section.removeprefix("\n\n").removesuffix("\n\n"), section.strip("\n")]
    inner = text_in_fence(section) if form is TextForm.FENCE else _text_in_quote(section)
    return [] if inner is None else [inner]


def _quote_line(line: str) -> str:
    return f"> {line}" if line else ">"


def _text_in_quote(section: str) -> str | None:
    lines = section.split("\n")
    indexes = [index for index, line in enumerate(lines) if line.startswith(">")]
    if not indexes:
        return None
    body = lines[indexes[0] + 1 : indexes[-1] + 1]
    return "\n".join(line[2:] if line.startswith("> ") else line.removeprefix(">") for line in body)

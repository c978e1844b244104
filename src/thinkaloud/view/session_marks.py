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
from thinkaloud.view.fences import fenced, left_open, unfenced


class Form(StrEnum):
    """How a text stands in the file."""

    PLAIN = "plain"
    FENCE = "fence"
    QUOTE = "quote"
    NONE = "none"


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text in the file: its form, the hash of what is read there, and the very text where that differs."""

    form: Form
    hash: str = ""
    exact: str | None = None


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first comment: what the file is, and how many exchanges it has."""

    version: int
    exchanges: int
    title: str
    hash: str
    """Of the heading, which a person may change."""
    created_ms: int | None = None


class KeptBlock(Block, omit_defaults=True):
    """A block without its texts."""


class KeptTurn(Turn, omit_defaults=True):
    """A turn without its blocks and its end."""


class _Mark(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="is"):
    pass


class Asked(_Mark, frozen=True, tag="asked"):
    """The text of a message follows."""

    message: UserMessage | ToolMessage
    text: Written


class Begun(_Mark, frozen=True, tag="turn"):
    """An answer follows: to how many messages, and in how many blocks."""

    asked: int
    blocks: int
    turn: KeptTurn
    model: str = ""
    provider: str = ""
    prefix: str = ""
    created_ms: int | None = None


class Part(_Mark, frozen=True, tag="block"):
    """The text of a block follows; `returns` counts the marks of what it came back with."""

    block: KeptBlock
    text: Written
    returns: int = 0


class Return(_Mark, frozen=True, tag="return"):
    """The result of a block follows, or its error."""

    block: int
    text: Written
    failed: bool = False


class Over(_Mark, frozen=True, tag="end"):
    """The answer is over."""

    end: TurnEnded | TurnFailed


Mark = Asked | Begun | Part | Return | Over

# A comment ends at the first "-->", and what editors do not keep is spelled out.
_UNSEEN = (*range(0x7F, 0xA0), 0xFEFF)
_SPELLED = {at: f"\\u{at:04x}" for at in (*b"<>", *_UNSEEN, 0x2028, 0x2029)}
_READABLE: dict[int, str] = {at: chr(0x2400 + at) for at in range(0x20)} | dict.fromkeys(_UNSEEN, "\ufffd")
_READABLE |= dict.fromkeys(map(ord, "\n\v\f\r\x85\u2028\u2029"), "\n") | {ord("\t"): "\t"}
_KEYS = re.compile(r"<!-- ta(\d{1,9})")


def comment(word: str, mark: Mark | Head) -> str:
    """The line of a mark."""
    told = msgspec.json.encode(mark).decode().translate(_SPELLED).replace("--", "\\u002d\\u002d")
    return f"<!-- {word} {told} -->"


def free_key(texts: Iterable[str]) -> str:
    """The first key that begins no comment in any of these texts."""
    taken = {number for text in texts for number in _KEYS.findall(text)}
    return next(f"ta{number}" for number in count(1) if str(number) not in taken)


def readable(text: str) -> str:
    """The text with line ends as files have them, and pictures of characters that cannot be seen."""
    return text.replace("\r\n", "\n").translate(_READABLE)


def hash_of(text: str) -> str:
    """Enough of a hash to see that a text was changed."""
    return sha256(text.encode()).hexdigest()[:16]


def written(text: str, form: Form, head: str = "") -> tuple[Written, str]:
    """How a text goes into the file: what the comment says of it, and what stands there.

    `head` is the language of a fence, or the first line of a quote.
    """
    if not text and form is not Form.PLAIN:
        return Written(Form.NONE), ""
    seen = readable(text)
    if form is Form.PLAIN and (fence := left_open(seen)):
        seen += f"\n{fence}"  # or all that follows would be code
    note = Written(form, hash_of(seen), None if seen == text else text)
    if form is Form.FENCE:
        return note, fenced(seen, head)
    return note, "\n".join([head, *map(_quoted, seen.split("\n"))]) if form is Form.QUOTE else seen


def found(note: Written, part: str) -> tuple[str, bool] | None:
    """The text in a part of the file and whether somebody changed it; None where it is not to be found."""
    if note.form is Form.NONE:
        return note.exact or "", False
    seen = _seen(note.form, part)
    for text in seen:
        if hash_of(text) == note.hash:
            return (text if note.exact is None else note.exact), False
    return (seen[-1], True) if seen else None


def _seen(form: Form, part: str) -> list[str]:
    """What may be the text: a plain one may have got or lost empty lines around it."""
    if form is Form.PLAIN:
        return [part.removeprefix("\n\n").removesuffix("\n\n"), part.strip("\n")]
    inner = unfenced(part) if form is Form.FENCE else _unquoted(part)
    return [] if inner is None else [inner]


def _quoted(line: str) -> str:
    return f"> {line}" if line else ">"


def _unquoted(part: str) -> str | None:
    lines = part.split("\n")
    quoted = [at for at, line in enumerate(lines) if line.startswith(">")]
    if not quoted:
        return None
    body = lines[quoted[0] + 1 : quoted[-1] + 1]
    return "\n".join(line[2:] if line.startswith("> ") else line.removeprefix(">") for line in body)

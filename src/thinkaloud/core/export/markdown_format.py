"""The format of a session's markdown: comments that hold the data, and the texts between them.

A comment is one line, `<!-- KEY {...} -->`, with a key that occurs in no text of the file. It has a hash of
the visible text, so that the reader detects an edit. If the visible text differs from the original, because
editors do not keep some characters or because it has HTML, the comment holds the original as well.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha256
from itertools import count

import msgspec

from thinkaloud.core.canon import TurnEnded, TurnFailed
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.view.text import fence_text, text_in_fence, unclosed_fence

_TAG_OR_IMAGE = re.compile(r"(?<!\\)(?:\\\\)*(?:<(?=[A-Za-z/!?])|!(?=\[))")
_FENCE_LINE = re.compile(r"[\s>*+\-\d.)(]*(`{3,}|~{3,})")
# A line with a pipe may be the head of a table instead of a fence.
_PLAIN_FENCE = re.compile(r"(`{3,})[^`|]*|(~{3,})[^|]*")
_BACKTICKS = re.compile(r"`+")


def without_html(text: str) -> str:
    """Return markdown in which no HTML tag and no image is left outside of code.

    A page that renders an export must not run a script or load a picture that a model chose. Code stays as it
    is where it certainly is code: in fences that begin at the start of a line, and in code spans of a line
    whose backticks all match. Everything else is treated as text, because renderers may disagree about it.
    """
    if not _TAG_OR_IMAGE.search(text):
        return text
    lines = text.split("\n")
    fenced = _fenced_lines(lines)
    outside = [line for line, in_fence in zip(lines, fenced, strict=True) if not in_fence]
    has_spans = all(_code_spans(line) is not None for line in outside)
    return "\n".join(
        line if in_fence else _harmless_line(line, has_spans=has_spans)
        for line, in_fence in zip(lines, fenced, strict=True)
    )


def _fenced_lines(lines: list[str]) -> list[bool]:
    """Return for each line whether it is in a fence. A text with indented or nested fences has none."""
    fenced: list[bool] = []
    fence = ""
    for line in lines:
        marker = _FENCE_LINE.match(line)
        fenced.append(bool(fence))
        if fence:
            if line.startswith(fence) and not line.strip(fence[0] + " \t"):
                fence = ""
            elif marker is not None and marker[1].startswith(fence):
                return [False] * len(lines)
        elif marker is not None:
            opening = _PLAIN_FENCE.fullmatch(line)
            if opening is None:
                return [False] * len(lines)
            fence, fenced[-1] = opening[1] or opening[2], True
    return fenced


def _code_spans(line: str) -> list[tuple[int, int]] | None:
    """Return the code spans of a line; None if a backtick has no partner in it, or may have another one."""
    runs = list(_BACKTICKS.finditer(line))
    if not runs:
        return []
    if "|" in line or "\\" in line:  # a cell of a table ends a span, and a backslash may hide a backtick
        return None
    partners: dict[int, int] = {}
    newest: dict[int, int] = {}
    for index in reversed(range(len(runs))):
        length = len(runs[index][0])
        partners[index] = newest.get(length, -1)
        newest[length] = index
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        closing = partners[index]
        if closing < 0:
            return None
        spans.append((runs[index].start(), runs[closing].end()))
        index = closing + 1
    return spans


def _harmless_line(line: str, *, has_spans: bool) -> str:
    return "".join(
        piece if is_code else _TAG_OR_IMAGE.sub(_escape, piece)
        for piece, is_code in _pieces(line, (_code_spans(line) or []) if has_spans else [])
    )


def _pieces(line: str, spans: list[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    end = 0
    for start, span_end in spans:
        yield line[end:start], False
        yield line[start:span_end], True
        end = span_end
    yield line[end:], False


def _escape(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}"


class TextForm(StrEnum):
    """How a text is written in the file."""

    PLAIN = "plain"
    FENCE = "fence"
    QUOTE = "quote"
    MARKERS = "markers"
    NONE = "none"


class TextNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """The form of a text, the hash of its visible form, and the original text if that differs."""

    form: TextForm
    hash: str = ""
    exact: str | None = None


class FileHeader(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first comment: format version, number of exchanges, title."""

    version: int
    exchanges: int
    title: str
    hash: str
    """Of the heading, to detect that the title was edited."""
    created_ms: int | None = None
    agent: str = ""


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
    """An answer follows; `asked` and `blocks` count its messages and blocks."""

    asked: int
    blocks: int
    turn: TurnWithoutBlocks
    model: str = ""
    provider: str = ""
    prefix: str = ""
    created_ms: int | None = None


class BlockMark(_MarkStruct, frozen=True, tag="block"):
    """The text of a block follows; `returns` counts the result marks that belong to it."""

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

# JSON escapes for a comment: HTML ends a comment at the first "-->", and editors drop or change the others.
_INVISIBLE = (*range(0x7F, 0xA0), 0xFEFF)
_ESCAPES = {code: f"\\u{code:04x}" for code in (*b"<>", *_INVISIBLE, 0x2028, 0x2029)}
# Control characters become the pictures that Unicode has for them (U+2400 and up), line separators a newline.
_READABLE = {code: chr(0x2400 + code) for code in range(0x20)} | dict.fromkeys(_INVISIBLE, "\ufffd")
_READABLE |= dict.fromkeys(map(ord, "\n\v\f\r\x85\u2028\u2029"), "\n") | {ord("\t"): "\t"}
_USED_KEYS = re.compile(r"<!-- ta(\d{1,9})")
THINKING_START, THINKING_END = "---thinking---", "---/thinking---"
# A line of the text that looks like a marker gets one more backslash, and loses it when it is read.
_MARKER_LINE = re.compile(r"^(\\*---/?thinking---[ \t]*)$", re.MULTILINE)
_ESCAPED_MARKER = re.compile(r"^\\(\\*---/?thinking---[ \t]*)$", re.MULTILINE)


def comment(prefix: str, mark: Mark | FileHeader) -> str:
    """Return a mark as one comment line."""
    json_text = msgspec.json.encode(mark).decode().translate(_ESCAPES).replace("--", "\\u002d\\u002d")
    return f"<!-- {prefix} {json_text} -->"


def unused_key(texts: Iterable[str]) -> str:
    """Return the first key that starts no comment in any of these texts."""
    used = {number for text in texts for number in _USED_KEYS.findall(text)}
    return next(f"ta{number}" for number in count(1) if str(number) not in used)


def readable(text: str) -> str:
    """Return the text with "\\n" line ends, and visible symbols in place of control characters."""
    return text.replace("\r\n", "\n").translate(_READABLE)


def text_hash(text: str) -> str:
    """Return a short hash, long enough to detect an edit."""
    return sha256(text.encode()).hexdigest()[:16]


def format_text(text: str, form: TextForm, opening: str = "") -> tuple[TextNote, str]:
    """Return the note for the comment, and the text as it is written in the file.

    `opening` is the language of a fence, or the first line of a quote.
    """
    if not text and form is not TextForm.PLAIN:
        return TextNote(TextForm.NONE), ""
    visible = readable(text)
    if form is not TextForm.FENCE:
        visible = without_html(visible)
    if form in (TextForm.PLAIN, TextForm.MARKERS) and (fence := unclosed_fence(visible)):
        visible += f"\n{fence}"  # otherwise the rest of the file would be shown as code
    note = TextNote(form, text_hash(visible), None if visible == text else text)
    if form is TextForm.FENCE:
        return note, fence_text(visible, opening)
    if form is TextForm.MARKERS:
        return note, between_markers(visible)
    if form is TextForm.QUOTE:
        return note, "\n".join([opening, *map(_quote_line, visible.split("\n"))])
    return note, visible


def between_markers(text: str) -> str:
    """Return the text between the two lines that mark thinking."""
    escaped = _MARKER_LINE.sub(r"\\\1", text)
    return f"{THINKING_START}\n{escaped}\n{THINKING_END}"


def parse_text(note: TextNote, section: str) -> tuple[str, bool] | None:
    """Return the text in a section and whether it was edited; None if the section has no such text."""
    if note.form is TextForm.NONE:
        return note.exact or "", False
    candidates = _candidate_texts(note.form, section)
    for text in candidates:
        if text_hash(text) == note.hash:
            return (text if note.exact is None else note.exact), False
    return (candidates[-1], True) if candidates else None


def _candidate_texts(form: TextForm, section: str) -> list[str]:
    """Return the possible texts of a section: an editor may have added or removed blank lines around one."""
    if form is TextForm.PLAIN:
        return [section.removeprefix("\n\n").removesuffix("\n\n"), section.strip("\n")]
    inner = _TEXT_READERS[form](section)
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


def _text_between_markers(section: str) -> str | None:
    lines = [line.rstrip(" \t") for line in section.split("\n")]
    if THINKING_START not in lines or THINKING_END not in lines:
        return None
    start = lines.index(THINKING_START)
    # The last one counts, because a person may have typed such a line into the text.
    end = len(lines) - 1 - lines[::-1].index(THINKING_END)
    if end <= start:
        return None
    text = "\n".join(section.split("\n")[start + 1 : end])
    return _ESCAPED_MARKER.sub(r"\1", text)


_TEXT_READERS = {
    TextForm.FENCE: text_in_fence,
    TextForm.QUOTE: _text_in_quote,
    TextForm.MARKERS: _text_between_markers,
}

"""Cuts text to a size, makes one-line previews of it, names the fields of JSON, and fences markdown code.

Sizes are display columns or grapheme clusters: an emoji family, a flag or an accented letter is never split.
The cost depends on the requested size and not on the length of the text, because only a window is read.
Previews drop markdown marks, line breaks and control characters, and are idempotent.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice, takewhile

ELLIPSIS = "…"

CODE_POINTS_PER_COLUMN = 16
"""Code points read per requested column or character: enough for the longest family emoji and for marks."""


def graphemes(text: str) -> Iterator[str]:
    """Yield the grapheme clusters of a text."""
    if text.isascii() and text.isprintable():
        return iter(text)
    from wcwidth import iter_graphemes  # its tables take long to load, and few commands need them

    return iter_graphemes(text)


def columns_of(text: str) -> int:
    """Return how many terminal columns the text takes."""
    return sum(map(_width, graphemes(text)))


def first_code_points(text: str, size: int) -> str:
    """Return the first `size` code points, without a last cluster that may continue after them."""
    if len(text) <= size:
        return text
    return "".join(list(graphemes(text[:size]))[:-1])


def last_code_points(text: str, size: int) -> str:
    """Return the last `size` code points, from the first position that is certainly a cluster boundary."""
    if len(text) <= size:
        return text
    window = text[len(text) - size :]
    boundaries = (index for index in range(1, size) if _separate_characters(window[index - 1], window[index]))
    return window[next(boundaries, size) :]


def first_columns(line: str, columns: int, *, partial: bool = False) -> str:
    """Return the start of a line in at most `columns`; `partial` means that the line was already cut."""
    clusters = list(graphemes(line))
    if not line or columns < 1:
        return ""
    if not partial and sum(map(_width, clusters)) <= columns:
        return line
    fitting = _count_fitting(clusters, columns - 1)
    text = "".join(clusters[:fitting])
    if fitting < len(clusters) and clusters[fitting] != " ":
        text = text[: _word_end(text)]
    return text.rstrip(" .,;:*") + ELLIPSIS


def last_columns(line: str, columns: int, *, partial: bool = False) -> str:
    """Return the end of a line in at most `columns`; `partial` means that the line was already cut."""
    clusters = list(graphemes(line))
    if not line or columns < 1:
        return ""
    if not partial and sum(map(_width, clusters)) <= columns:
        return line
    start = len(clusters) - _count_fitting(reversed(clusters), columns - 1)
    text = "".join(clusters[start:])
    if start and clusters[start - 1] != " ":
        text = text[_word_start(text) :]
    return ELLIPSIS + text.lstrip(" ,;:*")


def one_line(text: str, columns: int) -> str:
    """Return a text as one line of at most `columns`; markdown marks stay."""
    window = first_code_points(text, columns * CODE_POINTS_PER_COLUMN)
    return first_columns(" ".join(window.split()), columns, partial=len(window) < len(text))


def first_graphemes(text: str, limit: int) -> str:
    """Return the first `limit` grapheme clusters, with “…” when the text continues."""
    if len(text) <= limit:
        return text
    window = text[: (limit + 1) * CODE_POINTS_PER_COLUMN]
    clusters = list(islice(graphemes(window), limit + 1))
    if len(clusters) <= limit and len(window) == len(text):
        return text
    return "".join(clusters[:-1]) + ELLIPSIS


def first_words(line: str, limit: int) -> str:
    """Return the first words of a line in at most `limit` grapheme clusters, “…” included."""
    clusters = list(islice(graphemes(line), limit + 1))
    if len(clusters) <= limit:
        return line
    text = "".join(clusters[: limit - 1])
    if clusters[limit - 1] != " ":
        text = text[: _word_end(text)]
    return text.rstrip(" .,;:*") + ELLIPSIS


def _width(cluster: str) -> int:
    if cluster.isascii() and cluster.isprintable():
        return len(cluster)
    from wcwidth import wcswidth

    return max(0, wcswidth(cluster))  # wcswidth returns -1 for a control character, which takes no column


def _count_fitting(clusters: Iterable[str], columns: int) -> int:
    widths = accumulate(map(_width, clusters))
    return sum(1 for _ in takewhile(lambda total: total <= columns, widths))


def _word_end(text: str) -> int:
    """Return where the last whole word ends, or the full length if cutting there would drop over half."""
    index = text.rfind(" ")
    return index if index * 2 >= len(text) else len(text)


def _word_start(text: str) -> int:
    index = text.find(" ") + 1
    return index if index * 2 <= len(text) else 0


def _separate_characters(first: str, second: str) -> bool:
    # Between two letters, digits or spaces, the boundary rule does not depend on earlier code points.
    # Between other code points (flags, joined emoji) it does, and the window has no earlier code points.
    return (
        (first.isalnum() or first.isspace())
        and (second.isalnum() or second.isspace())
        and len(list(graphemes(first + second))) > 1
    )


PREVIEW_COLUMNS = 40
PEEK_COLUMNS = 80
FEWEST_PEEK_CHARACTERS = 10
"""A shorter line that still grows is a fragment nobody can read."""

# Bidirectional marks are removed too: a cut could leave one open, and it would reorder what follows.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]+")
_EMPTY_LINES = re.compile(r"^[ \t]*(?:```[\w+-]*|[-*_]{3,})[ \t]*$", re.MULTILINE)
_LINE_MARKS = re.compile(r"^[ \t]*(?:(?:[-*+•>]|#{1,6})[ \t]+)+", re.MULTILINE)
_LINKS = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKS = re.compile(r"`+|(?<![\w*])\*+(?=[^\s*])|(?<=[^\s*])\*+(?![\w*])", re.ASCII)  # not 2**10, not 2 * 3

_OPEN_LINK = re.compile(r"(?<!\w)!?\[([^\[\]]*)\]?(?:\([^()]*)?$", re.ASCII)
_OPEN_MARKS = re.compile(r"(?:^|(?<=[ \t]))[*_~#>`+-]+[ \t]*$")
_TABLE_RULE = re.compile(r":?-+:?")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"[.!?…。！？]$")

_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORDS = re.compile(rf"[{_CJK}]|\w[^\s{_CJK}]*")


def preview(text: str, columns: int = PREVIEW_COLUMNS) -> str:
    """Return the first words of a text as one plain line."""
    window = first_code_points(text, max(0, columns) * CODE_POINTS_PER_COLUMN)
    return first_columns(plain_line(window), columns, partial=len(window) < len(text))


def tail(text: str, columns: int = PEEK_COLUMNS) -> str:
    """Return the end of the newest line of a text that can be read already.

    A line that has just begun is a fragment: the line before it stays until this one says something. Without
    such a line, the newest short one that is whole is returned.
    """
    window = last_code_points(text, max(0, columns) * CODE_POINTS_PER_COLUMN)
    lines = window.split("\n")
    whole_line = ""
    for index in range(len(lines) - 1, -1, -1):
        line = _live_line(lines[index])
        if not _LETTER.search(line):
            continue
        if len(line) >= FEWEST_PEEK_CHARACTERS:
            return last_columns(line, columns, partial=index == 0 and len(window) < len(text))
        if index < len(lines) - 1 or _SENTENCE_END.search(line):
            whole_line = whole_line or last_columns(line, columns)
    return whole_line


def _live_line(line: str) -> str:
    """Return a line that may still grow as plain text, without the marks of tables and open links."""
    if line.lstrip(" \t").startswith("|"):
        cells = [cell.strip(" \t") for cell in line.split("|")]
        line = " · ".join(cell for cell in cells if cell and not _TABLE_RULE.fullmatch(cell))
    return plain_line(_OPEN_MARKS.sub("", _OPEN_LINK.sub(r"\1", line)))


def plain_line(text: str) -> str:
    """Return a text as one line without markdown marks, however deeply they are nested.

    It repeats until nothing changes, so pass a window of a text and not a text of unbounded length.
    """
    while (line := strip_marks(text)) != text:
        text = line
    return line


def count_words(text: str) -> int:
    """Return the number of words; in scripts without spaces each character counts as one."""
    return len(_WORDS.findall(text))


def strip_marks(text: str) -> str:
    """Return a text as one line without its outermost markdown marks, in one pass."""
    for pattern in (_CONTROLS, _EMPTY_LINES, _LINE_MARKS, _MARKS):
        text = pattern.sub("", text)
    return " ".join(_LINKS.sub(r"\1", text).split())


SHORTEST_FENCE = 3

_BACKTICKS = re.compile("`+")
_FENCE_START = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")


_JSON_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^"{}\[\],:]+')
SURROGATES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which no text that is sent may have."""


def json_fields(text: str) -> list[str] | None:
    """Return each field of a JSON object as `name: value`; None for any other text.

    Values that are not texts stay as they were written: a program would round a long number.
    """
    if not text.lstrip(" \t\n\r").startswith("{") or not _is_json(text):
        return None
    fields: list[str] = []
    depth = 0
    name = ""
    value = ""
    for token in _JSON_TOKENS.findall(text):
        if depth == 1 and token == ":":
            name, value = value, ""
        elif depth == 1 and token in ",}":
            if value.strip():
                fields.append(f"{_json_text(name)}: {_json_text(value)}")
            value = ""
        elif depth:
            value += token
        depth += (token in "{[") - (token in "}]")
    return None if any(map(SURROGATES.search, fields)) else fields


def _is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _json_text(value: str) -> str:
    value = value.strip()
    return str(json.loads(value)) if value.startswith('"') else value


def fence_text(text: str, language: str = "") -> str:
    """Return the text inside a fence that is longer than any run of backticks in it."""
    fence = "`" * max(SHORTEST_FENCE, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def text_in_fence(section: str) -> str | None:
    """Return the text between the first fence of a section and the last line that can close it, or None.

    The last one counts, because an edited text may contain a shorter fence of its own.
    """
    lines = section.split("\n")
    start = next(
        (index for index, line in enumerate(lines) if line.startswith("`" * SHORTEST_FENCE)), len(lines)
    )
    fence = _BACKTICKS.match(lines[start]) if start < len(lines) else None
    for end in range(len(lines) - 1, start, -1):
        if fence and lines[end].startswith(fence[0]) and not lines[end].strip("` \t"):
            return "\n".join(lines[start + 1 : end])
    return None


def lines_with_fences(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each line with the fence open before it and the fence open after it; empty for none."""
    fence = ""
    for line in text.split("\n"):
        fence_before = fence
        if not fence:
            start = _FENCE_START.match(line)
            fence = start[1] if start else ""
        elif _closes_fence(line, fence):
            fence = ""
        yield line, fence_before, fence


def unclosed_fence(text: str) -> str:
    """Return the fence that a text opens and does not close, else an empty text."""
    *_, (_, _, fence) = lines_with_fences(text)
    return fence


def _closes_fence(line: str, fence: str) -> bool:
    stripped = line.strip(" \t")
    return stripped.startswith(fence) and not stripped.strip(fence[0])

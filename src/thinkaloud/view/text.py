"""Cutting text by what a person sees: display columns and whole characters, never bytes or code points.

An emoji family, a flag or a letter with its accents is one character and is never split. Work depends
on the size asked for, not on the length of the text: only a window of it is ever looked at.

A long text in one short plain line: its first words at rest, its newest line while it grows.

Markdown marks, line breaks and control characters are taken out; what is left is cut between words
where it can be. The same line comes out when it is put in again.

Fences of backticks: text put into one that nothing in it can close, and found again; code told from prose.

One pass over the lines each time, whatever is in them.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice, takewhile

from wcwidth import iter_graphemes, wcswidth

ELLIPSIS = "…"

CODE_POINTS_PER_COLUMN = 16
"""Code points looked at per column or character asked for: the longest family emoji and room for marks."""


def columns_of(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(map(_width, iter_graphemes(text)))


def first_code_points(text: str, size: int) -> str:
    """The first `size` code points, without a character that may go on after them."""
    if len(text) <= size:
        return text
    return "".join(list(iter_graphemes(text[:size]))[:-1])


def last_code_points(text: str, size: int) -> str:
    """The last `size` code points, from the first place where a character surely begins."""
    if len(text) <= size:
        return text
    window = text[len(text) - size :]
    boundaries = (index for index in range(1, size) if _separate_characters(window[index - 1], window[index]))
    return window[next(boundaries, size) :]


def first_columns(line: str, columns: int, *, partial: bool = False) -> str:
    """The beginning of a line in at most `columns`; `more` says that the line itself is only a beginning."""
    clusters = list(iter_graphemes(line))
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
    """The end of a line in at most `columns`; `more` says that the line itself is only an end."""
    clusters = list(iter_graphemes(line))
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
    """A text as it is, in one line of at most `columns`."""
    window = first_code_points(text, columns * CODE_POINTS_PER_COLUMN)
    return first_columns(" ".join(window.split()), columns, partial=len(window) < len(text))


def first_graphemes(text: str, limit: int) -> str:
    """The first `limit` characters as a person counts them, with “…” when there is more."""
    window = text[: (limit + 1) * CODE_POINTS_PER_COLUMN]
    clusters = list(islice(iter_graphemes(window), limit + 1))
    if len(clusters) <= limit and len(window) == len(text):
        return text
    return "".join(clusters[:-1]) + ELLIPSIS


def first_words(line: str, limit: int) -> str:
    """The first words of a line in at most `limit` characters as a person counts them, “…” among them."""
    clusters = list(islice(iter_graphemes(line), limit + 1))
    if len(clusters) <= limit:
        return line
    text = "".join(clusters[: limit - 1])
    if clusters[limit - 1] != " ":
        text = text[: _word_end(text)]
    return text.rstrip(" .,;:*") + ELLIPSIS


def _width(cluster: str) -> int:
    return max(0, wcswidth(cluster))  # -1 is a control character: it takes no room


def _count_fitting(clusters: Iterable[str], columns: int) -> int:
    widths = accumulate(map(_width, clusters))
    return sum(1 for _ in takewhile(lambda total: total <= columns, widths))


def _word_end(text: str) -> int:
    """Where the last whole word ends, or the whole length when that would cost more than half of it."""
    index = text.rfind(" ")
    return index if index * 2 >= len(text) else len(text)


def _word_start(text: str) -> int:
    index = text.find(" ") + 1
    return index if index * 2 <= len(text) else 0


def _separate_characters(first: str, second: str) -> bool:
    # Between two plain letters, digits or spaces the border depends on nothing that came earlier.
    return (
        (first.isalnum() or first.isspace())
        and (second.isalnum() or second.isspace())
        and len(list(iter_graphemes(first + second))) > 1
    )


PREVIEW_COLUMNS = 40
PEEK_COLUMNS = 80

# Directions that a cut would leave open are taken out with the controls.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]+")
_EMPTY_LINES = re.compile(r"^[ \t]*(?:```[\w+-]*|[-*_]{3,})[ \t]*$", re.MULTILINE)
_LINE_MARKS = re.compile(r"^[ \t]*(?:(?:[-*+•>]|#{1,6})[ \t]+)+", re.MULTILINE)
_LINKS = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKS = re.compile(r"`+|(?<![\w*])\*+(?=[^\s*])|(?<=[^\s*])\*+(?![\w*])", re.ASCII)  # not 2**10, not 2 * 3

_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORDS = re.compile(rf"[{_CJK}]|\w[^\s{_CJK}]*")


def preview(text: str, columns: int = PREVIEW_COLUMNS) -> str:
    """The first words of a text in one plain line."""
    window = first_code_points(text, max(0, columns) * CODE_POINTS_PER_COLUMN)
    return first_columns(plain_line(window), columns, partial=len(window) < len(text))


def tail(text: str, columns: int = PEEK_COLUMNS) -> str:
    """The end of the newest line of a text that has anything to read."""
    window = last_code_points(text, max(0, columns) * CODE_POINTS_PER_COLUMN)
    lines = window.split("\n")
    for index in range(len(lines) - 1, -1, -1):
        if line := plain_line(lines[index]):
            return last_columns(line, columns, partial=index == 0 and len(window) < len(text))
    return ""


def plain_line(text: str) -> str:
    """All of a text in one line without marks. Meant for a window of a text, not for a whole one."""
    while (line := strip_marks(text)) != text:
        text = line
    return line


def count_words(text: str) -> int:
    """Words as a person counts them; where a script has no spaces between them, each character is one."""
    return len(_WORDS.findall(text))


def strip_marks(text: str) -> str:
    """A text in one line without its outermost marks; of any length."""
    for pattern in (_CONTROLS, _EMPTY_LINES, _LINE_MARKS, _MARKS):
        text = pattern.sub("", text)
    return " ".join(_LINKS.sub(r"\1", text).split())


SHORTEST_FENCE = 3

_BACKTICKS = re.compile("`+")
_FENCE_START = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")


def fence_text(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any run of backticks in it."""
    fence = "`" * max(SHORTEST_FENCE, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def text_in_fence(section: str) -> str | None:
    """What stands between the first fence of a part and the last that can close it; None without either."""
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
    """Each line with the fence that is open before it and the one that is open after it; empty for none."""
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
    """The fence that a text opens and never closes."""
    *_, (_, _, fence) = lines_with_fences(text)
    return fence


def _closes_fence(line: str, fence: str) -> bool:
    stripped = line.strip(" \t")
    return stripped.startswith(fence) and not stripped.strip(fence[0])

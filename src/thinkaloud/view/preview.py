"""A long text in one short plain line: its first words at rest, its newest line while it grows.

Markdown marks, line breaks and control characters are taken out; what is left is cut between words
where it can be. The same line comes out when it is put in again.
"""

import re

from thinkaloud.view.graphemes import (
    CODE_POINTS_PER_COLUMN,
    first_code_points,
    first_columns,
    last_code_points,
    last_columns,
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

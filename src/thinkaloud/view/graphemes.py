"""Cutting text by what a person sees: display columns and whole characters, never bytes or code points.

An emoji family, a flag or a letter with its accents is one character and is never split. Work depends
on the size asked for, not on the length of the text: only a window of it is ever looked at.
"""

from collections.abc import Iterable
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

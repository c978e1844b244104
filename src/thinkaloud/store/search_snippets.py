"""The piece of a text around the first place where words were found, in one line, with every place marked.

It is cut between words where there are spaces, else between characters; "…" stands where something was left
out. Marks count code points of the snippet.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from thinkaloud.store.search_words import Phrase, places
from thinkaloud.view.graphemes import ELLIPSIS, foot, head

BEFORE = 50
LENGTH = 160

Span = tuple[int, int]
_CHUNK = re.compile(r"\S+")
_WORD_STARTS = re.compile(r"(?<=\s)(?=\w)")
_WORD_ENDS = re.compile(r"(?<=\S)(?=\s)")


def snippet(text: str, phrases: Sequence[Phrase]) -> tuple[str, tuple[Span, ...]]:
    """The snippet and its marks."""
    first = next(places(text, phrases), (0, 0))
    left, right = _window(text, first[0])
    window = text[left:right]
    here = [(first[0] - left, min(first[1], right) - left)] if first[1] else []
    shown, marks = _one_line(window, _united([*here, *places(window, phrases)]))
    lead = ELLIPSIS if text[:left].strip() else ""
    rest = ELLIPSIS if text[right:].strip() else ""
    return lead + shown + rest, tuple((start + len(lead), end + len(lead)) for start, end in marks)


def _window(text: str, at: int) -> Span:
    """About `LENGTH` code points, some of them before this place."""
    before = foot(text[max(0, at - BEFORE - 1) : at], BEFORE)
    if len(before) < at:
        starts = (match.start() for match in _WORD_STARTS.finditer(before, 0, len(before) // 2 + 1))
        before = before[next(starts, 0) :]
    room = LENGTH - len(before)
    after = head(text[at : at + room + 1], room) or text[at : at + room]  # one character, with endless marks
    if at + len(after) < len(text):
        ends = [match.start() for match in _WORD_ENDS.finditer(after, len(after) // 2)]
        after = after[: ends[-1]] if ends else after
    return at - len(before), at + len(after)


def _united(spans: Iterable[Span]) -> list[Span]:
    """The same places in order, with those that touch or overlap made one."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def _one_line(window: str, spans: Iterable[Span]) -> tuple[str, list[Span]]:
    """The window with one space in place of each gap, and where the places in it have gone."""
    chunks = list(_CHUNK.finditer(window))
    starts = [chunk.start() for chunk in chunks]
    shown = list(accumulate((len(chunk.group()) + 1 for chunk in chunks), initial=0))
    moved = []
    for start, end in spans:
        one, other = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        stop = min(end, chunks[other].end())
        moved.append((shown[one] + start - starts[one], shown[other] + stop - starts[other]))
    return " ".join(chunk.group() for chunk in chunks), moved

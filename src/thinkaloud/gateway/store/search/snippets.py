"""Makes the snippet of a search hit: one line around the best match, with all matches marked.

The best match is the whole query in its order, else the first place with the most of its terms.

The snippet is cut between words if there are spaces, otherwise between characters; "…" marks a cut. Marks
count code points of the snippet.
"""

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

from thinkaloud.core.view.text import ELLIPSIS, first_code_points, last_code_points
from thinkaloud.gateway.store.search.query import Phrase, find_phrases, match_phrases

CONTEXT_BEFORE = 50
SNIPPET_LENGTH = 160
COMPARED_LENGTH = 100_000
"""How far after the first match a better one is looked for: reading a long text for every hit is slow."""

MarkSpan = tuple[int, int]
_CHUNK = re.compile(r"\S+")
_WORD_STARTS = re.compile(r"(?<=\s)(?=\w)")
_WORD_ENDS = re.compile(r"(?<=\S)(?=\s)")


def make_snippet(text: str, phrases: Sequence[Phrase]) -> tuple[str, tuple[MarkSpan, ...]]:
    """Return the snippet and its marks."""
    best = _best_match(text, phrases)
    start_offset, end_offset = _window(text, best[0])
    window = text[start_offset:end_offset]
    spans = list(find_phrases(window, phrases))
    if best[1]:  # a word that the window cuts is not found in it
        spans.append((best[0] - start_offset, min(best[1], end_offset) - start_offset))
    line, marks = _one_line(window, _merge_spans(spans))
    prefix = ELLIPSIS if text[:start_offset].strip() else ""
    suffix = ELLIPSIS if text[end_offset:].strip() else ""
    shift = len(prefix)
    return prefix + line + suffix, tuple((start + shift, end + shift) for start, end in marks)


def _best_match(text: str, phrases: Sequence[Phrase]) -> MarkSpan:
    """Return the span of the first term of the best match; (0, 0) if there is no match.

    Without the whole query in its order, that is the first of the matches that fit into one snippet and have
    the most different phrases.
    """
    if len(phrases) == 1:
        return next(find_phrases(text, phrases), (0, 0))
    query_words = tuple(chain.from_iterable(phrase.words for phrase in phrases))
    whole_query = Phrase(query_words, phrases[-1].prefix)
    best, most = (0, 0), 0
    nearby: deque[tuple[int, int, int]] = deque()
    for match in match_phrases(text, [*phrases, whole_query], COMPARED_LENGTH):
        start, end, index = match
        if index == len(phrases):
            first_term = next(find_phrases(text[start:end], phrases[:1]), (0, end - start))
            return start + first_term[0], start + first_term[1]
        nearby.append(match)
        while end - nearby[0][0] > SNIPPET_LENGTH - CONTEXT_BEFORE and len(nearby) > 1:
            nearby.popleft()
        count = len({phrase_index for _, _, phrase_index in nearby})
        if count > most:
            best, most = nearby[0][:2], count
    return best


def _window(text: str, offset: int) -> MarkSpan:
    """Return a range of about `SNIPPET_LENGTH` code points around this offset."""
    text_before = last_code_points(text[max(0, offset - CONTEXT_BEFORE - 1) : offset], CONTEXT_BEFORE)
    if len(text_before) < offset:
        starts = (match.start() for match in _WORD_STARTS.finditer(text_before, 0, len(text_before) // 2 + 1))
        text_before = text_before[next(starts, 0) :]
    space_after = SNIPPET_LENGTH - len(text_before)
    text_after = first_code_points(text[offset : offset + space_after + 1], space_after)
    if not text_after:
        # A single character can be longer than the snippet if it has many combining marks.
        text_after = text[offset : offset + space_after]
    if offset + len(text_after) < len(text):
        ends = [match.start() for match in _WORD_ENDS.finditer(text_after, len(text_after) // 2)]
        text_after = text_after[: ends[-1]] if ends else text_after
    return offset - len(text_before), offset + len(text_after)


def _merge_spans(spans: Iterable[MarkSpan]) -> list[MarkSpan]:
    """Return the spans in order, with adjacent and overlapping ones merged."""
    merged: list[MarkSpan] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _one_line(window: str, spans: Iterable[MarkSpan]) -> tuple[str, list[MarkSpan]]:
    """Replace each run of whitespace with one space, and map the spans to the new line."""
    chunks = list(_CHUNK.finditer(window))
    starts = [chunk.start() for chunk in chunks]
    line_offsets = list(accumulate((len(chunk.group()) + 1 for chunk in chunks), initial=0))
    line_spans = []
    for start, end in spans:
        first_chunk, last_chunk = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        stop = min(end, chunks[last_chunk].end())
        line_spans.append(
            (
                line_offsets[first_chunk] + start - starts[first_chunk],
                line_offsets[last_chunk] + stop - starts[last_chunk],
            )
        )
    return " ".join(chunk.group() for chunk in chunks), line_spans

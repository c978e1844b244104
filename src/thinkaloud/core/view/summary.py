"""Summarizes the thinking of a turn in one line, without asking a model.

The first of these that exists is used: the summary that an event carried; the provider's own title,
which is the bold or heading line at the start of the newest thought that has one; a sentence of the thoughts:
while the turn runs the first one, which says what it is about, and at the end the last one, which says what
was accomplished. Only the beginning or the end of a thought is read, so the cost is bounded.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.view.state import visible_thoughts
from thinkaloud.core.view.text import (
    count_words,
    first_code_points,
    first_columns,
    last_code_points,
    plain_line,
)

SUMMARY_COLUMNS = 120
READ_AHEAD = 2000
"""Code points of a thought that are searched for a title or a sentence."""
MIN_SENTENCE_WORDS = 3
"""A sentence with fewer words ("I see.") is too short to be a summary."""

_TITLE = re.compile(r"\s*(?:\*\*([^*\n]+)\*\*|#{1,6}[ \t]+([^\n]+?))[ \t]*(?:\n|\Z)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=[^\W\d_a-zß-öø-ÿ]|[\d\"'“«(\[¿¡])|(?<=[。！？])")
_FULL_STOP = re.compile(r"(?<!\.)\.\Z")
_FILLER = re.compile(
    r"(?:(?:okay|ok|alright|all right|hmm+|hm|um+|uh+|oh|ah|hum|tá(?: bom)?)\b[\s,.:;!…–—-]*"
    r"|(?:so|well|now|right|sure|wait|great|let me (?:think|see)(?: about (?:this|that|it))?"
    r"|let'?s (?:think|see)(?: about (?:this|that|it))?"
    r"|bem|bom|certo|então|agora|espera|vejamos|vamos (?:ver|pensar)|pois bem"
    r"|(?:deixa eu|deixe-me|me deixa) (?:pensar|ver)(?: (?:nisso|sobre isso))?)(?:[,.:;!…–—]+\s*|\s*\Z))+",
    re.IGNORECASE,
)


_INTENTION = re.compile(
    r"(?:(?:now|so|then|agora|então),? )?(?:let me|let's|i'll|i will|i should|i need to|i can now"
    r"|i'm going to|vou|vamos|preciso|devo|deixe-me|deixa eu)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says what comes next, rather than what was found."""


class SummaryBy(StrEnum):
    """Who wrote the line."""

    MODEL = "model"
    PROVIDER = "provider"
    EXTRACT = "extract"
    NOBODY = "nobody"


def summary_line(turn: Turn) -> tuple[str, SummaryBy]:
    """Return the summary line and who wrote it; the line is empty when there is nothing to read."""
    thoughts = visible_thoughts(turn)
    for line, by in (
        (_one_line(turn.summary), SummaryBy(turn.summary_by or SummaryBy.NOBODY)),
        (_newest_title(thoughts), SummaryBy.PROVIDER),
        (_one_line(_extract(thoughts, live=turn.live)), SummaryBy.EXTRACT),
    ):
        if line:
            return line, by
    return "", SummaryBy.NOBODY


def opening_title(text: str) -> str:
    """Return the bold or heading line at the start of a text, else an empty text."""
    match = _TITLE.match(first_code_points(text, READ_AHEAD))
    return plain_line(match[1] or match[2]) if match else ""


def first_sentence(text: str) -> str:
    """Return the first sentence that is long enough, else the first sentence."""
    sentences = list(filter(None, _sentences(first_code_points(text, READ_AHEAD))))
    for sentence in sentences:
        if count_words(sentence) >= MIN_SENTENCE_WORDS:
            return sentence
    return sentences[0] if sentences else ""


def last_sentence(text: str) -> str:
    """Return the last sentence that is long enough and tells no intention, else the last sentence."""
    sentences = list(filter(None, _sentences(last_code_points(text, READ_AHEAD))))
    long_enough = [sentence for sentence in sentences if count_words(sentence) >= MIN_SENTENCE_WORDS]
    for sentence in reversed(long_enough):
        if not _INTENTION.match(sentence):
            return sentence
    candidates = long_enough or sentences
    return candidates[-1] if candidates else ""


def newest_title(turn: Turn) -> str:
    """Return the title of the newest thought that has one, which its provider wrote; else an empty text."""
    return _newest_title(visible_thoughts(turn))


def _newest_title(thoughts: list[Block]) -> str:
    for block in reversed(thoughts):
        if title := opening_title(block.text):
            return _one_line(title)
    return ""


def _extract(thoughts: list[Block], *, live: bool) -> str:
    readable = [block for block in thoughts if not block.blank]
    if not readable:
        return ""
    return first_sentence(readable[0].text) if live else last_sentence(readable[-1].text)


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        for sentence in _SENTENCE_END.split(plain_line(line)):
            yield _FULL_STOP.sub("", _without_filler(sentence))


def _without_filler(sentence: str) -> str:
    filler = _FILLER.match(sentence)
    if filler is None:
        return sentence
    remainder = sentence[filler.end() :]
    return remainder[:1].upper() + remainder[1:]


def _one_line(text: str) -> str:
    return first_columns(plain_line(first_code_points(text, READ_AHEAD)), SUMMARY_COLUMNS)

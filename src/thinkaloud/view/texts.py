"""The answer for where nothing is drawn: a clipboard, a title, a voice.

Only the turn's own answer is read for them. No thought, nothing that a tool or an assistant said, and no seal
can be in such a text.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from thinkaloud.transcript import Turn
from thinkaloud.view.fences import lines_with_fences
from thinkaloud.view.graphemes import first_code_points, first_words
from thinkaloud.view.preview import strip_marks
from thinkaloud.view.summary import READ_AHEAD, first_sentence, opening_title
from thinkaloud.view.words import Words

TITLE_LIMIT = 60
"""Characters of a title, as a person counts them."""

_TAGS = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*\Z")
_CELLS = re.compile(r"[ \t]*\|[ \t]*")
_UNDERLINES = re.compile(r"(?<![\w\\])_+(?=\S)|(?<=\S)_+(?!\w)|~~+")


def copy_text(turn: Turn) -> str:
    """The answer as it was said."""
    return turn.answer


def title_text(turn: Turn) -> str:
    """A title made of the answer: its heading or its first sentence; empty where there is no answer."""
    text = first_code_points(turn.answer, READ_AHEAD)
    prose = "\n".join(
        line
        for line, fence_before, fence_after in lines_with_fences(text)
        if not fence_before and not fence_after
    )
    title = opening_title(prose) or first_sentence(prose) or first_sentence(text)
    return first_words(title.rstrip(" :"), TITLE_LIMIT)


def speech_text(turn: Turn, locale: str = "en-US") -> str:
    """The answer to be read aloud: no marks, links by their text, and a word instead of code."""
    paragraphs = groupby(_speech_lines(turn.answer, Words(locale).text("ai.speech.code")), key=bool)
    return "\n\n".join("\n".join(lines) for has_text, lines in paragraphs if has_text)


def _speech_lines(text: str, code: str) -> Iterator[str]:
    for line, fence_before, fence_after in lines_with_fences(text):
        if not fence_before:
            yield code if fence_after else _speech_line(line)


def _speech_line(line: str) -> str:
    """A line without marks. Twice, for a picture in a link; not until nothing changes, which has no bound."""
    if _TABLE_RULE.match(line):
        return ""
    line = _UNDERLINES.sub("", _TAGS.sub("", line))
    return _CELLS.sub(", ", strip_marks(strip_marks(line)).strip("| "))

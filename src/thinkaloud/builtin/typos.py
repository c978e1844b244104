"""Corrects typing errors towards the words that the skills know, one edit per word.

A word that is known stays as it is, and so does one that could become two different words.
"""

import re
from functools import cache

from thinkaloud.builtin.skills import SKILLS
from thinkaloud.builtin.units import UNITS
from thinkaloud.builtin.words import COMMON_WORDS, normalize

MAX_MENDED_CHARACTERS = 300
_FEWEST_LETTERS = 4
_SWAPPED_LETTERS = 3
"""In a word of three letters only two swapped ones are corrected: "teh"."""
_FORM = re.compile(r"(?<=\d )form(?= \d)")
"""A known word, but between numbers it is "from" with two letters swapped."""
_WORD = re.compile(r"[^\W\d_]{3,}")


@cache
def _known_words() -> frozenset[str]:
    words = (word for skill in SKILLS for word in skill.words.split())
    return frozenset(words) | COMMON_WORDS


def correct_typos(text: str) -> str:
    """Returns the text with each word that is one edit from a known word replaced by it."""
    if len(text) > MAX_MENDED_CHARACTERS:
        return text
    return _FORM.sub("from", _WORD.sub(lambda match: _mended_word(match[0]), text))


def _mended_word(word: str) -> str:
    plain = normalize(word)
    if plain in _known_words():
        return word
    candidates = [
        known for known in _known_words() if len(known) >= _SWAPPED_LETTERS and _close(plain, known)
    ]
    same_start = [known for known in candidates if known[0] == plain[0]]
    for choices in (candidates, same_start):
        if len({UNITS.get(known, known) for known in choices}) == 1:  # "kilometers" and "kilometres" are one
            return min(choices)
    return word


def _close(word: str, known: str) -> bool:
    swapped = len(word) == len(known) and sorted(word) == sorted(known)
    long_enough = min(len(word), len(known)) >= _FEWEST_LETTERS
    return (swapped or long_enough) and one_edit_apart(word, known)


def one_edit_apart(word: str, other: str) -> bool:
    """Tells whether one letter was added, left out or replaced, or two neighbours were swapped."""
    if abs(len(word) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    word, other = word[start:], other[start:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) == 1 or (len(word) == 2 and word == other[::-1])

"""Normalizes text for search: splits it into words without case, accents, width and ligatures.

"acao" finds "ação". In scripts without spaces between words every character is a word, and so is every emoji.
Engines split the normalized text at its spaces and do nothing else. If you change these rules, increase
`RULES_VERSION`: the index is then rebuilt.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

RULES_VERSION = 1
FOLD_VERSION = f"{RULES_VERSION}, Unicode {unicodedata.unidata_version}"

_CHUNK = re.compile("[^\\s\u200b]+")  # a zero-width space is a space
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_CACHED_CHARACTERS = 32

_SINGLE_CHARACTER_WORD = re.compile(
    "["
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff"  # radicals, kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # ideographs, Hangul
    "\u2600-\u27bf\U0001f000-\U0001faff"  # emoji
    "]"
)
_STROKED_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "ŧ": "t"}
)
_INVISIBLE = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_HANGUL_PARTS = re.compile("[\u1100-\u11ff\uac00-\ud7a3][\u1160-\u11ff]")
_JOINED_PAIR = re.compile("\u200d.|.[\uff9e\uff9f\U0001f3fb-\U0001f3ff]", re.DOTALL)


class Word(NamedTuple):
    """A normalized word and its range in the original text."""

    text: str
    start: int
    end: int


def words(text: str) -> Iterator[Word]:
    """Yield the words of a text in order."""
    for chunk in _CHUNK.finditer(text):
        offset, chunk_text = chunk.start(), chunk.group()
        for word in (
            _cached_words(chunk_text) if len(chunk_text) <= _CACHED_CHARACTERS else _words_in(chunk_text)
        ):
            yield Word(word.text, offset + word.start, offset + word.end)


def normalize_text(text: str) -> str:
    """Return the words of a text joined by spaces. Normalizing the result again changes nothing."""
    return " ".join(word.text for word in words(text))


@lru_cache(maxsize=16_384)
def _cached_words(chunk: str) -> tuple[Word, ...]:
    return _words_in(chunk)


def _words_in(chunk: str) -> tuple[Word, ...]:
    if chunk.isascii():
        return tuple(Word(m.group().lower(), m.start(), m.end()) for m in _ASCII_WORD.finditer(chunk))
    letters = [
        Word(letter, *span)
        for span in _characters(chunk)
        for letter in _normalize_character(chunk[slice(*span)])
    ]
    result: list[Word] = []
    for word_kind, run in groupby(letters, lambda letter: _word_kind(letter.text)):
        if word_kind == "alone":
            result += run
        elif word_kind == "joined":
            joined_letters = list(run)
            result.append(
                Word(
                    "".join(letter.text for letter in joined_letters),
                    joined_letters[0].start,
                    joined_letters[-1].end,
                )
            )
    return tuple(result)


def _characters(chunk: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of characters, each with its combining marks."""
    start = 0
    for index in range(1, len(chunk)):
        if not _continues_character(chunk[index - 1 : index + 1]):
            yield start, index
            start = index
    yield start, len(chunk)


def _continues_character(pair: str) -> bool:
    category = unicodedata.category(pair[1])
    return (
        category[0] == "M" or category == "Cf" or bool(_HANGUL_PARTS.match(pair) or _JOINED_PAIR.match(pair))
    )


@lru_cache(maxsize=16_384)
def _normalize_character(character: str) -> str:
    plain = _without_marks(unicodedata.normalize("NFKD", character)).casefold().translate(_STROKED_LETTERS)
    return unicodedata.normalize("NFC", _without_marks(unicodedata.normalize("NFKD", plain)))


def _without_marks(text: str) -> str:
    return "".join(letter for letter in text if not _ignorable_mark(letter))


def _ignorable_mark(letter: str) -> bool:
    """Whether search ignores a mark. Vowel signs and the voicing of kana change the letter and are kept."""
    combining_class = unicodedata.combining(letter)
    return (
        10 <= combining_class <= 36  # points of Hebrew, Arabic and Syriac
        or combining_class >= 200  # above, below and through a letter
        or unicodedata.category(letter) in ("Cf", "Me")
        or _INVISIBLE.match(letter) is not None
    )


def single_character_word(word: str) -> bool:
    """Whether words of this script are single characters, so that a prefix search makes no sense."""
    return _SINGLE_CHARACTER_WORD.match(word) is not None


def _word_kind(letter: str) -> str:
    """Return how a letter forms words: "joined" with its neighbours, "alone", or "" for no word."""
    category = unicodedata.category(letter)[0]
    if _SINGLE_CHARACTER_WORD.match(letter):
        return "alone" if category in "LMNS" else ""
    return "joined" if category in "LMN" else ""

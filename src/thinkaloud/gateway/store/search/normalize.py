"""Normalizes text for search: splits it into words without case, accents, width and ligatures.

"acao" finds "ação". In scripts without spaces between words every character is a word, and so is every emoji.
Engines split the normalized text at its spaces and do nothing else. If you change these rules, increase
`RULES_VERSION`: the index is then rebuilt.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

IndexEntry = dict[str, int | str]
"""What the full-text index of every engine gets of a text: `key`, `norm` (normalized text) and `tags`."""

RULES_VERSION = 2
FOLD_VERSION = f"{RULES_VERSION}, Unicode {unicodedata.unidata_version}"

INDEXED_CHARS = 500_000
"""Of one text. Half a million words of one character are indexed in a quarter of a second, and nothing else
is saved meanwhile."""
_PIECE_CHARS = 16_384
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
        split = _cached_words if len(chunk_text) <= _CACHED_CHARACTERS else _words_in
        for word in split(chunk_text):
            yield Word(word.text, offset + word.start, offset + word.end)


def normalize_text(text: str) -> str:
    """Return the words of a text joined by spaces. Normalizing the result again changes nothing.

    These are the words of `words`. Their ranges are not needed here, so a table translates whole stretches
    of text. Only characters of several code points are looked up one by one.
    """
    if text.isascii():
        return " ".join(_ASCII_WORD.findall(text.lower()))
    marks = "".join(sorted(filter(_may_continue_character, set(text))))
    if not marks:
        return " ".join(_translate(text).split())
    spaced: list[str] = []
    end = 0
    for match in _marks_pattern(marks).finditer(text):
        start = match.start()
        if start > end and _CHUNK.match(text[start - 1]):
            start -= 1  # the character that the marks belong to
        spaced += text[end:start].translate(_TRANSLATIONS), _spaced_characters(text[start : match.end()])
        end = match.end()
    spaced.append(text[end:].translate(_TRANSLATIONS))
    return " ".join("".join(spaced).split())


def normalize_for_index(text: str) -> str:
    """Return what the index holds of a text: the words of its first `INDEXED_CHARS` characters."""
    return normalize_text(text[:INDEXED_CHARS])


def normalize_texts(texts: Iterable[str]) -> dict[str, str]:
    """Return each text with what the index holds of it."""
    return {text: normalize_for_index(text) for text in texts}


def _translate(text: str) -> str:
    """Translate in pieces: no other thread runs within a piece, and the event loop must not wait for long."""
    starts = range(0, len(text), _PIECE_CHARS)
    return "".join(text[start : start + _PIECE_CHARS].translate(_TRANSLATIONS) for start in starts)


@lru_cache(maxsize=16_384)
def _spaced_letters(character: str) -> str:
    """Return the normalized letters of a character, with a space wherever a word begins or ends."""
    forms = {"alone": " {} ", "joined": "{}", "": " "}
    return "".join(forms[_word_kind(letter)].format(letter) for letter in _normalize_character(character))


def _spaced_characters(chunk: str) -> str:
    return "".join(_spaced_letters(chunk[slice(*span)]) for span in _characters(chunk))


class _Translations(dict[int, str]):
    """The result of `_spaced_letters` by code point. Filled on use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = spaced = _spaced_letters(character) if _CHUNK.match(character) else " "
        return spaced


_TRANSLATIONS = _Translations()


@lru_cache(maxsize=64)
def _marks_pattern(marks: str) -> re.Pattern[str]:
    """Match marks, and the character that a zero-width joiner joins to the one before."""
    mark = f"[{re.escape(marks)}]"
    return re.compile(f"{mark}(?:{mark}|(?<=\u200d)[^\\s\u200b])*")


@lru_cache(maxsize=16_384)
def _may_continue_character(letter: str) -> bool:
    """Whether `_continues_character` can be true for this letter after some other one."""
    in_chunk = _CHUNK.match(letter) is not None
    return in_chunk and any(_continues_character(before + letter) for before in ("a", "\u1100"))


@lru_cache(maxsize=16_384)
def _cached_words(chunk: str) -> tuple[Word, ...]:
    return _words_in(chunk)


def _words_in(chunk: str) -> tuple[Word, ...]:
    if chunk.isascii():
        return tuple(Word(m.group().lower(), m.start(), m.end()) for m in _ASCII_WORD.finditer(chunk))
    letters: list[Word] = []
    for start, end in _characters(chunk):
        letters += [Word(letter, start, end) for letter in _normalize_character(chunk[start:end])]
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

"""The ways to read a question: without a greeting, with numbers in digits, with typing errors corrected.

Numbers in words are English or Portuguese: "twenty-four", "cento e vinte e um". A typing error is corrected
if one edit makes a word that the solver knows; a word that could become two different ones stays as it is.
"""

import re
from functools import cache

from thinkaloud.builtin.words import COMMON_WORDS, Language, normalize, plain_number
from thinkaloud.builtin.words.units import UNITS
from thinkaloud.builtin.words.vocabulary import KINDS, NUMBER_FACTORS, NUMBER_WORDS

_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|oi|ola|good (?:morning|afternoon|evening)|bom dia|boa tarde|boa noite)"
    r"(?: there| solver| thinkaloud)?[,.!:]? +|please,? +|por favor,? +)+",
    re.IGNORECASE,
)
_ASKS_VALUE = (
    r"(?:(?:please|hey|ok|so|and|then|can you|could you|tell me|por favor|e|me diga),? )*"
    r"(?:how much is|how much are|what is the (?:result|value) of|what is|what's|whats|what are|what do you "
    r"get for|calculate|compute|evaluate|solve|work out|find|quanto (?:e|eh|da|sao|fica|vale)|qual e"
    r"|qual o (?:valor|resultado) de|calcule|calcular|resolva)"
)
_QUESTION = re.compile(rf"{_ASKS_VALUE}[: ]+(.+?)[?=. ]*")
_NUMBER = re.compile(r"\d[\d.,]*(?<=\d)")


def readings(text: str) -> dict[str, bool]:
    """Returns the ways to read a text, the surest first, and whether typing errors were corrected in each."""
    bare = _GREETING.sub("", text, count=1) if _GREETING.match(text) else text
    corrected = correct_typos(bare)
    texts = {text: False, bare: False}
    digits = with_digits(normalize(bare))
    if digits != normalize(bare):
        texts.setdefault(digits, False)
    if corrected != bare:
        texts.setdefault(corrected, True)
        texts.setdefault(with_digits(normalize(corrected)), True)
    return texts


def asked_value(text: str) -> str:
    """Returns what a normalized question asks the value of; the whole question where it is no question."""
    match = _QUESTION.fullmatch(text)
    return match[1] if match else text.rstrip("=?. ")


def plain_numbers(text: str, language: Language) -> str:
    """Rewrites every number of a text in plain digits with a decimal point."""
    return _NUMBER.sub(lambda number: plain_number(number[0], language) or number[0], text)


_ARTICLES = {"one", "um", "uma"}
_NAMES = "|".join(sorted([*NUMBER_WORDS, *NUMBER_FACTORS], key=len, reverse=True))
_RUN = re.compile(rf"(?<![\w'])(?:{_NAMES})(?:[ -](?:(?:and|e) )?(?:{_NAMES}))*(?![\w'])")


def with_digits(text: str) -> str:
    """Returns a normalized text with its numbers in digits; an article alone stays a word."""
    return _RUN.sub(lambda match: match[0] if match[0] in _ARTICLES else _digits(match[0]), text)


class _SpokenNumber:
    """A number that is read word by word: its whole thousands, and what is below them."""

    def __init__(self) -> None:
        self.thousands = 0
        self.rest = 0

    def fits(self, value: int) -> bool:
        """Tells whether a value can follow: units after tens, tens after hundreds, any after thousands."""
        if self.rest == 0:
            return self.thousands > 0 and value < 1000
        if self.rest % 100 == 0:
            return value < 100
        return self.rest % 100 >= 20 and self.rest % 10 == 0 and 0 < value < 10

    def multiply(self, factor: int) -> None:
        if factor == 100:
            self.rest = (self.rest or 1) * 100
        else:
            self.thousands += (self.rest or 1) * factor
            self.rest = 0


def _digits(run: str) -> str:
    """Writes a run of number words in digits: "four seven" is two numbers, "forty seven" is one."""
    parts: list[_SpokenNumber | str] = []
    number: _SpokenNumber | None = None
    joiner = ""
    for word in run.replace("-", " ").split():
        if word in ("and", "e"):
            joiner = word
            continue
        value = NUMBER_WORDS.get(word)
        if number is None or (value is not None and not number.fits(value)):
            parts += [joiner] if joiner else []
            number = _SpokenNumber()
            number.rest = 1 if value is None else value
            parts.append(number)
        elif value is not None:
            number.rest += value
        if value is None:
            number.multiply(NUMBER_FACTORS[word])
        joiner = ""
    return " ".join(part if isinstance(part, str) else str(part.thousands + part.rest) for part in parts)


MAX_MENDED_CHARACTERS = 300
_FEWEST_LETTERS = 4
_SWAPPED_LETTERS = 3
"""In a word of three letters only two swapped ones are corrected: "teh"."""
_FORM = re.compile(r"(?<=\d )form(?= \d)")
"""A known word, but between numbers it is "from" with two letters swapped."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def kind_words(kind: str) -> set[str]:
    """Returns the words that a kind of question is asked in."""
    words = set(KINDS[kind].split())
    if kind == "units":
        words.update(name for name in UNITS if name.isalpha() and len(name) >= _FEWEST_LETTERS)
    return words


@cache
def _known_words() -> frozenset[str]:
    return COMMON_WORDS.union(*(kind_words(kind) for kind in KINDS))


def correct_typos(text: str) -> str:
    """Returns the text with each word that is one edit from a known word replaced by it."""
    if len(text) > MAX_MENDED_CHARACTERS:
        return text
    return _FORM.sub("from", _WORD.sub(lambda match: _corrected_word(match[0]), text))


def _corrected_word(word: str) -> str:
    plain = normalize(word)
    if plain in _known_words():
        return word
    candidates = [known for known in _known_words() if _close(plain, known)]
    same_start = [known for known in candidates if known[0] == plain[0]]
    for choices in (candidates, same_start):
        if len({UNITS.get(known, known) for known in choices}) == 1:  # "kilometers" and "kilometres" are one
            return min(choices)
    return word


def _close(word: str, known: str) -> bool:
    if len(known) < _SWAPPED_LETTERS:
        return False
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

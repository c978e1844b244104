"""English or Portuguese: which one a text is in, and how each writes its numbers."""

import re
import unicodedata
from datetime import date
from enum import StrEnum
from fractions import Fraction


class Language(StrEnum):
    """The languages that are understood and spoken."""

    EN = "en-US"
    PT = "pt-BR"


_ENGLISH = """a and are answer at away before between both by calculate can check convert day days do does
    equal exactly from get have hello hi how i in into is know least make many much not number numbers of
    or please reach says tell than that the then there this times to use using us was we week what which who
    with write you your"""
_PORTUGUESE = """alcance ambos antes ao apos as ate calcule calcular com como chegar chegue confira converta
    converter da das de dia dias do dos depois diz e em entre escreva essa esta este eu exatamente faca fica
    isso mais menos meu na nao no nos numeros o oi ola os ou para pelo por qual quando quanto quantas
    quantos que quem resposta sao semana somos sou tem todos um uma usando use vezes voce"""
_COMMON = {Language.EN: frozenset(_ENGLISH.split()), Language.PT: frozenset(_PORTUGUESE.split())}
_ACCENTED = re.compile("[ãõçáéíóúâêôà]", re.IGNORECASE)
_GROUPED = {
    Language.EN: re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?"),
    Language.PT: re.compile(r"-?\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
}
_DECIMAL = re.compile(r"-?\d+(?:[.,]\d+)?")
_SIGNIFICANT = 6
_LONGEST_DECIMAL = 15
_MOST_PLACES = 40


def plain(text: str) -> str:
    """The text without capitals, accents and runs of space, for matching."""
    bare = "".join(
        mark for mark in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(mark)
    )
    return " ".join(bare.replace("’", "'").split())


def language_of(text: str) -> Language:
    """The language whose common words the text has more of; English where that says nothing."""
    words = re.findall(r"[^\W\d_]+", plain(text))
    english = sum(word in _COMMON[Language.EN] for word in words)
    portuguese = sum(word in _COMMON[Language.PT] for word in words) + len(_ACCENTED.findall(text))
    return Language.PT if portuguese > english else Language.EN


def figures(text: str, language: Language) -> str | None:
    """A number as the language writes it, 1,234.5 or 1.234,5, in bare figures; None where it is none."""
    text = text.strip().replace("−", "-")
    if _GROUPED[language].fullmatch(text):
        text = text.replace("," if language is Language.EN else ".", "")
    return text.replace(",", ".") if _DECIMAL.fullmatch(text) else None


def read_number(text: str, language: Language) -> Fraction | None:
    """The value of a number as the language writes it."""
    found = figures(text, language)
    return None if found is None else Fraction(found)


def exact_text(value: Fraction | int) -> str:
    """A number exactly, in an expression: decimals where they end, else a fraction."""
    value = Fraction(value)
    places = _places(value)
    return str(value) if places is None else "-" * (value < 0) + _fixed(abs(value), places)


def write_decimal(value: Fraction, language: Language) -> tuple[str, bool]:
    """A number in digits, and whether that is all of it: long ones are rounded to six significant digits."""
    sign, value = "−" * (value < 0), abs(value)
    places = _places(value)
    exact = places is not None and (places == 0 or len(_fixed(value, places)) <= _LONGEST_DECIMAL)
    if places is None or not exact:
        digits = _fixed(value, max(0, _SIGNIFICANT - 1 - _magnitude(value)))
    else:
        digits = _fixed(value, places)
    return sign + (digits.replace(".", ",") if language is Language.PT else digits), exact


def write_date(day: date, language: Language) -> str:
    """A date in figures: ISO in English, the day first in Portuguese."""
    return f"{day:%d/%m}/{day.year:04d}" if language is Language.PT else day.isoformat()


def _places(value: Fraction) -> int | None:
    """How many decimal places write it exactly, or None where none do (or far too many)."""
    return next((n for n in range(_MOST_PLACES + 1) if 10**n % value.denominator == 0), None)


def _fixed(value: Fraction, places: int) -> str:
    digits = str(round(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _magnitude(value: Fraction) -> int:
    """The power of ten of its first digit."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= Fraction(10) ** guess else guess - 1

"""The two languages: their phrases, how to recognise them, and how each writes numbers and dates.

Both tables of phrases have the same keys and the same fields to fill in.
"""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from fractions import Fraction

from thinkaloud.builtin.words.en_us import EN_US
from thinkaloud.builtin.words.pt_br import PT_BR


class Language(StrEnum):
    """A language that the solver reads and writes."""

    EN = "en-US"
    PT = "pt-BR"


PHRASES: Mapping[Language, Mapping[str, str]] = {Language.EN: EN_US, Language.PT: PT_BR}


class Unsolvable(Exception):
    """The question cannot be solved as it stands: `reason` is a key of the phrases, the rest fills it in."""

    def __init__(self, reason: str, text: str = "", limit: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text
        self.limit = limit


_ENGLISH = """a add after ago am and are answer at away before between bigger both by calculate can
    check common connect convert cost count cube day days divided do does each equal exactly factor find
    for from get good have hello help hey hi how i in into is it know larger least left list long make
    many meet much my not number numbers of off old or over percent please plus prime primes reach
    reverse root says since smaller solve square tell thank thanks than that the then there they this
    time times to today tomorrow until use using us was we week what whats when where which who why will
    with write yesterday you your"""
_PORTUGUESE = """a ajuda alcance amanha ambos antes ao apos as ate boa bom brasil cada calcule calcular
    com como chegar chegue conecto confira converta converter custa custam da dados das de desde dia dias
    dividido do dos depois diz dobro e ela ele em entre escreva essa esta este eu exatamente faca faltam
    fatore fica ficam hoje isso irma juntos liste maior mais mdc menor menos metade meu meus minha mmc
    modelo modelos na nao natal no nos numeros o obrigada obrigado oi ola ontem os ou para pelo por
    porcento primo primos qual quais quando quanto quantas quantos que quem raiz resolva resposta sao se
    semana sobram somos sou tchau tem tenho todos troco tudo um uma usando use valeu velocidade vezes voce"""
_COMMON_ENGLISH = frozenset(_ENGLISH.split())
_COMMON_PORTUGUESE = frozenset(_PORTUGUESE.split())
COMMON_WORDS = _COMMON_ENGLISH | _COMMON_PORTUGUESE
"""Words that tell which language a text is in."""
_ACCENTED = re.compile("[ãõçáéíóúâêôà]", re.IGNORECASE)
_GROUPED = {
    Language.EN: re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?"),
    Language.PT: re.compile(r"-?\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
}
_DECIMAL = re.compile(r"-?\d+(?:[.,]\d+)?")
_SIGNIFICANT_DIGITS = 6
_MAX_DECIMAL_CHARACTERS = 15
_MAX_PLACES = 40


def phrase(language: Language, key: str, **values: object) -> str:
    """Returns a phrase with its fields filled in."""
    return PHRASES[language][key].format(**values)


def normalize(text: str) -> str:
    """Removes capitals, accents and repeated spaces, and writes the digits of any script as 0 to 9."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    bare = "".join(
        _plain_digit(character) for character in decomposed if not unicodedata.combining(character)
    )
    return " ".join(bare.replace("’", "'").split())


def _plain_digit(character: str) -> str:
    return str(unicodedata.decimal(character, character))


def detect_language(text: str) -> Language:
    """Returns the language that the text has more common words of; English where neither has more."""
    words = re.findall(r"(?<!\d)[^\W\d_]+", normalize(text))
    english = sum(word in _COMMON_ENGLISH for word in words)
    portuguese = sum(word in _COMMON_PORTUGUESE for word in words) + len(_ACCENTED.findall(text))
    return Language.PT if portuguese > english else Language.EN


def plain_number(text: str, language: Language) -> str | None:
    """Rewrites a number of the language (1,234.5 or 1.234,5) as 1234.5; None where it is not a number."""
    text = text.strip().replace("−", "-")
    if _GROUPED[language].fullmatch(text):
        text = text.replace("," if language is Language.EN else ".", "")
    return text.replace(",", ".") if _DECIMAL.fullmatch(text) else None


def weekday_names(language: Language) -> list[str]:
    """Returns the names of the days of the week, from Monday."""
    return PHRASES[language]["weekdays"].split()


def exact_text(value: Fraction | int) -> str:
    """Writes a number exactly, for an expression: as a decimal where that ends, else as a fraction."""
    value = Fraction(value)
    places = _decimal_places(value)
    return str(value) if places is None else "-" * (value < 0) + _fixed(abs(value), places)


def decimal_text(value: Fraction, language: Language) -> tuple[str, bool]:
    """Writes a number in digits; the flag is False where it was rounded to six significant digits."""
    sign, value = "−" * (value < 0), abs(value)
    places = _decimal_places(value)
    exact = places is not None and (places == 0 or len(_fixed(value, places)) <= _MAX_DECIMAL_CHARACTERS)
    if places is None or not exact:
        places = max(0, _SIGNIFICANT_DIGITS - 1 - _magnitude(value))
    digits = _fixed(value, places)
    return sign + (digits.replace(".", ",") if language is Language.PT else digits), exact


def expression_text(expression: str, language: Language) -> str:
    """Writes an expression with the typographic signs, and the decimal comma of Portuguese."""
    for typed, sign in (("*", "×"), (" / ", " ÷ "), ("-", "−")):
        expression = expression.replace(typed, sign)
    return expression.replace(".", ",") if language is Language.PT else expression


def number_text(value: Fraction | int, language: Language) -> str:
    """Writes a number exactly, in the typography of the language."""
    return expression_text(exact_text(value), language)


def value_text(value: Fraction, language: Language) -> str:
    """Writes a number in digits; one that had to be rounded begins with the sign ≈."""
    digits, exact = decimal_text(value, language)
    return digits if exact else f"≈ {digits}"


def bracketed(expression: str) -> str:
    """Puts a negative number or a fraction in brackets, so that it can be an operand."""
    return f"({expression})" if expression.startswith("-") or "/" in expression else expression


def date_text(day: date, language: Language) -> str:
    """Writes a date in digits: ISO in English, the day first in Portuguese."""
    return f"{day:%d/%m}/{day.year:04d}" if language is Language.PT else day.isoformat()


def _decimal_places(value: Fraction) -> int | None:
    """Counts the decimal places that write a value exactly; None where no reasonable number does."""
    return next((places for places in range(_MAX_PLACES + 1) if 10**places % value.denominator == 0), None)


def _fixed(value: Fraction, places: int) -> str:
    digits = str(round(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _magnitude(value: Fraction) -> int:
    """Returns the power of ten of the first digit."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= Fraction(10) ** guess else guess - 1

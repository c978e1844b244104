"""Dates as people write them: 2026-11-15, November 15, 2026, 15 de novembro de 2026, 15/11/2026.

A day and a month in figures are read the Portuguese way in Portuguese; in English only where they are clear.
"""

import re
from datetime import date

from thinkaloud.builtin.language import Language

_MONTHS = (
    ("january", "jan", "janeiro"),
    ("february", "feb", "fevereiro", "fev"),
    ("march", "mar", "marco"),
    ("april", "apr", "abril", "abr"),
    ("may", "maio", "mai"),
    ("june", "jun", "junho"),
    ("july", "jul", "julho"),
    ("august", "aug", "agosto", "ago"),
    ("september", "sep", "sept", "setembro", "set"),
    ("october", "oct", "outubro", "out"),
    ("november", "nov", "novembro"),
    ("december", "dec", "dezembro", "dez"),
)
_MONTH = {name: at for at, names in enumerate(_MONTHS, 1) for name in names}
_NAMED = "|".join(sorted(_MONTH, key=len, reverse=True))
DATE = re.compile(
    r"\b(?:(?P<iso_year>\d{4})-(?P<iso_month>\d{1,2})-(?P<iso_day>\d{1,2})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|º|o)?(?: of| de)? (?P<month>{_NAMED})\.?,?(?: of| de)?"
    r" (?P<year>\d{4})"
    rf"|(?P<us_month>{_NAMED})\.? (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<us_year>\d{{4}})"
    r"|(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<last>\d{4}))\b"
)
"""A date in text without capitals and accents."""


class Unclear(Exception):
    """A date that is none, or that could be two: `why` is a key of the words."""

    def __init__(self, why: str, said: str) -> None:
        super().__init__(why)
        self.why = why
        self.said = said


def read_date(text: str, language: Language) -> date:
    """The date in a text that `DATE` matched."""
    found = DATE.fullmatch(text)
    if found is None:
        raise Unclear("no_such_date", text)
    year, month, day = _figures(found, language)
    try:
        return date(year, month, day)
    except ValueError:
        raise Unclear("no_such_date", text) from None


def _figures(found: re.Match[str], language: Language) -> tuple[int, int, int]:
    if found["iso_year"]:
        return int(found["iso_year"]), int(found["iso_month"]), int(found["iso_day"])
    if found["year"]:
        return int(found["year"]), _MONTH[found["month"]], int(found["day"])
    if found["us_year"]:
        return int(found["us_year"]), _MONTH[found["us_month"]], int(found["us_day"])
    first, second, year = int(found["first"]), int(found["second"]), int(found["last"])
    if language is Language.PT or first > 12 or first == second:
        return year, second, first
    if second > 12:
        return year, first, second
    raise Unclear("ambiguous_date", found[0])

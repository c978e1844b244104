"""Dates: how people write them, and day numbers.

Day 1 is Monday, the first of January of the year 1. Leap years are Gregorian, also before that calendar was
used. In English a date such as 03/04/2026 is ambiguous and refused; in Portuguese the day comes first. A date
without a year is the one of this year, or the next or the last one where the question asks for that.
"""

import re
from calendar import monthrange
from collections.abc import Generator
from datetime import date, timedelta
from enum import IntEnum

import msgspec

from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.words import Language, Unsolvable

_MONTHS = """january jan janeiro, february feb fevereiro fev, march mar marco, april apr abril abr,
    may maio mai, june jun junho, july jul julho, august aug agosto ago, september sep sept setembro set,
    october oct outubro out, november nov novembro, december dec dezembro dez"""
_MONTH_NUMBERS = {
    name: number for number, names in enumerate(_MONTHS.split(","), 1) for name in names.split()
}
_OTHER_WORDS = {"mar", "mai", "out", "set"}
"""Short months that are common words too: without a year they are no months."""
_MONTH = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_SURE_MONTH = "|".join(sorted(_MONTH_NUMBERS.keys() - _OTHER_WORDS, key=len, reverse=True))
_RELATIVE = {
    "the day after tomorrow": 2, "depois de amanha": 2, "today": 0, "hoje": 0, "tomorrow": 1, "amanha": 1,
    "yesterday": -1, "ontem": -1,
}  # fmt: skip
_HOLIDAYS = {
    "christmas eve": (12, 24), "vespera de natal": (12, 24), "christmas": (12, 25), "xmas": (12, 25),
    "natal": (12, 25), "new year's eve": (12, 31), "new year": (1, 1), "ano novo": (1, 1),
    "halloween": (10, 31), "valentine's day": (2, 14), "dia dos namorados": (6, 12),
}  # fmt: skip
_SUFFIX = r"(?:st|nd|rd|th|º|o)?"
DATE = re.compile(
    r"\b(?:(?P<iso_year>\d{4})-(?P<iso_month>\d{1,2})-(?P<iso_day>\d{1,2})"
    rf"|(?P<day>\d{{1,2}}){_SUFFIX}(?: of| de)? (?P<month>{_MONTH})\.?,?(?: of| de)? (?P<year>\d{{4}})"
    rf"|(?P<us_month>{_MONTH})\.? (?P<us_day>\d{{1,2}}){_SUFFIX},? (?P<us_year>\d{{4}})"
    r"|(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<last>\d{4})"
    rf"|(?P<sure_day>\d{{1,2}}){_SUFFIX}(?: of| de)? (?P<sure_month>{_SURE_MONTH})"
    rf"|(?P<sure_us_month>{_SURE_MONTH})\.? (?P<sure_us_day>\d{{1,2}}){_SUFFIX}"
    rf"|(?P<relative>{'|'.join(_RELATIVE)})|(?P<holiday>{'|'.join(_HOLIDAYS)})(?:'s day| day)?)\b"
)
"""A date in normalized text."""


class Nearest(IntEnum):
    """Which year a date without one is in: this year, or that of the next or the last such date."""

    LAST = -1
    THIS_YEAR = 0
    NEXT = 1


class ReadDate(msgspec.Struct, frozen=True):
    """A date, and the key of a phrase that says what was assumed to read it."""

    day: date
    note: str = ""


def read_dates(
    text: str, language: Language, today: date, nearest: Nearest = Nearest.THIS_YEAR
) -> list[ReadDate]:
    """Reads every date in a normalized text. Raises `Unsolvable`."""
    days = []
    for match in DATE.finditer(text):
        try:
            days.append(_read(match, language, today, nearest))
        except (ValueError, OverflowError):
            raise Unsolvable("no_such_date", match[0]) from None
    return days


def _read(match: re.Match[str], language: Language, today: date, nearest: Nearest) -> ReadDate:
    if match["relative"]:
        away = _RELATIVE[match["relative"]]
        return ReadDate(today + timedelta(away), "think.relative" if away else "think.today")
    if match["holiday"]:
        return ReadDate(_without_year(*_HOLIDAYS[match["holiday"]], today, nearest), "think.no_year")
    if match["sure_day"]:
        month, day = _MONTH_NUMBERS[match["sure_month"]], int(match["sure_day"])
    elif match["sure_us_day"]:
        month, day = _MONTH_NUMBERS[match["sure_us_month"]], int(match["sure_us_day"])
    else:
        return ReadDate(date(*_year_month_day(match, language)))
    return ReadDate(_without_year(month, day, today, nearest), "think.no_year")


def _without_year(month: int, day: int, today: date, nearest: Nearest) -> date:
    """Returns the date in the year that is meant; the 29th of February waits for a leap year."""
    if nearest is Nearest.THIS_YEAR:
        return date(today.year, month, day)
    if not 1 <= day <= monthrange(4, month)[1]:  # year 4 is a leap year
        raise ValueError("no year has this date")
    years = range(today.year, today.year + 9 * nearest, nearest)
    days = (date(year, month, day) for year in years if day <= monthrange(year, month)[1])
    return next(found for found in days if (found - today).days * nearest >= 0)


def _year_month_day(match: re.Match[str], language: Language) -> tuple[int, int, int]:
    if match["iso_year"]:
        return int(match["iso_year"]), int(match["iso_month"]), int(match["iso_day"])
    if match["year"]:
        return int(match["year"]), _MONTH_NUMBERS[match["month"]], int(match["day"])
    if match["us_year"]:
        return int(match["us_year"]), _MONTH_NUMBERS[match["us_month"]], int(match["us_day"])
    first, second, year = int(match["first"]), int(match["second"]), int(match["last"])
    if language is Language.PT or first > 12 or first == second:
        return year, second, first
    if second > 12:
        return year, first, second
    raise Unsolvable("ambiguous_date", match[0])


def day_number(day: date) -> Generator[Calculated, None, int]:
    """Counts the days from the start of the calendar by hand; the checker uses the standard library."""
    years = day.year - 1
    leap_days = years // 4 - years // 100 + years // 400
    months = [monthrange(day.year, month)[1] for month in range(1, day.month)]
    day_of_year = sum(months) + day.day
    number = 365 * years + leap_days + day_of_year
    yield Calculated("leap_days", f"{years // 4} − {years // 100} + {years // 400}", leap_days, day)
    if months:
        yield Calculated("day_of_year", " + ".join(map(str, [*months, day.day])), day_of_year, day)
    yield Calculated("day_number", f"365 × {years} + {leap_days} + {day_of_year}", number, day)
    return number

"""Dates: how people write them, and calculations by day numbers.

Day 1 is Monday, the first of January of the year 1. Leap years are Gregorian, also before that calendar was
used. In English a date such as 03/04/2026 is ambiguous and refused; in Portuguese the day comes first.
"""

import re
from calendar import monthrange
from collections.abc import Generator, Iterator
from datetime import date

import msgspec

from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.words import Language, Unsolvable

_MONTHS = """january jan janeiro, february feb fevereiro fev, march mar marco, april apr abril abr,
    may maio mai, june jun junho, july jul julho, august aug agosto ago, september sep sept setembro set,
    october oct outubro out, november nov novembro, december dec dezembro dez"""
_MONTH_NUMBERS = {
    name: number for number, names in enumerate(_MONTHS.split(","), 1) for name in names.split()
}
_MONTH = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
DATE = re.compile(
    r"\b(?:(?P<iso_year>\d{4})-(?P<iso_month>\d{1,2})-(?P<iso_day>\d{1,2})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|º|o)?(?: of| de)? (?P<month>{_MONTH})\.?,?(?: of| de)?"
    r" (?P<year>\d{4})"
    rf"|(?P<us_month>{_MONTH})\.? (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<us_year>\d{{4}})"
    r"|(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<last>\d{4}))\b"
)
"""A date in normalized text."""


class DaysBetween(msgspec.Struct, frozen=True):
    """The puzzle: how many days lie between two dates."""

    first: date
    last: date

    def steps(self) -> Iterator[Calculated]:
        """Calculates the number of days, in the last step."""
        first = yield from _day_number(self.first)
        last = yield from _day_number(self.last)
        low, high = sorted((first, last))
        yield Calculated("between", f"{high} − {low}", high - low)


class WeekdayOf(msgspec.Struct, frozen=True):
    """The puzzle: the day of the week of a date."""

    day: date

    def steps(self) -> Iterator[Calculated]:
        """Calculates the weekday, in the last step; 0 is Monday."""
        number = yield from _day_number(self.day)
        weeks, weekday = divmod(number - 1, 7)
        yield Calculated("weekday", f"{number} − 1 − 7 × {weeks}", weekday)


class DaysAway(msgspec.Struct, frozen=True):
    """The puzzle: the date so many days after another, or before it where `days` is negative."""

    day: date
    days: int

    def steps(self) -> Iterator[Calculated]:
        """Calculates the day number of the date, and then once more from that date."""
        number = yield from _day_number(self.day)
        sign = "−" if self.days < 0 else "+"
        yield Calculated("away", f"{number} {sign} {abs(self.days)}", number + self.days)
        yield from _day_number(date.fromordinal(number + self.days))


def read_dates(text: str, language: Language) -> list[date]:
    """Reads every date in a normalized text. Raises `Unsolvable`."""
    days = []
    for match in DATE.finditer(text):
        try:
            days.append(date(*_year_month_day(match, language)))
        except ValueError:
            raise Unsolvable("no_such_date", match[0]) from None
    return days


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


def _day_number(day: date) -> Generator[Calculated, None, int]:
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

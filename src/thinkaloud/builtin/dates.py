"""Dates by counting: every day has a number, and the first of January of the year 1 was Monday, day 1.

The leap years are those of the Gregorian calendar, also before it was kept anywhere.
"""

from collections.abc import Iterator
from datetime import date

from thinkaloud.builtin.questions import DaysAway, DaysBetween, WeekdayOf
from thinkaloud.builtin.trace import Reckoned

MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def reckon_dates(asked: DaysBetween | WeekdayOf | DaysAway) -> Iterator[Reckoned]:
    """The calculation; its last step holds the answer: a count, a weekday (0 is Monday) or a day's number."""
    match asked:
        case DaysBetween(first, last):
            yield from _numbered(first)
            yield from _numbered(last)
            low, high = sorted((_number(first), _number(last)))
            yield Reckoned("between", f"{high} − {low}", high - low)
        case WeekdayOf(day):
            yield from _numbered(day)
            weeks, over = divmod(_number(day) - 1, 7)
            yield Reckoned("weekday", f"{_number(day)} − 1 − 7 × {weeks}", over)
        case DaysAway(day, days):
            yield from _numbered(day)
            sign = "−" if days < 0 else "+"
            yield Reckoned("away", f"{_number(day)} {sign} {abs(days)}", _number(day) + days)
            yield from _numbered(dated(_number(day) + days))


def dated(number: int) -> date:
    """The date of a day's number."""
    year = number // 366 + 1
    while _before_year(year + 1) < number:
        year += 1
    left = number - _before_year(year)
    month = 1
    while left > _length(year, month):
        left -= _length(year, month)
        month += 1
    return date(year, month, left)


def _numbered(day: date) -> Iterator[Reckoned]:
    years = day.year - 1
    fours, hundreds, more = years // 4, years // 100, years // 400
    months = [_length(day.year, month) for month in range(1, day.month)]
    in_year = sum(months) + day.day
    yield Reckoned("leap_days", f"{fours} − {hundreds} + {more}", _leaps(years), day)
    if months:
        yield Reckoned("day_of_year", " + ".join(map(str, [*months, day.day])), in_year, day)
    yield Reckoned("day_number", f"365 × {years} + {_leaps(years)} + {in_year}", _number(day), day)


def _number(day: date) -> int:
    in_year = sum(_length(day.year, month) for month in range(1, day.month)) + day.day
    return _before_year(day.year) + in_year


def _before_year(year: int) -> int:
    return 365 * (year - 1) + _leaps(year - 1)


def _leaps(years: int) -> int:
    return years // 4 - years // 100 + years // 400


def _length(year: int, month: int) -> int:
    return MONTHS[month - 1] + (month == 2 and _leaps(year) > _leaps(year - 1))

"""Dates: days between two, the weekday of one, the date so many days away, and the date of today.

Day 1 is Monday, the first of January of the year 1. Leap years are Gregorian, also before that calendar was
used. In English a date such as 03/04/2026 is ambiguous and refused; in Portuguese the day comes first. A date
without a year is the one of this year, or the next or the last one where the question asks for that.
"""

import re
from calendar import monthrange
from collections.abc import Generator, Iterator, Sequence
from datetime import date, timedelta
from enum import IntEnum
from fractions import Fraction

import msgspec

from thinkaloud.builtin.arithmetic import Calculated, typed
from thinkaloud.builtin.puzzle import (
    Conclusion,
    GivenAnswer,
    Puzzle,
    Reading,
    Remark,
    Verdict,
    calculated_lines,
)
from thinkaloud.builtin.words import Language, Unsolvable, date_text, normalize, phrase, weekday_names
from thinkaloud.builtin.words.vocabulary import HOLIDAYS, MONTHS, RELATIVE_DAYS

_OTHER_WORDS = {"mar", "mai", "out", "set"}
"""Short months that are common words too: without a year they are no months."""
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_SURE_MONTH = "|".join(sorted(MONTHS.keys() - _OTHER_WORDS, key=len, reverse=True))
_SUFFIX = r"(?:st|nd|rd|th|º|o)?"
DATE = re.compile(
    r"\b(?:(?P<iso_date>\d{4}-\d{1,2}-\d{1,2})|(?P<digits>\d{1,2}/\d{1,2}/\d{4})"
    rf"|(?P<day>\d{{1,2}}){_SUFFIX}(?: of| de)? "
    rf"(?:(?P<month>{_MONTH})\.?,?(?: of| de)? (?P<year>\d{{4}})|(?P<sure_month>{_SURE_MONTH}))"
    rf"|(?P<us_month>{_MONTH})\.? (?P<us_day>\d{{1,2}}){_SUFFIX},? (?P<us_year>\d{{4}})"
    rf"|(?P<sure_us_month>{_SURE_MONTH})\.? (?P<sure_us_day>\d{{1,2}}){_SUFFIX}"
    rf"|(?P<relative>{'|'.join(RELATIVE_DAYS)})|(?P<holiday>{'|'.join(HOLIDAYS)})(?:'s day| day)?)\b"
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
        away = RELATIVE_DAYS[match["relative"]]
        return ReadDate(today + timedelta(away), "think.relative" if away else "think.today")
    if match["iso_date"]:
        year, month, day = map(int, match["iso_date"].split("-"))
        return ReadDate(date(year, month, day))
    if match["digits"]:
        return ReadDate(_date_in_digits(match["digits"], language))
    if match["holiday"]:
        month, day = HOLIDAYS[match["holiday"]]
    else:
        name = match["month"] or match["sure_month"] or match["us_month"] or match["sure_us_month"]
        month = MONTHS[name]
        day = int(match["day"] or match["us_day"] or match["sure_us_day"])
        if given_year := match["year"] or match["us_year"]:
            return ReadDate(date(int(given_year), month, day))
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


def _date_in_digits(digits: str, language: Language) -> date:
    """Reads a date with strokes; in English only where it cannot be another day."""
    first, second, year = map(int, digits.split("/"))
    if language is Language.PT or first > 12 or first == second:
        return date(year, second, first)
    if second > 12:
        return date(year, first, second)
    raise Unsolvable("ambiguous_date", digits)


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


_OTHER_DAYS = re.compile(r"\d|\b(?:business|working|work|weekdays|inclu|holidays|uteis|feriados)")
_ASKS_WEEKDAY = re.compile(
    r"day of the week|weekday|(?:what|which) day|what's the day|dia da semana|(?:que|qual) dia",
)
_ASKS_DAYS = re.compile(r"\b(?:days|dias)\b")
_UNTIL = re.compile(r"\b(?:until|till|til|to|before|left|away|ate|para|pro|falta|faltam)\b")
_SINCE = re.compile(r"\b(?:since|passed|ago|desde|passaram|passou)\b")
_DAYS = r"(?P<days>\d+) (?P<unit>days?|dias?|weeks?|semanas?)"
_DAYS_AWAY = re.compile(rf"{_DAYS} (?:(?P<back>before|antes)|after|from|later|depois|apos|a partir)\b")
_PLUS_DAYS = re.compile(rf"\s*(?:\+|plus|mais|(?P<back>-|−|minus|menos)) ?{_DAYS}")
_FROM_NOW = re.compile(
    rf"(?:(?:what|which) (?:day|date|weekday)|(?:que|qual)(?: e a)? (?:dia|data))\b.*?"
    rf"(?:(?:in|daqui a|em) {_DAYS}(?: from (?:now|today))?"
    rf"|{_DAYS.replace('days>', 'ago>').replace('unit>', 'ago_unit>')} (?:ago|atras))"
)
_TODAY = re.compile(
    r"(?:what is|what's|tell me|give me|qual e|me diga)? ?(?:the |today's |a )?(?:current )?"
    r"(?:date|data)(?: of today| today| de hoje| hoje)?"
    r"|(?:what|which) day is (?:it|today)(?: today)?|what's today|what is today|today"
    r"|que dia e hoje|hoje e que dia|que dia estamos|hoje"
)
_TIME = re.compile(
    r"(?:what time is it|what's the time|what is the time|que horas sao|que hora e)(?: now| agora)?"
)


class DatePuzzle(msgspec.Struct, frozen=True, kw_only=True):
    """A puzzle about dates; `notes` are the dates for which something was assumed."""

    notes: tuple[ReadDate, ...] = ()

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        for note in self.notes:
            yield phrase(language, note.note, day=date_text(note.day, language), year=note.day.year)
        yield from calculated_lines(trace, language)


class DaysBetween(DatePuzzle, frozen=True):
    """The puzzle: how many days lie between two dates."""

    first: date
    last: date

    def steps(self) -> Iterator[Calculated]:
        """Calculates the number of days, in the last step."""
        first = yield from day_number(self.first)
        last = yield from day_number(self.last)
        low, high = sorted((first, last))
        yield Calculated("between", f"{high} − {low}", high - low)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        days = int(trace[-1].value)
        key = "answer.between_one_day" if days == 1 else "answer.between"
        first, last = (date_text(day, language) for day in sorted((self.first, self.last)))
        return _conclusion(phrase(language, key, first=first, last=last, n=days), trace)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Subtracts the dates with the standard library."""
        days = str(abs((self.last - self.first).days))
        numbers = set(re.findall(r"\d+", DATE.sub(" ", answer.normalized)))
        return answer.expect(days, numbers == {days})


class WeekdayOf(DatePuzzle, frozen=True):
    """The puzzle: the day of the week of a date."""

    day: date

    def steps(self) -> Iterator[Calculated]:
        """Calculates the weekday, in the last step; 0 is Monday."""
        number = yield from day_number(self.day)
        weeks, weekday = divmod(number - 1, 7)
        yield Calculated("weekday", f"{number} − 1 − 7 × {weeks}", weekday)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        weekday = weekday_names(language)[int(trace[-1].value)]
        today = any(note.note == "think.today" and note.day == self.day for note in self.notes)
        key = "answer.today" if today else "answer.weekday"
        return _conclusion(phrase(language, key, day=date_text(self.day, language), weekday=weekday), trace)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Takes the weekday from the standard library."""
        weekdays = weekday_names(answer.language)
        expected = weekdays[self.day.weekday()]
        named = [name for name in weekdays if normalize(name) in answer.normalized]
        return answer.expect(expected, named == [expected])


class DaysAway(DatePuzzle, frozen=True):
    """The puzzle: the date so many days after another, or before it where `days` is negative."""

    day: date
    days: int

    def steps(self) -> Iterator[Calculated]:
        """Calculates the day number of the date, and then once more from that date."""
        number = yield from day_number(self.day)
        sign = "−" if self.days < 0 else "+"
        yield Calculated("away", f"{number} {sign} {abs(self.days)}", number + self.days)
        yield from day_number(date.fromordinal(number + self.days))

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        result = date.fromordinal(int(trace[-1].value))
        values = {
            "n": abs(self.days),
            "day": date_text(self.day, language),
            "result": date_text(result, language),
            "weekday": weekday_names(language)[result.weekday()],
        }
        key = "answer.before" if self.days < 0 else "answer.after"
        return _conclusion(phrase(language, key, **values), trace)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Adds the days with the standard library."""
        result = self.day + timedelta(self.days)
        claimed = _claimed_dates(answer, self.day)
        right = claimed - {self.day} == {result} - {self.day}
        return answer.expect(date_text(result, answer.language), right)


def _claimed_dates(answer: GivenAnswer, today: date) -> set[date]:
    try:
        return {day.day for day in read_dates(answer.normalized, answer.language, today)}
    except Unsolvable:
        return set()


def _conclusion(answer: str, trace: Sequence[Calculated]) -> Conclusion:
    """Returns the conclusion; the last step that is about no single date is what a calculator can check."""
    step = [step for step in trace if step.day is None][-1]
    return Conclusion(answer, typed(step.expression), Fraction(step.value))


def recognise(reading: Reading) -> Puzzle | None:
    """Recognises a question about dates. Raises `Unsolvable` for a date that does not exist."""
    text = reading.bare
    now = reading.environment.now()
    today = ReadDate(now.date(), "think.today")
    if _TODAY.fullmatch(text):
        return WeekdayOf(today.day, notes=(today,))
    if _TIME.fullmatch(text):
        return Remark("think.clock", "answer.time", {"time": f"{now:%H:%M}"})
    rest = DATE.sub("#", text)
    nearest = _nearest(rest)
    dates = read_dates(text, reading.language, today.day, nearest)
    if not dates:
        return _from_now(text, today)
    notes = tuple(one for one in dates if one.note)
    first = dates[0].day
    counted = _ASKS_DAYS.search(rest) and not _OTHER_DAYS.search(rest)
    if len(dates) == 2 and counted:
        return DaysBetween(first, dates[1].day, notes=notes)
    if len(dates) > 1:
        return None
    if counted and nearest:
        return DaysBetween(today.day, first, notes=(today, *notes))
    if _ASKS_WEEKDAY.search(rest) and not re.search(r"\d", rest):
        return WeekdayOf(first, notes=notes)
    match = _DAYS_AWAY.search(rest) or _PLUS_DAYS.match(rest.partition("#")[2])
    if not match or len(re.findall(r"\d+", rest)) != 1:
        return None
    return _days_away(first, match["days"], match["unit"], bool(match["back"]), notes)


def _nearest(text: str) -> Nearest:
    """Returns the year that is meant, in a text that has a # for each date."""
    if text.count("#") == 1 and _UNTIL.search(text):
        return Nearest.NEXT
    if text.count("#") == 1 and _SINCE.search(text):
        return Nearest.LAST
    return Nearest.THIS_YEAR


def _from_now(text: str, today: ReadDate) -> DaysAway | None:
    match = _FROM_NOW.fullmatch(text)
    if match is None:
        return None
    if match["ago"]:
        return _days_away(today.day, match["ago"], match["ago_unit"], True, (today,))
    return _days_away(today.day, match["days"], match["unit"], False, (today,))


def _days_away(day: date, digits: str, unit: str, back: bool, notes: tuple[ReadDate, ...]) -> DaysAway:
    days = int(digits) * (7 if unit.startswith(("week", "semana")) else 1)
    if back:
        days = -days
    try:
        day + timedelta(days)
    except OverflowError:
        raise Unsolvable("out_of_calendar") from None
    return DaysAway(day, days, notes=notes)

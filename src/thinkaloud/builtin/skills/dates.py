"""Dates: days between two, the weekday of one, the date so many days away, and the date of today."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import Calculated, typed
from thinkaloud.builtin.dates import DATE, Nearest, ReadDate, day_number, read_dates
from thinkaloud.builtin.narrate import calculated_lines
from thinkaloud.builtin.question import Conclusion, Puzzle, Reading, Remark, Skill, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, date_text, normalize, phrase, weekday_names

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


class DaysBetween(msgspec.Struct, frozen=True):
    """The puzzle: how many days lie between two dates."""

    first: date
    last: date
    notes: tuple[ReadDate, ...] = ()

    def steps(self) -> Iterator[Calculated]:
        """Calculates the number of days, in the last step."""
        first = yield from day_number(self.first)
        last = yield from day_number(self.last)
        low, high = sorted((first, last))
        yield Calculated("between", f"{high} − {low}", high - low)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes the calculation."""
        return _narrate(self.notes, trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the number of days."""
        days = int(trace[-1].value)
        key = "answer.between_one_day" if days == 1 else "answer.between"
        first, last = (date_text(day, language) for day in sorted((self.first, self.last)))
        return _conclusion(phrase(language, key, first=first, last=last, n=days), trace)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Subtracts the dates with the standard library."""
        days = str(abs((self.last - self.first).days))
        numbers = set(re.findall(r"\d+", DATE.sub(" ", answer.normalized)))
        return answer.expect(days, numbers == {days})


class WeekdayOf(msgspec.Struct, frozen=True):
    """The puzzle: the day of the week of a date."""

    day: date
    notes: tuple[ReadDate, ...] = ()

    def steps(self) -> Iterator[Calculated]:
        """Calculates the weekday, in the last step; 0 is Monday."""
        number = yield from day_number(self.day)
        weeks, weekday = divmod(number - 1, 7)
        yield Calculated("weekday", f"{number} − 1 − 7 × {weeks}", weekday)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes the calculation."""
        return _narrate(self.notes, trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the weekday."""
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


class DaysAway(msgspec.Struct, frozen=True):
    """The puzzle: the date so many days after another, or before it where `days` is negative."""

    day: date
    days: int
    notes: tuple[ReadDate, ...] = ()

    def steps(self) -> Iterator[Calculated]:
        """Calculates the day number of the date, and then once more from that date."""
        number = yield from day_number(self.day)
        sign = "−" if self.days < 0 else "+"
        yield Calculated("away", f"{number} {sign} {abs(self.days)}", number + self.days)
        yield from day_number(date.fromordinal(number + self.days))

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes the calculation."""
        return _narrate(self.notes, trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the date and its weekday."""
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
        right = answer.dates(self.day) - {self.day} == {result} - {self.day}
        return answer.expect(date_text(result, answer.language), right)


def _narrate(notes: Sequence[ReadDate], trace: Sequence[Calculated], language: Language) -> Iterator[str]:
    for note in notes:
        yield phrase(language, note.note, day=date_text(note.day, language), year=note.day.year)
    yield from calculated_lines(trace, language)


def _conclusion(answer: str, trace: Sequence[Calculated]) -> Conclusion:
    """Returns the conclusion; the last step that is about no single date is what a calculator can check."""
    step = [step for step in trace if step.day is None][-1]
    return Conclusion(answer, typed(step.expression), Fraction(step.value))


def recognise(reading: Reading) -> Puzzle | None:
    """Recognises a question about dates. Raises `Unsolvable` for a date that does not exist."""
    text = reading.normalized.rstrip("?.! ")
    now = reading.environment.now()
    today = ReadDate(now.date(), "think.today")
    if _TODAY.fullmatch(text):
        return WeekdayOf(today.day, (today,))
    if _TIME.fullmatch(text):
        return Remark("think.clock", "answer.time", {"time": f"{now:%H:%M}"})
    rest = DATE.sub("#", text)
    nearest = Nearest.NEXT if _UNTIL.search(rest) else Nearest.LAST if _SINCE.search(rest) else Nearest(0)
    dates = read_dates(text, reading.language, today.day, nearest if rest.count("#") == 1 else Nearest(0))
    days, notes = [one.day for one in dates], tuple(one for one in dates if one.note)
    if not days:
        return _from_now(text, today)
    counted = _ASKS_DAYS.search(rest) and not _OTHER_DAYS.search(rest)
    if len(days) == 2 and counted:
        return DaysBetween(days[0], days[1], notes)
    if len(days) == 1 and counted and nearest:
        return DaysBetween(today.day, days[0], (today, *notes))
    if len(days) == 1 and _ASKS_WEEKDAY.search(rest) and not re.search(r"\d", rest):
        return WeekdayOf(days[0], notes)
    return _days_away(rest, days[0], notes) if len(days) == 1 else None


def _from_now(text: str, today: ReadDate) -> DaysAway | None:
    match = _FROM_NOW.fullmatch(text)
    if match is None:
        return None
    back = match["ago"] is not None
    return _bounded(
        today.day, match["ago" if back else "days"], match["ago_unit" if back else "unit"], back, (today,)
    )


def _days_away(text: str, day: date, notes: tuple[ReadDate, ...]) -> DaysAway | None:
    match = _DAYS_AWAY.search(text) or _PLUS_DAYS.match(text.partition("#")[2])
    if not match or len(re.findall(r"\d+", text)) != 1:
        return None
    return _bounded(day, match["days"], match["unit"], bool(match["back"]), notes)


def _bounded(day: date, digits: str, unit: str, back: bool, notes: tuple[ReadDate, ...]) -> DaysAway:
    days = int(digits[:12]) * (7 if unit.startswith(("week", "semana")) else 1) * (-1 if back else 1)
    try:
        day + timedelta(days)
    except OverflowError:
        raise Unsolvable("out_of_calendar") from None
    return DaysAway(day, days, notes)


_WORDS = """days between until since weekday week today tomorrow yesterday after before christmas january
    february march april june july august september october november december dias entre semana hoje amanha
    ontem depois antes janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro
    dezembro faltam natal date data"""

DAYS_BETWEEN = Skill(
    "days between dates",
    recognise,
    {
        Language.EN: "how many days between 2026-01-01 and 2026-11-15",
        Language.PT: "quantos dias há entre 01/01/2026 e 15/11/2026",
    },
    _WORDS,
)
WEEKDAYS = Skill(
    "weekdays",
    recognise,
    {
        Language.EN: "what day of the week is 15 November 2026",
        Language.PT: "em que dia da semana cai 15 de novembro de 2026",
    },
)

"""From a trace to an answer: its words, and the calculation behind it that anybody can check."""

from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

import msgspec

from thinkaloud.builtin.arithmetic import reckon
from thinkaloud.builtin.conversions import convert, whole_expression
from thinkaloud.builtin.dates import dated, reckon_dates
from thinkaloud.builtin.language import Language, exact_text, write_date, write_decimal
from thinkaloud.builtin.questions import (
    Calculation,
    Conversion,
    DaysAway,
    DaysBetween,
    Island,
    NumberPuzzle,
    Puzzle,
    WeekdayOf,
)
from thinkaloud.builtin.reaching import search
from thinkaloud.builtin.supposing import suppose
from thinkaloud.builtin.telling import kind_of, listed, people_as, shown
from thinkaloud.builtin.trace import Exhausted, Fitted, Found, Reckoned, Stopped, Trace
from thinkaloud.builtin.words import WORDS

Dates = DaysBetween | WeekdayOf | DaysAway


class Conclusion(msgspec.Struct, frozen=True):
    """An answer in words; `expression`, where there is one, is what a calculator should find `value` for."""

    answer: str
    expression: str = ""
    value: Fraction = Fraction(0)
    known: bool = True


def work_out(puzzle: Puzzle) -> Trace:
    """Solve a puzzle: the whole trace. Arithmetic that has no value raises `CannotReckon`."""
    match puzzle:
        case NumberPuzzle():
            return tuple(search(puzzle))
        case Island():
            return tuple(suppose(puzzle))
        case Conversion():
            return tuple(convert(puzzle))
        case Calculation():
            return tuple(_calculated(puzzle))
        case DaysBetween() | WeekdayOf() | DaysAway():
            return tuple(reckon_dates(puzzle))
        case _:
            assert_never(puzzle)


def conclude(puzzle: Puzzle, trace: Trace, language: Language) -> Conclusion:
    """What a trace comes to."""
    last = trace[-1]
    match puzzle:
        case NumberPuzzle():
            return _conclude_numbers(puzzle, trace, language)
        case Island():
            fitting = [step.knights for step in trace if isinstance(step, Fitted)]
            return Conclusion(_who_is_what(puzzle, fitting, language))
    assert isinstance(last, Reckoned)
    value = Fraction(last.value)
    match puzzle:
        case Conversion():
            return Conclusion(_converted(puzzle, value, language), typed(whole_expression(puzzle)), value)
        case Calculation():
            return Conclusion(_calculation(puzzle, value, language), puzzle.expression, value)
        case DaysBetween() | WeekdayOf() | DaysAway():
            reckoned = [step for step in trace if isinstance(step, Reckoned) and step.day is None][-1]
            answer = _dated(puzzle, int(value), language)
            return Conclusion(answer, typed(reckoned.expression), Fraction(reckoned.value))
        case _:
            assert_never(puzzle)


def typed(expression: str) -> str:
    """An expression with the signs that a calculator takes."""
    return expression.replace("−", "-").replace("×", "*").replace("÷", "/")


def _calculated(puzzle: Calculation) -> Iterator[Reckoned]:
    value = yield from reckon(puzzle.expression)
    yield Reckoned("whole", puzzle.expression, value)


def _conclude_numbers(puzzle: NumberPuzzle, trace: Trace, language: Language) -> Conclusion:
    words, numbers = WORDS[language], listed(puzzle.numbers)
    match trace[-1]:
        case Found(expression):
            answer = words["answer.expression"].format(expression=expression, target=puzzle.target)
            return Conclusion(answer, typed(expression), Fraction(puzzle.target))
        case Exhausted(tried):
            said = words["answer.impossible"].format(target=puzzle.target, numbers=numbers, tried=tried)
            return Conclusion(said)
        case Stopped(tried):
            return Conclusion(words["answer.stopped"].format(tried=tried), known=False)
    raise AssertionError("a search ends with Found, Exhausted or Stopped")


def _who_is_what(island: Island, fitting: list[frozenset[str]], language: Language) -> str:
    words = WORDS[language]
    if not fitting:
        return words["answer.contradiction"]
    if len(fitting) == 1:
        return words["answer.people"].format(people=people_as(island, fitting[0], words))
    answer = words["answer.unsettled"].format(n=len(fitting))
    certain = [
        kind_of(person, person in fitting[0], words)
        for person in island.people
        if len({person in knights for knights in fitting}) == 1
    ]
    return f"{answer} {words['answer.certain'].format(people=', '.join(certain))}" if certain else answer


def _converted(asked: Conversion, value: Fraction, language: Language) -> str:
    digits, exact = write_decimal(value, language)
    return WORDS[language]["answer.converted" if exact else "answer.converted_about"].format(
        amount=shown(exact_text(asked.amount), language),
        source=asked.source.name(language, asked.amount),
        value=digits,
        target=asked.target.name(language, value),
    )


def _calculation(asked: Calculation, value: Fraction, language: Language) -> str:
    digits, exact = write_decimal(value, language)
    return WORDS[language]["answer.value" if exact else "answer.value_about"].format(
        expression=shown(asked.expression, language), value=digits, exact=str(value).replace("-", "−")
    )


def _dated(asked: Dates, value: int, language: Language) -> str:
    words = WORDS[language]
    match asked:
        case DaysBetween(first, last):
            key = "answer.between_one" if value == 1 else "answer.between"
            low, high = sorted((first, last))
            return words[key].format(
                first=write_date(low, language), last=write_date(high, language), n=value
            )
        case WeekdayOf(day):
            weekday = words["weekdays"].split()[value]
            return words["answer.weekday"].format(day=write_date(day, language), weekday=weekday)
        case DaysAway(day, days):
            result = write_date(dated(value), language)
            key = "answer.before" if days < 0 else "answer.after"
            return words[key].format(n=abs(days), day=write_date(day, language), result=result)
        case _:
            assert_never(asked)

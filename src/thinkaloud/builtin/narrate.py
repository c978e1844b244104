"""Writes a trace as thinking, and its result as an answer. Both contain nothing that is not in the trace.

A long trace is cut in the middle, with the number of lines that were left out.
"""

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import pairwise

import msgspec
from msgspec.structs import asdict

from thinkaloud.builtin.arithmetic import Calculated, Calculation
from thinkaloud.builtin.dates import DaysAway, DaysBetween, WeekdayOf
from thinkaloud.builtin.logic import Assumed, Consistent, Contradicted, Island, LogicStep
from thinkaloud.builtin.parse import Puzzle
from thinkaloud.builtin.search import Combined, Dropped, Exhausted, Found, NumberPuzzle, SearchStep, Stopped
from thinkaloud.builtin.units import Conversion, reference_unit
from thinkaloud.builtin.words import (
    PHRASES,
    Language,
    date_text,
    decimal_text,
    exact_text,
    expression_text,
    phrase,
)

MAX_LINES = 200
_LAST_LINES = 40
_INDENT = "  "
_END_KEYS = {Found: "think.found", Exhausted: "think.exhausted", Stopped: "think.stopped"}

Trace = tuple[SearchStep | LogicStep | Calculated, ...]


class Conclusion(msgspec.Struct, frozen=True):
    """An answer in words; a calculator should find `value` for `expression`, where there is one."""

    answer: str
    expression: str = ""
    value: Fraction = Fraction(0)
    known: bool = True


def narrate(puzzle: Puzzle, trace: Trace, language: Language) -> tuple[str, ...]:
    """Writes a trace line by line, in at most `MAX_LINES` lines."""
    match puzzle:
        case NumberPuzzle():
            lines = [*_number_lines(puzzle, trace, language)]
        case Island():
            lines = [*_island_lines(puzzle, trace, language)]
        case _:
            lines = [_calculated_line(puzzle, step, language) for step in _calculated(trace)]
    omitted = len(lines) - MAX_LINES + 1
    if omitted > 1:
        lines[MAX_LINES - 1 - _LAST_LINES : -_LAST_LINES] = [phrase(language, "think.omitted", n=omitted)]
    return tuple(lines)


def conclude(puzzle: Puzzle, trace: Trace, language: Language) -> Conclusion:
    """Writes the answer that a trace leads to."""
    match puzzle:
        case NumberPuzzle():
            return _number_conclusion(puzzle, trace, language)
        case Island():
            return Conclusion(_island_answer(puzzle, trace, language))
    steps = _calculated(trace)
    value = Fraction(steps[-1].value)
    match puzzle:
        case Conversion():
            return Conclusion(_conversion_answer(puzzle, value, language), _typed(puzzle.expression), value)
        case Calculation():
            return Conclusion(_calculation_answer(puzzle, value, language), puzzle.expression, value)
    step = [step for step in steps if step.day is None][-1]
    answer = _date_answer(puzzle, int(value), language)
    return Conclusion(answer, _typed(step.expression), Fraction(step.value))


def _calculated(trace: Trace) -> list[Calculated]:
    return [step for step in trace if isinstance(step, Calculated)]


def _typed(expression: str) -> str:
    """Writes an expression with the signs that a calculator reads."""
    return expression.replace("−", "-").replace("×", "*").replace("÷", "/")


def _number_lines(puzzle: NumberPuzzle, trace: Trace, language: Language) -> Iterator[str]:
    key = "think.all_used" if puzzle.all_used else "think.any_used"
    yield phrase(language, key, numbers=_list(puzzle.numbers), target=puzzle.target)
    depth = 0
    for step, following in pairwise((*trace, trace[-1])):
        match step:
            case Combined():
                yield _INDENT * depth + _combined_line(puzzle, step, following, language)
                depth += not isinstance(following, Dropped)
            case Found() | Exhausted() | Stopped():
                yield phrase(language, _END_KEYS[type(step)], target=puzzle.target, **asdict(step))


def _combined_line(puzzle: NumberPuzzle, step: Combined, following: object, language: Language) -> str:
    if isinstance(following, Dropped):
        key, tried = following.reason.value, following.tried
    else:
        reached = step.value == puzzle.target and isinstance(following, Found)
        key, tried = "reaches" if reached else "leaves", 0
    values = {"left": _operand(step.left), "right": _operand(step.right), "rest": _list(step.rest)}
    return phrase(language, f"think.{key}", target=puzzle.target, tried=tried, **{**asdict(step), **values})


def _list(numbers: tuple[object, ...]) -> str:
    return " ".join(map(str, numbers))


def _operand(value: object) -> str:
    return f"({value})" if str(value).startswith("-") or "/" in str(value) else str(value)


def _number_conclusion(puzzle: NumberPuzzle, trace: Trace, language: Language) -> Conclusion:
    match trace[-1]:
        case Found(expression):
            answer = phrase(language, "answer.expression", expression=expression, target=puzzle.target)
            return Conclusion(answer, _typed(expression), Fraction(puzzle.target))
        case Stopped(tried):
            return Conclusion(phrase(language, "answer.stopped", tried=tried), known=False)
        case Exhausted(tried):
            values = {"target": puzzle.target, "numbers": _list(puzzle.numbers), "tried": tried}
            return Conclusion(phrase(language, "answer.impossible", **values))
    raise AssertionError("a search ends with Found, Exhausted or Stopped")


def _island_lines(island: Island, trace: Trace, language: Language) -> Iterator[str]:
    for statement in island.statements:
        key = "think.statement" if statement.speaker else "think.fact"
        yield phrase(language, key, person=statement.speaker, text=statement.text)
    for step in trace:
        match step:
            case Assumed(person, knight, depth):
                kind = phrase(language, "knight" if knight else "knave")
                yield _INDENT * depth + phrase(language, "think.assume", person=person, kind=kind)
            case Contradicted(index, held, depth):
                statement = island.statements[index]
                key = "knave_truthful" if held else "knight_lying" if statement.speaker else "fact_false"
                line = phrase(language, f"think.{key}", person=statement.speaker, text=statement.text)
                yield _INDENT * (depth + 1) + line
            case Consistent(knights):
                people = _people(island, knights, language)
                yield _INDENT * len(island.people) + phrase(language, "think.consistent", people=people)


def _people(island: Island, knights: frozenset[str], language: Language) -> str:
    """Writes who is what: "A is a knight, B is a knave and C is a knave"."""
    *others, last = [_kind(person, person in knights, language) for person in island.people]
    return phrase(language, "and").join([*([", ".join(others)] if others else []), last])


def _kind(person: str, knight: bool, language: Language) -> str:
    return phrase(language, "is", person=person, kind=phrase(language, "knight" if knight else "knave"))


def _island_answer(island: Island, trace: Trace, language: Language) -> str:
    arrangements = [step.knights for step in trace if isinstance(step, Consistent)]
    if not arrangements:
        return phrase(language, "answer.contradiction")
    first = arrangements[0]
    if len(arrangements) == 1:
        return phrase(language, "answer.people", people=_people(island, first, language))
    answer = phrase(language, "answer.undecided", n=len(arrangements))
    certain = [
        _kind(person, person in first, language)
        for person in island.people
        if len({person in knights for knights in arrangements}) == 1
    ]
    return f"{answer} {phrase(language, 'answer.certain', people=', '.join(certain))}" if certain else answer


def _calculated_line(puzzle: Puzzle, step: Calculated, language: Language) -> str:
    values = {
        "expression": expression_text(step.expression, language),
        "value": expression_text(exact_text(step.value), language),
        "day": date_text(step.day, language) if step.day else "",
    }
    if isinstance(puzzle, Conversion):
        values["amount_unit"] = _amount(puzzle, language)
        values["reference"] = reference_unit(puzzle.source.dimension).name(language)
        values["target"] = puzzle.target.name(language)
    return phrase(language, f"step.{step.label}", **values)


def _amount(puzzle: Conversion, language: Language) -> str:
    amount = expression_text(exact_text(puzzle.amount), language)
    return f"{amount} {puzzle.source.name(language, puzzle.amount)}"


def _conversion_answer(puzzle: Conversion, value: Fraction, language: Language) -> str:
    digits, exact = decimal_text(value, language)
    key = "answer.converted" if exact else "answer.converted_about"
    target = puzzle.target.name(language, value)
    return phrase(language, key, amount_unit=_amount(puzzle, language), value=digits, target=target)


def _calculation_answer(puzzle: Calculation, value: Fraction, language: Language) -> str:
    digits, exact = decimal_text(value, language)
    key = "answer.value" if exact else "answer.value_about"
    expression = expression_text(puzzle.expression, language)
    return phrase(language, key, expression=expression, value=digits, exact=str(value).replace("-", "−"))


def _date_answer(puzzle: DaysBetween | WeekdayOf | DaysAway, value: int, language: Language) -> str:
    match puzzle:
        case DaysBetween():
            key = "answer.between_one_day" if value == 1 else "answer.between"
            first, last = (date_text(day, language) for day in sorted((puzzle.first, puzzle.last)))
            return phrase(language, key, first=first, last=last, n=value)
        case WeekdayOf():
            weekday = PHRASES[language]["weekdays"].split()[value]
            return phrase(language, "answer.weekday", day=date_text(puzzle.day, language), weekday=weekday)
        case DaysAway():
            key = "answer.before" if puzzle.days < 0 else "answer.after"
            day, result = (date_text(day, language) for day in (puzzle.day, date.fromordinal(value)))
            return phrase(language, key, n=abs(puzzle.days), day=day, result=result)

"""Checks an answer by reading what it claims and working the question out another way than the solver."""

import re
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from typing import assert_never

import msgspec

from thinkaloud.builtin.calendar_words import DATE, Unclear, read_date
from thinkaloud.builtin.evaluation import NotAnExpression, evaluated, operands
from thinkaloud.builtin.language import Language, figures, plain, write_date, write_decimal
from thinkaloud.builtin.questions import (
    Calculation,
    Checking,
    Conversion,
    DaysAway,
    DaysBetween,
    Heard,
    Island,
    Malformed,
    NotUnderstood,
    NumberPuzzle,
    Puzzle,
    WeekdayOf,
)
from thinkaloud.builtin.recounting import arrangements, reachable
from thinkaloud.builtin.understanding import understand
from thinkaloud.builtin.words import WORDS

LONGEST_ANSWER = 3000
"""Characters that are read: a number of so many digits can still be worked with."""

_EXPRESSION = re.compile(r"[\d(−-][\d+\-*/^().,\s−×÷]*")
_NUMBER = re.compile(r"[-−]?\d[\d.,]*(?<=\d)(?:/\d+)?")
_CLAIMED = re.compile(rf"([=≈])\s*({_NUMBER.pattern})")
_IMPOSSIBLE = re.compile(
    r"\bno (?:way|solution|arrangement)|impossible|cannot|can't|unsolvable"
    r"|nao (?:ha|tem|existe|pode)|nenhum arranjo|impossivel"
)
_UNSETTLED = re.compile(
    r"not settle|cannot be (?:told|decided)|undetermined"
    r"|nao decide|nao (?:se )?pode (?:saber|decidir)|nao da para saber"
)


class Verdict(msgspec.Struct, frozen=True):
    """Whether an answer is right, and why, in the language of the question."""

    right: bool
    why: str


def check(question: str, answer: str) -> Verdict:
    """Check an answer to a question that the solver can read."""
    return check_heard(understand(question), answer)


def check_heard(heard: Heard, answer: str) -> Verdict:
    """Check an answer to a question that was understood."""
    asked = heard.asked
    if isinstance(asked, Checking | Malformed | NotUnderstood):
        return Verdict(False, WORDS[heard.language]["check.unreadable"])
    return _Check(heard.language, answer[:LONGEST_ANSWER]).of(asked)


class _Check:
    """One answer, and the language it is in."""

    def __init__(self, language: Language, answer: str) -> None:
        self._language = language
        self._words = WORDS[language]
        self._answer = answer
        self._said = plain(answer)

    def of(self, puzzle: Puzzle) -> Verdict:
        match puzzle:
            case NumberPuzzle():
                return self._numbers(puzzle)
            case Island():
                return self._island(puzzle)
            case DaysBetween(first, last):
                days = str(abs((last - first).days))
                return self._expected(days, set(re.findall(r"\d+", DATE.sub(" ", self._said))) == {days})
            case WeekdayOf(day):
                weekdays = self._words["weekdays"].split()
                named = [name for name in weekdays if plain(name) in self._said]
                return self._expected(weekdays[day.weekday()], named == [weekdays[day.weekday()]])
            case DaysAway(day, days):
                due = day + timedelta(days)
                return self._expected(write_date(due, self._language), self._dates() - {day} == {due} - {day})
            case Conversion():
                return self._value(_converted(puzzle))
            case Calculation():
                return self._calculation(puzzle)
            case _:
                assert_never(puzzle)

    def _numbers(self, puzzle: NumberPuzzle) -> Verdict:
        if _IMPOSSIBLE.search(self._said):
            can = reachable(puzzle)
            key = "check.can_be_reached" if can else "check.cannot_be_reached"
            return Verdict(not can, self._words[key].format(target=puzzle.target))
        claimed = [found.strip(" .,\n") for found in _EXPRESSION.findall(self._answer)]
        if not claimed:
            return Verdict(False, self._words["check.no_expression"])
        expression = max(claimed, key=lambda one: (bool(re.search(r"[-+*/−×÷]", one)), len(one)))
        try:
            results = evaluated(expression)
        except NotAnExpression:
            return Verdict(False, self._words["check.bad_expression"].format(said=expression))
        return self._reached(puzzle, expression, results)

    def _reached(self, puzzle: NumberPuzzle, expression: str, results: list[Fraction]) -> Verdict:
        given, used = Counter(map(Fraction, puzzle.numbers)), Counter(operands(expression))
        broken = next((value for value in results if value.denominator != 1 or value <= 0), None)
        key, right, value = "check.gives", True, results[-1]
        if value != puzzle.target:
            key, right = "check.wanted", False
        elif used != given if puzzle.all_used else used - given:
            key, right = "check.uses_others", False
        elif broken is not None and not puzzle.all_used:
            key, right, value = "check.not_whole", False, broken
        return Verdict(
            right, self._words[key].format(expression=expression, value=value, target=puzzle.target)
        )

    def _island(self, island: Island) -> Verdict:
        fitting = arrangements(island)
        why = self._words["check.models"].format(n=len(fitting))
        if _UNSETTLED.search(self._said) and len(fitting) > 1:
            claimed = self._people(island)
            sure = all(
                (person in knights) == knight for knights in fitting for person, knight in claimed.items()
            )
            return Verdict(sure, why)
        if _IMPOSSIBLE.search(self._said):
            return Verdict(not fitting, why)
        whole = [{person: person in knights for person in island.people} for knights in fitting]
        return Verdict(len(whole) == 1 and self._people(island) == whole[0], why)

    def _people(self, island: Island) -> dict[str, bool]:
        """Who is what, as the answer has it."""
        kinds = {plain(self._words["knight"]): True, plain(self._words["knave"]): False}
        found = {}
        for person in island.people:
            said = re.search(rf"\b{re.escape(plain(person))} (?:is|e) ({'|'.join(kinds)})\b", self._said)
            if said:
                found[person] = kinds[said[1]]
        return found

    def _dates(self) -> set[date]:
        try:
            return {read_date(found[0], self._language) for found in DATE.finditer(self._said)}
        except Unclear:
            return set()

    def _calculation(self, asked: Calculation) -> Verdict:
        try:
            return self._value(evaluated(asked.expression)[-1])
        except NotAnExpression:
            return Verdict(False, self._words["check.bad_expression"].format(said=asked.expression))

    def _value(self, value: Fraction) -> Verdict:
        """Whether the number claimed is this one, to the digits that it has."""
        claimed = _CLAIMED.findall(self._answer) or [("=", one) for one in _NUMBER.findall(self._answer)[-1:]]
        right = bool(claimed) and all(self._near(number, value, sign) for sign, number in claimed)
        return self._expected(write_decimal(value, self._language)[0], right)

    def _near(self, claimed: str, value: Fraction, sign: str) -> bool:
        over, _, under = claimed.replace("−", "-").partition("/")
        number = figures(over, self._language)
        if number is None or (under and not int(under)):
            return False
        if under:
            return Fraction(number) / int(under) == value
        places = len(number.partition(".")[2])
        rounded = bool(places) or sign == "≈"
        return Fraction(number) == value or (rounded and abs(Fraction(number) - value) * 2 * 10**places <= 1)

    def _expected(self, expected: str, right: bool) -> Verdict:
        return Verdict(right, self._words["check.expected"].format(expected=expected))


def _converted(asked: Conversion) -> Fraction:
    source, target = asked.source, asked.target
    ratio = Fraction(source.factor) / Fraction(target.factor)
    return ratio * (asked.amount - Fraction(source.zero)) + Fraction(target.zero)

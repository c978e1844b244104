"""Checks an answer: reads what it claims, and works the question out in another way than the solver.

Numbers are combined from every part of the given ones, islanders are tried in every arrangement, dates are
left to the standard library and expressions to the second evaluator.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations, product
from typing import assert_never

import msgspec

from thinkaloud.builtin.arithmetic import Calculation, NotAnExpression, evaluate
from thinkaloud.builtin.dates import DATE, DaysAway, DaysBetween, WeekdayOf, read_dates
from thinkaloud.builtin.logic import Claim, Count, Island, Not
from thinkaloud.builtin.parse import AnswerCheck, Malformed, NotUnderstood, ParsedQuestion, Puzzle, parse
from thinkaloud.builtin.search import Number, NumberPuzzle
from thinkaloud.builtin.units import Conversion
from thinkaloud.builtin.words import (
    PHRASES,
    Language,
    Unsolvable,
    date_text,
    decimal_text,
    normalize,
    phrase,
    plain_number,
)

MAX_ANSWER_CHARACTERS = 3000
"""Characters that are read: arithmetic with numbers of so many digits is still fast."""

_EXPRESSION = re.compile(r"[\d(−-][\d+\-*/^().,\s−×÷]*")
_NUMBER = re.compile(r"[-−]?\d[\d.,]*(?<=\d)(?:/\d+)?")
_CLAIMED_VALUE = re.compile(rf"([=≈])\s*({_NUMBER.pattern})")
_IMPOSSIBLE = re.compile(
    r"\bno (?:way|solution|arrangement)|impossible|cannot|can't|unsolvable"
    r"|nao (?:ha|tem|existe|pode)|nenhum arranjo|impossivel"
)
_UNDECIDED = re.compile(
    r"not settle|cannot be (?:told|decided)|undetermined"
    r"|nao decide|nao (?:se )?pode (?:saber|decidir)|nao da para saber"
)


class Verdict(msgspec.Struct, frozen=True):
    """Whether an answer is right, and the reason in the language of the question."""

    right: bool
    reason: str


def check(question: str, answer: str) -> Verdict:
    """Checks an answer to a question that the solver can read."""
    return check_parsed(parse(question), answer)


def check_parsed(parsed: ParsedQuestion, answer: str) -> Verdict:
    """Checks an answer to a parsed question."""
    question = parsed.question
    if isinstance(question, AnswerCheck | Malformed | NotUnderstood):
        return Verdict(False, phrase(parsed.language, "check.unreadable"))
    return _Check(parsed.language, answer[:MAX_ANSWER_CHARACTERS]).verdict(question)


class _Check:
    """The check of one answer."""

    def __init__(self, language: Language, answer: str) -> None:
        self._language = language
        self._answer = answer
        self._normalized = normalize(answer)

    def verdict(self, puzzle: Puzzle) -> Verdict:
        match puzzle:
            case NumberPuzzle():
                return self._numbers(puzzle)
            case Island():
                return self._island(puzzle)
            case DaysBetween(first, last):
                days = str(abs((last - first).days))
                return self._expect(days, set(re.findall(r"\d+", DATE.sub(" ", self._normalized))) == {days})
            case WeekdayOf(day):
                weekdays = PHRASES[self._language]["weekdays"].split()
                expected = weekdays[day.weekday()]
                named = [name for name in weekdays if normalize(name) in self._normalized]
                return self._expect(expected, named == [expected])
            case DaysAway(day, days):
                result = day + timedelta(days)
                right = self._dates() - {day} == {result} - {day}
                return self._expect(date_text(result, self._language), right)
            case Conversion():
                return self._value(_converted(puzzle))
            case Calculation():
                return self._calculation(puzzle)
            case _:
                assert_never(puzzle)

    def _verdict(self, right: bool, key: str, **values: object) -> Verdict:
        return Verdict(right, phrase(self._language, f"check.{key}", **values))

    def _expect(self, expected: str, right: bool) -> Verdict:
        return self._verdict(right, "expected", expected=expected)

    def _numbers(self, puzzle: NumberPuzzle) -> Verdict:
        if _IMPOSSIBLE.search(self._normalized):
            possible = reachable(puzzle)
            key = "reachable" if possible else "unreachable"
            return self._verdict(not possible, key, target=puzzle.target)
        expressions = [text.strip(" .,\n") for text in _EXPRESSION.findall(self._answer)]
        if not expressions:
            return self._verdict(False, "no_expression")
        expression = max(expressions, key=lambda text: (bool(re.search(r"[-+*/−×÷]", text)), len(text)))
        try:
            results = evaluate(expression)
        except NotAnExpression:
            return self._verdict(False, "bad_expression", text=expression)
        return self._reached(puzzle, expression, results)

    def _reached(self, puzzle: NumberPuzzle, expression: str, results: list[Fraction]) -> Verdict:
        given = Counter(map(Fraction, puzzle.numbers))
        used = Counter(map(Fraction, re.findall(r"\d+(?:\.\d+)?", expression)))
        not_whole = next((value for value in results if value.denominator != 1 or value <= 0), None)
        key, value = "gives", results[-1]
        if value != puzzle.target:
            key = "wanted"
        elif used != given if puzzle.all_used else used - given:
            key = "other_numbers"
        elif not_whole is not None and not puzzle.all_used:
            key, value = "not_whole", not_whole
        return self._verdict(key == "gives", key, expression=expression, value=value, target=puzzle.target)

    def _island(self, island: Island) -> Verdict:
        fitting = arrangements(island)
        claimed = self._people(island)
        kinds = [{person: person in knights for person in island.people} for knights in fitting]
        if _UNDECIDED.search(self._normalized) and len(fitting) > 1:
            right = all(claimed.items() <= fit.items() for fit in kinds)
        elif _IMPOSSIBLE.search(self._normalized):
            right = not fitting
        else:
            right = kinds == [claimed]
        return self._verdict(right, "arrangements", n=len(fitting))

    def _people(self, island: Island) -> dict[str, bool]:
        """Reads who is what."""
        kinds = {normalize(phrase(self._language, key)): key == "knight" for key in ("knight", "knave")}
        claimed = {}
        for person in island.people:
            pattern = rf"\b{re.escape(normalize(person))} (?:is|e) ({'|'.join(kinds)})\b"
            if match := re.search(pattern, self._normalized):
                claimed[person] = kinds[match[1]]
        return claimed

    def _dates(self) -> set[date]:
        try:
            return set(read_dates(self._normalized, self._language))
        except Unsolvable:
            return set()

    def _calculation(self, puzzle: Calculation) -> Verdict:
        try:
            return self._value(evaluate(puzzle.expression)[-1])
        except NotAnExpression:
            return self._verdict(False, "bad_expression", text=puzzle.expression)

    def _value(self, value: Fraction) -> Verdict:
        """Checks that the claimed number is this one, to the digits that it has."""
        claims = _CLAIMED_VALUE.findall(self._answer) or [
            ("=", number) for number in _NUMBER.findall(self._answer)[-1:]
        ]
        right = bool(claims) and all(self._equals(number, value, sign) for sign, number in claims)
        return self._expect(decimal_text(value, self._language)[0], right)

    def _equals(self, claim: str, value: Fraction, sign: str) -> bool:
        numerator, _, denominator = claim.replace("−", "-").partition("/")
        number = plain_number(numerator, self._language)
        if number is None or (denominator and not int(denominator)):
            return False
        if denominator:
            return Fraction(number) / int(denominator) == value
        places = len(number.partition(".")[2])
        rounded = bool(places) or sign == "≈"
        return Fraction(number) == value or (rounded and abs(Fraction(number) - value) * 2 * 10**places <= 1)


def _converted(puzzle: Conversion) -> Fraction:
    source, target = puzzle.source, puzzle.target
    ratio = Fraction(source.factor) / Fraction(target.factor)
    return ratio * (puzzle.amount - Fraction(source.zero)) + Fraction(target.zero)


def arrangements(island: Island) -> list[frozenset[str]]:
    """Returns every set of knights under which knights tell the truth, knaves lie, and facts hold."""
    everyone = island.people
    sets = (frozenset(some) for size in range(len(everyone) + 1) for some in combinations(everyone, size))
    return [
        knights
        for knights in sets
        if all(
            holds(statement.claim, knights) == (not statement.speaker or statement.speaker in knights)
            for statement in island.statements
        )
    ]


def holds(claim: Claim, knights: frozenset[str]) -> bool:
    """Tells whether a claim is true when exactly these are knights."""
    if isinstance(claim, Count):
        count = sum((person in knights) == claim.knights for person in claim.people)
        return claim.least <= count <= claim.most
    if isinstance(claim, Not):
        return not holds(claim.claim, knights)
    both = [holds(claim.first, knights), holds(claim.second, knights)]
    if claim.connective == "same":
        return both[0] == both[1]
    return all(both) if claim.connective == "and" else any(both)


def reachable(puzzle: NumberPuzzle) -> bool:
    """Tells whether the target can be made; parts of the numbers are bit masks."""
    everything = (1 << len(puzzle.numbers)) - 1
    values: dict[int, set[Number]] = {}
    for part in sorted(range(1, everything + 1), key=int.bit_count):
        halves = [(half, part ^ half) for half in range(1, part) if half & part == half]
        if not halves:
            values[part] = {puzzle.numbers[part.bit_length() - 1]}
        elif part == everything:
            return any(_makes(values[a], values[b], puzzle.target) for a, b in halves)
        else:
            values[part] = {
                value
                for half, other in halves
                if half < other
                for value in _combined(values[half], values[other], puzzle.all_used)
            }
        if puzzle.target in values[part] and (part == everything or not puzzle.all_used):
            return True
    return False


def _combined(values: set[Number], others: set[Number], exact: bool) -> Iterator[Number]:
    """Yields what a value and one of the others make; positive whole numbers only, unless `exact`."""
    for a, b in product(values, others):
        yield a + b
        yield a * b
        if exact:
            yield a - b
            yield b - a
            yield from (Fraction(x) / y for x, y in ((a, b), (b, a)) if y)
        elif a != b:
            low, high = (a, b) if a < b else (b, a)
            yield high - low
            if high % low == 0:
                yield high // low


def _makes(values: set[Number], others: set[Number], target: int) -> bool:
    """Tells whether a value with one of the others makes the target, calculated backwards from it."""
    for value in values:
        if target - value in others or value - target in others or (value == 0 == target):
            return True
        if value and (Fraction(target) / value in others or (target and Fraction(value) / target in others)):
            return True
    return False

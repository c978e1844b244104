"""What a skill reads and returns: a reading of a question, a puzzle, its conclusion, and a verdict.

A skill recognises one kind of question and makes a puzzle of it. The puzzle yields the steps of its solution,
writes them as thinking and their result as an answer, and checks an answer by another method than its steps.
Thinking contains nothing that is not in the steps.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, Protocol

import msgspec

from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.words import (
    Language,
    date_text,
    decimal_text,
    expression_text,
    normalize,
    number_text,
    phrase,
    plain_number,
)

MAX_ANSWER_CHARACTERS = 3000
"""Characters of an answer that are checked: arithmetic with numbers of so many digits is still fast."""

_NUMBER = re.compile(r"[-−]?\d[\d.,]*(?<=\d)(?:/\d+)?")
_CLAIMED_VALUE = re.compile(rf"([=≈])\s*({_NUMBER.pattern})")
_IMPOSSIBLE = re.compile(
    r"\bno (?:way|solution|arrangement)|impossible|cannot|can't|unsolvable"
    r"|nao (?:ha|tem|existe|pode)|nenhum arranjo|impossivel"
)


class LocalServer(msgspec.Struct, frozen=True):
    """A model server that answers on this machine, and the models that it lists."""

    provider: str
    url: str
    models: tuple[str, ...]


class ProviderKey(msgspec.Struct, frozen=True):
    """A provider that has a key: where it comes from, never the key itself, and a model to ask."""

    provider: str
    source: str
    model: str


class Connections(msgspec.Struct, frozen=True):
    """The real models that could be asked from this machine."""

    servers: tuple[LocalServer, ...] = ()
    keys: tuple[ProviderKey, ...] = ()


class SolverEnvironment(msgspec.Struct, frozen=True):
    """What the solver can look up besides the question: the local time, and which models could be asked."""

    now: Callable[[], datetime] = datetime.now
    connections: Callable[[], Connections] = Connections


class Reading(msgspec.Struct, frozen=True):
    """One way to read a question: the text as it was written, and normalized for matching."""

    text: str
    normalized: str
    language: Language
    environment: SolverEnvironment

    @property
    def bare(self) -> str:
        """The normalized text without the marks at its end."""
        return self.normalized.rstrip("?.! ")


class Conclusion(msgspec.Struct, frozen=True):
    """An answer in words; a calculator should find `value` for `expression`, where there is one."""

    answer: str
    expression: str = ""
    value: Fraction = Fraction(0)
    known: bool = True


class Verdict(msgspec.Struct, frozen=True):
    """Whether an answer is right, and the reason in the language of the question."""

    right: bool
    reason: str


class GivenAnswer:
    """An answer that is checked, in the language of its question."""

    def __init__(self, language: Language, text: str) -> None:
        self.language = language
        self.text = text[:MAX_ANSWER_CHARACTERS]
        self.normalized = normalize(self.text)

    def verdict(self, right: bool, key: str, **values: object) -> Verdict:
        """Returns a verdict with its reason, a phrase that begins with `check.`."""
        return Verdict(right, phrase(self.language, f"check.{key}", **values))

    def expect(self, expected: str, right: bool) -> Verdict:
        """Returns a verdict that gives the expected answer as its reason."""
        return self.verdict(right, "expected", expected=expected)

    def expect_value(self, value: Fraction) -> Verdict:
        """Checks that the claimed number is this one, to the digits that it has."""
        claims = self._claims()
        right = bool(claims) and all(self._equals(number, value, sign) for sign, number in claims)
        return self.expect(decimal_text(value, self.language)[0], right)

    def claimed_values(self) -> list[Fraction]:
        """Reads the numbers that are claimed: those after a sign of equality, else the last one."""
        numbers = [self._number(claim) for _, claim in self._claims()]
        return [number for number in numbers if number is not None]

    @property
    def impossible(self) -> bool:
        """Whether the answer says that there is no solution."""
        return bool(_IMPOSSIBLE.search(self.normalized))

    def _claims(self) -> list[tuple[str, str]]:
        last_number = _NUMBER.findall(self.text)[-1:]
        return _CLAIMED_VALUE.findall(self.text) or [("=", number) for number in last_number]

    def _number(self, claim: str) -> Fraction | None:
        numerator, _, denominator = claim.replace("−", "-").partition("/")
        number = plain_number(numerator, self.language)
        if number is None or (denominator and not int(denominator)):
            return None
        return Fraction(number) / int(denominator or 1)

    def _equals(self, claim: str, value: Fraction, sign: str) -> bool:
        number = self._number(claim)
        if number is None or number == value or "/" in claim:
            return number == value
        places = len((plain_number(claim, self.language) or "").partition(".")[2])
        rounded = bool(places) or sign == "≈"
        return rounded and abs(number - value) * 2 * 10**places <= 1


class Puzzle(Protocol):
    """A question that was recognised. Its trace is the tuple of its steps.

    The puzzles of the skills say how they solve and check; to narrate and to conclude is the same for all.
    """

    def steps(self) -> Iterator[Any]:
        """Solves the puzzle step by step. Raises `Unsolvable`."""

    def narrate(self, trace: Sequence[Any], language: Language) -> Iterator[str]:
        """Writes a trace as thinking, line by line."""

    def conclude(self, trace: Sequence[Any], language: Language) -> Conclusion:
        """Writes the answer that a trace leads to."""

    def check(self, answer: GivenAnswer) -> Verdict:
        """Checks an answer by another method than `steps`."""


class Remark(msgspec.Struct, frozen=True):
    """A question that needs no calculation: the answer is a phrase. `thought` and `answer` are their keys."""

    thought: str
    answer: str
    values: Mapping[str, object] = {}

    def steps(self) -> Iterator[Any]:
        """There is nothing to solve."""
        return iter(())

    def narrate(self, trace: Sequence[Any], language: Language) -> Iterator[str]:
        """Writes what kind of question it is."""
        yield from phrase(language, self.thought, **self.values).splitlines()

    def conclude(self, trace: Sequence[Any], language: Language) -> Conclusion:
        """Writes the phrase."""
        return Conclusion(phrase(language, self.answer, **self.values), known=False)

    def check(self, answer: GivenAnswer) -> Verdict:
        """There is nothing to check."""
        return answer.verdict(False, "unreadable")


class CalculatedPuzzle(msgspec.Struct, frozen=True):
    """A puzzle whose steps are calculations, each written with the phrase of its label."""

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes each calculation."""
        return calculated_lines(trace, language)


def calculated_lines(trace: Sequence[Calculated], language: Language, **values: object) -> Iterator[str]:
    """Writes each step with the phrase of its label; `values` fill in the rest of the phrase."""
    for step in trace:
        fields = {
            **values,
            "expression": expression_text(step.expression, language),
            "value": number_text(step.value, language),
            "day": date_text(step.day, language) if step.day else "",
        }
        yield phrase(language, f"step.{step.label}", **fields)

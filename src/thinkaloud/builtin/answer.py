"""Reads what an answer claims: numbers, dates, or that there is no solution."""

import re
from datetime import date
from fractions import Fraction

from thinkaloud.builtin.dates import read_dates
from thinkaloud.builtin.question import Verdict
from thinkaloud.builtin.words import Language, Unsolvable, decimal_text, normalize, phrase, plain_number

MAX_ANSWER_CHARACTERS = 3000
"""Characters that are read: arithmetic with numbers of so many digits is still fast."""

_NUMBER = re.compile(r"[-−]?\d[\d.,]*(?<=\d)(?:/\d+)?")
_CLAIMED_VALUE = re.compile(rf"([=≈])\s*({_NUMBER.pattern})")
_IMPOSSIBLE = re.compile(
    r"\bno (?:way|solution|arrangement)|impossible|cannot|can't|unsolvable"
    r"|nao (?:ha|tem|existe|pode)|nenhum arranjo|impossivel"
)


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

    def dates(self, today: date) -> set[date]:
        """Reads all dates in the answer."""
        try:
            return {day.day for day in read_dates(self.normalized, self.language, today)}
        except Unsolvable:
            return set()

    def _claims(self) -> list[tuple[str, str]]:
        return _CLAIMED_VALUE.findall(self.text) or [
            ("=", number) for number in _NUMBER.findall(self.text)[-1:]
        ]

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

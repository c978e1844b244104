"""Roots: "square root of 2". A root that is no fraction is found digit by digit and rounded."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import Calculated, typed
from thinkaloud.builtin.asked import asked_value
from thinkaloud.builtin.narrate import calculated_lines, number_text
from thinkaloud.builtin.question import Conclusion, Reading, Skill, Verdict
from thinkaloud.builtin.skills.compare import MAX_DIGITS
from thinkaloud.builtin.words import Language, Unsolvable, exact_text, phrase, plain_number

MAX_DEGREE = 10
PLACES = 6
"""Decimal places of a root that is no fraction."""

_NUMBER = r"\(?(?P<number>[-−]?\d[\d.,]*)\)?"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:the |a )?(?P<name>square|cube|cubic)? ?root (?:of |from )?{_NUMBER}",
        rf"(?:a )?raiz (?P<name>quadrada|cubica)? ?(?:de |do )?{_NUMBER}",
        rf"(?:the |a )?(?P<degree>\d+)(?:st|nd|rd|th|a|ª) root of {_NUMBER}",
        rf"(?P<name>sqrt|cbrt) ?(?:of )?{_NUMBER}",
        rf"(?P<name>√|∛) ?{_NUMBER}",
    )
)
_DEGREES = {"cube": 3, "cubic": 3, "cubica": 3, "cbrt": 3, "∛": 3}


class Root(msgspec.Struct, frozen=True):
    """The puzzle: the number whose power is another number."""

    number: Fraction
    degree: int

    def steps(self) -> Iterator[Calculated]:
        """Tries powers: whole numbers first, then one decimal place after the other."""
        exact = _exact_root(self.number, self.degree)
        if exact is not None:
            yield Calculated("root_exact", self._power(exact), exact**self.degree)
            yield Calculated("root", exact_text(exact), exact)
            return
        low = Fraction(0)
        for place in range(PLACES + 1):
            unit = Fraction(1, 10**place)
            low = Fraction(_floor_root(self.number * 10 ** (place * self.degree), self.degree), 10**place)
            yield Calculated("root_below", self._power(low), low**self.degree)
            yield Calculated("root_above", self._power(low + unit), (low + unit) ** self.degree)
        middle = low + Fraction(1, 2 * 10**PLACES)
        nearest = low if middle**self.degree > self.number else low + Fraction(1, 10**PLACES)
        yield Calculated("root_nearest", exact_text(nearest), nearest)

    def _power(self, root: Fraction) -> str:
        text = exact_text(root)
        return f"({text})^{self.degree}" if "/" in text else f"{text}^{self.degree}"

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes each power that was tried."""
        number = number_text(self.number, language)
        yield phrase(language, "think.root", degree=self.degree, number=number)
        yield from calculated_lines(trace, language, number=number, places=PLACES)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the root; a calculator can check the power of an exact one."""
        value = Fraction(trace[-1].value)
        exact = trace[-1].label == "root"
        name = {2: "√", 3: "∛"}.get(self.degree)
        number = number_text(self.number, language)
        expression = f"{name}{number}" if name else phrase(language, "root.nth", n=self.degree, number=number)
        key = "answer.root" if exact else "answer.root_about"
        answer = phrase(language, key, root=expression, value=number_text(value, language), places=PLACES)
        return Conclusion(answer, typed(self._power(value)), self.number) if exact else Conclusion(answer)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Checks that the number lies between the powers of the claimed root and its neighbours."""
        exact = _exact_root(self.number, self.degree)
        if exact is not None:
            return answer.expect_value(exact)
        half = Fraction(1, 2 * 10**PLACES)
        claims = answer.claimed_values()
        right = bool(claims) and all(
            max(Fraction(0), claim - half) ** self.degree <= self.number <= (claim + half) ** self.degree
            for claim in claims
        )
        return answer.verdict(
            right, "root", degree=self.degree, number=number_text(self.number, answer.language)
        )


def _exact_root(number: Fraction, degree: int) -> Fraction | None:
    root = Fraction(_floor_root(number.numerator, degree), _floor_root(number.denominator, degree))
    return root if root**degree == number else None


def _floor_root(number: Fraction | int, degree: int) -> int:
    """Returns the largest whole number whose power is not above a number, by bisection."""
    whole = int(number)
    low, high = 0, 1 << (whole.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= whole else (low, middle)
    return low if whole else 0


def recognise(reading: Reading) -> Root | None:
    """Recognises a root. Raises `Unsolvable` for one that is not real or too large."""
    asked = asked_value(reading.normalized)
    match = next(filter(None, (pattern.fullmatch(asked) for pattern in _PATTERNS)), None)
    if match is None:
        return None
    groups = match.groupdict()
    if len(match["number"]) > MAX_DIGITS:
        raise Unsolvable("long_amount", limit=MAX_DIGITS)
    number = plain_number(match["number"], reading.language)
    if number is None:
        return None
    degree = int(groups["degree"][:3]) if groups.get("degree") else _DEGREES.get(groups.get("name") or "", 2)
    if not 2 <= degree <= MAX_DEGREE:
        raise Unsolvable("root_degree", str(degree), MAX_DEGREE)
    if Fraction(number) < 0:
        raise Unsolvable("root_of_negative", number)
    return Root(Fraction(number), degree)


ROOT = Skill(
    "roots",
    recognise,
    {Language.EN: "square root of 2", Language.PT: "raiz quadrada de 2"},
    "square cube root raiz quadrada cubica",
)

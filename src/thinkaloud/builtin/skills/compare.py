"""Comparisons: "which is bigger, 9.11 or 9.9?"."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.asked import plain_numbers
from thinkaloud.builtin.narrate import calculated_lines, number_text
from thinkaloud.builtin.question import Conclusion, Reading, Skill, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, exact_text, phrase

MAX_DIGITS = 30

_LARGER = r"(?P<larger>larger|bigger|greater|more|higher|largest|biggest|greatest|maior|mais)"
_SMALLER = r"(?:smaller|less|lower|smallest|menor|menos)"
_NUMBER = r"-?\d+(?:\.\d+)?"
_NUMBERS = rf"(?P<first>{_NUMBER}) (?:or|and|ou|e|vs\.?) (?P<second>{_NUMBER})"
_QUESTION = re.compile(
    rf"(?:(?:which|what|which number|qual|qual numero|o que|quem) (?:is|number is|e|eh|e o|is the)? ?"
    rf"(?:the )?(?:{_LARGER}|{_SMALLER})(?: number| numero)?[:,]? |is "
    rf"(?:{_LARGER.replace('larger>', 'more>')}|{_SMALLER}):? )"
    rf"(?:between |of |entre )?{_NUMBERS}"
)


_YES_OR_NO = re.compile(
    rf"(?:is|e|o) ?(?P<first>{_NUMBER}) (?:is |e |eh )?(?:{_LARGER}|{_SMALLER}) (?:than|do que|que) "
    rf"(?P<second>{_NUMBER})"
)


class Comparison(msgspec.Struct, frozen=True):
    """The puzzle: the larger of two numbers, or the smaller."""

    first: Fraction
    second: Fraction
    larger: bool

    def steps(self) -> Iterator[Calculated]:
        """Subtracts one from the other."""
        expression = f"{exact_text(self.first)} - {_bracketed(self.second)}"
        yield Calculated("comparison", expression, self.first - self.second)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes the numbers with the same number of places, and their difference."""
        places = max(len(exact_text(number).partition(".")[2]) for number in (self.first, self.second))
        if places:
            first, second = (_padded(number, places, language) for number in (self.first, self.second))
            yield phrase(language, "think.places", first=first, second=second)
        yield from calculated_lines(trace, language)
        sign = (trace[-1].value > 0) - (trace[-1].value < 0)
        key = {1: "think.first_larger", -1: "think.first_smaller", 0: "think.equal"}[sign]
        yield phrase(language, key)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the larger or the smaller number."""
        difference = trace[-1].value
        numbers = [number_text(number, language) for number in (self.first, self.second)]
        if difference < 0:
            numbers.reverse()
        key = "answer.equal" if not difference else "answer.larger" if self.larger else "answer.smaller"
        answer = phrase(language, key, large=numbers[0], small=numbers[1])
        return Conclusion(answer, trace[-1].expression, Fraction(difference))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Compares the numbers as decimals; the first number in the answer must be the right one."""
        decimals = sorted(Decimal(exact_text(number)) for number in (self.first, self.second))
        expected = decimals[-1] if self.larger else decimals[0]
        claim = re.search(r"[-−]?\d+(?:[.,]\d+)?", answer.text)
        named = Decimal(claim[0].replace("−", "-").replace(",", ".")) if claim else None
        return answer.expect(str(expected), named == expected)


def _bracketed(number: Fraction) -> str:
    return f"({exact_text(number)})" if number < 0 else exact_text(number)


def _padded(number: Fraction, places: int, language: Language) -> str:
    digits = f"{Decimal(exact_text(number)):.{places}f}".replace("-", "−")
    return digits.replace(".", ",") if language is Language.PT else digits


def recognise(reading: Reading) -> Comparison | None:
    """Recognises two numbers to compare."""
    text = plain_numbers(reading.normalized.rstrip("?.! "), reading.language)
    match = _QUESTION.fullmatch(text) or _YES_OR_NO.fullmatch(text)
    if match is None:
        return None
    if max(len(match["first"]), len(match["second"])) > MAX_DIGITS:
        raise Unsolvable("long_amount", limit=MAX_DIGITS)
    larger = bool(match["larger"] or match.groupdict().get("more"))
    return Comparison(Fraction(match["first"]), Fraction(match["second"]), larger)


COMPARE = Skill(
    "comparisons",
    recognise,
    {Language.EN: "which is bigger, 9.11 or 9.9?", Language.PT: "qual é maior, 9,11 ou 9,9?"},
    "which larger bigger greater smaller qual maior menor",
)

"""Conversions of units, through the reference unit of their dimension: "convert 5 km to miles"."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from thinkaloud.builtin.arithmetic import Calculated, typed
from thinkaloud.builtin.puzzle import Conclusion, GivenAnswer, Reading, Verdict, calculated_lines
from thinkaloud.builtin.words import (
    Language,
    Unsolvable,
    bracketed,
    decimal_text,
    exact_text,
    number_text,
    phrase,
    plain_number,
)
from thinkaloud.builtin.words.units import UNITS, Unit, reference_unit

MAX_AMOUNT_CHARACTERS = 30
ABSOLUTE_ZERO = Fraction("-273.15")

_AMOUNT = r"(?P<amount>[-−]?\d[\d.,]*|an?|one|uma?)"
_UNIT = r"[^\d\s?!,;][^\d?!,;]*?"
_PATTERNS = (
    re.compile(
        rf"(?:\D*? )?{_AMOUNT} ?(?P<source>{_UNIT}) (?:to|in|into|as|em|para) (?P<target>{_UNIT})[?.! ]*"
    ),
    re.compile(
        rf"(?:how many|how much|quant[ao]s?) (?P<target>{_UNIT}) "
        rf"(?:is|are|are there in|are in|make|does|in|sao|ha em|tem|existem em|em) "
        rf"{_AMOUNT} ?(?P<source>{_UNIT})(?: have)?[?.! ]*"
    ),
)


class Conversion(msgspec.Struct, frozen=True):
    """The puzzle: an amount of one unit in another of the same dimension."""

    amount: Fraction
    source: Unit
    target: Unit

    def steps(self) -> Iterator[Calculated]:
        """Converts to the reference unit and from it; a step that changes nothing is left out."""
        reference = reference_unit(self.source.dimension)
        amount = self.source.to_reference(self.amount)
        if self.source != reference:
            yield Calculated("to_reference", self._to_reference, amount)
        if self.target != reference or amount == self.amount:
            expression = self._from_reference(bracketed(exact_text(amount)))
            yield Calculated("from_reference", expression, self.target.from_reference(amount))

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        reference = reference_unit(self.source.dimension).name(language)
        target = self.target.name(language)
        yield from calculated_lines(
            trace, language, amount_unit=self._amount_unit(language), reference=reference, target=target
        )

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        value = Fraction(trace[-1].value)
        digits, exact = decimal_text(value, language)
        key = "answer.converted" if exact else "answer.converted_about"
        target = self.target.name(language, value)
        answer = phrase(language, key, amount_unit=self._amount_unit(language), value=digits, target=target)
        return Conclusion(answer, typed(self.expression), value)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Converts with one ratio instead of two steps."""
        ratio = Fraction(self.source.factor) / Fraction(self.target.factor)
        return answer.expect_value(
            ratio * (self.amount - Fraction(self.source.zero)) + Fraction(self.target.zero)
        )

    @property
    def expression(self) -> str:
        """The whole conversion as one expression."""
        return self._from_reference(f"({self._to_reference})")

    @property
    def _to_reference(self) -> str:
        amount, factor, zero = exact_text(self.amount), self.source.factor, self.source.zero
        shifted = bracketed(amount) if zero == "0" else f"({amount} − {zero})"
        return shifted if factor == "1" else f"{shifted} × {factor}"

    def _from_reference(self, amount: str) -> str:
        factor, zero = self.target.factor, self.target.zero
        scaled = amount if factor == "1" else f"{amount} ÷ {bracketed(factor)}"
        return scaled if zero == "0" else f"{scaled} + {zero}"

    def _amount_unit(self, language: Language) -> str:
        return f"{number_text(self.amount, language)} {self.source.name(language, self.amount)}"


def recognise(reading: Reading) -> Conversion | None:
    """Recognises an amount with two units. Raises `Unsolvable` where the units do not fit together."""
    for pattern in _PATTERNS:
        match = pattern.fullmatch(reading.normalized)
        if match and (conversion := _bounded(match, reading.language)):
            return conversion
    return None


def _bounded(match: re.Match[str], language: Language) -> Conversion | None:
    written = match["amount"] if re.search(r"\d", match["amount"]) else "1"
    amount = plain_number(written[:MAX_AMOUNT_CHARACTERS], language)
    names = [
        re.sub(r"^(?:degrees?|graus?) |^an? (?=\w)", "", match[side].strip()) for side in ("source", "target")
    ]
    source, target = (UNITS.get(name) for name in names)
    if amount is None or (source is None and target is None):
        return None
    if source is None or target is None:
        if written != match["amount"]:
            return None  # "a day in the life" has one unit by chance
        raise Unsolvable("unknown_unit", names[source is not None])
    if len(written) > MAX_AMOUNT_CHARACTERS:
        raise Unsolvable("long_amount", limit=MAX_AMOUNT_CHARACTERS)
    if source.dimension != target.dimension:
        raise Unsolvable("unlike_units", " / ".join(names))
    if source.dimension == "temperature" and source.to_reference(Fraction(amount)) < ABSOLUTE_ZERO:
        raise Unsolvable("too_cold")
    return Conversion(Fraction(amount), source, target)

"""Writes calculated steps as thinking, and cuts a long thinking in the middle.

Thinking contains nothing that is not in the trace; where lines are left out, it says how many.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.words import Language, date_text, decimal_text, exact_text, expression_text, phrase

MAX_LINES = 200
_LAST_LINES = 40


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


def number_text(value: Fraction | int, language: Language) -> str:
    """Writes a number exactly, in the typography of the language."""
    return expression_text(exact_text(value), language)


def value_text(value: Fraction, language: Language) -> str:
    """Writes a number in digits; one that had to be rounded begins with the sign ≈."""
    digits, exact = decimal_text(value, language)
    return digits if exact else f"≈ {digits}"


def shortened(lines: Sequence[str], language: Language) -> tuple[str, ...]:
    """Returns at most `MAX_LINES` lines."""
    omitted = len(lines) - MAX_LINES + 1
    if omitted <= 1:
        return tuple(lines)
    middle = phrase(language, "think.omitted", n=omitted)
    return (*lines[: MAX_LINES - 1 - _LAST_LINES], middle, *lines[-_LAST_LINES:])

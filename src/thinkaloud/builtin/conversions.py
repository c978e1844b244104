"""Units by way of the first unit of their dimension, with exact fractions."""

from collections.abc import Iterator

from thinkaloud.builtin.language import exact_text
from thinkaloud.builtin.questions import Conversion
from thinkaloud.builtin.trace import Reckoned
from thinkaloud.builtin.units import first_of


def convert(asked: Conversion) -> Iterator[Reckoned]:
    """The calculation, there and back, without steps that change nothing; the last one has the value."""
    first = asked.source.to_first(asked.amount)
    value = asked.target.from_first(first)
    there = _there(exact_text(asked.amount), asked.source.factor, asked.source.zero)
    back = _back(_bracketed(exact_text(first)), asked.target.factor, asked.target.zero)
    if asked.source != first_of(asked.source.dimension):
        yield Reckoned("to_first", there, first)
    if asked.target != first_of(asked.target.dimension) or first == asked.amount:
        yield Reckoned("from_first", back, value)


def whole_expression(asked: Conversion) -> str:
    """The calculation as one expression."""
    there = _there(exact_text(asked.amount), asked.source.factor, asked.source.zero)
    return _back(f"({there})", asked.target.factor, asked.target.zero)


def _there(amount: str, factor: str, zero: str) -> str:
    moved = _bracketed(amount) if zero == "0" else f"({amount} − {zero})"
    return moved if factor == "1" else f"{moved} × {factor}"


def _back(amount: str, factor: str, zero: str) -> str:
    scaled = amount if factor == "1" else f"{amount} ÷ {_bracketed(factor)}"
    return scaled if zero == "0" else f"{scaled} + {zero}"


def _bracketed(words: str) -> str:
    return f"({words})" if "/" in words or words.startswith("-") else words

"""A second way to work an expression out, by the shunting yard: for checks, apart from the solver."""

import re
from collections.abc import Iterator
from fractions import Fraction

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([-+*/^()−×÷]))")
_SIGNS = {"−": "-", "×": "*", "÷": "/"}
_NEGATE = "~"
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, _NEGATE: 3, "^": 4}
_LARGEST_BITS = 10_000
"""Of any value on the way: more than the solver itself takes on, and still few enough digits to write."""


class NotAnExpression(ValueError):
    """The text is no arithmetic, or its value is not to be had."""


def evaluated(text: str) -> list[Fraction]:
    """What each operation in an expression gives, in order; the last one is the value of all."""
    values: list[Fraction] = []
    waiting: list[str] = []
    results: list[Fraction] = []
    for token in _signed(text):
        if token == "(":
            waiting.append(token)
        elif token == ")":
            while waiting and waiting[-1] != "(":
                results.append(_apply(waiting.pop(), values))
            if not waiting:
                raise NotAnExpression("a bracket closes that was never opened")
            waiting.pop()
        elif token in _STRENGTH:
            while waiting and _goes_first(waiting[-1], token):
                results.append(_apply(waiting.pop(), values))
            waiting.append(token)
        else:
            values.append(Fraction(token))
    while waiting:
        results.append(_apply(waiting.pop(), values))
    if len(values) != 1:
        raise NotAnExpression("the expression has no single value")
    return results or values


def operands(text: str) -> list[Fraction]:
    """The numbers that stand in an expression."""
    return [Fraction(token) for token in re.findall(r"\d+(?:\.\d+)?", text)]


def _signed(text: str) -> Iterator[str]:
    """The tokens, with a minus that has nothing before it told from one that subtracts."""
    at, wants_value = 0, True
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise NotAnExpression(f"{text[at:][:20]!r} is no arithmetic")
        at = found.end()
        token = found[1] or _SIGNS.get(found[2], found[2])
        starts = token not in ")+-*/^"
        if not (wants_value and token == "-") and starts != wants_value:
            raise NotAnExpression(f"{token!r} stands where it cannot")
        yield _NEGATE if wants_value and token == "-" else token
        wants_value = token == "(" or token in _STRENGTH


def _goes_first(waiting: str, token: str) -> bool:
    if waiting == "(" or token == _NEGATE:
        return False
    ahead = _STRENGTH[waiting] - _STRENGTH[token]
    return ahead > 0 or (ahead == 0 and token != "^")


def _apply(sign: str, values: list[Fraction]) -> Fraction:
    if sign == "(" or len(values) < 1 + (sign != _NEGATE):
        raise NotAnExpression("a bracket or a sign is left over")
    right = values.pop()
    if sign == _NEGATE:
        values.append(-right)
        return -right
    value = _result(values.pop(), sign, right)
    if _bits(value) > _LARGEST_BITS:
        raise NotAnExpression("a value that is too large")
    values.append(value)
    return value


def _result(left: Fraction, sign: str, right: Fraction) -> Fraction:
    if sign == "/" and right == 0:
        raise NotAnExpression("division by zero")
    if sign in "*/":
        return left * right if sign == "*" else left / right
    if sign in "+-":
        return left + right if sign == "+" else left - right
    return _power(left, right)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if (
        exponent.denominator != 1
        or _bits(base) * abs(exponent) > _LARGEST_BITS
        or (base == 0 and exponent < 0)
    ):
        raise NotAnExpression("a power that is not to be had")
    return base ** int(exponent)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())

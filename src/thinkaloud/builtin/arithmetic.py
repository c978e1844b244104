"""Plain arithmetic, exactly: an expression is read once and every operation on the way is a step.

Nothing is evaluated by Python itself, and everything is bounded: the length of the text, the depth of
brackets, exponents and the size of every result.
"""

import re
from collections.abc import Callable, Generator
from fractions import Fraction

from thinkaloud.builtin.language import exact_text
from thinkaloud.builtin.trace import Reckoned

LONGEST = 200
DEEPEST = 30
LARGEST_EXPONENT = 1000
LARGEST_BITS = 3000
"""About 900 digits."""

_TOKEN = re.compile(r"\d+(?:\.\d+)?|[-+*/^()]")

Steps = Generator[Reckoned, None, Fraction]


class CannotReckon(Exception):
    """Why there is no value: `why` is a key of the words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def reckon(expression: str) -> Steps:
    """Work an expression out, a step for every operation; the value is what the generator returns."""
    tokens = _TOKEN.findall(expression)
    reading = _Reading(tokens)
    value = yield from reading.sum()
    if reading.next or "".join(tokens) != expression.replace(" ", ""):
        raise CannotReckon("not_arithmetic")
    return value


class _Reading:
    """Tokens being read: sums of products of powers."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]
        self._depth = 0

    @property
    def next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def sum(self) -> Steps:
        return (yield from self._chain("+-", self._product))

    def _product(self) -> Steps:
        return (yield from self._chain("*/", self._negation))

    def _chain(self, signs: str, part: Callable[[], Steps]) -> Steps:
        value = yield from part()
        while self.next and self.next in signs:
            sign = self._tokens.pop()
            value = yield from _step(value, sign, (yield from part()))
        return value

    def _negation(self) -> Steps:
        minus = False
        while self.next == "-":
            self._tokens.pop()
            minus = not minus
        value = yield from self._power()
        return -value if minus else value

    def _power(self) -> Steps:
        base = yield from self._atom()
        if self.next != "^":
            return base
        self._tokens.pop()
        return (yield from _step(base, "^", (yield from self._deeper(self._negation))))

    def _atom(self) -> Steps:
        token = self._tokens.pop() if self._tokens else ""
        if token == "(":
            value = yield from self._deeper(self.sum)
            token = self._tokens.pop() if self._tokens else ""
            if token == ")":
                return value
        elif token[:1].isdigit():
            return Fraction(token)
        raise CannotReckon("not_arithmetic")

    def _deeper(self, part: Callable[[], Steps]) -> Steps:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CannotReckon("too_deep")
        value = yield from part()
        self._depth -= 1
        return value


def _step(left: Fraction, sign: str, right: Fraction) -> Steps:
    value = _result(left, sign, right)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > LARGEST_BITS:
        raise CannotReckon("too_large")
    yield Reckoned("step", f"{_operand(left)} {sign} {_operand(right)}", value)
    return value


def _operand(value: Fraction) -> str:
    words = exact_text(value)
    return f"({words})" if value < 0 or "/" in words else words


def _result(left: Fraction, sign: str, right: Fraction) -> Fraction:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            if right == 0:
                raise CannotReckon("by_zero")
            return left / right
    return _raised(left, right)


def _raised(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise CannotReckon("root")
    if base == 0 and exponent < 0:
        raise CannotReckon("by_zero")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) > LARGEST_EXPONENT or (abs(base) != 1 and bits * abs(exponent) > 2 * LARGEST_BITS):
        raise CannotReckon("too_large")
    return base ** int(exponent)

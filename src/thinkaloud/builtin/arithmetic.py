"""Exact arithmetic on text, twice: `calculate` narrates every operation, `evaluate` is the independent check.

They share no parser: one is recursive descent, the other is Python's own. Neither lets Python evaluate
anything, and both bound the number of operations and the size of every value.
"""

import ast
import operator
import re
from collections.abc import Callable, Generator, Iterator
from datetime import date
from fractions import Fraction

import msgspec

from thinkaloud.builtin.words import Unsolvable, bracketed, exact_text

MAX_EXPRESSION_CHARACTERS = 200
MAX_NESTING = 30
MAX_EXPONENT = 1000
MAX_BITS = 3000
"""About 900 digits."""
_MAX_CHECKED_BITS = 10_000
"""Of a value in `evaluate`: more than `calculate` allows, and still few enough digits to write."""
_MAX_OPERATIONS = 500
"""In `evaluate`, which is recursive: as many as the calculator's longest expression can have."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class Calculated(msgspec.Struct, frozen=True):
    """A step: an expression and its value. `label` is a key of the phrases, `day` the date it is about."""

    label: str
    expression: str
    value: int | Fraction
    day: date | None = None


Steps = Generator[Calculated, None, Fraction]
"""The steps of a calculation; the generator returns its value."""


class NotAnExpression(ValueError):
    """The text is not arithmetic, or has no value that can be given."""


def calculate(expression: str) -> Steps:
    """Calculates an expression, with one step for every operation. Raises `Unsolvable`."""
    tokens = re.findall(rf"{_NUMBER.pattern}|[-+*/^()]", expression)
    parser = _Parser(tokens)
    value = yield from parser.sum()
    if parser.next or "".join(tokens) != expression.replace(" ", ""):
        raise Unsolvable("not_arithmetic")
    return value


class _Parser:
    """A recursive descent parser that calculates while it parses: sums of products of powers."""

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

    def _chain(self, signs: str, operand: Callable[[], Steps]) -> Steps:
        value = yield from operand()
        while self.next and self.next in signs:
            sign = self._tokens.pop()
            value = yield from _operation(value, sign, (yield from operand()))
        return value

    def _negation(self) -> Steps:
        negative = False
        while self.next == "-":
            self._tokens.pop()
            negative = not negative
        value = yield from self._power()
        return -value if negative else value

    def _power(self) -> Steps:
        base = yield from self._atom()
        if self.next != "^":
            return base
        self._tokens.pop()
        return (yield from _operation(base, "^", (yield from self._nested(self._negation))))

    def _atom(self) -> Steps:
        token = self._tokens.pop() if self._tokens else ""
        if token == "(":
            value = yield from self._nested(self.sum)
            token = self._tokens.pop() if self._tokens else ""
            if token == ")":
                return value
        elif token[:1].isdigit():
            return Fraction(token)
        raise Unsolvable("not_arithmetic")

    def _nested(self, part: Callable[[], Steps]) -> Steps:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise Unsolvable("too_deep")
        value = yield from part()
        self._depth -= 1
        return value


def _operation(left: Fraction, sign: str, right: Fraction) -> Steps:
    if sign == "/" and right == 0:
        raise Unsolvable("by_zero")
    value = _power(left, right) if sign == "^" else _OPERATORS[sign](left, right)
    if _bits(value) > MAX_BITS:
        raise Unsolvable("too_large")
    operands = [bracketed(exact_text(operand)) for operand in (left, right)]
    yield Calculated("operation", f" {sign} ".join(operands), value)
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise Unsolvable("root")
    if base == 0 and exponent < 0:
        raise Unsolvable("by_zero")
    too_many_bits = abs(base) != 1 and _bits(base) * abs(exponent) > 2 * MAX_BITS
    if abs(exponent) > MAX_EXPONENT or too_many_bits:
        raise Unsolvable("too_large")
    return Fraction(base ** int(exponent))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def typed(expression: str) -> str:
    """Writes an expression with the signs that a calculator reads."""
    return expression.replace("−", "-").replace("×", "*").replace("÷", "/")


_OPERATION = re.compile(r"[-+*/^(]")
_ARITHMETIC = re.compile(rf"(?:{_NUMBER.pattern}|[-+*/^() ])+")
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}


def evaluate(text: str) -> list[Fraction]:
    """Returns the value of each operation in order; the last one is the value of the expression."""
    text = " ".join(typed(text).split())
    if not _ARITHMETIC.fullmatch(text):
        raise NotAnExpression(f"{text[:20]!r} is no arithmetic")
    if len(_OPERATION.findall(text)) > _MAX_OPERATIONS:
        raise NotAnExpression("there are too many signs and brackets")
    # A name for every number: Python would round the decimals, and refuse whole numbers such as 007.
    names = _NUMBER.sub(" n ", text.replace("^", "**")).strip()
    try:
        tree = ast.parse(names, mode="eval")
    except SyntaxError:
        raise NotAnExpression("a number, a sign or a bracket is missing or left over") from None
    results: list[Fraction] = []
    value = _value(tree.body, map(Fraction, _NUMBER.findall(text)), results)
    return results or [value]


def _value(node: ast.expr, numbers: Iterator[Fraction], results: list[Fraction]) -> Fraction:
    """Returns the value of a node, and adds that of each operation to the results."""
    match node:
        case ast.Name():
            return next(numbers)
        case ast.UnaryOp(ast.USub(), operand):
            value = -_value(operand, numbers, results)
        case ast.BinOp(left, operation, right) if type(operation) in _SIGNS:
            first = _value(left, numbers, results)
            second = _value(right, numbers, results)
            value = _checked_value(first, _SIGNS[type(operation)], second)
        case _:
            raise NotAnExpression("a sign stands where it cannot")
    results.append(value)
    return value


def _checked_value(left: Fraction, sign: str, right: Fraction) -> Fraction:
    if sign == "/" and right == 0:
        raise NotAnExpression("division by zero")
    if sign == "^":
        too_large = _bits(left) * abs(right) > _MAX_CHECKED_BITS
        if right.denominator != 1 or too_large or (left == 0 and right < 0):
            raise NotAnExpression("a power that is not to be had")
        return Fraction(left ** int(right))
    value = _OPERATORS[sign](left, right)
    if _bits(value) > _MAX_CHECKED_BITS:
        raise NotAnExpression("a value that is too large")
    return value

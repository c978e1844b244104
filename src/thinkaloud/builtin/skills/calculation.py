"""Arithmetic: "how much is 17 * 3 - 9", "two plus two", "10!", "the average of 4, 8 and 15"."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import (
    MAX_EXPRESSION_CHARACTERS,
    Calculated,
    NotAnExpression,
    calculate,
    evaluate,
)
from thinkaloud.builtin.asked import asked_value, plain_numbers
from thinkaloud.builtin.dates import DATE
from thinkaloud.builtin.narrate import calculated_lines
from thinkaloud.builtin.question import Conclusion, Reading, Skill, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, decimal_text, expression_text, phrase

MAX_FACTORIAL = 40
"""The product of so many numbers still fits an expression."""

_SIGN_WORDS = (
    (r"²", "^2"),
    (r"³", "^3"),
    (r"\b(?:squared|ao quadrado)\b", "^2"),
    (r"\b(?:cubed|ao cubo)\b", "^3"),
    (r"\b(?:plus|mais)\b|＋", "+"),
    (r"\b(?:minus|menos)\b|[−–]", "-"),
    (r"\b(?:times|multiplied by|vezes|multiplicado por)\b|[×·]|(?<=[\d) ])x(?=[\d( ])|\*", "*"),
    (r"\b(?:divided by|over|dividido por|sobre)\b|[÷:]", "/"),
    (r"\*\s*\*|\bto the power of\b|\b(?:raised )?to the\b|\belevado a\b", "^"),
)
_TOGETHER = (
    (
        re.compile(r"(?:the )?sum of (\S+) and (\S+)|(?:add) (\S+) (?:and|to) (\S+)|a soma de (\S+) e (\S+)"),
        "+",
    ),
    (
        re.compile(
            r"(?:the )?product of (\S+) and (\S+)|multiply (\S+) (?:and|by) (\S+)|o produto de (\S+) e (\S+)"
        ),
        "*",
    ),
    (re.compile(r"divide (\S+) by (\S+)|divida (\S+) por (\S+)"), "/"),
)
_FACTORIAL = re.compile(
    r"(?:(?:the )?factorial (?:of|de) (\d+)|(?:o )?fatorial (?:of|de) (\d+)"
    r"|(\d+) (?:factorial|fatorial)|(\d+) ?!)"
)
_AVERAGE = re.compile(
    r"(?:the |a )?(?:average|mean|media) (?:of|de|entre) ((?:-?[\d.]+(?:, and |, | and | e | ))+-?[\d.]+)"
)
_AVERAGED = re.compile(r"-?[\d.]*\d")
_ARITHMETIC = re.compile(r"(?=.*\d)(?=.*[-+*/^])[\d.+\-*/^() ]+")
_BETWEEN_OPERANDS = re.compile(r"(?<=[\d)]) ?([-+*/]) ?(?=[\d(-])")
_LEADING_POINT = re.compile(r"(?<![\d.])\.(?=\d)")


class Calculation(msgspec.Struct, frozen=True):
    """The puzzle: the value of an arithmetic expression, written in digits and signs."""

    expression: str

    def steps(self) -> Iterator[Calculated]:
        """Calculates the value; the last step is the whole expression."""
        value = yield from calculate(self.expression)
        yield Calculated("total", self.expression, value)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes every operation."""
        return calculated_lines(trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the value, exact and rounded."""
        value = Fraction(trace[-1].value)
        digits, exact = decimal_text(value, language)
        key = "answer.value" if exact else "answer.value_about"
        expression = expression_text(self.expression, language)
        fraction = str(value).replace("-", "−")
        answer = phrase(language, key, expression=expression, value=digits, exact=fraction)
        return Conclusion(answer, self.expression, value)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Evaluates the expression with the second evaluator."""
        try:
            return answer.expect_value(evaluate(self.expression)[-1])
        except NotAnExpression:
            return answer.verdict(False, "bad_expression", text=self.expression)


def recognise(reading: Reading) -> Calculation | None:
    """Recognises arithmetic in digits, signs and the names of signs."""
    if DATE.search(reading.normalized):
        return None  # 2026-11-15 is no subtraction
    asked = asked_value(reading.normalized)
    if match := _FACTORIAL.fullmatch(asked):
        return _factorial(next(filter(None, match.groups())))
    expression = plain_numbers(asked, reading.language)
    if match := _AVERAGE.fullmatch(expression):
        numbers = _AVERAGED.findall(match[1])
        expression = f"({' + '.join(numbers)}) / {len(numbers)}"
    for pattern, sign in _TOGETHER:
        if match := pattern.fullmatch(expression):
            expression = sign.join(filter(None, match.groups()))
    for words, sign in _SIGN_WORDS:
        expression = re.sub(words, sign, expression)
    expression = _LEADING_POINT.sub("0.", " ".join(expression.split()))
    expression = _BETWEEN_OPERANDS.sub(r" \1 ", expression)
    if not _ARITHMETIC.fullmatch(expression):
        return None
    if len(expression) > MAX_EXPRESSION_CHARACTERS:
        raise Unsolvable("long_sum", limit=MAX_EXPRESSION_CHARACTERS)
    return Calculation(expression)


def _factorial(digits: str) -> Calculation:
    if len(digits) > 2 or int(digits) > MAX_FACTORIAL:
        raise Unsolvable("large_factorial", digits[:40], MAX_FACTORIAL)
    return Calculation(" * ".join(map(str, range(1, int(digits) + 1))) if int(digits) > 1 else "1 * 1")


CALCULATION = Skill(
    "arithmetic",
    recognise,
    {Language.EN: "how much is 17 * 3 - 9", Language.PT: "quanto é 17 * 3 - 9"},
    "what calculate compute plus minus times divided power factorial squared cubed quanto calcule mais menos "
    "vezes dividido elevado fatorial quadrado",
)

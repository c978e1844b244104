"""Arithmetic, roots and comparisons: "how much is 17 * 3 - 9", "square root of 2", "is 9.11 bigger than 9.9".

A root that is no fraction is found digit by digit and rounded.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import msgspec

from thinkaloud.builtin.arithmetic import (
    MAX_EXPRESSION_CHARACTERS,
    Calculated,
    NotAnExpression,
    calculate,
    evaluate,
    typed,
)
from thinkaloud.builtin.puzzle import (
    CalculatedPuzzle,
    Conclusion,
    GivenAnswer,
    Reading,
    Verdict,
    calculated_lines,
)
from thinkaloud.builtin.readings import asked_value, plain_numbers
from thinkaloud.builtin.skills.dates import DATE
from thinkaloud.builtin.words import (
    Language,
    Unsolvable,
    bracketed,
    decimal_text,
    exact_text,
    expression_text,
    number_text,
    phrase,
    plain_number,
)

MAX_DIGITS = 30
"""Digits of a number that is compared or whose root is taken."""
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
_TOGETHER = {
    "+": r"(?:the )?sum of (\S+) and (\S+)|add (\S+) (?:and|to) (\S+)|a soma de (\S+) e (\S+)",
    "*": r"(?:the )?product of (\S+) and (\S+)|multiply (\S+) (?:and|by) (\S+)|o produto de (\S+) e (\S+)",
    "/": r"divide (\S+) by (\S+)|divida (\S+) por (\S+)",
}
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


class Calculation(CalculatedPuzzle, frozen=True):
    """The puzzle: the value of an arithmetic expression, written in digits and signs."""

    expression: str

    def steps(self) -> Iterator[Calculated]:
        """Calculates the value; the last step is the whole expression."""
        value = yield from calculate(self.expression)
        yield Calculated("total", self.expression, value)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
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
    for sign, pattern in _TOGETHER.items():
        if match := re.fullmatch(pattern, expression):
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
    if int(digits) > MAX_FACTORIAL:
        raise Unsolvable("large_factorial", digits[:40], MAX_FACTORIAL)
    factors = range(1, max(int(digits), 1) + 1)
    return Calculation(" * ".join(map(str, factors)) if len(factors) > 1 else "1 * 1")


PLACES = 6
"""Decimal places of a root that is no fraction."""

_ROOT = re.compile(
    r"(?:(?:the |a )?(?P<name>square|cube|cubic)? ?root (?:of |from )?"
    r"|(?:a )?raiz (?P<nome>quadrada|cubica)? ?(?:de |do )?"
    r"|(?P<sign>sqrt|cbrt|√|∛) ?(?:of )?)\(?(?P<number>[-−]?\d[\d.,]*)\)?"
)
_ROOT_SIGNS = {2: "√", 3: "∛"}
_CUBE = {"cube", "cubic", "cubica", "cbrt", "∛"}


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
        number = number_text(self.number, language)
        yield phrase(language, "think.root", degree=self.degree, number=number)
        yield from calculated_lines(trace, language, number=number, places=PLACES)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        value = Fraction(trace[-1].value)
        exact = trace[-1].label == "root"
        root = _ROOT_SIGNS[self.degree] + number_text(self.number, language)
        key = "answer.root" if exact else "answer.root_about"
        answer = phrase(language, key, root=root, value=number_text(value, language), places=PLACES)
        if not exact:
            return Conclusion(answer)
        return Conclusion(answer, typed(self._power(value)), self.number)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Checks that the number lies between the powers of the claimed root and its neighbours."""
        exact = _exact_root(self.number, self.degree)
        if exact is not None:
            return answer.expect_value(exact)
        half = Fraction(1, 2 * 10**PLACES)
        claims = answer.claimed_values()
        right = bool(claims)
        for claim in claims:
            low = max(Fraction(0), claim - half)
            right = right and low**self.degree <= self.number <= (claim + half) ** self.degree
        number = number_text(self.number, answer.language)
        return answer.verdict(right, "root", degree=self.degree, number=number)


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


def recognise_root(reading: Reading) -> Root | None:
    """Recognises a root. Raises `Unsolvable` for one that is not real or too large."""
    asked = asked_value(reading.normalized)
    match = _ROOT.fullmatch(asked)
    if match is None:
        return None
    if len(match["number"]) > MAX_DIGITS:
        raise Unsolvable("long_amount", limit=MAX_DIGITS)
    number = plain_number(match["number"], reading.language)
    if number is None:
        return None
    if Fraction(number) < 0:
        raise Unsolvable("root_of_negative", number)
    name = match["name"] or match["nome"] or match["sign"]
    return Root(Fraction(number), 3 if name in _CUBE else 2)


_LARGER = r"(?P<larger>larger|bigger|greater|more|higher|largest|biggest|greatest|maior|mais)"
_SMALLER = r"(?:smaller|less|lower|smallest|menor|menos)"
_NUMBER = r"-?\d+(?:\.\d+)?"
_WHICH = re.compile(
    r"(?:which|what|which number|qual|qual numero|o que|quem|is) ?(?:is|number is|e|eh|e o|is the)? ?"
    rf"(?:the )?(?:{_LARGER}|{_SMALLER})(?: number| numero)?[:,]? (?:between |of |entre )?"
    rf"(?P<first>{_NUMBER}) (?:or|and|ou|e|vs\.?) (?P<second>{_NUMBER})"
)
_YES_OR_NO = re.compile(
    rf"(?:(?:is|e|o) )?(?P<first>{_NUMBER}) (?:is |e |eh )?(?:{_LARGER}|{_SMALLER}) (?:than|do que|que) "
    rf"(?P<second>{_NUMBER})"
)
_TWO_NUMBERS = re.compile(rf"(?P<first>{_NUMBER}) (?:or|ou|vs\.?)(?P<larger>) (?P<second>{_NUMBER})")
"""Two numbers alone: who asks "9.11 or 9.9?" means the larger one."""


class Comparison(msgspec.Struct, frozen=True):
    """The puzzle: the larger of two numbers, or the smaller."""

    first: Fraction
    second: Fraction
    larger: bool

    def steps(self) -> Iterator[Calculated]:
        """Subtracts one from the other."""
        expression = f"{exact_text(self.first)} - {bracketed(exact_text(self.second))}"
        yield Calculated("comparison", expression, self.first - self.second)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        places = max(len(exact_text(number).partition(".")[2]) for number in (self.first, self.second))
        if places:
            first, second = (_padded(number, places, language) for number in (self.first, self.second))
            yield phrase(language, "think.places", first=first, second=second)
        yield from calculated_lines(trace, language)
        sign = (trace[-1].value > 0) - (trace[-1].value < 0)
        key = {1: "think.first_larger", -1: "think.first_smaller", 0: "think.equal"}[sign]
        yield phrase(language, key)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        difference = trace[-1].value
        numbers = [number_text(number, language) for number in (self.first, self.second)]
        if difference < 0:
            numbers.reverse()
        key = "answer.larger" if self.larger else "answer.smaller"
        if difference == 0:
            key = "answer.equal"
        answer = phrase(language, key, large=numbers[0], small=numbers[1])
        return Conclusion(answer, trace[-1].expression, Fraction(difference))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Compares the numbers as decimals; the first number in the answer must be the right one."""
        decimals = sorted(Decimal(exact_text(number)) for number in (self.first, self.second))
        expected = decimals[-1] if self.larger else decimals[0]
        claim = re.search(r"[-−]?\d+(?:[.,]\d+)?", answer.text)
        named = Decimal(claim[0].replace("−", "-").replace(",", ".")) if claim else None
        return answer.expect(str(expected), named == expected)


def _padded(number: Fraction, places: int, language: Language) -> str:
    digits = f"{Decimal(exact_text(number)):.{places}f}".replace("-", "−")
    return digits.replace(".", ",") if language is Language.PT else digits


def recognise_comparison(reading: Reading) -> Comparison | None:
    """Recognises two numbers to compare."""
    text = plain_numbers(reading.bare, reading.language)
    match = _WHICH.fullmatch(text) or _YES_OR_NO.fullmatch(text) or _TWO_NUMBERS.fullmatch(text)
    if match is None:
        return None
    if max(len(match["first"]), len(match["second"])) > MAX_DIGITS:
        raise Unsolvable("long_amount", limit=MAX_DIGITS)
    return Comparison(Fraction(match["first"]), Fraction(match["second"]), match["larger"] is not None)

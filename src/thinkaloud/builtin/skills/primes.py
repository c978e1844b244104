"""Whole numbers: "is 97 prime", "factor 360", "primes up to 50", "gcd of 84 and 36", "lcm of 4 and 6"."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd, isqrt, lcm, prod

import msgspec

from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.puzzle import (
    CalculatedPuzzle,
    Conclusion,
    GivenAnswer,
    Puzzle,
    Reading,
    Verdict,
    calculated_lines,
)
from thinkaloud.builtin.readings import asked_value, plain_numbers
from thinkaloud.builtin.words import Language, Unsolvable, phrase

MAX_FACTORED = 10**12
"""The square root of it is how many divisors are tried at most."""
MAX_LISTED = 1000
MAX_DIVISOR_DIGITS = 30

_IS_PRIME = re.compile(
    r"(?:is (?:the number )?)?(\d+) (?:is )?(?:a )?(?:prime|composite)(?: number)?(?: or not| or composite)?"
    r"|(?:o numero )?(\d+) (?:e|eh) (?:um )?(?:numero )?primo(?: ou nao)?"
    r"|(?:e|eh) primo (?:o )?(\d+)"
)
_FACTOR = re.compile(
    r"(?:the )?(?:prime )?(?:factori[sz]e|factor|factors of|factori[sz]ation of|prime factors of"
    r"|decompose|fatore|fatorar|fatoracao de|(?:os )?fatores (?:primos )?de) (?:the number |o numero )?(\d+)"
    r"(?: into primes| em primos)?"
)
_LIST = re.compile(
    r"(?:list |show |give me |what are |liste |quais sao )?(?:all |the |me |todos )*(?:os )?"
    r"(?:primes|prime numbers|primos|numeros primos) "
    r"(?:up to|below|under|less than|until|to|ate|menores que|abaixo de) (\d+)"
)
_COMMON = re.compile(
    r"(?:the |o )?(?:(?P<divisor>gcd|gcf|hcf|greatest common (?:divisor|factor)|mdc|maximo divisor comum)"
    r"|lcm|least common multiple|mmc|minimo multiplo comum) (?:of|de|entre) (?P<first>\d+)"
    r"(?: and | e |, )(?P<second>\d+)"
)


class Factorisation(msgspec.Struct, frozen=True):
    """The puzzle: the prime factors of a number; `asks_prime` where only that was asked."""

    number: int
    asks_prime: bool

    def steps(self) -> Iterator[Calculated]:
        """Divides by each divisor as often as possible; the last step is the product of all factors."""
        rest, divisor, factors = self.number, 2, list[int]()
        while divisor * divisor <= rest:
            if rest % divisor == 0:
                yield Calculated("divides", f"{rest} / {divisor}", rest // divisor)
                rest //= divisor
                factors.append(divisor)
            else:
                divisor += 1 if divisor == 2 else 2
        if rest > 1 or not factors:
            yield Calculated("no_divisor", str(rest), rest)
            factors.append(rest)
        yield Calculated("factors", " * ".join(map(str, factors)), self.number)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        yield phrase(language, "think.factor", number=self.number)
        rest = next((step.value for step in trace if step.label == "no_divisor"), 1)
        yield from calculated_lines(trace, language, root=isqrt(int(rest)))

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        expression = trace[-1].expression
        prime = self.number > 1 and "*" not in expression
        if self.number == 1:
            key = "answer.one_not_prime"
        elif self.asks_prime:
            key = "answer.prime" if prime else "answer.not_prime"
        else:
            key = "answer.prime_itself" if prime else "answer.factors"
        product = expression.replace("*", "×")
        answer = phrase(language, key, number=self.number, factors=product)
        return Conclusion(answer, "" if prime else expression, Fraction(self.number))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Tests the number and each claimed factor with the Miller-Rabin test."""
        denied = bool(re.search(r"\b(?:no|not|nao)\b|composite|compost", answer.normalized))
        says_prime = bool(re.search(r"\bprim", answer.normalized)) and not denied
        if probably_prime(self.number):
            return answer.verdict(says_prime, "prime", number=self.number)
        product = re.search(r"\d+(?: × \d+)+", answer.text)
        if product:
            factors = [int(factor) for factor in product[0].split(" × ")]
            shown = prod(factors) == self.number and all(map(probably_prime, factors))
        else:
            # 1 has no factors to show, and a plain question needs none.
            shown = denied and (self.asks_prime or self.number == 1)
        return answer.verdict(shown and not says_prime, "composite", number=self.number)


_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""With these the Miller-Rabin test is certain below 3 × 10^24."""


def probably_prime(number: int) -> bool:
    """Tells whether a number is prime, by the Miller-Rabin test; certain for every number taken here."""
    if number < 2:
        return False
    odd, halvings = number - 1, 0
    while odd % 2 == 0:
        odd, halvings = odd // 2, halvings + 1
    for witness in _WITNESSES:
        if number % witness == 0:
            return number == witness
        power = pow(witness, odd, number)
        powers = [pow(power, 2**n, number) for n in range(halvings)]
        if power != 1 and number - 1 not in powers:
            return False
    return True


class PrimeList(msgspec.Struct, frozen=True):
    """The puzzle: all primes up to a number."""

    limit: int

    def steps(self) -> Iterator[Calculated]:
        """Sieves: crosses out the multiples of each prime; one step for each prime that crosses out some."""
        crossed_out: set[int] = set()
        for number in range(2, isqrt(self.limit) + 1):
            if number not in crossed_out:
                multiples = set(range(number * number, self.limit + 1, number)) - crossed_out
                crossed_out |= multiples
                yield Calculated("sieve", str(number), len(multiples))
        primes = [number for number in range(2, self.limit + 1) if number not in crossed_out]
        yield Calculated("sieved", " ".join(map(str, primes)), len(primes))

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        yield phrase(language, "think.sieve", limit=self.limit)
        yield from calculated_lines(trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        primes, n = trace[-1].expression.replace(" ", ", "), trace[-1].value
        key = "answer.primes" if n else "answer.no_primes"
        return Conclusion(phrase(language, key, limit=self.limit, primes=primes, n=n))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Tests every number with the Miller-Rabin test."""
        primes = [str(number) for number in range(self.limit + 1) if probably_prime(number)]
        claimed = re.findall(r"\d+", answer.text.rpartition(":")[2])
        right = claimed == primes
        if not primes and answer.impossible:
            right = True
        return answer.expect(", ".join(primes) or "0", right)


class CommonDivisor(CalculatedPuzzle, frozen=True):
    """The puzzle: the greatest common divisor of two numbers, or their least common multiple."""

    first: int
    second: int
    multiple: bool

    def steps(self) -> Iterator[Calculated]:
        """Euclid's algorithm: the remainder replaces the larger number until nothing remains."""
        high, low = sorted((self.first, self.second), reverse=True)
        while high % low:
            yield Calculated("remainder", f"{high} - {high // low} * {low}", high % low)
            high, low = low, high % low
        yield Calculated("no_remainder", f"{high} / {low}", high // low)
        yield Calculated("common_divisor", str(low), low)
        if self.multiple:
            expression = f"{self.first} * {self.second} / {low}"
            yield Calculated("common_multiple", expression, self.first * self.second // low)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        key = "answer.common_multiple" if self.multiple else "answer.common_divisor"
        value = trace[-1].value
        answer = phrase(language, key, first=self.first, second=self.second, value=value)
        return Conclusion(answer, trace[-1].expression if self.multiple else "", Fraction(value))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Takes the value from the standard library."""
        value = lcm(self.first, self.second) if self.multiple else gcd(self.first, self.second)
        return answer.expect_value(Fraction(value))


def recognise(reading: Reading) -> Puzzle | None:
    """Recognises a question about primes or divisors. Raises `Unsolvable` beyond the limits."""
    text = plain_numbers(reading.bare, reading.language)
    asked = plain_numbers(asked_value(text), reading.language)
    if match := _IS_PRIME.fullmatch(text):
        return _factorisation(next(filter(None, match.groups())), asks_prime=True)
    if match := _FACTOR.fullmatch(text) or _FACTOR.fullmatch(asked):
        return _factorisation(match[1], asks_prime=False)
    if match := _LIST.fullmatch(text) or _LIST.fullmatch(asked):
        if int(match[1]) > MAX_LISTED:
            raise Unsolvable("many_primes", match[1][:40], MAX_LISTED)
        return PrimeList(int(match[1]))
    match = _COMMON.fullmatch(asked)
    if match is None:
        return None
    if max(len(match["first"]), len(match["second"])) > MAX_DIVISOR_DIGITS:
        raise Unsolvable("long_amount", limit=MAX_DIVISOR_DIGITS)
    first, second = int(match["first"]), int(match["second"])
    if not first or not second:
        raise Unsolvable("by_zero")
    return CommonDivisor(first, second, match["divisor"] is None)


def _factorisation(digits: str, *, asks_prime: bool) -> Factorisation:
    number = int(digits)
    if number > MAX_FACTORED:
        raise Unsolvable("large_factored", digits[:40], MAX_FACTORED)
    if number == 0:
        raise Unsolvable("zero_factored")
    return Factorisation(number, asks_prime)

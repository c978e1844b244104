"""Each skill against Python's own arithmetic, its steps replayed, and wrong answers refused."""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from math import gcd, lcm, prod
from random import Random

import pytest
from tests.builtin.replay import replay
from tests.builtin.test_first_questions import NOW

from thinkaloud.builtin import check, solve
from thinkaloud.builtin.skills.calculation import Root
from thinkaloud.builtin.skills.primes import Factorisation, PrimeList, probably_prime
from thinkaloud.builtin.skills.talk import EXAMPLES
from thinkaloud.builtin.solver import AnswerCheck, parse
from thinkaloud.builtin.words import Language, phrase

SIEVED = {n for n in range(2, 3000) if all(n % divisor for divisor in range(2, int(n**0.5) + 1))}


def steps_value(question: str) -> Fraction:
    """The last value of the steps, each calculated again."""
    puzzle = parse(question, NOW).question
    assert not isinstance(puzzle, AnswerCheck)
    value = replay(puzzle)
    assert isinstance(value, Fraction)
    return value


def test_percentages_are_exact() -> None:
    random = Random(1)
    for _ in range(100):
        percent, base = random.randint(0, 300), random.randint(1, 5000)
        part = Fraction(percent * base, 100)
        assert steps_value(f"what is {percent}% of {base}?") == part
        assert steps_value(f"{base} plus {percent}%") == base + part
        assert steps_value(f"quanto é {percent}% de {base}?") == part
        assert steps_value(f"what percent of {base} is {percent}?") == Fraction(100 * percent, base)
        assert "do not trust" not in solve(f"what is {percent}% of {base}?").answer


def test_primes_and_factors_against_a_sieve() -> None:
    assert {n for n in range(3000) if probably_prime(n)} == SIEVED
    for number in range(1, 600):
        *_, last = Factorisation(number, asks_prime=False).steps()
        factors = [int(factor) for factor in last.expression.split(" * ")]
        assert prod(factors) == number
        assert number == 1 or set(factors) <= SIEVED
    for limit in (0, 1, 2, 3, 30, 1000):
        *_, last = PrimeList(limit).steps()
        assert last.expression.split() == [str(n) for n in sorted(SIEVED) if n <= limit]


@pytest.mark.parametrize("number", ["2147483647", "999999999989", "1000000000000", "561", "1"])
def test_large_and_tricky_numbers_are_factored(number: str) -> None:
    for question in (f"is {number} prime?", f"factor {number}", f"{number} é primo?"):
        answer = solve(question).answer
        assert check(question, answer).right, answer


def test_common_divisors_and_multiples() -> None:
    random = Random(2)
    for _ in range(100):
        first, second = random.randint(1, 10**6), random.randint(1, 10**6)
        assert solve(f"gcd of {first} and {second}").answer.endswith(f" is {gcd(first, second)}")
        assert solve(f"mmc de {first} e {second}").answer.endswith(f" é {lcm(first, second)}")


def test_roots_are_exact_or_rounded_to_the_nearest() -> None:
    for number in range(200):
        for degree in (2, 3, 5):
            with localcontext() as context:
                context.prec = 40
                expected = (Decimal(number) ** (Decimal(1) / degree)).quantize(
                    Decimal("0.000001"), ROUND_HALF_EVEN
                )
            *_, last = Root(Fraction(number), degree).steps()
            assert Fraction(last.value) == Fraction(str(expected)), (number, degree)
    assert solve("square root of 0.25").answer == "√0.25 = 0.5"
    assert solve("raiz quadrada de 2,25").answer == "√2,25 = 1,5"


def test_comparisons_of_decimals() -> None:
    random = Random(3)
    for _ in range(100):
        first, second = (str(Decimal(random.randint(-2000, 2000)) / 100) for _ in range(2))
        largest = max(first, second, key=Decimal)
        answer = solve(f"which is bigger, {first} or {second}?").answer.replace("−", "-")
        assert Decimal(answer.split()[0]) == Decimal(largest), answer


def test_things_that_come_and_go() -> None:
    random = Random(4)
    for _ in range(100):
        start, lost, gained = random.randint(10, 99), random.randint(0, 10), random.randint(1, 50)
        english = f"I have {start} apples. I eat {lost} and buy {gained} more. How many apples do I have now?"
        portuguese = f"Tenho {start} balas e dou {lost} para Ana. Quantas sobram?"
        assert steps_value(english) == start - lost + gained
        assert steps_value(portuguese) == start - lost


@pytest.mark.parametrize("language", list(Language))
def test_wrong_answers_are_refused_by_every_skill(language: Language) -> None:
    for kind in EXAMPLES:
        verdict = check(phrase(language, f"example.{kind}"), "987654 = 987654", NOW)
        assert not verdict.right, kind
        assert verdict.reason


UNCERTAIN = [
    "3 apples cost $6. How much do 5 oranges cost?",
    "I have 12 apples and give half to Ana. How many are left?",
    "I have 12 apples and give 5 pears to Ana. How many are left?",
    "A train travels 180 km in 2 hours and then 50 km in 1 hour. What is its speed?",
    "Ana is 3 years older than Bob. Together they are 27. How old is Carla?",
    "A bat and a ball cost $1.10. The bat costs $1 more than the glove. How much does the ball cost?",
    "If 5 machines take 5 minutes to make 5 widgets, how long would 100 machines take to make 100 gadgets?",
    "3 maçãs custam R$ 6. Quanto custam 5 peras?",
]


@pytest.mark.parametrize("question", UNCERTAIN)
def test_word_problems_that_are_not_read_whole_are_not_answered(question: str) -> None:
    answer = solve(question).answer
    assert "not a language model" in answer or "não um modelo de linguagem" in answer

"""Dates against the standard library, units against published figures, sums against Python's fractions."""

import re
from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.builtin.oracle import value_of
from tests.builtin.replay import replay

from thinkaloud.builtin import check, solve
from thinkaloud.builtin.arithmetic import NotAnExpression, evaluate
from thinkaloud.builtin.skills.calculation import Calculation
from thinkaloud.builtin.skills.dates import DaysAway, DaysBetween, WeekdayOf
from thinkaloud.builtin.skills.units import Conversion
from thinkaloud.builtin.solver import parse
from thinkaloud.builtin.words import Language, decimal_text, exact_text
from thinkaloud.builtin.words.units import UNITS, Unit

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DIAS = (*(f"{name}-feira" for name in ("segunda", "terça", "quarta", "quinta", "sexta")), "sábado", "domingo")


@given(st.dates(), st.dates())
def test_days_between_any_two_dates(first: date, last: date) -> None:
    days = abs((last - first).days)
    there = "is 1 day" if days == 1 else f"are {days} days"
    low, high = sorted((first, last))
    answer = solve(f"how many days between {first} and {last}").answer
    assert answer == f"From {low} to {high} there {there}."
    assert replay(DaysBetween(first, last)) == days


@given(st.dates())
def test_weekday_of_any_date(day: date) -> None:
    assert solve(f"what day of the week is {day}?").answer == f"{day} is a {WEEKDAYS[day.weekday()]}."
    figures = f"{day:%d/%m}/{day.year:04d}"
    assert solve(f"que dia da semana é {figures}?").answer == f"{figures}: {DIAS[day.weekday()]}."
    assert replay(WeekdayOf(day)) == day.weekday()


@given(st.dates(), st.integers(-800_000, 800_000))
def test_dates_days_away(day: date, days: int) -> None:
    try:
        expected = day + timedelta(days)
    except OverflowError:
        assume(False)
        return
    direction = "after" if days >= 0 else "before"
    assert (
        solve(f"what date is {abs(days)} days {direction} {day}?").answer
        == f"{abs(days)} days {direction} {day} is {WEEKDAYS[expected.weekday()]}, {expected}."
    )
    assert replay(DaysAway(day, days)) == expected.toordinal()


FIGURES = [
    ("convert 5 km to miles", "5 kilometers ≈ 3.10686 miles (rounded)"),
    ("100 fahrenheit in celsius", "100 °F ≈ 37.7778 °C (rounded)"),
    ("convert -40 °C to °F", "−40 °C = −40 °F"),
    ("0 kelvin in celsius", "0 kelvins = −273.15 °C"),
    ("how many inches are in 1 foot?", "1 foot = 12 inches"),
    ("1 mile in meters", "1 mile = 1609.344 meters"),
    ("convert 1 lb to grams", "1 pound = 453.59237 grams"),
    ("1 gallon in liters", "1 US gallon = 3.785411784 liters"),
    ("convert 1 week to seconds", "1 week = 604800 seconds"),
    ("convert 100 km/h to mph", "100 kilometers per hour ≈ 62.1371 miles per hour (rounded)"),
    ("10 knots in m/s", "10 knots ≈ 5.14444 meters per second (rounded)"),
    ("1 gib in bytes", "1 gibibyte = 1073741824 bytes"),
    ("convert 1 tb to gib", "1 terabyte ≈ 931.323 gibibytes (rounded)"),
    ("convert 3 m to meters", "3 meters = 3 meters"),
    ("convert 1,500.5 g to kg", "1500.5 grams = 1.5005 kilograms"),
    ("converta 5 km em milhas", "5 quilômetros ≈ 3,10686 milhas (arredondado)"),
    ("quantas polegadas são 1 pé?", "1 pé = 12 polegadas"),
    ("converta 1.500,5 gramas em quilos", "1500,5 gramas = 1,5005 quilogramas"),
    ("100 graus fahrenheit em celsius", "100 °F ≈ 37,7778 °C (arredondado)"),
]


@pytest.mark.parametrize(("question", "answer"), FIGURES)
def test_units_against_published_figures(question: str, answer: str) -> None:
    assert solve(question).answer == answer


ALIKE = [
    (one, other) for one in UNITS.values() for other in UNITS.values() if one.dimension == other.dimension
]


@given(st.sampled_from(ALIKE), st.integers(0, 10**6))
def test_unit_conversion_round_trip_is_exact(units: tuple[Unit, Unit], thousandths: int) -> None:
    source, target = units
    amount = Fraction(thousandths, 1000)
    assert (
        source.from_reference(target.to_reference(target.from_reference(source.to_reference(amount))))
        == amount
    )
    puzzle = Conversion(amount, source, target)
    assert replay(puzzle) == target.from_reference(source.to_reference(amount))


def sums(depth: int = 3) -> st.SearchStrategy[str]:
    numbers = st.integers(0, 99).map(str) | st.decimals(0, 99, places=2).map(str)
    return st.recursive(
        numbers,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/", " - ", " + "]), inner).map("".join),
            inner.map(lambda sum_: f"({sum_})"),
            inner.map(lambda sum_: f"-{sum_}"),
            st.tuples(inner, st.integers(0, 3)).map(lambda pair: f"({pair[0]})^{pair[1]}"),
        ),
        max_leaves=2**depth,
    )


@given(sums())
def test_arithmetic_against_python_fractions(sum_: str) -> None:
    """Both evaluators and Python agree on the value, or none finds one."""
    question = f"what is {sum_}"
    try:
        expected = value_of(sum_)
    except ZeroDivisionError:
        assert "divided by zero" in solve(question).answer
        with pytest.raises(NotAnExpression):
            evaluate(sum_)
        return
    assume(len(str(expected)) < 400)
    assert evaluate(sum_)[-1] == expected
    if isinstance(puzzle := parse(question).question, Calculation):
        assert replay(puzzle) == expected
        assert check(question, solve(question).answer).right


@given(st.fractions(max_denominator=10**6), st.sampled_from(list(Language)))
def test_decimal_text_is_exact_or_marked_as_rounded(value: Fraction, language: Language) -> None:
    digits, exact = decimal_text(value, language)
    read = Fraction(digits.replace("−", "-").replace(",", "."))
    assert (read == value) >= exact
    assert abs(read - value) * 10**5 <= max(abs(value), Fraction(1, 10**9))
    assert Fraction(exact_text(value)) == value
    assert exact or len(re.sub(r"^[−0.,]+|\D", "", digits)) >= 6

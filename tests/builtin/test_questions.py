"""Parsing: what is understood, what is refused with a reason, and that any text gets a plain answer."""

import string
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.builtin import SolverReply, check, solve
from thinkaloud.builtin.puzzle import Conclusion, Puzzle, Remark
from thinkaloud.builtin.skills.calculation import Calculation
from thinkaloud.builtin.skills.dates import DaysAway, DaysBetween, WeekdayOf
from thinkaloud.builtin.skills.number_puzzle import NumberPuzzle
from thinkaloud.builtin.solver import parse, verified
from thinkaloud.builtin.words import PHRASES, Language

EN, PT = Language.EN, Language.PT
NEW_YEAR, TODAY = date(2026, 1, 1), date(2026, 11, 15)

READ: list[tuple[str, Language, Puzzle | None]] = [
    ("make 24 from 4 7 8 8", EN, NumberPuzzle(24, (4, 7, 8, 8), True)),
    ("Please use 3, 3, 8 and 8 to get 24.", EN, NumberPuzzle(24, (3, 3, 8, 8), True)),
    ("Using 1 2 3, make 6!", EN, NumberPuzzle(6, (1, 2, 3), True)),
    ("Can you reach 952 from 25 50 75 100 3 6?", EN, NumberPuzzle(952, (25, 50, 75, 100, 3, 6), False)),
    ("countdown: 100 with 3 4 25", EN, NumberPuzzle(100, (3, 4, 25), False)),
    ("faça 24 com 4 7 8 8", PT, NumberPuzzle(24, (4, 7, 8, 8), True)),
    ("Chegue a 952 usando 25, 50, 75, 100, 3 e 6", PT, NumberPuzzle(952, (25, 50, 75, 100, 3, 6), False)),
    ("how many days between 2026-01-01 and 2026-11-15", EN, DaysBetween(NEW_YEAR, TODAY)),
    ("How many days from January 1st, 2026 to 15 November 2026?", EN, DaysBetween(NEW_YEAR, TODAY)),
    ("quantos dias há entre 01/01/2026 e 15/11/2026?", PT, DaysBetween(NEW_YEAR, TODAY)),
    ("what day of the week is 2026-11-15", EN, WeekdayOf(TODAY)),
    ("What weekday was 11/15/2026?", EN, WeekdayOf(TODAY)),
    ("em que dia da semana cai 15 de novembro de 2026?", PT, WeekdayOf(TODAY)),
    ("what date is 100 days after 2026-01-01", EN, DaysAway(NEW_YEAR, 100)),
    ("what date is 2 weeks before 2026-01-01?", EN, DaysAway(NEW_YEAR, -14)),
    ("2026-01-01 plus 30 days", EN, DaysAway(NEW_YEAR, 30)),
    ("que data é 100 dias antes de 1º de janeiro de 2026?", PT, DaysAway(NEW_YEAR, -100)),
    ("how much is 17 * 3 - 9", EN, Calculation("17 * 3 - 9")),
    ("what is 1,234.5 times 2?", EN, Calculation("1234.5 * 2")),
    ("quanto é 1.234,5 vezes 2?", PT, Calculation("1234.5 * 2")),
    ("2**10 =", EN, Calculation("2^10")),
    ("2026-11-15", EN, None),
    ("make 24 from 4 7 8 8 without multiplication", EN, None),
    ("how many business days between 2026-01-01 and 2026-11-15", EN, None),
    ("quantos dias úteis há entre 01/01/2026 e 15/11/2026?", PT, None),
    ("make 24 from 4.5 7", EN, None),
    ("what is love", EN, None),
    ("call me on 555 1234", EN, None),
    ("Você sabe cozinhar?", PT, None),
    ("", EN, None),
]


@pytest.mark.parametrize(("text", "language", "question"), READ)
def test_questions_are_parsed(text: str, language: Language, question: Puzzle | None) -> None:
    parsed = parse(text)
    assert parsed.language is language
    if question is None:
        assert isinstance(parsed.question, Remark)
        assert parsed.question.answer in ("answer.not_understood", "answer.word_problem")
    else:
        assert parsed.question == question


REFUSED = [
    ("make 24 from 1 2 3 4 5 6", "many_numbers_all_used", "at most 5"),
    ("reach 24 from 1 2 3 4 5 6 7", "many_numbers", "at most 6"),
    ("make 24 from 10001 2", "large_number", "up to 10000"),
    ("make 24 from " + "9" * 1500, "large_number", "up to 10000"),
    ("reach 1000001 from 5 6", "large_target", "up to 1000000"),
    ("reach 10 from 0 10", "zero", "positive"),
    ("what day of the week is 03/04/2026", "ambiguous_date", "2026-04-03"),
    ("what day of the week is 2026-02-30", "no_such_date", "2026-02-30"),
    ("what date is 9999999 days after 2026-01-01", "out_of_calendar", "9999"),
    ("convert 5 parsecs to km", "unknown_unit", "parsecs"),
    ("convert 5 km to kilograms", "unlike_units", "km / kilograms"),
    ("convert -300 celsius to kelvin", "too_cold", "absolute zero"),
    ("what is " + "1+" * 150 + "1", "long_sum", "at most 200"),
    ("A says B is a knave. B says something about knights", "unread", "“something about knights”"),
    ("A says B is a knave. C is a knave on Sundays. C says hello", "unread", "C is a knave on Sundays"),
    ("A says we are both knights. B says C is a knave.", "not_two", "I count 3"),
    ("A says B, C, D and E are knights. F says G, H, J and K are knaves.", "many_people", "at most 8"),
    ("why? " * 500, "too_long", "2000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason", "words"), REFUSED)
def test_malformed_questions_are_refused_with_their_limit(text: str, reason: str, words: str) -> None:
    question = parse(text).question
    assert isinstance(question, Remark)
    assert (question.thought, question.answer) == ("malformed", reason)
    assert words in solve(text).answer


@pytest.mark.parametrize(
    ("sum_", "words"),
    [
        ("1/0", "divided by zero"),
        ("0^-1", "divided by zero"),
        ("2^0.5", "whole exponents"),
        ("9^9^9", "too large"),
        ("2^1000 * 2^1000 * 2^1000 * 2^1000", "too large"),
        ("(" * 60 + "1" + ")" * 60 + "+1", "at most 30"),
        ("1+", "missing or left over"),
        ("(1+2", "missing or left over"),
        ("1+2)", "missing or left over"),
        ("1.2.3+4", "missing or left over"),
    ],
)
def test_arithmetic_without_a_value_gets_a_reason(sum_: str, words: str) -> None:
    assert words in solve(f"what is {sum_}?").answer


def test_an_answer_that_fails_its_check_is_not_given() -> None:
    parsed = parse("make 24 from 4 7 8 8")
    good, bad = Conclusion("8 × (7 + 4 − 8) = 24"), Conclusion("8 × (7 + 4 − 8) = 25 or 8 × (7 + 4 − 8) + 1")
    assert verified(parsed, good) == good
    refused = verified(parsed, bad)
    assert refused.answer.startswith("I do not trust my own result")
    assert not refused.known


def plain_reply(question: str) -> SolverReply:
    reply = solve(question)
    assert reply.answer.strip()
    assert reply.thinking
    assert not reply.calls
    assert "do not trust" not in reply.answer
    assert "Não confio" not in reply.answer
    return reply


@given(st.text(max_size=300))
def test_any_text_gets_a_plain_answer(text: str) -> None:
    plain_reply(text)


@given(st.sampled_from([question for question, _, _ in READ]), st.text(max_size=100))
def test_any_answer_gets_a_verdict(question: str, answer: str) -> None:
    assert check(question, answer).reason


VOCABULARY = """make reach use from with 24 4 7 8 100 0 -3 1.5 2,5 A B Ana says diz que is a are é são knight
knave knights patife cavaleiros we both of us at least exactly one if then and or not e ou se então não I eu
sou how many days dias between entre 2026-01-01 15/11/2026 March 3 de março 2024 day of the week after before
convert to em km miles celsius gb what is quanto + - * / ^ ( ) . , : ; ? ! check question: answer:"""


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*VOCABULARY.split(), "\n"]), max_size=25).map(" ".join))
def test_any_mix_of_known_words_gets_a_plain_answer(text: str) -> None:
    """Near misses are where a grammar breaks."""
    plain_reply(text)


@given(st.text(st.sampled_from("0123456789+-*/^(). "), min_size=1, max_size=60))
def test_any_arithmetic_gets_a_plain_answer(text: str) -> None:
    plain_reply(f"what is {text}")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_phrases() -> None:
    english, portuguese = PHRASES[EN], PHRASES[PT]
    assert list(english) == list(portuguese)
    for key in english:
        assert fields(english[key]) == fields(portuguese[key]), key

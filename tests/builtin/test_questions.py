"""What is understood, what is refused and why, and that anything at all gets a plain answer."""

import string
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.builtin import Reply, check, solve
from thinkaloud.builtin.concluding import Conclusion
from thinkaloud.builtin.language import Language
from thinkaloud.builtin.questions import (
    Asked,
    Calculation,
    DaysAway,
    DaysBetween,
    Heard,
    Malformed,
    NotUnderstood,
    NumberPuzzle,
    WeekdayOf,
)
from thinkaloud.builtin.solver import trusted
from thinkaloud.builtin.understanding import understand
from thinkaloud.builtin.words import WORDS

EN, PT = Language.EN, Language.PT
NEW_YEAR, TODAY = date(2026, 1, 1), date(2026, 11, 15)

READ: list[tuple[str, Language, Asked]] = [
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
    ("2026-11-15", EN, NotUnderstood()),
    ("make 24 from 4 7 8 8 without multiplication", EN, NotUnderstood()),
    ("how many business days between 2026-01-01 and 2026-11-15", EN, NotUnderstood()),
    ("quantos dias úteis há entre 01/01/2026 e 15/11/2026?", PT, NotUnderstood()),
    ("make 24 from 4.5 7", EN, NotUnderstood()),
    ("what is love", EN, NotUnderstood()),
    ("call me on 555 1234", EN, NotUnderstood()),
    ("Você sabe cozinhar?", PT, NotUnderstood()),
    ("", EN, NotUnderstood()),
]


@pytest.mark.parametrize(("question", "language", "asked"), READ)
def test_questions_are_read(question: str, language: Language, asked: Asked) -> None:
    assert understand(question) == Heard(language, asked)


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


@pytest.mark.parametrize(("question", "why", "words"), REFUSED)
def test_what_cannot_be_solved_is_refused_with_its_limit(question: str, why: str, words: str) -> None:
    asked = understand(question).asked
    assert isinstance(asked, Malformed)
    assert asked.why == why
    assert words in solve(question).answer


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
        (".5+4", "missing or left over"),
    ],
)
def test_sums_without_a_value_say_why(sum_: str, words: str) -> None:
    assert words in solve(f"what is {sum_}?").answer


def test_the_solver_says_what_it_is_and_how_to_get_a_model() -> None:
    english, portuguese = (
        solve("Write me a poem about the sea").answer,
        solve("Escreva um poema para mim").answer,
    )
    for answer in (english, portuguese):
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "Ollama", "llama.cpp", "vLLM", "LM Studio"):
            assert name in answer
    assert "I am not a language model" in english
    assert "Não sou um modelo de linguagem" in portuguese


def test_every_example_that_it_offers_is_solved() -> None:
    for language in Language:
        offered = [line[2:] for line in WORDS[language]["about"].splitlines() if line.startswith("- ")]
        assert len(offered) == 7
        for question in offered:
            reply = solve(question)
            assert understand(question).language is language
            assert check(question, reply.answer).right, (question, reply)


def test_local_servers_are_offered_by_name_and_never_taken_silently() -> None:
    answer = solve("Hello?", local_servers=("Ollama", "vLLM")).answer
    assert answer.endswith(
        "Found on this machine: Ollama, vLLM. Name one of their models to use it; I never switch by myself."
    )
    assert "Found on this machine" not in solve("Hello?").answer
    assert "Ollama" not in solve("make 24 from 4 7 8 8", local_servers=("Ollama",)).answer


def test_an_answer_that_fails_its_check_is_not_said() -> None:
    heard = understand("make 24 from 4 7 8 8")
    good, bad = Conclusion("8 × (7 + 4 − 8) = 24"), Conclusion("8 × (7 + 4 − 8) = 25 or 8 × (7 + 4 − 8) + 1")
    assert trusted(heard, good) == good
    refused = trusted(heard, bad)
    assert refused.answer.startswith("I do not trust my own result")
    assert not refused.known


def plainly(question: str) -> Reply:
    reply = solve(question)
    assert reply.answer.strip()
    assert reply.thinking
    assert not reply.calls
    assert "do not trust" not in reply.answer
    assert "Não confio" not in reply.answer
    return reply


@given(st.text(max_size=300))
def test_any_text_gets_a_plain_answer(text: str) -> None:
    plainly(text)


@given(st.sampled_from([question for question, _, _ in READ]), st.text(max_size=100))
def test_any_answer_gets_a_verdict(question: str, answer: str) -> None:
    assert check(question, answer).why


VOCABULARY = """make reach use from with 24 4 7 8 100 0 -3 1.5 2,5 A B Ana says diz que is a are é são knight
knave knights patife cavaleiros we both of us at least exactly one if then and or not e ou se então não I eu
sou how many days dias between entre 2026-01-01 15/11/2026 March 3 de março 2024 day of the week after before
convert to em km miles celsius gb what is quanto + - * / ^ ( ) . , : ; ? ! check question: answer:"""


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*VOCABULARY.split(), "\n"]), max_size=25).map(" ".join))
def test_any_mix_of_known_words_gets_a_plain_answer(text: str) -> None:
    """Near misses are where a grammar breaks: what is answered is checked, what is not is said."""
    plainly(text)


@given(st.text(st.sampled_from("0123456789+-*/^(). "), min_size=1, max_size=60))
def test_any_sum_gets_a_plain_answer(text: str) -> None:
    plainly(f"what is {text}")


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_words() -> None:
    english, portuguese = WORDS[EN], WORDS[PT]
    assert list(english) == list(portuguese)
    for key in english:
        assert gaps(english[key]) == gaps(portuguese[key]), key

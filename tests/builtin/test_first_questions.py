"""What a newcomer types first: the table of questions, the same table in the docs, and questions that attack.

`python -m tests.builtin.test_first_questions --write` writes the table of the docs.
"""

import re
import sys
import tomllib
from datetime import datetime
from pathlib import Path

import pytest

from thinkaloud.builtin import (
    Connections,
    LocalServer,
    ProviderKey,
    SolverEnvironment,
    SolverReply,
    check,
    solve,
)
from thinkaloud.builtin.readings import correct_typos, one_edit_apart, with_digits
from thinkaloud.builtin.skills.talk import EXAMPLES
from thinkaloud.builtin.solver import parse
from thinkaloud.builtin.words import Language, phrase

NOW = SolverEnvironment(now=lambda: datetime(2026, 11, 17, 9, 30))
QUESTIONS: list[tuple[str, str, str]] = [
    (question, language, pattern)
    for question, language, pattern in tomllib.loads(
        Path(__file__).with_name("first_questions.toml").read_text("utf-8")
    )["questions"]
]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "builtin.md"
UNFINISHED_LIST = re.compile(r"^- .*\n(?!- |\n|$)", re.MULTILINE)
"""Without a blank line after it, Markdown takes what follows a list for its last item."""
BEGIN, END = "<!-- first questions -->\n", "<!-- end of first questions -->"


def reply_to(question: str) -> SolverReply:
    return solve(question, environment=NOW)


@pytest.mark.parametrize(("question", "language", "pattern"), QUESTIONS)
def test_first_question_gets_its_answer(question: str, language: str, pattern: str) -> None:
    reply = reply_to(question)
    assert re.search(pattern, reply.answer), reply.answer
    assert parse(question, NOW).language == language
    assert reply.thinking
    assert "do not trust" not in reply.answer
    assert not UNFINISHED_LIST.search(reply.answer)


def test_answers_without_a_solution_suggest_three_things() -> None:
    for question in ("Write me a poem", "Quem descobriu o Brasil?", "hello", "tudo bem?", "bye"):
        examples = [line for line in reply_to(question).answer.splitlines() if line.startswith("- ")]
        assert len(examples) == 3, question


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("tell me about the train to Lyon", "A train travels 180 km in 2 hours. What is its speed?"),
        ("why are the days in june so warm", "how many days between 2026-01-01 and 2026-11-15"),
        ("solve x + 3 = 10", "how much is 17 * 3 - 9"),
        ("Write me a poem", "how do I connect a real model?"),
        ("Quem descobriu o Brasil?", "como conecto um modelo de verdade?"),
        ("conte as letras disto", "quantos r tem a palavra carro?"),
    ],
)
def test_suggestions_fit_what_was_asked(question: str, first: str) -> None:
    examples = [line for line in reply_to(question).answer.splitlines() if line.startswith("- ")]
    assert examples[0] == f"- {first}"
    assert len(set(examples)) == 3


def test_every_suggested_example_is_solved() -> None:
    for language in Language:
        for kind in EXAMPLES:
            if kind != "connect":
                question = phrase(language, f"example.{kind}")
                reply = reply_to(question)
                assert parse(question, NOW).language is language
                assert check(question, reply.answer, NOW).right, (question, reply)


def test_connect_names_servers_and_keys_and_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    connections = Connections(
        (LocalServer("ollama", "http://127.0.0.1:11434", ("qwen3:8b", "a", "b", "c")),),
        (ProviderKey("anthropic", "variable ANTHROPIC_API_KEY", "anthropic/claude-opus-4.5"),),
    )
    reply = solve(
        "how do I connect a real model?", environment=SolverEnvironment(connections=lambda: connections)
    )
    assert not UNFINISHED_LIST.search(reply.answer)
    assert "ollama runs at http://127.0.0.1:11434: ollama/qwen3:8b, ollama/a, ollama/b\n" in reply.answer
    assert "anthropic has a key (variable ANTHROPIC_API_KEY): anthropic/claude-opus-4.5" in reply.answer
    assert "sk-canary" not in "".join((*reply.thinking, reply.answer))


def test_connections_are_looked_up_only_where_asked() -> None:
    def find() -> Connections:
        raise AssertionError("nobody asked for a real model")

    for question in ("hello", "make 24 from 4 7 8 8", "Write me a poem", "what can you do?"):
        assert solve(question, environment=SolverEnvironment(connections=find)).answer


HOSTILE = [
    ("what is " + "9" * 1900, "not a language model"),
    ("9" * 150 + "^" + "9" * 20, "too large"),
    ("9**9**9**9", "too large"),
    ("(" * 90 + "1" + ")" * 90 + "+1", "at most 30"),
    ("1/(1-1)", "divided by zero"),
    ("0^-1", "divided by zero"),
    ("a" * 1_000_000, "too long"),
    ("1+" * 500_000, "too long"),
    ("factor " + "9" * 500, "too large"),
    ("is 999999999999999 prime?", "too large"),
    ("square root of " + "9" * 500, "at most 30"),
    ("99999th root of 2", "not a language model"),
    ("primes up to 99999999", "up to 1000"),
    ("gcd of " + "9" * 100 + " and 3", "at most 30"),
    ("gcd of 0 and 3", "divided by zero"),
    ("999!", "up to 40"),
    ("5 is what percent of 0?", "divided by zero"),
    ("A train travels 180 km in 0 hours. What is its speed?", "divided by zero"),
    ("how long does it take to drive 300 km at 60 mph?", "do not mix"),
    ("I have 3 apples and give 5 to Ana. How many are left?", "makes no sense"),
    ("which is bigger, " + "9" * 100 + " or 3?", "at most 30"),
    ("how many r's are in " + "r" * 100 + "?", "at most 60"),
    ("what day of the week is 30 February?", "no such date"),
    ("how many days until 31 June?", "no such date"),
    ("what day will it be in 999999999 days?", "outside the years"),
    ("use model " * 190, "not a language model"),
    ("every day doubles " * 20 + "takes 3 days", "not a language model"),
    ("twenty " * 280, "not a language model"),
    ("\u0660/\u0660", "divided by zero"),
    ("\x00\u202e\ud7ff", "not a language model"),
]


@pytest.mark.parametrize(("question", "words"), HOSTILE, ids=[question[:30] for question, _ in HOSTILE])
def test_hostile_questions_get_an_honest_answer(question: str, words: str) -> None:
    assert words in reply_to(question).answer


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("twenty four", "24"),
        ("four seven eight eight", "4 7 8 8"),
        ("one hundred and five", "105"),
        ("two thousand three hundred", "2300"),
        ("vinte e um", "21"),
        ("cento e vinte e um", "121"),
        ("mil e duzentos", "1200"),
        ("two and two", "2 and 2"),
        ("one of us", "one of us"),
        ("um trem", "um trem"),
        ("someone often", "someone often"),
    ],
)
def test_number_words_become_digits(words: str, digits: str) -> None:
    assert with_digits(words) == digits


def test_typing_errors_are_corrected_by_one_edit() -> None:
    assert correct_typos("Waht is teh sqaure root of 81?") == "what is the square root of 81?"
    assert correct_typos("Ana says Beto is quiet") == "Ana says Beto is quiet"
    assert correct_typos("make 24 form 4 7 8 8") == "make 24 from 4 7 8 8"
    assert one_edit_apart("kilometrs", "kilometers")
    assert not one_edit_apart("mile", "mile")
    assert not one_edit_apart("abcd", "badc")


def table() -> str:
    """The questions and answers as a table; of a long answer the first line."""
    rows = ["| question | answer |", "|---|---|"]
    for question, _, _ in QUESTIONS:
        lines = [line for line in reply_to(question).answer.splitlines() if line]
        shown = " ".join(lines) if len(lines) == 2 else lines[0] + (" …" if len(lines) > 2 else "")
        rows.append(f"| {_cell(question)} | {_cell(shown)} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"([*|<`$])", r"\\\1", text)


def test_docs_show_what_is_answered_to_each_question() -> None:
    assert f"{BEGIN}\n{table()}\n{END}" in PAGE.read_text("utf-8"), (
        "run python -m tests.builtin.test_first_questions --write"
    )


if __name__ == "__main__" and "--write" in sys.argv:
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", "utf-8")

"""What people type when they see the product for the first time, in English and in Brazilian Portuguese.

`newcomers.json` holds the answers, without the examples that some of them list. An answer may become better,
but a question that is answered must not become one that is refused. A refusal names what can be asked.
"""

import json
from pathlib import Path

import pytest
from tests.builtin.test_first_questions import NOW

from thinkaloud.builtin import check, solve

NEWCOMERS = json.loads(Path(__file__).with_name("newcomers.json").read_text("utf-8"))
ANSWERED: dict[str, str] = NEWCOMERS["answered"]
REFUSED: list[str] = NEWCOMERS["refused"]
REFUSALS = ("I cannot answer this: ", "This looks like a word problem", "Não sei responder a isto: ")
FOR_A_REAL_MODEL = {"how do I connect a real model?", "como conecto um modelo de verdade?"}


def examples_in(answer: str) -> list[str]:
    return [line.removeprefix("- ") for line in answer.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(("question", "expected"), ANSWERED.items())
def test_newcomers_question_is_answered(question: str, expected: str) -> None:
    reply = solve(question, environment=NOW)
    lines = [line for line in reply.answer.splitlines() if not line.startswith("- ")]
    assert "\n".join(lines) == expected
    assert reply.thinking


@pytest.mark.parametrize("question", REFUSED)
def test_refusal_names_what_can_be_asked(question: str) -> None:
    answer = solve(question, environment=NOW).answer
    assert answer.startswith(REFUSALS)
    examples = examples_in(answer)
    assert len(set(examples)) == 3
    for example in set(examples) - FOR_A_REAL_MODEL:
        assert check(example, solve(example, environment=NOW).answer, NOW).right, example

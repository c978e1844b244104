"""The checker: right answers pass in any wording, wrong ones get a reason."""

import pytest

from thinkaloud.builtin import check, solve
from thinkaloud.builtin.skills.number_puzzle import NumberPuzzle, reachable
from thinkaloud.builtin.solver import parse

RIGHT = [
    ("make 24 from 4 7 8 8", "(7 - 8/8) * 4"),
    ("make 24 from 4 7 8 8", "I would use 4, 7, 8 and 8 like this: (7 − 8 ÷ 8) × 4 = 24."),
    ("make 24 from 1 1 1 1", "That is impossible."),
    ("faça 24 com 1 1 1 1", "Não há como."),
    ("reach 100 from 4 25 7", "25 × 4"),
    ("A says B is a knave. B says we are both knights.", "B is a knave, and A is a knight."),
    ("A says I am a knave. Knights and knaves!", "It cannot be."),
    ("A says B is a knight.", "This does not settle it"),
    ("how many days between 2026-01-01 and 2026-11-15", "318"),
    ("what day of the week is 2026-11-15", "It's a sunday"),
    ("em que dia da semana cai 15/11/2026?", "É um domingo."),
    ("what date is 100 days after 2026-01-01", "April 11, 2026"),
    ("convert 5 km to miles", "3.1 miles"),
    ("converta 5 km em milhas", "3,107"),
    ("how much is 17 * 3 - 9", "42"),
    ("how much is 10 / 4", "= 5/2"),
    ("how much is 10 / 3", "3.33"),
]

WRONG = [
    ("make 24 from 4 7 8 8", "8 × 3 = 24", "does not use the given numbers"),
    ("make 24 from 4 7 8 8", "4 + 7 + 8 + 8", "gives 27, and 24 was wanted"),
    ("make 24 from 4 7 8 8", "There is no way", "It can be done"),
    ("make 24 from 4 7 8 8", "Trust me.", "no expression"),
    ("make 24 from 4 7 8 8", "4 + + 7", "not an expression"),
    ("make 24 from 4 7 8 8", "(4 + 7", "not an expression"),
    ("make 24 from 4 7 8 8", "4 + 7)", "not an expression"),
    ("make 24 from 4 7 8 8", "9^999 * " * 300 + "9", "not an expression"),
    ("make 24 from 4 7 8 8", "9" * 9000, "24 was wanted"),
    ("how much is 2 + 2", "9" * 9000, "it is 4"),
    ("reach 100 from 4 25 7", "25 × 2 × 2", "does not use the given numbers"),
    ("reach 5 from 2 4 10", "10 ÷ 4 × 2", "passes through 5/2"),
    ("chegue a 5 usando 2 4 10", "10 ÷ 4 × 2", "passa por 5/2"),
    ("A says B is a knave. B says we are both knights.", "A is a knight.", "1 fit"),
    ("A says B is a knave. B says we are both knights.", "This cannot be.", "1 fit"),
    ("A says B is a knight.", "This does not settle it, but A is a knight", "2 fit"),
    ("how many days between 2026-01-01 and 2026-11-15", "319 days", "318"),
    ("what day of the week is 2026-11-15", "Monday or Sunday", "Sunday"),
    ("what date is 100 days after 2026-01-01", "2026-02-30", "2026-04-11"),
    ("convert 5 km to miles", "3.2", "3.10686"),
    ("how much is 17 * 3 - 9", "43", "42"),
    ("how much is 10 / 3", "= 10/0", "3.33333"),
    ("how much is 1 / 0", "infinity", "not an expression"),
    ("what is love", "baby don't hurt me", "questions that I can read"),
]


@pytest.mark.parametrize(("question", "answer"), RIGHT)
def test_right_answers_pass(question: str, answer: str) -> None:
    assert check(question, answer).right, check(question, answer)


@pytest.mark.parametrize(("question", "answer", "reason"), WRONG)
def test_wrong_answers_get_a_reason(question: str, answer: str, reason: str) -> None:
    verdict = check(question, answer)
    assert not verdict.right
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("task", "verdict"),
    [
        ("Check this answer.\nQuestion: make 24 from 4 7 8 8\nAnswer: (7 - 8/8) * 4", "Right. "),
        ("Check this answer.\nQuestion: make 24 from 4 7 8 8\nAnswer: 4 + 7", "Wrong. "),
        ("Confira esta resposta.\nPergunta: quanto é 2 + 2?\nResposta: 4", "Certo. "),
        ("Confira esta resposta.\nPergunta: quanto é 2 + 2?\nResposta: 5", "Errado. "),
    ],
)
def test_a_check_task_is_a_question(task: str, verdict: str) -> None:
    """An agent that runs on this solver can be asked to check another's answer."""
    assert solve(task).answer.startswith(verdict)


@pytest.mark.parametrize("numbers", ["2 0 5", "0 0 3"])
def test_target_zero_is_reachable_with_a_zero(numbers: str) -> None:
    puzzle = parse(f"make 0 from {numbers}").question
    assert isinstance(puzzle, NumberPuzzle)
    assert reachable(puzzle)
    assert solve(f"make 0 from {numbers}").answer.endswith("= 0")

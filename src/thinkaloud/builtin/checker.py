"""Checks an answer: reads what it claims, and solves the question by another method than the solver."""

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.parse import AnswerCheck, ParsedQuestion, parse
from thinkaloud.builtin.question import SolverEnvironment, Verdict


def check(question: str, answer: str, environment: SolverEnvironment | None = None) -> Verdict:
    """Checks an answer to a question that the solver can read."""
    return check_parsed(parse(question, environment), answer)


def check_parsed(parsed: ParsedQuestion, answer: str) -> Verdict:
    """Checks an answer to a parsed question."""
    given = GivenAnswer(parsed.language, answer)
    if isinstance(parsed.question, AnswerCheck):
        return given.verdict(False, "unreadable")
    return parsed.question.check(given)

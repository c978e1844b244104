"""Solves a question: parses it, searches, checks the result in a second way, and only then answers."""

import msgspec

from thinkaloud.builtin.checker import check, check_parsed
from thinkaloud.builtin.narrate import shortened
from thinkaloud.builtin.parse import AnswerCheck, ParsedQuestion, malformed, parse
from thinkaloud.builtin.question import Conclusion, Puzzle, SolverEnvironment
from thinkaloud.builtin.words import Language, Unsolvable, phrase


class SolverToolCall(msgspec.Struct, frozen=True):
    """A call of a tool; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


class SolverReply(msgspec.Struct, frozen=True):
    """What the solver replies: its thinking line by line, then calls of tools, or an answer."""

    thinking: tuple[str, ...] = ()
    calls: tuple[SolverToolCall, ...] = ()
    answer: str = ""


class Solution(msgspec.Struct, frozen=True):
    """The thinking about a question and what it led to."""

    language: Language
    thinking: tuple[str, ...]
    conclusion: Conclusion


def solve(question: str, *, environment: SolverEnvironment | None = None) -> SolverReply:
    """Answers a question; where it is not understood, the answer suggests what to try."""
    solution = find_solution(question, environment)
    return SolverReply(solution.thinking, answer=solution.conclusion.answer)


def find_solution(text: str, environment: SolverEnvironment | None = None) -> Solution:
    """Parses and solves a question, whatever it is."""
    parsed = parse(text, environment)
    language, question = parsed.language, parsed.question
    if isinstance(question, AnswerCheck):
        verdict = check(question.question, question.answer, environment)
        key = "check.right" if verdict.right else "check.wrong"
        answer = phrase(language, key, reason=verdict.reason)
        return Solution(language, (phrase(language, "think.check"),), Conclusion(answer, known=False))
    thinking, conclusion = _solved(parsed, question)
    if parsed.read_as:
        read_as = phrase(language, "read_as", text=parsed.read_as)
        thinking = (read_as, *thinking)
        if parsed.corrected:
            conclusion = msgspec.structs.replace(conclusion, answer=f"{read_as}\n\n{conclusion.answer}")
    return Solution(language, thinking, conclusion)


def _solved(parsed: ParsedQuestion, puzzle: Puzzle) -> tuple[tuple[str, ...], Conclusion]:
    language = parsed.language
    try:
        trace = tuple(puzzle.steps())
    except Unsolvable as error:
        puzzle, trace = malformed(error), ()
    conclusion = verified(parsed, puzzle.conclude(trace, language))
    return shortened([*puzzle.narrate(trace, language)], language), conclusion


def verified(parsed: ParsedQuestion, conclusion: Conclusion) -> Conclusion:
    """Returns the conclusion if the check agrees with its words, else a refusal."""
    if not conclusion.known:
        return conclusion
    verdict = check_parsed(parsed, conclusion.answer)
    if verdict.right:
        return conclusion
    return Conclusion(phrase(parsed.language, "answer.unverified", reason=verdict.reason), known=False)

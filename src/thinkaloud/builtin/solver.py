"""Solves a question: parses it, searches, checks the result in a second way, and only then answers."""

from collections.abc import Sequence

import msgspec

from thinkaloud.builtin.checker import check, check_parsed
from thinkaloud.builtin.narrate import Conclusion, conclude, narrate
from thinkaloud.builtin.parse import AnswerCheck, Malformed, NotUnderstood, ParsedQuestion, parse
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


def solve(question: str, *, local_servers: Sequence[str] = ()) -> SolverReply:
    """Answers a question; where it is not understood, the answer says what the solver can do."""
    solution = find_solution(question, local_servers)
    return SolverReply(solution.thinking, answer=solution.conclusion.answer)


def find_solution(text: str, local_servers: Sequence[str] = ()) -> Solution:
    """Parses and solves a question, whatever it is."""
    parsed = parse(text)
    language = parsed.language
    match parsed.question:
        case NotUnderstood():
            answer = phrase(language, "about")
            if local_servers:
                servers = ", ".join(local_servers)
                answer += "\n\n" + phrase(language, "about.local_servers", servers=servers)
            return _unsolved(language, "think.not_understood", answer)
        case Malformed(reason, part, limit):
            return _unsolved(language, "malformed", phrase(language, reason, text=part, limit=limit))
        case AnswerCheck(question, answer):
            verdict = check(question, answer)
            key = "check.right" if verdict.right else "check.wrong"
            return _unsolved(language, "think.check", phrase(language, key, reason=verdict.reason))
        case puzzle:
            try:
                trace = tuple(puzzle.steps())
            except Unsolvable as error:
                return _unsolved(language, "malformed", phrase(language, error.reason))
            conclusion = verified(parsed, conclude(puzzle, trace, language))
            return Solution(language, narrate(puzzle, trace, language), conclusion)


def _unsolved(language: Language, thought: str, answer: str) -> Solution:
    return Solution(language, (phrase(language, thought),), Conclusion(answer, known=False))


def verified(parsed: ParsedQuestion, conclusion: Conclusion) -> Conclusion:
    """Returns the conclusion if the checker agrees with its words, else a refusal."""
    if not conclusion.known:
        return conclusion
    verdict = check_parsed(parsed, conclusion.answer)
    if verdict.right:
        return conclusion
    return Conclusion(phrase(parsed.language, "answer.unverified", reason=verdict.reason), known=False)

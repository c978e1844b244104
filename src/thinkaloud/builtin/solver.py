"""Solves a question: parses it, searches, checks the result in a second way, and only then answers.

What it does not recognise, it does not guess at. A reading that differs from what was written is reported as
`read_as`.
"""

import re
from collections.abc import Sequence

import msgspec

from thinkaloud.builtin import skills
from thinkaloud.builtin.puzzle import (
    Conclusion,
    GivenAnswer,
    Puzzle,
    Reading,
    Remark,
    SolverEnvironment,
    Verdict,
)
from thinkaloud.builtin.readings import readings
from thinkaloud.builtin.skills.talk import fitting_examples
from thinkaloud.builtin.words import Language, Unsolvable, detect_language, normalize, phrase

MAX_QUESTION_CHARACTERS = 2000
MAX_TASK_CHARACTERS = 8000
"""Characters of a question and an answer to check."""
MAX_LINES = 200
"""Lines of thinking; of a longer one the middle is left out."""
_LAST_LINES = 40

_ANSWER_CHECK = re.compile(
    r"(?:check|confira)\b[^\n]*\n(?:question|pergunta): ?(.*)\n(?:answer|resposta): ?(.*)",
    re.I | re.S,
)
_WORD_PROBLEM = re.compile(r"(?=(?:.*?\d){2}).*\b(?:how (?:many|much|old|long|far|fast)|quant[oa]s?)\b.*")


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


class AnswerCheck(msgspec.Struct, frozen=True):
    """The question whether an answer to another question is right."""

    question: str
    answer: str


class ParsedQuestion(msgspec.Struct, frozen=True):
    """A question and its language. `read_as` is how it was read where that is not how it was written."""

    language: Language
    question: Puzzle | AnswerCheck
    read_as: str = ""
    corrected: bool = False
    """Whether typing errors were corrected."""


def solve(question: str, *, environment: SolverEnvironment | None = None) -> SolverReply:
    """Answers a question; where it is not understood, the answer suggests what to try."""
    solution = find_solution(question, environment)
    return SolverReply(solution.thinking, answer=solution.conclusion.answer)


def check(question: str, answer: str, environment: SolverEnvironment | None = None) -> Verdict:
    """Checks an answer: reads what it claims, and solves the question by another method than the solver."""
    return _check_parsed(parse(question, environment), answer)


def _check_parsed(parsed: ParsedQuestion, answer: str) -> Verdict:
    given = GivenAnswer(parsed.language, answer)
    if isinstance(parsed.question, AnswerCheck):
        return given.verdict(False, "unreadable")
    return parsed.question.check(given)


def parse(text: str, environment: SolverEnvironment | None = None) -> ParsedQuestion:
    """Parses a question in English or Portuguese, whatever it is."""
    text = text.strip()
    language = detect_language(text[:MAX_QUESTION_CHARACTERS])
    if len(text) <= MAX_TASK_CHARACTERS and (match := _ANSWER_CHECK.fullmatch(text)):
        return ParsedQuestion(language, AnswerCheck(match[1].strip(), match[2].strip()))
    if len(text) > MAX_QUESTION_CHARACTERS:
        return ParsedQuestion(language, _malformed(Unsolvable("too_long", limit=MAX_QUESTION_CHARACTERS)))
    refused: ParsedQuestion | None = None
    for candidate, corrected in readings(text).items():
        language = detect_language(candidate)
        reading = Reading(candidate, normalize(candidate), language, environment or SolverEnvironment())
        read_as = candidate if candidate != text else ""
        try:
            question = skills.recognise(reading)
        except Unsolvable as error:  # another reading may be solvable: "5 kilometrs" is no unit
            refused = refused or ParsedQuestion(language, _malformed(error), read_as, corrected)
            continue
        if question is not None:
            return ParsedQuestion(language, question, read_as, corrected)
    language = detect_language(text)
    return refused or ParsedQuestion(language, _not_understood(text, language))


def _malformed(error: Unsolvable) -> Remark:
    """Returns the remark about a recognised question that cannot be solved."""
    return Remark("malformed", error.reason, {"text": error.text, "limit": error.limit})


def _not_understood(text: str, language: Language) -> Remark:
    """Returns the remark about a question that no skill recognises, with three things to try."""
    key = "word_problem" if _WORD_PROBLEM.fullmatch(" ".join(normalize(text).split())) else "not_understood"
    return Remark(f"think.{key}", f"answer.{key}", {"examples": fitting_examples(text, language)})


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
        puzzle, trace = _malformed(error), ()
    conclusion = verified(parsed, puzzle.conclude(trace, language))
    return _shortened([*puzzle.narrate(trace, language)], language), conclusion


def verified(parsed: ParsedQuestion, conclusion: Conclusion) -> Conclusion:
    """Returns the conclusion if the check agrees with its words, else a refusal."""
    if not conclusion.known:
        return conclusion
    verdict = _check_parsed(parsed, conclusion.answer)
    if verdict.right:
        return conclusion
    return Conclusion(phrase(parsed.language, "answer.unverified", reason=verdict.reason), known=False)


def _shortened(lines: Sequence[str], language: Language) -> tuple[str, ...]:
    """Returns at most `MAX_LINES` lines, with one in the middle that says how many were left out."""
    omitted = len(lines) - MAX_LINES + 1
    if omitted <= 1:
        return tuple(lines)
    middle = phrase(language, "think.omitted", n=omitted)
    return (*lines[: MAX_LINES - 1 - _LAST_LINES], middle, *lines[-_LAST_LINES:])

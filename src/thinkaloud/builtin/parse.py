"""Parses a question in English or Portuguese. What it does not recognise, it does not guess at.

A question is read as it was written first; then without a greeting, then with numbers in digits, and then
with typing errors corrected. A reading that differs from what was written is reported as `read_as`.
"""

import re
from collections.abc import Iterator

import msgspec

from thinkaloud.builtin import skills
from thinkaloud.builtin.numerals import with_digits
from thinkaloud.builtin.question import Puzzle, Reading, Remark, SolverEnvironment
from thinkaloud.builtin.skills.talk import without_greeting
from thinkaloud.builtin.typos import correct_typos
from thinkaloud.builtin.words import Language, Unsolvable, detect_language, normalize

MAX_QUESTION_CHARACTERS = 2000
MAX_TASK_CHARACTERS = 8000
"""Characters of a question and an answer to check."""
_ANSWER_CHECK = re.compile(
    r"(?:check|confira)\b[^\n]*\n(?:question|pergunta): ?(.*)\n(?:answer|resposta): ?(.*)",
    re.I | re.S,
)
_WORD_PROBLEM = re.compile(r"(?=(?:.*?\d){2}).*\b(?:how (?:many|much|old|long|far|fast)|quant[oa]s?)\b.*")


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


class _TextReading(msgspec.Struct, frozen=True):
    text: str
    corrected: bool = False


def parse(text: str, environment: SolverEnvironment | None = None) -> ParsedQuestion:
    """Parses a question, whatever it is."""
    text = text.strip()
    language = detect_language(text[:MAX_QUESTION_CHARACTERS])
    if len(text) <= MAX_TASK_CHARACTERS and (match := _ANSWER_CHECK.fullmatch(text)):
        return ParsedQuestion(language, AnswerCheck(match[1].strip(), match[2].strip()))
    if len(text) > MAX_QUESTION_CHARACTERS:
        return ParsedQuestion(language, malformed(Unsolvable("too_long", limit=MAX_QUESTION_CHARACTERS)))
    refused: ParsedQuestion | None = None
    for candidate in _readings(text):
        language = detect_language(candidate.text)
        normalized = normalize(candidate.text)
        reading = Reading(candidate.text, normalized, language, environment or SolverEnvironment())
        read_as = candidate.text if candidate.text != text else ""
        try:
            question = skills.recognise(reading)
        except Unsolvable as error:  # another reading may be solvable: "5 kilometrs" is no unit
            refused = refused or ParsedQuestion(language, malformed(error), read_as, candidate.corrected)
            continue
        if question is not None:
            return ParsedQuestion(language, question, read_as, candidate.corrected)
    language = detect_language(text)
    return refused or ParsedQuestion(language, not_understood(text, language))


def _readings(text: str) -> Iterator[_TextReading]:
    """Yields the ways to read a text, each once; the surest first."""
    bare = without_greeting(text)
    digits = with_digits(normalize(bare))
    corrected = correct_typos(bare)
    readings = [_TextReading(text), _TextReading(bare)]
    if digits != normalize(bare):
        readings.append(_TextReading(digits))
    if corrected != bare:
        digits = with_digits(normalize(corrected))
        readings += [_TextReading(corrected, corrected=True), _TextReading(digits, corrected=True)]
    seen: set[str] = set()
    for reading in readings:
        if reading.text not in seen:
            seen.add(reading.text)
            yield reading


def malformed(error: Unsolvable) -> Remark:
    """Returns the remark about a recognised question that cannot be solved."""
    return Remark("malformed", error.reason, {"text": error.text, "limit": error.limit})


def not_understood(text: str, language: Language) -> Remark:
    """Returns the remark about a question that no skill recognises, with three things to try."""
    key = "word_problem" if _WORD_PROBLEM.fullmatch(" ".join(normalize(text).split())) else "not_understood"
    return Remark(f"think.{key}", f"answer.{key}", {"examples": skills.fitting_examples(text, language)})

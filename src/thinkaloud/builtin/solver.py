"""A question in, a reply out: understood, worked out, checked a second way, and only then said."""

from collections.abc import Sequence

import msgspec

from thinkaloud.builtin.arithmetic import CannotReckon
from thinkaloud.builtin.checker import check, check_heard
from thinkaloud.builtin.concluding import Conclusion, conclude, work_out
from thinkaloud.builtin.language import Language
from thinkaloud.builtin.questions import Checking, Heard, Malformed, NotUnderstood, Puzzle
from thinkaloud.builtin.telling import tell
from thinkaloud.builtin.understanding import understand
from thinkaloud.builtin.words import WORDS


class ToolCall(msgspec.Struct, frozen=True):
    """A tool that is asked for; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


class Reply(msgspec.Struct, frozen=True):
    """What the solver says: its thinking line by line, then tools it asks for, or an answer."""

    thinking: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    answer: str = ""


class Worked(msgspec.Struct, frozen=True):
    """A question that was worked on: the thinking and what it came to."""

    language: Language
    thinking: tuple[str, ...]
    conclusion: Conclusion


def solve(question: str, *, local_servers: Sequence[str] = ()) -> Reply:
    """Answer a question; one that is not understood is answered with what can be."""
    worked = work(question, local_servers)
    return Reply(worked.thinking, answer=worked.conclusion.answer)


def work(question: str, local_servers: Sequence[str] = ()) -> Worked:
    """Work on a question, whatever it is."""
    heard = understand(question)
    words = WORDS[heard.language]
    match heard.asked:
        case NotUnderstood():
            answer = words["about"]
            if local_servers:
                answer += "\n\n" + words["about.found"].format(servers=", ".join(local_servers))
            return _unsolved(heard.language, words["think.not_understood"], answer)
        case Malformed(why, said, limit):
            return _unsolved(heard.language, words["malformed"], words[why].format(said=said, limit=limit))
        case Checking(asked, answer):
            verdict = check(asked, answer)
            said = words["check.right" if verdict.right else "check.wrong"].format(why=verdict.why)
            return _unsolved(heard.language, words["think.check"], said)
        case puzzle:
            return _solved(heard, puzzle)


def _unsolved(language: Language, thought: str, answer: str) -> Worked:
    return Worked(language, (thought,), Conclusion(answer, known=False))


def _solved(heard: Heard, puzzle: Puzzle) -> Worked:
    try:
        trace = work_out(puzzle)
    except CannotReckon as cannot:
        words = WORDS[heard.language]
        return _unsolved(heard.language, words["malformed"], words[cannot.why])
    conclusion = trusted(heard, conclude(puzzle, trace, heard.language))
    return Worked(heard.language, tell(puzzle, trace, heard.language), conclusion)


def trusted(heard: Heard, conclusion: Conclusion) -> Conclusion:
    """The conclusion, if a second way of working it out agrees with its words; else a plain refusal."""
    if not conclusion.known:
        return conclusion
    verdict = check_heard(heard, conclusion.answer)
    if verdict.right:
        return conclusion
    return Conclusion(WORDS[heard.language]["answer.disagrees"].format(why=verdict.why), known=False)

"""What to say next in a conversation, from its messages alone: nothing is remembered between requests.

The last thing the user said is the question. Where a tool named `calculator` is offered it works out the
final expression again, then one named `checker` judges the answer; what they came back with is said as it is.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from thinkaloud.builtin.language import exact_text
from thinkaloud.builtin.solver import Reply, ToolCall, Worked, work
from thinkaloud.builtin.telling import shown
from thinkaloud.builtin.words import WORDS

CALCULATOR = "calculator"
CHECKER = "checker"
_QUOTED = 300
_LONGEST_RESULT = 2000
_CLOSE_ENOUGH = Fraction(1, 10**9)
"""Calculators that work in floating point are right to about this much of the value."""
_NUMBER = re.compile(r"(?:.*=)?\s*([-−]?\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?)(?:\s*/\s*(\d+))?\s*\.?", re.I | re.S)


class Part(msgspec.Struct):
    """A part of a message; only text is read."""

    type: str = ""
    text: str | None = None


class Function(msgspec.Struct):
    """A function that is called, or offered."""

    name: str
    parameters: dict[str, Any] | None = None


class Called(msgspec.Struct):
    """A call that was made before."""

    id: str
    function: Function


class Message(msgspec.Struct):
    """A message of the conversation."""

    role: str
    content: str | list[Part] | None = None
    tool_calls: list[Called] | None = None
    tool_call_id: str | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        """What was said, as one text."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


Results = Mapping[str, str | None]
"""What each tool came back with; None where it was called and never did."""


def reply_to(
    messages: Sequence[Message], offered: Mapping[str, Function], *, local_servers: Sequence[str] = ()
) -> Reply:
    """The next reply; there must be a message of the user."""
    asked = max(at for at, message in enumerate(messages) if message.role == "user")
    question = messages[asked].text
    results = _results(messages[asked + 1 :])
    worked = work(question, local_servers)
    checks = _Checks(worked, results)
    wanted = checks.wanted(question, offered)
    if wanted is None:
        return Reply(checks.thinking(), answer=checks.answer())
    tool, what = wanted
    line = WORDS[worked.language]["think.calling"].format(tool=tool.name, what=what.splitlines()[-1])
    arguments = msgspec.json.encode({_argument(tool): what}).decode()
    call = ToolCall(f"call_{len(messages)}_{tool.name}", tool.name, arguments)
    return Reply((*checks.thinking(), line), (call,))


def _results(messages: Sequence[Message]) -> Results:
    called: dict[str, str] = {}
    results: dict[str, str | None] = {}
    for message in messages:
        for call in message.tool_calls or ():
            called[call.id] = call.function.name
            results.setdefault(call.function.name, None)
        if message.role == "tool":
            name = called.get(message.tool_call_id or "", message.name or "")
            results[name] = message.text[:_LONGEST_RESULT]
    return results


def _argument(tool: Function) -> str:
    """What the tool calls the one thing it is given."""
    usual = "expression" if tool.name == CALCULATOR else "task"
    properties = (tool.parameters or {}).get("properties")
    if not isinstance(properties, dict) or not properties or usual in properties:
        return usual
    return str(next(iter(properties)))


class _Checks:
    """Where the checks of one answer stand."""

    def __init__(self, worked: Worked, results: Results) -> None:
        self._worked = worked
        self._results = results
        self._words = WORDS[worked.language]

    def wanted(self, question: str, offered: Mapping[str, Function]) -> tuple[Function, str] | None:
        """The tool to call next, and what to give it."""
        conclusion = self._worked.conclusion
        if CALCULATOR in offered and CALCULATOR not in self._results and conclusion.expression:
            return offered[CALCULATOR], conclusion.expression
        if CHECKER in offered and CHECKER not in self._results and conclusion.known:
            task = self._words["check.task"].format(question=question, answer=conclusion.answer)
            return offered[CHECKER], task
        return None

    def thinking(self) -> tuple[str, ...]:
        """The search, or, once it was told, what came of the last tool."""
        if CHECKER in self._results:
            return (self._heard(CHECKER),)
        if CALCULATOR in self._results:
            return (self._heard(CALCULATOR),)
        return self._worked.thinking

    def answer(self) -> str:
        """The answer with what the tools had to say of it."""
        remarks = (
            [self._calculated()] if CALCULATOR in self._results and self._worked.conclusion.expression else []
        )
        remarks += [self._judged()] if CHECKER in self._results else []
        return "\n\n".join([self._worked.conclusion.answer, *([" ".join(remarks)] if remarks else [])])

    def _heard(self, tool: str) -> str:
        result = self._results[tool]
        if result is None:
            return self._words["tool.silent"].format(tool=tool)
        agrees = tool == CALCULATOR and self._agrees(_number_in(result))
        return self._words["think.same" if agrees else "think.result"].format(
            tool=tool, result=result[:_QUOTED]
        )

    def _calculated(self) -> str:
        result = self._results[CALCULATOR]
        if result is None:
            return self._words["tool.silent"].format(tool=CALCULATOR)
        number = _number_in(result)
        if number is None:
            return self._words["tool.no_number"].format(result=result[:_QUOTED])
        if self._agrees(number):
            return self._words["tool.agreed"]
        value = shown(exact_text(self._worked.conclusion.value), self._worked.language)
        return self._words["tool.differs"].format(result=result[:_QUOTED], value=value)

    def _agrees(self, number: Fraction | None) -> bool:
        value = self._worked.conclusion.value
        return number is not None and abs(number - value) <= _CLOSE_ENOUGH * abs(value)

    def _judged(self) -> str:
        result = self._results[CHECKER]
        if result is None:
            return self._words["tool.silent"].format(tool=CHECKER)
        key = {True: "tool.right", False: "tool.wrong", None: "tool.unclear"}[_verdict_in(result)]
        return self._words[key].format(result=result[:_QUOTED])


def _number_in(result: str) -> Fraction | None:
    """The number that a calculator came back with: alone, after a sign of equality, or in JSON."""
    # As JSON a plain number would go through floating point, and come out as another.
    told = result if _NUMBER.fullmatch(result) else _decoded(result)
    if isinstance(told, dict):
        told = next((told[name] for name in ("result", "value", "answer") if name in told), None)
    found = _NUMBER.fullmatch(str(told))
    if not found or (found[2] and not int(found[2])):
        return None
    return Fraction(found[1].replace("−", "-")) / int(found[2] or 1)


def _verdict_in(result: str) -> bool | None:
    """Whether a checker said right or wrong, in its first word or in JSON."""
    told = _decoded(result)
    if isinstance(told, dict) and isinstance(told.get("right"), bool):
        return bool(told["right"])
    said = re.match(
        r"\W*(?:(right|correct|certo|correto)|(wrong|incorrect|errado|incorreto))\b", result.lower()
    )
    return bool(said[1]) if said else None


def _decoded(result: str) -> Any:
    """A result that is JSON, decoded; any other as it is."""
    try:
        return msgspec.json.decode(result)
    except (msgspec.DecodeError, RecursionError):
        return result

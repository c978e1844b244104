"""Replies to a conversation, from its messages alone: nothing is remembered between requests.

The last message of the user is the question. Where a tool named `calculator` is offered, it calculates the
final expression again; then one named `checker` judges the answer. The answer reports what they returned.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from thinkaloud.builtin.puzzle import SolverEnvironment
from thinkaloud.builtin.solver import Solution, SolverReply, SolverToolCall, find_solution
from thinkaloud.builtin.words import number_text, phrase

CALCULATOR = "calculator"
CHECKER = "checker"
_MAX_QUOTE_CHARACTERS = 300
_MAX_RESULT_CHARACTERS = 2000
_TOLERANCE = Fraction(1, 10**9)
"""A calculator that works in floating point is right to about this part of the value."""
_NUMBER = re.compile(r"(?:.*=)?\s*([-−]?\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?)(?:\s*/\s*(\d+))?\s*\.?", re.I | re.S)
_VERDICT = re.compile(r"\W*(?:(right|correct|certo|correto)|(wrong|incorrect|errado|incorreto))\b")

_CHECKER_KEYS = {True: "tool.checker_agrees", False: "tool.checker_disagrees", None: "tool.checker_unclear"}


class InputPart(msgspec.Struct):
    """A part of a message; only text is read."""

    type: str = ""
    text: str | None = None


class ToolFunction(msgspec.Struct):
    """A function that is offered, or was called."""

    name: str
    parameters: dict[str, Any] | None = None


class PastCall(msgspec.Struct):
    """A tool call in an earlier message."""

    id: str
    function: ToolFunction


class InputMessage(msgspec.Struct):
    """A message of the conversation."""

    role: str
    content: str | list[InputPart] | None = None
    tool_calls: list[PastCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


ToolResults = Mapping[str, str | None]
"""The result of each tool that was called; None where it returned none."""


def reply_to(
    messages: Sequence[InputMessage],
    tools: Mapping[str, ToolFunction],
    *,
    environment: SolverEnvironment | None = None,
) -> SolverReply:
    """Returns the next reply; there must be a message of the user."""
    index = max(index for index, message in enumerate(messages) if message.role == "user")
    question = messages[index].text
    solution = find_solution(question, environment)
    checks = _ToolChecks(solution, _tool_results(messages[index + 1 :]))
    call = checks.next_call(question, tools)
    if call is None:
        return SolverReply((*checks.thinking(), *checks.confirmation()), answer=checks.answer())
    tool, task = call
    line = phrase(solution.language, "think.tool_call", tool=tool.name, task=task.splitlines()[-1])
    arguments = msgspec.json.encode({_parameter(tool): task}).decode()
    tool_call = SolverToolCall(f"call_{len(messages)}_{tool.name}", tool.name, arguments)
    return SolverReply((*checks.thinking(), line), (tool_call,))


def _tool_results(messages: Sequence[InputMessage]) -> ToolResults:
    names: dict[str, str] = {}
    results: dict[str, str | None] = {}
    for message in messages:
        for call in message.tool_calls or ():
            names[call.id] = call.function.name
            results.setdefault(call.function.name, None)
        if message.role == "tool":
            name = names.get(message.tool_call_id or "", message.name or "")
            results[name] = message.text[:_MAX_RESULT_CHARACTERS]
    return results


def _parameter(tool: ToolFunction) -> str:
    """Returns the name of the one parameter that the tool is given."""
    usual = "expression" if tool.name == CALCULATOR else "task"
    properties = (tool.parameters or {}).get("properties")
    if not isinstance(properties, dict) or not properties or usual in properties:
        return usual
    return str(next(iter(properties)))


class _ToolChecks:
    """The tool calls about a solution, their results, and whether they agree with it."""

    def __init__(self, solution: Solution, results: ToolResults) -> None:
        self._language = solution.language
        self._thinking = solution.thinking
        self._conclusion = solution.conclusion
        self._results = results
        self._agreed: dict[str, bool] = {}
        if CALCULATOR in results:
            self._agreed[CALCULATOR] = self._equals(_number_in(results[CALCULATOR]))
        if CHECKER in results:
            self._agreed[CHECKER] = _verdict_in(results[CHECKER]) is True

    def next_call(self, question: str, tools: Mapping[str, ToolFunction]) -> tuple[ToolFunction, str] | None:
        """Returns the tool to call next, and the task to give it."""
        conclusion = self._conclusion
        if CALCULATOR in tools and CALCULATOR not in self._results and conclusion.expression:
            return tools[CALCULATOR], conclusion.expression
        if CHECKER in tools and CHECKER not in self._results and conclusion.known:
            task = phrase(self._language, "check.task", question=question, answer=conclusion.answer)
            return tools[CHECKER], task
        return None

    def thinking(self) -> tuple[str, ...]:
        """Returns the thinking about the question, or after a tool call about its result."""
        if CHECKER in self._results:
            return (self._phrase("think.tool_result", CHECKER),)
        if CALCULATOR in self._results:
            agreed = self._agreed[CALCULATOR]
            return (self._phrase("think.tool_agrees" if agreed else "think.tool_result", CALCULATOR),)
        return self._thinking

    def confirmation(self) -> tuple[str, ...]:
        """Returns the line that ends the thinking after tools that agreed."""
        if not self._agreed or not all(self._agreed.values()):
            return ()
        return (phrase(self._language, "think.stands", answer=self._conclusion.answer),)

    def answer(self) -> str:
        """Returns the answer, with what the tools returned."""
        remarks = []
        if CALCULATOR in self._results and self._conclusion.expression:
            remarks.append(self._phrase(self._calculator_key(), CALCULATOR))
        if CHECKER in self._results:
            remarks.append(self._phrase(_CHECKER_KEYS[_verdict_in(self._results[CHECKER])], CHECKER))
        if not remarks:
            return self._conclusion.answer
        return f"{self._conclusion.answer}\n\n{' '.join(remarks)}"

    def _calculator_key(self) -> str:
        if _number_in(self._results[CALCULATOR]) is None:
            return "tool.calculator_failed"
        return "tool.calculator_agrees" if self._agreed[CALCULATOR] else "tool.calculator_differs"

    def _equals(self, number: Fraction | None) -> bool:
        value = self._conclusion.value
        return number is not None and abs(number - value) <= _TOLERANCE * abs(value)

    def _phrase(self, key: str, tool: str) -> str:
        """Returns a phrase about the result of a tool; another where it returned none."""
        result = self._results[tool]
        if result is None:
            return phrase(self._language, "tool.no_result", tool=tool)
        value = number_text(self._conclusion.value, self._language)
        return phrase(self._language, key, tool=tool, result=result[:_MAX_QUOTE_CHARACTERS], value=value)


def _number_in(result: str | None) -> Fraction | None:
    """Reads the number that a calculator returned: alone, after a sign of equality, or in JSON."""
    # As JSON a plain number would pass through floating point and change.
    value = result if result is None or _NUMBER.fullmatch(result) else _decoded(result)
    if isinstance(value, dict):
        value = next((value[name] for name in ("result", "value", "answer") if name in value), None)
    match = _NUMBER.fullmatch(str(value))
    if not match or (match[2] and not int(match[2])):
        return None
    return Fraction(match[1].replace("−", "-")) / int(match[2] or 1)


def _verdict_in(result: str | None) -> bool | None:
    """Reads the verdict of a checker, in its first word or in JSON."""
    value = _decoded(result or "")
    if isinstance(value, dict) and isinstance(value.get("right"), bool):
        return bool(value["right"])
    match = _VERDICT.match((result or "").lower())
    return bool(match[1]) if match else None


def _decoded(result: str) -> Any:
    """Decodes a result that is JSON; any other stays as it is."""
    try:
        return msgspec.json.decode(result)
    except (msgspec.DecodeError, RecursionError):
        return result

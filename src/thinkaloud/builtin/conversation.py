"""Replies to a conversation, from its messages alone: nothing is remembered between requests.

The last message of the user is the question. Where a tool named `calculator` is offered, it calculates the
final expression again; then one named `checker` judges the answer. The answer reports what they returned.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

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
_VERDICT = re.compile(r"[\s*\"“]*(?:(right|correct|certo|correto)|(wrong|incorrect|errado|incorreto))\b")


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
    results = _tool_results(messages[index + 1 :])
    remarks = [*_remarks(solution, results)]
    # After a tool call only its result is thought about; the rest was said before the call.
    thinking = (remarks[-1].thought,) if remarks else solution.thinking
    for name, task in _tasks(solution, question).items():
        if name in tools and name not in results:
            line = phrase(solution.language, "think.tool_call", tool=name, task=task.splitlines()[-1])
            arguments = msgspec.json.encode({_parameter(tools[name]): task}).decode()
            call = SolverToolCall(f"call_{len(messages)}_{name}", name, arguments)
            return SolverReply((*thinking, line), (call,))
    answer = solution.conclusion.answer
    if not remarks:
        return SolverReply(thinking, answer=answer)
    if all(remark.agrees for remark in remarks):
        thinking = (*thinking, phrase(solution.language, "think.stands", answer=answer))
    return SolverReply(thinking, answer=f"{answer}\n\n{' '.join(remark.text for remark in remarks)}")


def _tasks(solution: Solution, question: str) -> dict[str, str]:
    """Returns what the tools are asked, in the order of the calls."""
    conclusion = solution.conclusion
    tasks = {}
    if conclusion.expression:
        tasks[CALCULATOR] = conclusion.expression
    if conclusion.known:
        tasks[CHECKER] = phrase(solution.language, "check.task", question=question, answer=conclusion.answer)
    return tasks


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


class _ToolRemark(NamedTuple):
    """What a tool returned: the line about it in the thinking, and in the answer."""

    thought: str
    text: str
    agrees: bool


def _remarks(solution: Solution, results: ToolResults) -> Iterator[_ToolRemark]:
    """Yields a remark about the result of each tool, in the order of their calls."""
    if CALCULATOR in results and solution.conclusion.expression:
        value = solution.conclusion.value
        number = _number_in(results[CALCULATOR] or "")
        if number is None:
            yield _remark(solution, CALCULATOR, results, "tool_result", "calculator_failed")
        elif abs(number - value) > _TOLERANCE * abs(value):
            yield _remark(solution, CALCULATOR, results, "tool_result", "calculator_differs")
        else:
            yield _remark(solution, CALCULATOR, results, "tool_agrees", "calculator_agrees")
    if CHECKER in results:
        verdict = _VERDICT.match((results[CHECKER] or "").lower())
        key = "checker_unclear"
        if verdict:
            key = "checker_agrees" if verdict[1] else "checker_disagrees"
        yield _remark(solution, CHECKER, results, "tool_result", key)


def _remark(solution: Solution, tool: str, results: ToolResults, thought: str, text: str) -> _ToolRemark:
    language, result = solution.language, results[tool]
    if result is None:
        no_result = phrase(language, "tool.no_result", tool=tool)
        return _ToolRemark(no_result, no_result, agrees=False)
    values = {
        "tool": tool,
        "result": result[:_MAX_QUOTE_CHARACTERS],
        "value": number_text(solution.conclusion.value, language),
    }
    return _ToolRemark(
        phrase(language, f"think.{thought}", **values),
        phrase(language, f"tool.{text}", **values),
        agrees=text.endswith("_agrees"),
    )


def _number_in(result: str) -> Fraction | None:
    """Reads the number that a calculator returned: alone, or after a sign of equality."""
    match = _NUMBER.fullmatch(result)
    if not match or (match[2] and not int(match[2])):
        return None
    return Fraction(match[1].replace("−", "-")) / int(match[2] or 1)

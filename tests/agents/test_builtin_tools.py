"""The built-in tools, and that the built-in model reads the calculator's result."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.agents.builtin_tools import builtin_tools, search_sessions
from thinkaloud.agents.tools import Tool, ToolOutcome, call_tool
from thinkaloud.builtin import conversation
from thinkaloud.builtin.conversation import InputMessage, PastCall, ToolFunction, reply_to

TOOLS = builtin_tools()


def tool_outcome(tool: Tool, **arguments: str) -> ToolOutcome:
    return asyncio.run(call_tool(tool, json.dumps(arguments)))


def calculator_outcome(expression: str) -> ToolOutcome:
    return tool_outcome(TOOLS["calculator"], expression=expression)


def test_builtin_tool_definitions() -> None:
    assert list(TOOLS) == [tool.definition.name for tool in TOOLS.values()] == ["calculator", "current_time"]
    assert all(tool.definition.description and not tool.approval for tool in TOOLS.values())
    assert "such as (2 + 3) * 4 / 7" in TOOLS["calculator"].definition.parameters


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", "14"),
        ("0.1 + 0.2", "0.3"),
        ("-2^2", "-4"),
        ("2 ** 10", "1024"),
        ("7 ÷ 8 − 1", "-0.125"),
        ("2^100", "1267650600228229401496703205376"),
        ("2/3", "0.666666666667 (rounded); exactly = 2/3"),
        ("-22/7", "-3.14285714286 (rounded); exactly = -22/7"),
        ("1/3^30", "4.85693574962E-15 (rounded); exactly = 1/205891132094649"),
    ],
)
def test_calculator_is_exact(expression: str, value: str) -> None:
    assert calculator_outcome(expression) == ToolOutcome(value)


@pytest.mark.parametrize(
    "expression",
    ["1/0", "2 +", "(1", "1,000", "two", "2^0.5", "9^9^9", "9" * 900 + "^99", "1)", "__import__('os')"],
)
def test_calculator_reports_invalid_expressions(expression: str) -> None:
    error = calculator_outcome(expression).error
    assert error.startswith("The expression is not valid: ")
    assert error.endswith("no thousands separators.")


@pytest.mark.parametrize("expression", ["", "1+" * 500 + "1"])
def test_calculator_limits_the_length_of_an_expression(expression: str) -> None:
    assert "of length" in calculator_outcome(expression).error


@settings(deadline=None)
@given(st.fractions(max_denominator=10**6))
def test_builtin_model_reads_the_exact_value(value: Fraction) -> None:
    result = calculator_outcome(f"({value.numerator})/{value.denominator}").result
    assert conversation._number_in(result) == value


@pytest.mark.parametrize("question", ["What is 2/3 + 1/7?", "What is 12 * 34 - 5?", "Quanto é 10 / 4?"])
def test_builtin_model_and_calculator_agree(question: str) -> None:
    definition = TOOLS["calculator"].definition
    offered = {definition.name: ToolFunction(definition.name, msgspec.json.decode(definition.parameters))}
    messages = [InputMessage("user", question)]
    (tool_call,) = reply_to(messages, offered).calls
    result = asyncio.run(call_tool(TOOLS[tool_call.name], tool_call.arguments)).result
    messages += [
        InputMessage("assistant", tool_calls=[PastCall(tool_call.id, ToolFunction(tool_call.name))]),
        InputMessage("tool", result, tool_call_id=tool_call.id),
    ]
    answer = reply_to(messages, offered).answer
    assert "The calculator agrees." in answer or "A calculadora concorda." in answer


@pytest.mark.parametrize("arguments", [{}, {"zone": ""}, {"zone": "UTC"}])
def test_current_time_is_utc_by_default(arguments: dict[str, str]) -> None:
    earliest = datetime.now(UTC)
    moment, _, suffix = tool_outcome(TOOLS["current_time"], **arguments).result.partition(" ")
    parsed = datetime.fromisoformat(moment)
    assert earliest - timedelta(seconds=1) <= parsed <= datetime.now(UTC)
    assert (parsed.utcoffset(), suffix) == (timedelta(0), f"({parsed:%A}, UTC)")


def test_current_time_of_a_zone() -> None:
    result = tool_outcome(TOOLS["current_time"], zone="Asia/Kolkata").result
    assert "+05:30 (" in result
    assert result.endswith(", Asia/Kolkata)")


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "America", "../../etc/passwd", "/etc/passwd", "\x00", "x" * 5000]
)
def test_current_time_reports_an_unknown_zone(zone: str) -> None:
    error = tool_outcome(TOOLS["current_time"], zone=zone).error
    assert error.startswith("There is no time zone ")
    assert len(error) < 300


def test_search_sessions_uses_the_given_search() -> None:
    async def search(query: str) -> str:
        return "" if query == "nothing" else f"found {query}"

    tool = search_sessions(search)
    assert tool.definition.name == "search_sessions"
    assert tool_outcome(tool, query="bees") == ToolOutcome("found bees")
    assert tool_outcome(tool, query="nothing") == ToolOutcome("Nothing was found. Try fewer or other words.")
    assert "of length >= 1" in tool_outcome(tool, query="").error

"""Tool calls: every outcome is a text for the model."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.agents.tools import MAX_RESULT_CHARS, Tool, ToolFault, ToolOutcome, call_tool
from thinkaloud.core.canon import requests


def tool(run: Callable[[str], Awaitable[str]], timeout_s: float = 60.0) -> Tool:
    return Tool(definition=requests.ToolDefinition("lookup"), run=run, timeout_s=timeout_s)


def tool_outcome(
    run: Callable[[str], Awaitable[str]], arguments: str = "{}", timeout_s: float = 60.0
) -> ToolOutcome:
    return asyncio.run(call_tool(tool(run, timeout_s), arguments))


def raising(error: BaseException) -> Callable[[str], Awaitable[str]]:
    async def run(arguments: str) -> str:
        raise error

    return run


async def echo(arguments: str) -> str:
    return arguments


def test_tool_result_is_unchanged() -> None:
    assert tool_outcome(echo, ' {"word": "é\\n"} ') == ToolOutcome('{"word": "é\\n"}')


@pytest.mark.parametrize("arguments", ["", "  \n", "{}"])
def test_empty_arguments_are_an_empty_object(arguments: str) -> None:
    assert tool_outcome(echo, arguments) == ToolOutcome("{}")


@pytest.mark.parametrize("arguments", ["[1]", "3", "null", '"{}"'])
def test_json_that_is_not_an_object_never_reaches_the_tool(arguments: str) -> None:
    assert tool_outcome(raising(AssertionError()), arguments).error == (
        "lookup was not called: its arguments are JSON, but not an object. "
        "Write its arguments as one JSON object."
    )


@pytest.mark.parametrize(
    "arguments", ["{", "{'a': 1}", "{} {}", '"\ud800"', '{"a": 1e999}', '{"a":' * 100_000]
)
def test_invalid_json_never_reaches_the_tool(arguments: str) -> None:
    error = tool_outcome(raising(AssertionError()), arguments).error
    assert error.startswith("lookup was not called: its arguments are not JSON (")
    assert error.endswith("). Write its arguments as one JSON object.")


@settings(deadline=None)
@given(st.text())
def test_any_arguments_give_an_outcome(arguments: str) -> None:
    outcome = tool_outcome(echo, arguments)
    assert bool(outcome.result) != bool(outcome.error)
    (outcome.result + outcome.error).encode()


def test_tool_fault_text_is_the_error() -> None:
    assert (
        tool_outcome(raising(ToolFault("No such city. Give another."))).error == "No such city. Give another."
    )
    assert tool_outcome(raising(ToolFault())).error == "lookup failed without a reason."


def test_exception_is_reported_without_traceback_and_logged_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, "thinkaloud.agents.tools"):
        outcome = tool_outcome(raising(KeyError("town")))
    assert outcome == ToolOutcome(
        error="lookup failed with KeyError: 'town'\nTry other arguments, or continue without it."
    )
    assert "Traceback" in caplog.text


def test_long_exception_text_is_cut() -> None:
    error = tool_outcome(raising(ValueError("x" * 10_000))).error
    assert error.splitlines()[0] == f"lookup failed with ValueError: {'x' * 487}…"


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_unprintable_exception_is_reported_by_its_name() -> None:
    assert tool_outcome(raising(UnprintableError())).error.startswith(
        "lookup failed with UnprintableError: \n"
    )


def test_slow_tool_times_out() -> None:
    async def slow(arguments: str) -> str:
        await asyncio.sleep(3600)
        return arguments

    assert tool_outcome(slow, timeout_s=0.01).error == (
        "lookup did not finish within 0.01 s and was stopped. Ask it for less, or continue without it."
    )


def test_timeout_raised_by_the_tool_is_not_a_call_timeout() -> None:
    assert tool_outcome(raising(TimeoutError("of the database"))).error.startswith(
        "lookup failed with TimeoutError: of the database"
    )


def test_too_long_result_is_truncated() -> None:
    async def long_result(arguments: str) -> str:
        return "x" * (MAX_RESULT_CHARS + 1)

    assert tool_outcome(long_result) == ToolOutcome(
        "x" * 100_000,
        "The result of lookup is 100,001 characters long; only the first 100,000 were kept. Ask it for less.",
    )


def test_result_at_the_limit_is_no_error() -> None:
    async def enough(arguments: str) -> str:
        return "x" * MAX_RESULT_CHARS

    assert tool_outcome(enough).error == ""


def test_lone_surrogate_is_replaced() -> None:
    async def half(arguments: str) -> str:
        return "a\ud83db"

    assert tool_outcome(half) == ToolOutcome("a?b")
    assert tool_outcome(raising(ToolFault("a\ud83db"))).error == "a?b"


def test_cancellation_is_raised() -> None:
    async def story() -> None:
        started = asyncio.Event()

        async def waits(arguments: str) -> str:
            started.set()
            await asyncio.Event().wait()
            return arguments

        task = asyncio.create_task(call_tool(tool(waits), "{}"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_system_exit_is_raised(error: type[BaseException]) -> None:
    with pytest.raises(error):
        tool_outcome(raising(error()))


def test_tools_import_without_the_mcp_package() -> None:
    process = subprocess.run(
        [sys.executable, "-c", "import thinkaloud.agents.mcp, thinkaloud.agents.builtin_tools, sys\n"
         "print({'mcp', 'httpx2', 'pydantic'} & set(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout == "set()\n"

"""What a call of a tool comes to: always something that can be told to a model."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkaloud.agents.tools import MOST_RESULT_CHARS, Came, Tool, ToolFault, call
from thinkaloud.canon import requests


def tool(run: Callable[[str], Awaitable[str]], timeout_s: float = 60.0) -> Tool:
    return Tool(definition=requests.Tool("lookup"), run=run, timeout_s=timeout_s)


def came(run: Callable[[str], Awaitable[str]], arguments: str = "{}", timeout_s: float = 60.0) -> Came:
    return asyncio.run(call(tool(run, timeout_s), arguments))


def raising(error: BaseException) -> Callable[[str], Awaitable[str]]:
    async def run(arguments: str) -> str:
        raise error

    return run


async def echo(arguments: str) -> str:
    return arguments


def test_a_result_comes_as_it_is() -> None:
    assert came(echo, ' {"word": "é\\n"} ') == Came('{"word": "é\\n"}')


@pytest.mark.parametrize("arguments", ["", "  \n", "{}"])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    assert came(echo, arguments) == Came("{}")


@pytest.mark.parametrize("arguments", ["[1]", "3", "null", '"{}"'])
def test_json_that_is_no_object_never_reaches_the_tool(arguments: str) -> None:
    assert came(raising(AssertionError()), arguments).error == (
        "lookup was not called: its arguments are JSON, but no object. "
        "Write its arguments as one JSON object."
    )


@pytest.mark.parametrize(
    "arguments", ["{", "{'a': 1}", "{} {}", '"\ud800"', '{"a": 1e999}', '{"a":' * 100_000]
)
def test_text_that_is_no_json_never_reaches_the_tool(arguments: str) -> None:
    told = came(raising(AssertionError()), arguments).error
    assert told.startswith("lookup was not called: its arguments are not JSON (")
    assert told.endswith("). Write its arguments as one JSON object.")


@settings(deadline=None)
@given(st.text())
def test_whatever_a_model_writes_comes_to_something(arguments: str) -> None:
    told = came(echo, arguments)
    assert bool(told.result) != bool(told.error)
    (told.result + told.error).encode()


def test_a_fault_is_told_in_its_own_words() -> None:
    assert came(raising(ToolFault("No such city. Give another."))).error == "No such city. Give another."
    assert came(raising(ToolFault())).error == "lookup failed and did not say why."


def test_an_exception_is_told_without_its_traceback_and_logged_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, "thinkaloud.agents.tools"):
        told = came(raising(KeyError("town")))
    assert told == Came(
        error="lookup failed with KeyError: 'town'\nTry other arguments, or go on without it."
    )
    assert "Traceback" in caplog.text


def test_a_long_exception_is_cut_short() -> None:
    told = came(raising(ValueError("x" * 10_000))).error
    assert told.splitlines()[0] == f"lookup failed with ValueError: {'x' * 487}…"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_that_cannot_be_told_is_told_by_its_name() -> None:
    assert came(raising(Unspeakable())).error.startswith("lookup failed with Unspeakable: \n")


def test_a_tool_that_takes_too_long_is_given_up() -> None:
    async def slow(arguments: str) -> str:
        await asyncio.sleep(3600)
        return arguments

    assert came(slow, timeout_s=0.01).error == (
        "lookup did not finish within 0.01 s and was given up. Ask it for less, or go on without it."
    )


def test_a_timeout_of_the_tools_own_is_no_timeout_of_ours() -> None:
    assert came(raising(TimeoutError("of the database"))).error.startswith(
        "lookup failed with TimeoutError: of the database"
    )


def test_of_a_result_that_is_too_long_the_beginning_is_kept() -> None:
    async def much(arguments: str) -> str:
        return "x" * (MOST_RESULT_CHARS + 1)

    assert came(much) == Came(
        "x" * 100_000,
        "The result of lookup is 100,001 characters long; only the first 100,000 were kept. Ask it for less.",
    )


def test_as_much_as_may_be_is_no_error() -> None:
    async def enough(arguments: str) -> str:
        return "x" * MOST_RESULT_CHARS

    assert came(enough).error == ""


def test_half_a_surrogate_pair_is_replaced() -> None:
    async def half(arguments: str) -> str:
        return "a\ud83db"

    assert came(half) == Came("a?b")
    assert came(raising(ToolFault("a\ud83db"))).error == "a?b"


def test_a_cancellation_passes() -> None:
    async def story() -> None:
        begun = asyncio.Event()

        async def waits(arguments: str) -> str:
            begun.set()
            await asyncio.Event().wait()
            return arguments

        task = asyncio.create_task(call(tool(waits), "{}"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes(error: type[BaseException]) -> None:
    with pytest.raises(error):
        came(raising(error()))


def test_tools_can_be_had_without_the_package_mcp() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import thinkaloud.agents.mcp_tools, thinkaloud.agents.builtin_tools, sys\n"
         "print({'mcp', 'httpx2', 'pydantic'} & set(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == "set()\n"

"""A tool: what the model is told of it, how it is run, and what a call of it came to.

Whatever goes wrong in a call is told to the model in a sentence that says what to do, so that it can go on.
Only a cancellation, and what Python itself ends programs with, gets past `call`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from thinkaloud.canon import requests

logger = logging.getLogger(__name__)

MAX_RESULT_CHARS = 100_000
"""About 25,000 tokens: more would crowd out the conversation that the result is for."""
MAX_FAULT_CHARS = 500
"""Of an exception's own text; the log has all of it."""


class ToolOutcome(msgspec.Struct, frozen=True):
    """What a call came to. It failed where there is an error; a result beside it is what there was of one."""

    result: str = ""
    error: str = ""


class ToolFault(Exception):
    """A failure whose text is meant for the model."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """Something a model may call: `run` takes the arguments as JSON text and gives the result as text."""

    definition: requests.ToolDefinition
    run: Callable[[str], Awaitable[str]]
    approval: bool = False
    timeout_s: float = 60.0


async def call_tool(tool: Tool, arguments: str) -> ToolOutcome:
    """Run a tool once. No arguments at all count as `{}`."""
    name, json_arguments = tool.definition.name, arguments.strip() or "{}"
    if problem := _arguments_problem(json_arguments):
        return ToolOutcome(error=f"{name} was not called: {problem} Write its arguments as one JSON object.")
    limit = asyncio.timeout(tool.timeout_s)
    try:
        async with limit:
            result = _encodable(await tool.run(json_arguments))
    except ToolFault as fault:
        return ToolOutcome(
            error=_error_text(fault)[:MAX_RESULT_CHARS] or f"{name} failed and did not say why."
        )
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():  # any other one is the tool's own
            timeout_message = f"{name} did not finish within {tool.timeout_s:g} s and was given up."
            return ToolOutcome(error=f"{timeout_message} Ask it for less, or go on without it.")
        logger.exception("The tool %s failed", name)
        reason = f"{type(error).__name__}: {_error_text(error)}"
        excerpt = reason if len(reason) <= MAX_FAULT_CHARS else reason[: MAX_FAULT_CHARS - 1] + "…"
        return ToolOutcome(error=f"{name} failed with {excerpt}\nTry other arguments, or go on without it.")
    if len(result) > MAX_RESULT_CHARS:
        cut_note = f"only the first {MAX_RESULT_CHARS:,} were kept"
        length_message = (
            f"The result of {name} is {len(result):,} characters long; {cut_note}. Ask it for less."
        )
        return ToolOutcome(result[:MAX_RESULT_CHARS], length_message)
    return ToolOutcome(result)


def _arguments_problem(arguments: str) -> str:
    """What keeps a text from being a JSON object; empty where it is one."""
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not JSON ({_error_text(error)[:MAX_FAULT_CHARS]})."
    return "" if isinstance(value, dict) else "its arguments are JSON, but no object."


def _error_text(error: Exception) -> str:
    try:
        return _encodable(str(error))
    except Exception:  # noqa: BLE001 an exception that cannot even tell its text must not end the run
        return ""


def _encodable(text: str) -> str:
    """Half of a surrogate pair cannot be written as UTF-8, so neither be stored nor sent."""
    return text.encode("utf-8", "replace").decode("utf-8")

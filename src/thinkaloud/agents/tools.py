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

MOST_RESULT_CHARS = 100_000
"""About 25,000 tokens: more would crowd out the conversation that the result is for."""
MOST_FAULT_CHARS = 500
"""Of an exception's own text; the log has all of it."""


class Came(msgspec.Struct, frozen=True):
    """What a call came to. It failed where there is an error; a result beside it is what there was of one."""

    result: str = ""
    error: str = ""


class ToolFault(Exception):
    """A failure whose text is meant for the model."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """Something a model may call: `run` takes the arguments as JSON text and gives the result as text."""

    definition: requests.Tool
    run: Callable[[str], Awaitable[str]]
    approval: bool = False
    timeout_s: float = 60.0


async def call(tool: Tool, arguments: str) -> Came:
    """Run a tool once. No arguments at all count as `{}`."""
    name, given = tool.definition.name, arguments.strip() or "{}"
    if why_not := _fault_in(given):
        return Came(error=f"{name} was not called: {why_not} Write its arguments as one JSON object.")
    limit = asyncio.timeout(tool.timeout_s)
    try:
        async with limit:
            result = _encodable(await tool.run(given))
    except ToolFault as fault:
        return Came(error=_text(fault)[:MOST_RESULT_CHARS] or f"{name} failed and did not say why.")
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():  # any other one is the tool's own
            late = f"{name} did not finish within {tool.timeout_s:g} s and was given up."
            return Came(error=f"{late} Ask it for less, or go on without it.")
        logger.exception("The tool %s failed", name)
        why = f"{type(error).__name__}: {_text(error)}"
        shown = why if len(why) <= MOST_FAULT_CHARS else why[: MOST_FAULT_CHARS - 1] + "…"
        return Came(error=f"{name} failed with {shown}\nTry other arguments, or go on without it.")
    if len(result) > MOST_RESULT_CHARS:
        kept = f"only the first {MOST_RESULT_CHARS:,} were kept"
        much = f"The result of {name} is {len(result):,} characters long; {kept}. Ask it for less."
        return Came(result[:MOST_RESULT_CHARS], much)
    return Came(result)


def _fault_in(arguments: str) -> str:
    """What keeps a text from being a JSON object; empty where it is one."""
    try:
        given = msgspec.json.decode(arguments)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not JSON ({_text(error)[:MOST_FAULT_CHARS]})."
    return "" if isinstance(given, dict) else "its arguments are JSON, but no object."


def _text(error: Exception) -> str:
    try:
        return _encodable(str(error))
    except Exception:  # noqa: BLE001 an exception that cannot even tell its text must not end the run
        return ""


def _encodable(text: str) -> str:
    """Half of a surrogate pair cannot be written as UTF-8, so neither be stored nor sent."""
    return text.encode("utf-8", "replace").decode("utf-8")

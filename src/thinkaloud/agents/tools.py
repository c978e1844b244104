"""Tools: their definition, how a call is run, and Python functions as tools (`from_function`).

Every failure of a call becomes an error text for the model that says what to do, so that the turn continues.
Only cancellation and exits such as KeyboardInterrupt leave `call_tool`. The signature of a function becomes
the JSON Schema, its docstring the description. A function that is not async runs in its own thread. A schema
has no references, because several providers refuse them, so recursive types are refused.
"""

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import logging
import re
import textwrap
import threading
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, get_type_hints

import msgspec

from thinkaloud.agents.tool_results import ToolReturn, python_result
from thinkaloud.client.json_schema import inline_references
from thinkaloud.core.canon import Refused, reason_of, requests

logger = logging.getLogger(__name__)

MAX_NAME_CHARS = 64
MAX_RESULT_CHARS = 100_000
"""About 25,000 tokens: more would leave too little room for the conversation."""
MAX_FAULT_CHARS = 500
"""The maximum length of an exception's text for the model. The log has all of it."""


class ToolOutcome(msgspec.Struct, frozen=True):
    """The outcome of a call. With an error, `result` is a partial result or empty."""

    result: str = ""
    error: str = ""
    images: tuple[requests.Image, ...] = ()


class ToolFault(Exception):
    """A failure whose text is written for the model."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool. `run` takes the arguments as JSON text and returns text, or text with images."""

    definition: requests.ToolDefinition
    run: Callable[[str], Awaitable[str | ToolReturn]]
    approval: bool = False
    timeout_s: float = 60.0


def model_tool_name(name: str) -> str:
    """Return a tool's name as models see it, with only those characters that every provider accepts.

    `SERVER/TOOL`, a tool of an MCP server, becomes `SERVER_TOOL`.
    """
    return re.sub("[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_CHARS]


async def call_tool(tool: Tool, arguments: str) -> ToolOutcome:
    """Run a tool once. Empty arguments count as `{}`."""
    name, json_arguments = tool.definition.name, arguments.strip() or "{}"
    if problem := _arguments_problem(json_arguments):
        return ToolOutcome(error=f"{name} was not called: {problem} Write its arguments as one JSON object.")
    limit = asyncio.timeout(tool.timeout_s)
    try:
        async with limit:
            returned = await tool.run(json_arguments)
    except ToolFault as fault:
        return ToolOutcome(error=_error_text(fault)[:MAX_RESULT_CHARS] or f"{name} failed without a reason.")
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():  # another TimeoutError is the tool's own
            timeout_message = f"{name} did not finish within {tool.timeout_s:g} s and was stopped."
            return ToolOutcome(error=f"{timeout_message} Ask it for less, or continue without it.")
        logger.exception("The tool %s failed", name)
        reason = f"{type(error).__name__}: {_error_text(error)}"
        excerpt = reason if len(reason) <= MAX_FAULT_CHARS else reason[: MAX_FAULT_CHARS - 1] + "…"
        return ToolOutcome(
            error=f"{name} failed with {excerpt}\nTry other arguments, or continue without it."
        )
    text, images = (returned, ()) if isinstance(returned, str) else (returned.text, returned.images)
    result = _encodable(text)
    if len(result) > MAX_RESULT_CHARS:
        cut_note = f"only the first {MAX_RESULT_CHARS:,} were kept"
        length_message = (
            f"The result of {name} is {len(result):,} characters long; {cut_note}. Ask it for less."
        )
        return ToolOutcome(result[:MAX_RESULT_CHARS], length_message, images)
    return ToolOutcome(result, images=images)


def _arguments_problem(arguments: str) -> str:
    """Return why a text is not a JSON object; empty if it is one."""
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not JSON ({_error_text(error)[:MAX_FAULT_CHARS]})."
    return "" if isinstance(value, dict) else "its arguments are JSON, but not an object."


def _error_text(error: Exception) -> str:
    try:
        return _encodable(str(error))
    except Exception:  # noqa: BLE001 an exception whose __str__ raises must not end the run
        return ""


def _encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded as UTF-8 and so neither stored nor sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Tool names that every provider accepts."""

_ARGS_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\n((?:[ \t]+[^\n]*(?:\n|\Z)|\n)+)", re.M)
_ARG_DESCRIPTION = re.compile(r"^(\w+)(?: *\([^\n]*\))? *: *([^\n]*(?:\n[ \t]+[^\n]*)*)", re.M)


def from_function(
    function: Callable[..., Any], *, name: str = "", approval: bool = False, timeout_s: float = 60.0
) -> Tool:
    """Return a tool that calls a function with the model's arguments.

    Every argument needs an annotation. Arguments that a `functools.partial` sets are not offered.
    """
    target, bound_names = _unwrap(function)
    name = name or getattr(target, "__name__", "")
    if not TOOL_NAME.fullmatch(name):
        raise Refused(
            "{name} is not a valid tool name. Pass a name= of 1 to 64 ASCII letters, digits, _ and -.",
            name=repr(name),
        )
    arguments_type = _arguments_struct(function, target, bound_names, name)
    schema = _schema(arguments_type, name)
    summary, descriptions = _parse_docstring(inspect.getdoc(target) or "")
    for argument, text in descriptions.items():
        if argument in schema["properties"]:
            schema["properties"][argument]["description"] = text

    async def run(arguments: str) -> ToolReturn:
        values = _decode_arguments(arguments, arguments_type, name)
        if inspect.iscoroutinefunction(target):
            return python_result(await function(**values))
        result = await _in_thread(functools.partial(function, **values))
        return python_result(await result if inspect.isawaitable(result) else result)

    definition = requests.ToolDefinition(name, summary, msgspec.json.encode(schema).decode())
    return Tool(definition=definition, run=run, approval=approval, timeout_s=timeout_s)


def _unwrap(function: Callable[..., Any]) -> tuple[Callable[..., Any], set[str]]:
    """Return the function inside `functools.partial`s, and the names of the arguments they set."""
    bound_names: set[str] = set()
    while isinstance(function, functools.partial):
        bound_names |= set(function.keywords)
        function = function.func
    return function, bound_names


def _arguments_struct(
    function: Callable[..., Any], target: Callable[..., Any], bound_names: set[str], name: str
) -> type[msgspec.Struct]:
    """Return a struct type with one field for each argument."""
    try:
        hints = get_type_hints(target, include_extras=True)
        arguments = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise Refused(
            "{name} cannot be a tool: {reason}. Use a function with types known at run time.",
            name=name,
            reason=reason_of(error),
        ) from None
    fields: list[tuple[str, Any, Any]] = []
    for argument in arguments:
        if argument.name in bound_names:
            continue
        if argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            raise Refused(
                "{name} cannot be a tool: models pass arguments by name, which {argument} does not allow.",
                name=name,
                argument=argument,
            )
        if argument.name not in hints:
            raise Refused(
                "{name} cannot be a tool: {argument_name} has no type. Annotate it.",
                name=name,
                argument_name=argument.name,
            )
        fields.append((argument.name, hints[argument.name], _default(argument.default)))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _default(value: object) -> Any:
    if value is inspect.Parameter.empty:
        return msgspec.NODEFAULT
    if value is None or isinstance(value, str | int | float | Enum):
        return value  # msgspec writes it into the schema
    return msgspec.field(default_factory=lambda: value)


def _schema(arguments_type: type[msgspec.Struct], name: str) -> dict[str, Any]:
    try:
        # Refuses ambiguous unions, for which a schema could still be written.
        msgspec.json.Decoder(arguments_type)
        schema = inline_references(msgspec.json.schema(arguments_type))
    except TypeError as error:
        reason = str(error).splitlines()[-1]
        raise Refused(
            "{name} cannot be a tool: {reason}. Use types that JSON supports.", name=name, reason=reason
        ) from None
    except Refused as error:
        raise Refused(
            "{name} cannot be a tool: its arguments need {reason}", name=name, reason=reason_of(error)
        ) from None
    schema.pop("title", None)
    return schema


def _parse_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Return the first paragraph as one line, and the argument descriptions of an `Args:` section."""
    section = _ARGS_SECTION.search(doc)
    descriptions = _ARG_DESCRIPTION.findall(textwrap.dedent(section[1])) if section else []
    summary = doc[: section.start() if section else None].partition("\n\n")[0]
    return " ".join(summary.split()), {name: " ".join(text.split()) for name, text in descriptions}


def _decode_arguments(arguments: str, arguments_type: type[msgspec.Struct], name: str) -> dict[str, Any]:
    try:
        values = msgspec.convert(_decoder.decode(arguments), arguments_type, str_keys=True)
    except msgspec.ValidationError as error:
        argument_names = ", ".join(arguments_type.__struct_fields__) or "none"
        message = f"The arguments are not valid for {name}: {error}. Its arguments are: {argument_names}."
        raise ToolFault(f"{message} Correct them and call again.") from None
    return {field: getattr(values, field) for field in arguments_type.__struct_fields__}


def _number(text: str) -> float | int:
    """Return 2.0 as the integer 2: JSON Schema counts it as an integer, and some models write it."""
    value = float(text)
    return int(value) if value.is_integer() else value


_decoder = msgspec.json.Decoder(float_hook=_number)


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run a function in its own thread; return its result or raise its exception.

    A thread cannot be stopped, so a cancellation ends only the waiting and abandons the thread. The event
    loop's thread pool is not used: it is small, and a stuck thread in it would keep the program from exiting.
    """
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def body() -> None:
        try:
            future.set_result(work())
        except StopIteration:
            future.set_exception(RuntimeError("StopIteration"))  # a future refuses StopIteration itself
        except BaseException as error:  # noqa: BLE001 it is raised again in the waiting task
            future.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), daemon=True, name="tool").start()
    return await asyncio.wrap_future(future)

"""A tool: what the model is told of it, how it is run, and what a call of it came to.

Whatever goes wrong in a call is told to the model in a sentence that says what to do, so that it can go on.
Only a cancellation, and what Python itself ends programs with, gets past `call`.

A Python function as a tool: its signature is the JSON Schema, its docstring what the model is told.

Functions that are not async run in a thread of their own. A schema has no references, since several
providers refuse them; types that cannot be written without (recursive ones) are refused.
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
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, get_type_hints

import msgspec

from thinkaloud.canon import Refused, requests

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


TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""
MAX_SCHEMA_NODES = 5_000
"""References to references can make a short schema grow without end."""

_ARGS_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\n((?:[ \t]+[^\n]*(?:\n|\Z)|\n)+)", re.M)
_ARG_DESCRIPTION = re.compile(r"^(\w+)(?: *\([^\n]*\))? *: *([^\n]*(?:\n[ \t]+[^\n]*)*)", re.M)
_REFERENCE_KEYWORDS = ("$ref", "$defs", "definitions")
_VALUE_KEYWORDS = ("default", "const", "enum", "examples")
"""Keywords of JSON Schema that hold values, which may look like schemas."""
_SCHEMA_MAP_KEYWORDS = ("properties", "patternProperties", "dependentSchemas")
"""Keywords that hold schemas by names of any kind."""


def from_function(
    function: Callable[..., Any], *, name: str = "", approval: bool = False, timeout_s: float = 60.0
) -> Tool:
    """A tool that calls a function with the arguments a model gives.

    Every argument needs an annotation. What a `functools.partial` already fills in is not offered.
    """
    target, bound_names = _unwrap(function)
    name = name or getattr(target, "__name__", "")
    if not TOOL_NAME.fullmatch(name):
        raise Refused(
            f"A tool cannot be called {name!r}. Give it a name= of 1 to 64 letters of ASCII, digits, _ and -."
        )
    arguments_type = _arguments_struct(function, target, bound_names, name)
    schema = _schema(arguments_type, name)
    summary, descriptions = _parse_docstring(inspect.getdoc(target) or "")
    for argument, text in descriptions.items():
        if argument in schema["properties"]:
            schema["properties"][argument]["description"] = text

    async def run(arguments: str) -> str:
        values = _decode_arguments(arguments, arguments_type, name)
        if inspect.iscoroutinefunction(target):
            return _result_text(await function(**values))
        result = await _in_thread(functools.partial(function, **values))
        return _result_text(await result if inspect.isawaitable(result) else result)

    definition = requests.ToolDefinition(name, summary, msgspec.json.encode(schema).decode())
    return Tool(definition=definition, run=run, approval=approval, timeout_s=timeout_s)


def inline_references(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every reference replaced by what it refers to; `Refused` says what is in the way."""
    try:
        return dict(_ReferenceInliner(schema).inline(dict(schema), ("#",)))
    except RecursionError:
        raise Refused("a schema that is nested too deeply. Make it simpler.") from None


class _ReferenceInliner:
    """A schema that is being written out in full."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._nodes_left = MAX_SCHEMA_NODES

    def inline(self, node: Any, ancestors: tuple[str, ...]) -> Any:
        """The node without references; `within` are those that led to it."""
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise Refused(f"a schema of more than {MAX_SCHEMA_NODES:,} parts. Make it simpler.")
        if isinstance(node, list):
            return [self.inline(item, ancestors) for item in node]
        if not isinstance(node, dict):
            return node
        fields = {
            key: self._inline_value(key, value, ancestors)
            for key, value in node.items()
            if key not in _REFERENCE_KEYWORDS
        }
        if "$ref" not in node:
            return fields
        ref = str(node["$ref"])
        if ref in ancestors:
            raise Refused("a type that contains itself. Write one that has an end, such as a list of names.")
        target = self.inline(self._resolve(ref), (*ancestors, ref))
        return {**target, **fields} if isinstance(target, dict) else target

    def _inline_value(self, key: str, value: Any, ancestors: tuple[str, ...]) -> Any:
        if key in _SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            return {name: self.inline(subschema, ancestors) for name, subschema in value.items()}
        return value if key in _VALUE_KEYWORDS else self.inline(value, ancestors)

    def _resolve(self, ref: str) -> Any:
        node: Any = self._schema
        for step in ref.removeprefix("#/").split("/"):
            node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        if node is None or not ref.startswith("#/"):
            raise Refused(f"a reference to {ref[:100]!r}, which is not in it. Write it out.")
        return node


def _unwrap(function: Callable[..., Any]) -> tuple[Callable[..., Any], set[str]]:
    """What has the annotations and the docstring, and which arguments it has been given by name."""
    bound_names: set[str] = set()
    while isinstance(function, functools.partial):
        bound_names |= set(function.keywords)
        function = function.func
    return function, bound_names


def _arguments_struct(
    function: Callable[..., Any], target: Callable[..., Any], bound_names: set[str], name: str
) -> type[msgspec.Struct]:
    """A struct with one field for each argument."""
    try:
        hints = get_type_hints(target, include_extras=True)
        arguments = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise Refused(
            f"{name} cannot be a tool: {error}. Use a function with types known at run time."
        ) from None
    fields: list[tuple[str, Any, Any]] = []
    for argument in arguments:
        if argument.name in bound_names:
            continue
        if argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            raise Refused(
                f"{name} cannot be a tool: a model gives arguments by name, but {argument} takes none."
            )
        if argument.name not in hints:
            raise Refused(f"{name} cannot be a tool: {argument.name} has no type. Annotate it.")
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
        msgspec.json.Decoder(
            arguments_type
        )  # refuses unions that cannot be told apart, which a schema could still say
        schema = inline_references(msgspec.json.schema(arguments_type))
    except TypeError as error:
        reason = str(error).splitlines()[-1]
        raise Refused(f"{name} cannot be a tool: {reason}. Use types that JSON has.") from None
    except Refused as error:
        raise Refused(f"{name} cannot be a tool: its arguments need {error}") from None
    schema.pop("title", None)
    return schema


def _parse_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """The first paragraph in one line, and what an `Args:` section says of each argument."""
    section = _ARGS_SECTION.search(doc)
    descriptions = _ARG_DESCRIPTION.findall(textwrap.dedent(section[1])) if section else []
    summary = doc[: section.start() if section else None].partition("\n\n")[0]
    return " ".join(summary.split()), {name: " ".join(text.split()) for name, text in descriptions}


def _decode_arguments(arguments: str, arguments_type: type[msgspec.Struct], name: str) -> dict[str, Any]:
    try:
        values = msgspec.convert(_decoder.decode(arguments), arguments_type, str_keys=True)
    except msgspec.ValidationError as error:
        argument_names = ", ".join(arguments_type.__struct_fields__) or "none"
        message = f"The arguments do not fit {name}: {error}. Its arguments are: {argument_names}."
        raise ToolFault(f"{message} Correct them and call again.") from None
    return {field: getattr(values, field) for field in arguments_type.__struct_fields__}


def _number(text: str) -> float | int:
    """JSON Schema counts 2.0 as an integer, and some models write it so."""
    value = float(text)
    return int(value) if value.is_integer() else value


_decoder = msgspec.json.Decoder(float_hook=_number)


def _result_text(result: object) -> str:
    if result is None:
        return ""
    return str(result) if isinstance(result, str) else msgspec.json.encode(result).decode()


async def _in_thread(work: Callable[[], Any]) -> Any:
    """What a function gives, or raises, in a thread of its own.

    A thread cannot be stopped, so a cancellation ends the waiting at once and abandons it. It is none of the
    event loop's own threads: those are few, and one that is stuck would keep the program from ending.
    """
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def body() -> None:
        try:
            future.set_result(work())
        except StopIteration:
            future.set_exception(RuntimeError("StopIteration"))  # no future can hold that one itself
        except BaseException as error:  # noqa: BLE001 it is raised again where it is waited for
            future.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), daemon=True, name="tool").start()
    return await asyncio.wrap_future(future)

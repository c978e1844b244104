"""A Python function as a tool: its signature is the JSON Schema, its docstring what the model is told.

Functions that are not async run in a thread of their own. A schema has no references, since several
providers refuse them; types that cannot be written without (recursive ones) are refused.
"""

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import re
import textwrap
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_type_hints

import msgspec

from thinkaloud.agents.tools import Tool, ToolFault
from thinkaloud.canon import Refused, requests

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""
MOST_SCHEMA_NODES = 5_000
"""References to references can make a short schema grow without end."""

_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\n((?:[ \t]+[^\n]*(?:\n|\Z)|\n)+)", re.M)
_DESCRIBED = re.compile(r"^(\w+)(?: *\([^\n]*\))? *: *([^\n]*(?:\n[ \t]+[^\n]*)*)", re.M)
_ASIDE = ("$ref", "$defs", "definitions")
_VALUES = ("default", "const", "enum", "examples")
"""Keywords of JSON Schema that hold values, which may look like schemas."""
_NAMED = ("properties", "patternProperties", "dependentSchemas")
"""Keywords that hold schemas by names of any kind."""


def from_function(
    function: Callable[..., Any], *, name: str = "", approval: bool = False, timeout_s: float = 60.0
) -> Tool:
    """A tool that calls a function with the arguments a model gives.

    Every argument needs an annotation. What a `functools.partial` already fills in is not offered.
    """
    target, filled = _unwrapped(function)
    name = name or getattr(target, "__name__", "")
    if not NAME.fullmatch(name):
        raise Refused(
            f"A tool cannot be called {name!r}. Give it a name= of 1 to 64 letters of ASCII, digits, _ and -."
        )
    taken = _taken(function, target, filled, name)
    schema = _schema(taken, name)
    summary, descriptions = _documented(inspect.getdoc(target) or "")
    for argument, text in descriptions.items():
        if argument in schema["properties"]:
            schema["properties"][argument]["description"] = text

    async def run(arguments: str) -> str:
        given = _read(arguments, taken, name)
        if inspect.iscoroutinefunction(target):
            return _written(await function(**given))
        came = await _in_thread(functools.partial(function, **given))
        return _written(await came if inspect.isawaitable(came) else came)

    definition = requests.Tool(name, summary, msgspec.json.encode(schema).decode())
    return Tool(definition=definition, run=run, approval=approval, timeout_s=timeout_s)


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every reference replaced by what it refers to; `Refused` says what is in the way."""
    try:
        return dict(_Writing(schema).out(dict(schema), ("#",)))
    except RecursionError:
        raise Refused("a schema that is nested too deeply. Make it simpler.") from None


class _Writing:
    """A schema that is being written out in full."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._left = MOST_SCHEMA_NODES

    def out(self, node: Any, within: tuple[str, ...]) -> Any:
        """The node without references; `within` are those that led to it."""
        self._left -= 1
        if self._left < 0:
            raise Refused(f"a schema of more than {MOST_SCHEMA_NODES:,} parts. Make it simpler.")
        if isinstance(node, list):
            return [self.out(one, within) for one in node]
        if not isinstance(node, dict):
            return node
        own = {key: self._part(key, value, within) for key, value in node.items() if key not in _ASIDE}
        if "$ref" not in node:
            return own
        ref = str(node["$ref"])
        if ref in within:
            raise Refused("a type that contains itself. Write one that has an end, such as a list of names.")
        found = self.out(self._referred(ref), (*within, ref))
        return {**found, **own} if isinstance(found, dict) else found

    def _part(self, key: str, value: Any, within: tuple[str, ...]) -> Any:
        if key in _NAMED and isinstance(value, dict):
            return {name: self.out(one, within) for name, one in value.items()}
        return value if key in _VALUES else self.out(value, within)

    def _referred(self, ref: str) -> Any:
        node: Any = self._schema
        for step in ref.removeprefix("#/").split("/"):
            node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        if node is None or not ref.startswith("#/"):
            raise Refused(f"a reference to {ref[:100]!r}, which is not in it. Write it out.")
        return node


def _unwrapped(function: Callable[..., Any]) -> tuple[Callable[..., Any], set[str]]:
    """What has the annotations and the docstring, and which arguments it has been given by name."""
    filled: set[str] = set()
    while isinstance(function, functools.partial):
        filled |= set(function.keywords)
        function = function.func
    return function, filled


def _taken(
    function: Callable[..., Any], target: Callable[..., Any], filled: set[str], name: str
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
    for one in arguments:
        if one.name in filled:
            continue
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            raise Refused(f"{name} cannot be a tool: a model gives arguments by name, but {one} takes none.")
        if one.name not in hints:
            raise Refused(f"{name} cannot be a tool: {one.name} has no type. Annotate it.")
        fields.append((one.name, hints[one.name], _default(one.default)))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _default(value: object) -> Any:
    if value is inspect.Parameter.empty:
        return msgspec.NODEFAULT
    if value is None or isinstance(value, str | int | float | Enum):
        return value  # msgspec writes it into the schema
    return msgspec.field(default_factory=lambda: value)


def _schema(taken: type[msgspec.Struct], name: str) -> dict[str, Any]:
    try:
        msgspec.json.Decoder(
            taken
        )  # refuses unions that cannot be told apart, which a schema could still say
        schema = inlined(msgspec.json.schema(taken))
    except TypeError as error:
        why = str(error).splitlines()[-1]
        raise Refused(f"{name} cannot be a tool: {why}. Use types that JSON has.") from None
    except Refused as error:
        raise Refused(f"{name} cannot be a tool: its arguments need {error}") from None
    schema.pop("title", None)
    return schema


def _documented(doc: str) -> tuple[str, dict[str, str]]:
    """The first paragraph in one line, and what an `Args:` section says of each argument."""
    section = _SECTION.search(doc)
    described = _DESCRIBED.findall(textwrap.dedent(section[1])) if section else []
    first = doc[: section.start() if section else None].partition("\n\n")[0]
    return " ".join(first.split()), {name: " ".join(text.split()) for name, text in described}


def _read(arguments: str, taken: type[msgspec.Struct], name: str) -> dict[str, Any]:
    try:
        given = msgspec.convert(_decoder.decode(arguments), taken, str_keys=True)
    except msgspec.ValidationError as error:
        takes = ", ".join(taken.__struct_fields__) or "none"
        why = f"The arguments do not fit {name}: {error}. Its arguments are: {takes}."
        raise ToolFault(f"{why} Correct them and call again.") from None
    return {field: getattr(given, field) for field in taken.__struct_fields__}


def _number(text: str) -> float | int:
    """JSON Schema counts 2.0 as an integer, and some models write it so."""
    value = float(text)
    return int(value) if value.is_integer() else value


_decoder = msgspec.json.Decoder(float_hook=_number)


def _written(came: object) -> str:
    if came is None:
        return ""
    return str(came) if isinstance(came, str) else msgspec.json.encode(came).decode()


async def _in_thread(work: Callable[[], Any]) -> Any:
    """What a function gives, or raises, in a thread of its own.

    A thread cannot be stopped, so a cancellation ends the waiting at once and abandons it. It is none of the
    event loop's own threads: those are few, and one that is stuck would keep the program from ending.
    """
    came: concurrent.futures.Future[Any] = concurrent.futures.Future()
    came.set_running_or_notify_cancel()

    def body() -> None:
        try:
            came.set_result(work())
        except StopIteration:
            came.set_exception(RuntimeError("StopIteration"))  # no future can hold that one itself
        except BaseException as error:  # noqa: BLE001 it is raised again where it is waited for
            came.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), daemon=True, name="tool").start()
    return await asyncio.wrap_future(came)

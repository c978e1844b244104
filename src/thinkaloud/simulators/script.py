"""What a simulator answers: turns written in JSON, or a default answer that says what it is.

A turn whose fault breaks the response is given again, without the fault, to the next request; so "429 twice,
then the answer" is one turn. When all turns are used, the default answers.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_MAX_DEPTH = 12
_MAX_NUMBER = 10_000


def schema_value(schema: object, root: object = None, depth: int = 0) -> Any:
    """Return a value for this schema; references are resolved in the outermost schema."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {} if depth == 0 else "simulated"
    root = schema if root is None else root
    if "$ref" in schema:
        return schema_value(_resolve_reference(schema["$ref"], root), root, depth + 1)
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    if choices := _as_list(schema.get("enum")):
        return choices[0]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if choices := _as_list(schema.get(keyword)):
            return schema_value(choices[0], root, depth + 1)
    return _value_of_type(_schema_type(schema), schema, root, depth)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_number(value: object, default: float) -> float:
    return value if isinstance(value, int | float) and abs(value) < _MAX_NUMBER else default


def _schema_type(schema: dict[str, Any]) -> str:
    declared = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(declared, list):
        declared = next((name for name in declared if name != "null"), "null")
    return str(declared).lower()


def _value_of_type(kind: str, schema: dict[str, Any], root: object, depth: int) -> Any:
    if kind == "object":
        properties = schema.get("properties")
        known_properties = properties if isinstance(properties, dict) else {}
        required = [
            name
            for name in _as_list(schema.get("required"))
            if isinstance(name, str) and name in known_properties
        ]
        return {name: schema_value(known_properties[name], root, depth + 1) for name in required}
    if kind == "array":
        return [schema_value(schema.get("items"), root, depth + 1)] * int(
            _as_number(schema.get("minItems"), 1)
        )
    if kind in ("integer", "number"):
        return _number_value(kind, schema)
    constants: dict[str, Any] = {"boolean": False, "null": None}
    return constants.get(kind, "simulated".ljust(int(_as_number(schema.get("minLength"), 0)), "."))


def _number_value(kind: str, schema: dict[str, Any]) -> int | float:
    minimum = _as_number(schema.get("minimum"), 0)
    if "exclusiveMinimum" in schema:
        minimum = _as_number(schema["exclusiveMinimum"], 0) + (1 if kind == "integer" else 0.5)
    maximum = _as_number(schema.get("maximum"), minimum)
    return int(min(minimum, maximum)) if kind == "integer" else float(min(minimum, maximum))


def _resolve_reference(path: object, root: object) -> object:
    value: object = root
    for key in str(path).removeprefix("#/").split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


_WORD_PATTERN = re.compile(r"\s*\S+\s?|\s+")
_BREAKING_FAULTS = {"status", "overload", "cut", "garbage", "gzip_bomb", "endless_line", "html", "empty"}
_DELAYING_FAULTS = {"stall", "comments", "slow"}
FAULT_KINDS = tuple(sorted(_BREAKING_FAULTS | _DELAYING_FAULTS))


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault of a response. The how-to lists the fields of each kind."""

    kind: str
    status: int = 503
    retry_after: float | None = None
    times: int = 1
    after_events: int = 0
    inside_bytes: int = 0
    seconds: float = 0.0
    size: int = 64 * 1024 * 1024
    again: bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in FAULT_KINDS:
            raise ValueError(f"unknown fault {self.kind!r}; use one of: {', '.join(FAULT_KINDS)}")

    @property
    def repeats(self) -> bool:
        """Whether the next request gets the same turn again."""
        return self.kind in _BREAKING_FAULTS if self.again is None else self.again


class ScriptedToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the simulated model makes."""

    name: str
    arguments: dict[str, Any] = {}


class ScriptedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of the simulated model."""

    thinking: str | list[str] = ""
    text: str = ""
    tool_calls: list[ScriptedToolCall] = []
    redacted: bool = False
    finish: str = ""
    fault: Fault | None = None
    delay_ms: int = 0

    def __post_init__(self) -> None:
        if self.finish not in FINISH_WORDS:
            raise ValueError(f"unknown finish {self.finish!r}; use one of: {', '.join(FINISH_WORDS)}")

    @property
    def thoughts(self) -> list[str]:
        """The thoughts, one text for each block."""
        thoughts = [self.thinking] if isinstance(self.thinking, str) else self.thinking
        if self.redacted:
            return thoughts  # a withheld thought has no text
        return [thought for thought in thoughts if thought]

    @property
    def finish_reason(self) -> str:
        """Why the turn ends: the script's `finish`, or derived from the turn."""
        return self.finish or ("tool_calls" if self.tool_calls else "stop")


FINISH_WORDS = ("", "stop", "length", "tool_calls", "refusal")


class OfferedTool(NamedTuple):
    """A tool that the request offers."""

    name: str
    schema: object


class ReceivedPrompt(NamedTuple):
    """What a default answer depends on: the last text, the tools, and whether a tool result just arrived.

    `output_schema` is the JSON Schema that the answer must match, if one was requested.
    """

    text: str
    tools: tuple[OfferedTool, ...] = ()
    after_tool: bool = False
    tool_choice: str = "auto"
    output_schema: object = None


class Script:
    """The turns to give, in order."""

    def __init__(self, turns: list[ScriptedAnswer] | None = None) -> None:
        self._turns = list(turns or [])
        self._remaining_faults = [turn.fault.times if turn.fault else 0 for turn in self._turns]
        self._position = 0

    @classmethod
    def parse(cls, source: str | bytes | list[Any] | None) -> "Script":
        """Parse a script from JSON text or from a list."""
        if source is None:
            return cls()
        if isinstance(source, list):
            return cls(msgspec.convert(source, list[ScriptedAnswer]))
        return cls(msgspec.json.decode(source, type=list[ScriptedAnswer]))

    @classmethod
    def load(cls, path: str | Path) -> "Script":
        """Read a script from a file."""
        return cls.parse(Path(path).read_bytes())

    @property
    def remaining(self) -> int:
        """The number of turns that were not given yet."""
        return len(self._turns) - self._position

    def next_answer(self, prompt: ReceivedPrompt) -> ScriptedAnswer:
        """Return the answer to this request."""
        if self._position >= len(self._turns):
            return default_answer(prompt)
        answer = self._turns[self._position]
        if answer.fault is None:
            self._position += 1
            return answer
        if self._remaining_faults[self._position] > 0:
            self._remaining_faults[self._position] -= 1
            if not answer.fault.repeats:
                self._position += 1
            return answer
        self._position += 1
        return msgspec.structs.replace(answer, fault=None)


def default_answer(prompt: ReceivedPrompt) -> ScriptedAnswer:
    """Return an answer that says that it is simulated.

    If tools are offered, first call one with valid arguments.
    """
    if prompt.tools and not prompt.after_tool and prompt.tool_choice != "none":
        tool = next((tool for tool in prompt.tools if tool.name == prompt.tool_choice), prompt.tools[0])
        arguments = schema_value(tool.schema)
        return ScriptedAnswer(
            thinking=f"A simulated thought: the tool {tool.name} is offered, so it is called.",
            tool_calls=[ScriptedToolCall(tool.name, arguments if isinstance(arguments, dict) else {})],
        )
    if prompt.output_schema is not None:
        return ScriptedAnswer(
            thinking="A simulated thought: a shape was requested, so the smallest value of it is the answer.",
            text=json.dumps(schema_value(prompt.output_schema)),
        )
    source = "tool result was" if prompt.after_tool else "message was"
    return ScriptedAnswer(
        thinking="A simulated thought: no model was asked.",
        text=f"This is a simulated answer; no model was asked. The last {source}: {prompt.text[:200]}",
    )


def split_words(text: str) -> Iterator[str]:
    """Split the text into words, as it is streamed."""
    yield from _WORD_PATTERN.findall(text)


def count_tokens(*texts: str) -> int:
    """Estimate a token count: one for every four characters, rounded up."""
    return sum((len(text) + 3) // 4 for text in texts)

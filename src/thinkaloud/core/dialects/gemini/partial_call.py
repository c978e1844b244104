"""Assembles the arguments of a Gemini call that is streamed as values at JSON paths (`partialArgs`).

A part with `willContinue` is followed by more of the same call. Every value has a path such as `$.city` or
`$.days[0].high`; a string may arrive in several pieces.
"""

import re
from itertools import islice, pairwise
from typing import Any

import msgspec

from thinkaloud.core.dialects.lenient import Text
from thinkaloud.core.dialects.message import ABSENT, GrowingString, JsonObject, encode_json, present

_PATH_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]"""
)


MAX_DEPTH = 64
"""The most steps of a path: deeper arguments could not be encoded, and no tool has them."""


class PartialArgument(msgspec.Struct, rename="camel"):
    """A value, or a piece of a string, at one path of the arguments."""

    json_path: str = ""
    string_value: Text | None = None
    number_value: msgspec.Raw = ABSENT
    bool_value: bool | None = None

    @property
    def value(self) -> object:
        """The value; None is null."""
        if self.string_value is not None:
            return GrowingString(self.string_value)
        return self.number_value if present(self.number_value) else self.bool_value


class PartialCall:
    """One call whose arguments still arrive; `part` is the part of the message that it becomes."""

    def __init__(self, part: JsonObject) -> None:
        self._part = part
        call = part.get("functionCall")
        self._call: JsonObject = call if isinstance(call, dict) else {}
        self._call.pop("willContinue", None)
        self._call.pop("partialArgs", None)
        arguments = self._call.get("args")
        self._arguments: JsonObject = arguments if isinstance(arguments, dict) else {}
        self._call["args"] = self._arguments
        part["functionCall"] = self._call

    def continued_by(self, name: str | None, call_id: str | None) -> bool:
        """Return whether a part with this name and id, which most parts leave out, continues the call."""
        return name in (None, "", self._call.get("name")) and call_id in (None, "", self._call.get("id"))

    def add(self, argument: PartialArgument) -> bool:
        """Set a value at its path, or append to the string there; return False if the path is too deep."""
        matches = islice(_PATH_STEP.finditer(argument.json_path), MAX_DEPTH + 1)
        steps = [_step(match) for match in matches]
        if len(steps) > MAX_DEPTH:
            return False
        container: Any = self._arguments
        for step, next_step in pairwise(steps):
            container = _child(container, step, [] if isinstance(next_step, int) else {})
        if not steps:
            return True
        value, current = argument.value, _get(container, steps[-1])
        if isinstance(current, GrowingString) and isinstance(value, GrowingString):
            current.pieces += value.pieces
        else:
            _set(container, steps[-1], value)
        return True

    def arguments(self) -> str:
        """Return the arguments so far as JSON."""
        return encode_json(self._arguments)

    def encode_part(self) -> msgspec.Raw:
        """Return the part with the assembled call, to be sent back."""
        return msgspec.Raw(encode_json(self._part).encode())


def _step(match: re.Match[str]) -> str | int:
    if match["index"] is not None:
        return int(match["index"])
    return match["name"] if match["name"] is not None else match["quoted"]


def _get(container: Any, step: str | int) -> Any:
    if isinstance(container, list):
        return container[step] if isinstance(step, int) and step < len(container) else None
    return container.get(str(step))


def _set(container: Any, step: str | int, value: object) -> None:
    if isinstance(container, dict):
        container[str(step)] = value
    elif isinstance(step, int) and step < len(container):
        container[step] = value
    else:
        container.append(value)  # values arrive in order, so an index beyond the end is the next one


def _child(container: Any, step: str | int, empty: object) -> Any:
    """Return the object or list at a step of a path; an empty one is added if there is none."""
    child = _get(container, step)
    if not isinstance(child, dict | list):
        child = empty
        _set(container, step, child)
    return child

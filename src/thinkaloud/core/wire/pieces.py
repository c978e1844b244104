"""What a program holds of a response, as bytes and frames: lines without their ends, and objects of an SDK.

No SDK is imported. An object is read by its shape, with the names of the wire and with the fields that the
provider sent, also those that the SDK does not know. Bytes become base64, as they were on the wire.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from thinkaloud.core.wire.frames import DEFAULT_LIMITS, MIB, Frame, WireLimits
from thinkaloud.core.wire.json_frames import valid_json
from thinkaloud.core.wire.lines import CR, LF
from thinkaloud.core.wire.sse import DONE

_LINE_START = re.compile(rb"(?:data|event|id|retry)?:|\{|\[DONE\]\Z")
_SHORT_FIELD = re.compile(rb"(?:\xef\xbb\xbf)?(?:event|id|retry)?:.{0,200}\Z", re.DOTALL)
_DATA_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:data: ?)?(?=\{|\[DONE\]\Z)")
_MAX_CHECKED_BYTES = MIB
"""A longer line is complete only when the next one begins: checking each of many would take long."""

_EVENT_FIELDS = frozenset(("data", "event", "id", "retry"))
_DERIVED_TYPES = frozenset(
    (
        *("text", "thinking", "signature", "citation", "input_json"),
        *("content.delta", "content.done", "refusal.delta", "refusal.done"),
        *("tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"),
        *("logprobs.content.delta", "logprobs.content.done"),
        *("logprobs.refusal.delta", "logprobs.refusal.done"),
    )
)
"""Events that the stream helpers of SDKs derive from the events of the wire, which they yield as well."""


class LineEnds:
    """Adds the line ends that `iter_lines()` takes away.

    A line end is missing where a piece ends with a whole line, or begins like a line after a whole one.
    Inside of a line that is cut anywhere neither is the case, so bytes as they were sent stay as they are.
    """

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._max_checked_bytes = min(_MAX_CHECKED_BYTES, limits.line_bytes, limits.event_bytes)
        self.unfinished: list[bytes] = []
        """The line within which the bytes so far end."""
        self._checked = False

    def restore(self, data: bytes) -> bytes:
        """Return the next bytes, with the line ends that are missing before and after them."""
        if self.unfinished and _LINE_START.match(data) and self._whole_line_before():
            data = LF + data
        line_start = max(data.rfind(LF), data.rfind(CR)) + 1
        if line_start:
            self.unfinished.clear()
            self._checked = False
        line = data[line_start:] if line_start else data
        if not line:
            return data
        if not self.unfinished and len(line) <= self._max_checked_bytes and _whole_data(line):
            return data + LF + LF
        self.unfinished.append(line)
        return data

    def _whole_line_before(self) -> bool:
        """Return whether the bytes so far are a whole line. It is asked once for each line."""
        if self._checked:
            return False
        self._checked = True
        line = b"".join(self.unfinished)
        return _SHORT_FIELD.match(line) is not None or _whole_data(line)


def _whole_data(line: bytes) -> bool:
    start = _DATA_START.match(line)
    if start is None:
        return False
    data = line[start.end() :]
    return data == DONE or (data[-1:] == b"}" and valid_json(data))


def frame_of(value: object) -> Frame | None:
    """Return the frame that an object of an SDK or a mapping was read from; None for a derived event.

    Raises `TypeError` if it is neither.
    """
    fields = _fields_of(value)
    if fields is None:
        raise TypeError(type(value).__name__)
    event = fields.get("event")
    if "data" in fields and fields.keys() <= _EVENT_FIELDS:  # a server-sent event, as SDKs wrap it
        data = fields["data"]
        body = data.encode() if isinstance(data, str) else _encoder.encode(data)
        return Frame(body, event if isinstance(event, str) else "")
    if fields.get("type") == "chunk" and "chunk" in fields:  # of a stream helper, with what it derived
        return frame_of(fields["chunk"])
    if fields.get("type") in _DERIVED_TYPES:
        return None
    return Frame(_encoder.encode(fields))


def readable(value: object) -> bool:
    """Return whether an object has a shape that `frame_of` reads, and is no stream of such objects."""
    if isinstance(value, Mapping) or _dump_of(value) is not None:
        return True
    return _has_fields(value) and not hasattr(value, "__iter__") and not hasattr(value, "__aiter__")


def _fields_of(value: object) -> dict[str, Any] | None:
    """Return the fields of an object with the names of the wire; None if it has no known shape."""
    if isinstance(value, Mapping):
        return value if isinstance(value, dict) else dict(value)
    if dump := _dump_of(value):
        fields = dump()
        return fields if isinstance(fields, dict) else None
    if not _has_fields(value):
        return None
    if hasattr(value, "__dataclass_fields__") or hasattr(value, "__struct_fields__"):
        fields = msgspec.to_builtins(value, enc_hook=_plain)
        return fields if isinstance(fields, dict) else None
    return {name: getattr(value, name, None) for name in _EVENT_FIELDS}


def _dump_of(value: object) -> Callable[[], object] | None:
    """Return what gives the fields that the provider sent: a method of Pydantic 2, Pydantic 1, or others."""
    if isinstance(value, type):
        return None
    if callable(dump := getattr(value, "model_dump", None)):
        return partial(dump, mode="python", by_alias=True, exclude_unset=True, warnings=False)
    if hasattr(value, "__fields_set__") and callable(dump := getattr(value, "dict", None)):
        return partial(dump, by_alias=True, exclude_unset=True)
    to_dict = getattr(value, "to_dict", None)
    return to_dict if callable(to_dict) else None


def _has_fields(value: object) -> bool:
    """Return whether an object is a dataclass, a struct, or a server-sent event of a small library."""
    if isinstance(value, type):
        return False
    is_record = hasattr(value, "__dataclass_fields__") or hasattr(value, "__struct_fields__")
    return is_record or (isinstance(getattr(value, "data", None), str) and hasattr(value, "event"))


def _plain(value: object) -> object:
    fields = _fields_of(value)
    return str(value) if fields is None else fields


_encoder = msgspec.json.Encoder(enc_hook=_plain)

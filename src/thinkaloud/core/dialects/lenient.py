"""Decodes JSON into structs without failing on a field of the wrong type.

A frame of the documented types is decoded in one step. Any other frame is decoded field by field: a value of
the wrong type is converted if its meaning is clear (`5.0` and `"5"` are the integer 5, a number in a text is
its digits, one value in place of a list is a list of it, a string in place of an object with a text is that
text), and left out otherwise. `Raw` fields keep their bytes. Every such field is recorded, so that the
turn can say what was odd. Only data that is no JSON object at all is an error.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar, cast

import msgspec
from msgspec import inspect

from thinkaloud.core.canon import Wording
from thinkaloud.core.wire import replace_non_json_numbers

_MAX_FIELDS = 20
"""The number of odd fields that are listed; more of them add nothing to the picture."""
_MAX_VALUE_CHARACTERS = 60
_MAX_INTEGER_DIGITS = 19
"""An integer with more digits is kept as it was written."""

T = TypeVar("T", bound=msgspec.Struct)

Count = Annotated[int, msgspec.Meta(extra={"count": True})]
"""A number of tokens, which some servers send as a float or a string. A plain `int` is an index, and one that
is no integer says nothing."""
Text = Annotated[str, msgspec.Meta(extra={"text": True})]
"""Text of the model. A number, object or list in its place is read as its JSON text, so that no word is lost;
a `str` is a name, an id or a reason, of which only a number can be read as text."""


class OddFields:
    """The fields of one response that had a value of the wrong type, and how often."""

    def __init__(self) -> None:
        self._count_by_message: dict[tuple[str, str], int] = {}
        self._example_by_message: dict[tuple[str, str], str] = {}

    @property
    def found(self) -> bool:
        """Whether there was any."""
        return bool(self._count_by_message)

    def add(self, path: str, expected: str, value: bytes | str) -> None:
        """Record a value at a path such as `usage.prompt_tokens`."""
        key = (path, expected)
        if key not in self._count_by_message and len(self._count_by_message) == _MAX_FIELDS:
            return
        self._count_by_message[key] = self._count_by_message.get(key, 0) + 1
        if key not in self._example_by_message:
            if isinstance(value, bytes):
                value = value[: 4 * _MAX_VALUE_CHARACTERS].decode(errors="replace")
            self._example_by_message[key] = value[:_MAX_VALUE_CHARACTERS]

    def messages(self) -> list[Wording]:
        """Return one sentence for each field."""
        messages = []
        for (path, expected), count in self._count_by_message.items():
            example = self._example_by_message[path, expected]
            message = Wording(
                "{path} is not {expected} but {example}",
                path=path or Wording("The frame"),
                expected=expected,
                example=example,
            )
            end = Wording("{message}.", message=message)
            if count > 1:
                end = Wording(
                    "{message} (and so {count} more times).", message=message, count=f"{count - 1:,}"
                )
            messages.append(end)
        return messages


_UNREADABLE = object()
"""The result for a value that has no meaning as the wanted type; its field keeps the default."""
_Convert = Callable[[bytes, str, OddFields], object]
"""Converts one JSON value; the path names it in messages."""


class LenientDecoder(Generic[T]):
    """Decodes JSON objects into one type of struct.

    `path` is the place of the object in its frame. An object with a path is only a part of a frame, and if it
    is no object at all, an empty one is returned; a frame that is no object is an error.
    """

    def __init__(self, struct: type[T], path: str = "") -> None:
        self._struct = struct
        self._path = path
        self._strict = msgspec.json.Decoder(struct).decode
        self._convert: _Convert | None = None

    def decode(self, data: bytes | msgspec.Raw, odd_fields: OddFields) -> T:
        """Decode an object and record its odd fields."""
        try:
            return self._strict(data)
        except msgspec.ValidationError:
            return self._decode_fields(bytes(data), odd_fields)
        except msgspec.DecodeError:
            repaired = replace_non_json_numbers(bytes(data))
            if repaired == data:
                raise
            odd_fields.add(self._path, "JSON", "text with NaN or Infinity, which was read as null")
            return self._decode_fields(repaired, odd_fields)

    def _decode_fields(self, data: bytes, odd_fields: OddFields) -> T:
        if self._convert is None:
            self._convert = _converter(inspect.type_info(self._struct))
        struct = self._convert(data.strip(), self._path, odd_fields)
        if struct is not _UNREADABLE:
            return cast(T, struct)
        return self._struct() if self._path else self._strict(data)  # which raises what is wrong


def _kind(data: bytes) -> str:
    """Return the JSON type of a value from its first byte."""
    return _KIND_BY_FIRST_BYTE.get(data[:1], "number")


_BOOL_BY_WORD = {
    word: value
    for value, words in ((True, (b"1", b"true", b"yes")), (False, (b"0", b"false", b"no")))
    for word in words
}
_KIND_BY_FIRST_BYTE = {
    b"{": "object",
    b"[": "array",
    b'"': "string",
    b"t": "bool",
    b"f": "bool",
    b"n": "null",
}
_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_raw_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_string = msgspec.json.Decoder(str).decode


def type_name(value: str | None) -> str:
    """Return the name of a type; "" if the field holds something else, which is then told by other fields."""
    return value if value and value[0].isalpha() else ""


def decode_object(raw: msgspec.Raw) -> dict[str, Any]:
    """Decode an object; empty if the value is anything else."""
    value = _convert_object(bytes(raw), "", OddFields())
    return value if isinstance(value, dict) else {}


def _converter(node: inspect.Type) -> _Convert:
    match node:
        case inspect.StructType():
            return _struct_converter(node)
        case inspect.UnionType():
            return _union_converter(node)
        case inspect.ListType():
            return _list_converter(node)
        case inspect.Metadata(extra={"text": True}):
            return _convert_text
        case inspect.Metadata(extra={"count": True}):
            return _convert_count
        case _:
            return _CONVERTERS[type(node)]


def _struct_converter(node: inspect.StructType) -> _Convert:
    struct = node.cls
    fields = {field.encode_name: (field.name, _converter(field.type)) for field in node.fields}
    has_text = "text" in fields

    def convert(data: bytes, path: str, odd_fields: OddFields) -> object:
        if _kind(data) != "object":
            _reject(data, path, "an object", odd_fields)
            is_text = has_text and path and _kind(data) == "string"
            return struct(text=_decode_string(data)) if is_text else _UNREADABLE
        values: dict[str, object] = {}
        for encoded_name, raw in _raw_fields(data).items():
            if encoded_name in fields:
                name, convert_field = fields[encoded_name]
                field_path = f"{path}.{encoded_name}" if path else encoded_name
                value = convert_field(bytes(raw), field_path, odd_fields)
                if value is not _UNREADABLE:
                    values[name] = value
        return struct(**values)

    return convert


def _list_converter(node: inspect.ListType) -> _Convert:
    convert_item = _converter(node.item_type)

    def convert(data: bytes, path: str, odd_fields: OddFields) -> object:
        if _kind(data) != "array":
            _reject(data, path, "a list", odd_fields)
            single = _kind(data) in ("object", "string")
            item = convert_item(data, path, OddFields()) if single else _UNREADABLE
            return _UNREADABLE if item is _UNREADABLE else [item]
        items = [convert_item(bytes(raw), f"{path}[]", odd_fields) for raw in _raw_items(data)]
        return [item for item in items if item is not _UNREADABLE]

    return convert


def _union_converter(node: inspect.UnionType) -> _Convert:
    converters = {kind: _converter(option) for option in node.types for kind in _KINDS_BY_TYPE[type(option)]}
    values = [_converter(option) for option in node.types if not isinstance(option, inspect.NoneType)]
    # Text can hold the JSON of anything; without it, the first type is what the field is meant to be.
    fallback = _convert_text if _convert_text in values else values[0]

    def convert(data: bytes, path: str, odd_fields: OddFields) -> object:
        exact = converters.get(_kind(data))
        value = _UNREADABLE if exact is None else exact(data, path, odd_fields)
        if value is _UNREADABLE and exact is not fallback:
            return fallback(data, path, odd_fields)
        return value

    return convert


def _reject(data: bytes, path: str, expected: str, odd_fields: OddFields) -> object:
    """Record a value that is left out; null is nothing odd."""
    if _kind(data) != "null":
        odd_fields.add(path, expected, data)
    return _UNREADABLE


def _convert_string(data: bytes, path: str, odd_fields: OddFields) -> object:
    if _kind(data) == "string":
        return _decode_string(data)
    _reject(data, path, "a string", odd_fields)
    return data.decode() if _kind(data) == "number" else _UNREADABLE


def _convert_text(data: bytes, path: str, odd_fields: OddFields) -> object:
    if _kind(data) == "string":
        return _decode_string(data)
    _reject(data, path, "text", odd_fields)
    return _UNREADABLE if data in (b"null", b"{}", b"[]") else data.decode()


def _convert_integer(data: bytes, path: str, odd_fields: OddFields) -> object:
    try:
        return msgspec.json.decode(data, type=int)
    except msgspec.ValidationError:
        return _reject(data, path, "an integer", odd_fields)


def _convert_count(data: bytes, path: str, odd_fields: OddFields) -> object:
    integer = _convert_integer(data, path, odd_fields)
    if integer is not _UNREADABLE:
        return integer
    try:
        number = float(data.strip(b'"'))
    except ValueError:
        return _UNREADABLE
    return int(number) if number.is_integer() else _UNREADABLE


def _convert_bool(data: bytes, path: str, odd_fields: OddFields) -> object:
    if _kind(data) == "bool":
        return data == b"true"
    _reject(data, path, "true or false", odd_fields)
    return _BOOL_BY_WORD.get(data.strip(b'"').lower(), _UNREADABLE)


def _convert_object(data: bytes, path: str, odd_fields: OddFields) -> object:
    if _kind(data) != "object":
        return _reject(data, path, "an object", odd_fields)
    try:
        return msgspec.json.decode(data)
    except msgspec.ValidationError:  # a number out of range somewhere in it
        return json.loads(data, parse_int=_parse_integer, parse_float=_raw_number)


def _raw_number(digits: str) -> msgspec.Raw:
    return msgspec.Raw(digits.encode())


def _parse_integer(digits: str) -> int | msgspec.Raw:
    return int(digits) if len(digits) < _MAX_INTEGER_DIGITS else _raw_number(digits)


def _convert_null(data: bytes, path: str, odd_fields: OddFields) -> object:
    return None if _kind(data) == "null" else _UNREADABLE


def _keep_raw(data: bytes, path: str, odd_fields: OddFields) -> object:
    return msgspec.Raw(data)


_CONVERTERS: dict[type[Any], _Convert] = {
    inspect.StrType: _convert_string,
    inspect.IntType: _convert_integer,
    inspect.FloatType: _convert_count,
    inspect.BoolType: _convert_bool,
    inspect.DictType: _convert_object,
    inspect.NoneType: _convert_null,
    inspect.RawType: _keep_raw,
}
_KINDS_BY_TYPE: dict[type[Any], tuple[str, ...]] = {
    inspect.StrType: ("string",),
    inspect.Metadata: ("string", "number"),
    inspect.IntType: ("number",),
    inspect.FloatType: ("number",),
    inspect.BoolType: ("bool",),
    inspect.DictType: ("object",),
    inspect.StructType: ("object",),
    inspect.ListType: ("array",),
    inspect.NoneType: ("null",),
}
"""The JSON types that a type accepts as they are."""

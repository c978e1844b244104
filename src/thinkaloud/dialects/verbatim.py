"""The provider's own message, kept to be sent back as it came.

A whole message is kept byte for byte. One that came in deltas is put together from them: a tree of plain
JSON values in which strings grow by pieces (`Growing`) and are joined when the tree is encoded.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from thinkaloud.wire import valid_json


class GrowingString:
    """A JSON string that is not finished yet."""

    __slots__ = ("pieces",)

    def __init__(self, text: str = "") -> None:
        self.pieces = [text] if text else []


JsonObject = dict[str, Any]
"""A provider's own object, kept because it goes back; what it means is read elsewhere."""


def append_text(target: JsonObject, field: str, text: str) -> None:
    """Add text to a string field, which may not be there yet."""
    current = target.get(field)
    if not isinstance(current, GrowingString):
        current = target[field] = GrowingString(current if isinstance(current, str) else "")
    current.pieces.append(text)


_PARTIAL_JSON = "(pieces)"
"""Where JSON that comes as text in pieces is held; no provider has a field of that name."""


def append_json(target: JsonObject, text: str) -> None:
    """Add text to a JSON value that comes in pieces; `settle_json` puts it where it belongs."""
    append_text(target, _PARTIAL_JSON, text)


def finish_json(target: JsonObject, destination: JsonObject, field: str) -> bool:
    """Put what came in pieces into its field, if it is whole; False when nothing came."""
    data = text_of(target.pop(_PARTIAL_JSON, None)).encode()
    if valid_json(data):
        destination[field] = msgspec.Raw(data)
    return bool(data)


def text_of(value: object) -> str:
    """A string, grown or not; anything else is none."""
    if isinstance(value, GrowingString):
        return "".join(value.pieces)
    return value if isinstance(value, str) else ""


_json_encoder = msgspec.json.Encoder(enc_hook=text_of)


def encode_json(message: object) -> str:
    """The message as JSON."""
    return _json_encoder.encode(message).decode()


_string_decoder = msgspec.json.Decoder(str)

ABSENT = msgspec.Raw()
"""A JSON value that was not sent."""


def present(raw: msgspec.Raw) -> bool:
    """Whether a value was sent and is not null."""
    return bool(raw) and bytes(raw) != b"null"


def raw_json(raw: msgspec.Raw) -> str:
    """A JSON value as the provider wrote it; nothing for a missing or null one."""
    return bytes(raw).decode() if present(raw) else ""


def string_or_json(raw: msgspec.Raw) -> str:
    """What a value says: the string it holds, or its JSON where it is something else."""
    return _string_decoder.decode(raw) if bytes(raw)[:1] == b'"' else raw_json(raw)


def raw_json_array(items: Iterable[msgspec.Raw]) -> str:
    """Values as one JSON array, each byte for byte."""
    return "[" + ",".join(bytes(item).decode() for item in items) + "]"

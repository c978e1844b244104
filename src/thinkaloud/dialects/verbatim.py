"""The provider's own message, kept to be sent back as it came.

A whole message is kept byte for byte. One that came in deltas is put together from them: a tree of plain
JSON values in which strings grow by pieces (`Growing`) and are joined when the tree is encoded.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from thinkaloud.wire import complete


class Growing:
    """A JSON string that is not finished yet."""

    __slots__ = ("pieces",)

    def __init__(self, text: str = "") -> None:
        self.pieces = [text] if text else []


JsonObject = dict[str, Any]
"""A provider's own object, kept because it goes back; what it means is read elsewhere."""


def grow(target: JsonObject, field: str, text: str) -> None:
    """Add text to a string field, which may not be there yet."""
    there = target.get(field)
    if not isinstance(there, Growing):
        there = target[field] = Growing(there if isinstance(there, str) else "")
    there.pieces.append(text)


_PIECES = "(pieces)"
"""Where JSON that comes as text in pieces is held; no provider has a field of that name."""


def grow_json(target: JsonObject, text: str) -> None:
    """Add text to a JSON value that comes in pieces; `settle_json` puts it where it belongs."""
    grow(target, _PIECES, text)


def settle_json(target: JsonObject, into: JsonObject, field: str) -> bool:
    """Put what came in pieces into its field, if it is whole; False when nothing came."""
    pieces = text_of(target.pop(_PIECES, None)).encode()
    if complete(pieces):
        into[field] = msgspec.Raw(pieces)
    return bool(pieces)


def text_of(value: object) -> str:
    """A string, grown or not; anything else is none."""
    if isinstance(value, Growing):
        return "".join(value.pieces)
    return value if isinstance(value, str) else ""


_encoder = msgspec.json.Encoder(enc_hook=text_of)


def encode(message: object) -> str:
    """The message as JSON."""
    return _encoder.encode(message).decode()


_string = msgspec.json.Decoder(str)

ABSENT = msgspec.Raw()
"""A JSON value that was not sent."""


def present(raw: msgspec.Raw) -> bool:
    """Whether a value was sent and is not null."""
    return bool(raw) and bytes(raw) != b"null"


def raw_text(raw: msgspec.Raw) -> str:
    """A JSON value as the provider wrote it; nothing for a missing or null one."""
    return bytes(raw).decode() if present(raw) else ""


def raw_string(raw: msgspec.Raw) -> str:
    """What a value says: the string it holds, or its JSON where it is something else."""
    return _string.decode(raw) if bytes(raw)[:1] == b'"' else raw_text(raw)


def raw_array(items: Iterable[msgspec.Raw]) -> str:
    """Values as one JSON array, each byte for byte."""
    return "[" + ",".join(bytes(item).decode() for item in items) + "]"

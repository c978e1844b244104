"""A client's request in any dialect: the conversation as the client keeps it, and what it asks for.

Clients send more fields than a gateway knows, so unknown ones are passed over. What would change the answer
and cannot be honoured is named in `ignored`; what is no request at all is refused.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Image, ToolCall, ToolDefinition, ToolMessage, UserMessage

_T = TypeVar("_T")


class ClientThought(msgspec.Struct, frozen=True):
    """A thought that a client sent back; `opaque` is its signature, encrypted content or redacted data."""

    text: str = ""
    opaque: str = ""


class ClientAnswer(msgspec.Struct, frozen=True):
    """An assistant's message as the client has it. It may have lost its thoughts, or changed its text."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    thoughts: tuple[ClientThought, ...] = ()
    verbatim: str = ""
    """The message as JSON, where a provider may demand it back unchanged."""


ClientStep = UserMessage | ToolMessage | ClientAnswer


class ClientRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks for."""

    model: str
    steps: tuple[ClientStep, ...]
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str = ""
    thinking: str | int | None = None
    """A level, a number of tokens or "off"; None leaves it to the model."""
    max_tokens: int | None = None
    stream: bool = False
    include_usage: bool = True
    continues: str = ""
    """The id of the response that this request continues, if the client named it instead of sending it."""
    ignored: tuple[str, ...] = ()
    """Fields that are not honoured."""


_LEVELS = {
    "none": "off",
    "off": "off",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "max",
    "max": "max",
}


def thinking_level(effort: str | None) -> str | None:
    """Return the level of an effort in a client's words; a word that is not known leaves it to the model."""
    return _LEVELS.get((effort or "").lower())


def decode_request(decoder: msgspec.json.Decoder[_T], body: bytes) -> _T:
    """Decode a request, or refuse it with the place that is wrong."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"The request cannot be read: {error}. Correct it, and send it again.") from None
    except RecursionError:
        raise Refused("The request is nested too deeply. Send a flatter one.") from None


def image_from_url(url: str) -> Image:
    """Return the image in a data URL. The gateway fetches no images from other hosts."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise Refused(
            f"The image {url[:60]!r} is not a data URL. The gateway fetches no images; send it as "
            "`data:image/png;base64,…`."
        )
    return checked_image(head.removeprefix("data:").removesuffix(";base64"), data)


def checked_image(media_type: str, data: str) -> Image:
    """Return an image whose data is base64, or refuse it."""
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"The data of an image ({media_type}) is not base64. Encode it.") from None
    return Image(media_type, data)


_IMAGE_STARTS = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lG": "image/gif", "UklG": "image/webp"}


def image_without_type(data: str) -> Image:
    """Return an image whose type is told by its first bytes."""
    for start, media_type in _IMAGE_STARTS.items():
        if data.startswith(start):
            return checked_image(media_type, data)
    raise Refused("An image is neither PNG, JPEG, GIF nor WebP. Convert it.")


def user_message(texts: Sequence[str], images: Sequence[Image] = ()) -> UserMessage:
    """Return a user's message of several parts."""
    return UserMessage("\n\n".join(text for text in texts if text), tuple(images))


def unsupported_part(kind: str) -> Refused:
    """Return the refusal of a content part that would be lost."""
    return Refused(f"Content of type {kind[:40]!r} is not supported here. Send text or images.")


def json_text(value: Any) -> str:
    """Return a JSON value as text, a string as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def tool_definition(name: str, description: str | None, schema: msgspec.Raw) -> ToolDefinition:
    """Return a tool that the client runs; without a schema it takes no arguments."""
    definition = ToolDefinition(name, description or "")
    if bytes(schema) in (b"", b"null"):
        return definition
    if bytes(schema)[:1] != b"{":
        raise Refused(f"The parameters of the tool {name[:64]!r} are no JSON Schema. Send an object.")
    return msgspec.structs.replace(definition, parameters=bytes(schema).decode())

"""A client's request in any dialect: the conversation as the client keeps it, and what it asks for.

Clients send more fields than a gateway knows, so unknown ones are passed over. Those that could change the
answer are named in `ignored`; what is no request at all is refused.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.canon.requests import (
    CLIENT_TOOL_NAME,
    File,
    Image,
    OnUnavailable,
    RequestOptions,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
    media_type_of,
)
from thinkaloud.core.dialects.request import PDF
from thinkaloud.core.wire import repaired_json

SYSTEM_ROLES = ("system", "developer")
"""The roles of OpenAI's messages that instruct the model."""
_IMAGE_TYPE = re.compile(r"image/[a-z0-9.+-]{1,40}")
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
    turn: str = ""
    """The id of the turn that gave the answer, if the client sent references to its items."""


ClientStep = UserMessage | ToolMessage | ClientAnswer


class Thread(StrEnum):
    """What a client asks the server to hold, so that it need not send everything again."""

    NONE = ""
    CREATE = "create"
    """The conversation, the system prompt and the tools."""
    CONTINUE = "continue"
    """The same, and the request has only what is new. `continues` names the last response."""


class ClientRequest(RequestOptions, frozen=True, kw_only=True):
    """What a client asks for: the conversation as it keeps it, and the options that it set."""

    model: str
    steps: tuple[ClientStep, ...]
    on_thinking_unavailable: OnUnavailable = "warn"
    tools: tuple[ToolDefinition, ...] = ()
    tool_offers: dict[str, bool] = msgspec.field(default_factory=dict)
    """Tools that were withdrawn (False) or offered again during the conversation, by name."""
    stream: bool = False
    include_usage: bool = True
    refers_to_ids: bool = False
    """Whether the client may name this response, or items of it, in place of sending them again."""
    continues: str = ""
    """The id of the response that this request continues, if the client named it instead of sending it."""
    thread: Thread = Thread.NONE
    text_tools: frozenset[str] = frozenset()
    """The names of tools that take plain text instead of JSON (`custom` tools of OpenAI)."""
    client_ids: dict[str, str] = msgspec.field(default_factory=dict)
    """Ids of the client that the response repeats, where its format has them."""
    ignored: tuple[str, ...] = ()
    """Fields that are not honoured."""

    @property
    def offered_tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that the model may call now."""
        return tuple(tool for tool in self.tools if self.tool_offers.get(tool.name, True))


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


_JSON_TOKEN = re.compile(rb'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")(?P<colon>\s*+:)?|[{}]', re.DOTALL)
"""A string, with the colon after the name of a field, or the beginning or the end of an object."""


def refuse_ambiguous_json(body: bytes) -> None:
    """Refuse text that is not valid, and a field that was sent twice in one object.

    A proxy and the gateway could each read something else. The decoder passes over both where it skips a
    value or keeps it as it is. No value is built here: a small body can hold millions of them.
    """
    if repaired_json(body) != body:
        raise Refused("The body has text that is not valid UTF-8, or half of a character. Correct it.")
    objects: list[set[bytes]] = []
    for token in _JSON_TOKEN.finditer(body):
        if token["colon"] is not None and objects:
            name = token["string"]
            if b"\\" in name:  # the same name can be spelled in many ways
                name = msgspec.json.encode(msgspec.json.decode(name))
            if name in objects[-1]:
                shown = name[1:-1].decode()[:40]
                raise Refused(
                    "The field {shown} was sent twice in one object. Send it once.", shown=repr(shown)
                )
            objects[-1].add(name)
        elif token[0] == b"{":
            objects.append(set())
        elif token[0] == b"}" and objects:
            objects.pop()


def decode_request(decoder: msgspec.json.Decoder[_T], body: bytes) -> _T:
    """Decode a request, or refuse it with the place that is wrong."""
    try:
        request = decoder.decode(body)
        refuse_ambiguous_json(body)
        return request
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(
            "The request cannot be read: {reason}. Correct it, and send it again.", reason=reason_of(error)
        ) from None
    except RecursionError:
        raise Refused("The request is nested too deeply. Send a flatter one.") from None


JSON_OBJECT: dict[str, Any] = {"type": "object"}
"""The schema of JSON mode, in which the answer is any JSON object."""

_WITHOUT_EFFECT = frozenset(
    {
        "betas",
        "cache_control",
        "client_metadata",
        "include",
        "keep_alive",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "stream_options",
        "user",
    }
)
"""Fields that change bookkeeping, price or transport, and not the answer."""
_NEUTRAL_VALUES = frozenset((b"null", b"false", b"0", b"0.0", b'""', b"[]", b"{}"))
_DEFAULT_VALUES = {
    "modalities": b'["text"]',
    "truncation": b'"disabled"',
}
"""Values that a client may send as well as leave out."""
_MOST_IGNORED = 20
_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def ignored_fields(data: bytes | msgspec.Raw, honoured: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the names of the fields of an object that are not honoured and could change the answer."""
    known = frozenset(honoured.__struct_fields__) | _WITHOUT_EFFECT
    fields = _fields_decoder.decode(data)
    names = [name[:64] for name in fields if name not in known and _has_effect(name, bytes(fields[name]))]
    return tuple(names[:_MOST_IGNORED])


def _has_effect(name: str, value: bytes) -> bool:
    if name in _DEFAULT_VALUES:
        return value not in (b"null", _DEFAULT_VALUES[name])
    return value not in _NEUTRAL_VALUES


def image_from_url(url: str) -> Image:
    """Return the image in a data URL. Nothing is fetched from other hosts."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise Refused(
            "The image {url} is not a data URL. No image is fetched; send it as `data:image/png;base64,…`.",
            url=repr(url[:60]),
        )
    return checked_image(head.removeprefix("data:").removesuffix(";base64"), data)


def checked_image(media_type: str, data: str) -> Image:
    """Return an image whose data is base64, or refuse it. Without a type, its first bytes tell it."""
    found = media_type_of(_decoded(data))
    if not _IMAGE_TYPE.fullmatch(media_type or found):
        raise Refused(
            "The type {media_type} is no type of an image. Send PNG, JPEG, GIF or WebP.",
            media_type=repr(media_type[:40]),
        )
    return Image(media_type or found, data)


def checked_pdf(data: str, name: str = "") -> File:
    """Return a PDF file whose data is base64, or refuse it."""
    if media_type_of(_decoded(data)) != PDF:
        raise Refused("A document is not a PDF file. Send PDF, text or images.")
    return File(PDF, data, name)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Refused("The data of an image or a file is not base64. Encode it.") from None


def stop_sequences(stop: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the texts before which the answer ends."""
    stops = (stop,) if isinstance(stop, str) else tuple(stop or ())
    return tuple(filter(None, stops))


def paragraphs(texts: Iterable[str]) -> str:
    """Return the texts that are not empty, with a blank line between them."""
    return "\n\n".join(filter(None, texts))


def joined_message(
    texts: Sequence[str], images: Sequence[Image] = (), files: Sequence[File] = ()
) -> UserMessage:
    """Return a user's message of several parts."""
    return UserMessage(paragraphs(texts), tuple(images), tuple(files))


def unsupported_part(kind: str) -> Refused:
    """Return the refusal of a content part that would be lost."""
    return Refused("Content of type {kind} is not supported here. Send text or images.", kind=repr(kind[:40]))


def merged_answers(steps: Iterable[ClientStep]) -> Iterator[ClientStep]:
    """Join parts of an answer that follow each other. Parts without anything in them are left out."""
    answer = ClientAnswer()
    for step in steps:
        if isinstance(step, ClientAnswer):
            answer = ClientAnswer(
                answer.text + step.text,
                answer.calls + step.calls,
                answer.thoughts + step.thoughts,
                answer.turn or step.turn,
            )
            continue
        if answer != ClientAnswer():
            yield answer
            answer = ClientAnswer()
        yield step
    if answer != ClientAnswer():
        yield answer


class FunctionFields(msgspec.Struct):
    """A function as Chat Completions and Ollama write it, in a call or in a tool."""

    name: str = ""
    arguments: Any = ""
    description: str | None = None
    parameters: msgspec.Raw = msgspec.Raw()


def json_text(value: Any) -> str:
    """Return a JSON value as text, a string as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def tool_definition(name: str, description: str | None, schema: msgspec.Raw) -> ToolDefinition:
    """Return a tool that the client runs; without a schema it takes no arguments."""
    if not re.search(CLIENT_TOOL_NAME, name):
        raise Refused(
            "The tool name {name} is not valid. Use 1 to 128 ASCII letters, digits, _ and -.",
            name=repr(name[:64]),
        )
    definition = ToolDefinition(name, description or "")
    if bytes(schema) in (b"", b"null"):
        return definition
    if bytes(schema)[:1] != b"{":
        raise Refused(
            "The parameters of the tool {name} are no JSON Schema. Send an object.", name=repr(name[:64])
        )
    return msgspec.structs.replace(definition, parameters=bytes(schema).decode())

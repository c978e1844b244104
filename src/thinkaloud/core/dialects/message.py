"""Keeps the provider's own message so that it can be sent back, and fits message lists to strict providers.

A whole message is kept byte for byte. A streamed message is rebuilt from its deltas as a tree of JSON values,
in which a `GrowingString` collects pieces until the tree is encoded. Parts of `reasoning_details` that
continue one another are joined, as the provider sends them in a whole message.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec

from thinkaloud.core.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.core.dialects.request import JsonDict
from thinkaloud.core.wire import valid_json


class GrowingString:
    """A JSON string that still grows."""

    __slots__ = ("pieces",)

    def __init__(self, text: str = "") -> None:
        self.pieces = [text] if text else []


JsonObject = dict[str, Any]
"""A provider's own JSON object, kept to be sent back."""


def append_text(target: JsonObject, field: str, text: str) -> None:
    """Append text to a string field, which may be absent."""
    current = target.get(field)
    if not isinstance(current, GrowingString):
        current = target[field] = GrowingString(current if isinstance(current, str) else "")
    current.pieces.append(text)


def append_item(target: JsonObject, field: str, item: object) -> None:
    """Append an item to a list field, which may be absent or anything else."""
    if not isinstance(target.get(field), list):
        target[field] = []
    target[field].append(item)


_PARTIAL_JSON = "(pieces)"
"""The temporary field for streamed JSON text; no provider has a field with this name."""


def append_json(target: JsonObject, text: str) -> None:
    """Append text of a streamed JSON value; `finish_json` moves it into its field."""
    append_text(target, _PARTIAL_JSON, text)


def finish_json(target: JsonObject, destination: JsonObject, field: str) -> bool:
    """Move streamed JSON text into its field if it is valid; return False if no text was streamed."""
    data = text_of(target.pop(_PARTIAL_JSON, None)).encode()
    if valid_json(data):
        destination[field] = msgspec.Raw(data)
    return bool(data)


def text_of(value: object) -> str:
    """Return a string or the text of a growing string; "" for any other value."""
    if isinstance(value, GrowingString):
        return "".join(value.pieces)
    return value if isinstance(value, str) else ""


def loose_text(value: object) -> str:
    """Return the text in a value where text is expected; a list is read as the texts of its items.

    An object is read as the text in it, or else as its JSON; an item of a list without text is no text.
    """
    if isinstance(value, list):
        return "".join(
            loose_text(item) for item in value if not isinstance(item, dict) or _text_in(item) is not None
        )
    if isinstance(value, dict) and value:
        text = _text_in(value)
        return encode_json(value) if text is None else loose_text(text)
    if value is None or value == {} or isinstance(value, str | GrowingString):
        return text_of(value)
    return encode_json(value)


def _text_in(value: JsonObject) -> object:
    return next((value[field] for field in ("text", "value") if value.get(field) is not None), None)


_json_encoder = msgspec.json.Encoder(enc_hook=text_of)


def encode_json(message: object) -> str:
    """Encode a message, with its growing strings, as JSON."""
    return _json_encoder.encode(message).decode()


_string_decoder = msgspec.json.Decoder(str)

ABSENT = msgspec.Raw()
"""The default of a JSON field that was not sent."""


def present(raw: msgspec.Raw) -> bool:
    """Return whether a value was sent and is not null."""
    return bool(raw) and bytes(raw) != b"null"


def raw_json(raw: msgspec.Raw) -> str:
    """Return a JSON value as the provider wrote it; "" if it is missing or null."""
    return bytes(raw).decode() if present(raw) else ""


def string_or_json(raw: msgspec.Raw) -> str:
    """Return the decoded string of a JSON string, or the JSON text of any other value."""
    return _string_decoder.decode(raw) if bytes(raw)[:1] == b'"' else raw_json(raw)


def raw_json_array(items: Iterable[msgspec.Raw]) -> str:
    """Return a JSON array of these values, each byte for byte."""
    return "[" + ",".join(bytes(item).decode() for item in items) + "]"


_TEXT_FIELD_BY_TYPE = {
    "reasoning.text": "text",
    "reasoning.summary": "summary",
    "thinking": "thinking",
    "text": "text",
}
"""The text field of a part, by the type of the part."""


class ChatMessage:
    """The assistant message of a chat completion, rebuilt from its deltas, with its fields in their order."""

    def __init__(self) -> None:
        self._message: JsonObject = {"role": "assistant"}
        self._calls_by_serial: dict[int, JsonObject] = {}
        self._latest_parts: dict[tuple[str, str, object], JsonObject] = {}

    def append_text(self, field: str, text: str) -> None:
        """Append text to a field; if the field is a list of parts, append a text part."""
        current = self._message.get(field)
        if isinstance(current, GrowingString):
            current.pieces.append(text)
        elif isinstance(current, list):
            self.add_parts(field, [{"type": "text", "text": text}])
        else:
            append_text(self._message, field, text)

    def has(self, field: str) -> bool:
        """Return whether a delta gave a value for a field."""
        value = self._message.get(field)
        return any(value.pieces) if isinstance(value, GrowingString) else bool(value)

    def set_field(self, field: str, value: str) -> None:
        """Set a field that arrives complete."""
        self._message[field] = value

    def add_parts(self, field: str, parts: list[JsonObject]) -> None:
        """Append parts to a list field; an empty list is kept, because some providers require it back."""
        existing_parts = self._message.get(field)
        if not isinstance(existing_parts, list):
            text = text_of(existing_parts)
            existing_parts = self._message[field] = [{"type": "text", "text": text}] if text else []
        for part in parts:
            self._add_part(field, existing_parts, part)

    def add_call(self, serial: int, call: JsonObject, name: str, arguments: str) -> None:
        """Append to the call with this serial number; `call` holds the other fields from the provider."""
        calls = self._message.setdefault("tool_calls", [])
        stored_call = self._calls_by_serial.get(serial)
        if stored_call is None:
            stored_call = self._calls_by_serial[serial] = {
                "type": "function",
                "function": {"name": "", "arguments": ""},
            }
            calls.append(stored_call)
        stored_call.update((field, value) for field, value in call.items() if value is not None)
        if name:
            stored_call["function"]["name"] = name
        append_text(stored_call["function"], "arguments", arguments)

    def encode(self) -> str:
        """Encode the message as JSON."""
        return encode_json({**self._message, "content": self._message.get("content")})

    def _add_part(self, list_field: str, parts: list[JsonObject], part: JsonObject) -> None:
        part_type, index = part.get("type"), part.get("index")
        field = _TEXT_FIELD_BY_TYPE.get(part_type) if isinstance(part_type, str) else None
        if field is None:
            parts.append(part)
            return
        new_value = part.get(field)
        previous = parts[-1] if parts else None
        if new_value is None and index is not None:
            # A late signature: its text may be far behind.
            previous = self._latest_parts.get(_part_key(list_field, part))
        if previous is None or not _continues(previous, part, field):
            parts.append(part)
            self._latest_parts[_part_key(list_field, part)] = part
            return
        old_value = previous.get(field)
        if isinstance(new_value, list) and isinstance(old_value, list):
            old_value.extend(new_value)
        elif isinstance(new_value, str):
            append_text(previous, field, new_value)
        previous.update((name, value) for name, value in part.items() if name != field and value is not None)


def _part_key(list_field: str, part: JsonObject) -> tuple[str, str, object]:
    index = part.get("index")
    return list_field, str(part.get("type")), index if isinstance(index, int | str) else None


def _continues(previous: JsonObject, part: JsonObject, field: str) -> bool:
    """Return whether a part continues another: same type and index, and text that can be joined."""
    if previous.get("type") != part.get("type") or previous.get("index") != part.get("index"):
        return False
    new_value, old_value = part.get(field), previous.get(field)
    return new_value is None or isinstance(new_value, list if isinstance(old_value, list) else str)


def join_user_messages(messages: Sequence[Message]) -> list[Message]:
    """Join consecutive user messages into one, because not every provider accepts two in a row."""
    joined: list[Message] = []
    for message in messages:
        previous = joined[-1] if joined else None
        if isinstance(message, UserMessage) and isinstance(previous, UserMessage):
            text = "\n\n".join(filter(None, (previous.text, message.text)))
            joined[-1] = UserMessage(text, previous.images + message.images, previous.files + message.files)
        else:
            joined.append(message)
    return joined


def alternate_roles(
    messages: Sequence[Message],
    encode_assistant: Callable[[AssistantMessage], object],
    encode_user: Callable[[UserMessage | ToolMessage], list[JsonDict]],
    key: str,
    *,
    results_apart: bool = False,
) -> list[object]:
    """Encode messages with alternating roles: all user and tool messages between two answers become one.

    With `results_apart`, tool messages and user messages become one each.
    """

    def role(message: Message) -> str:
        if isinstance(message, AssistantMessage):
            return "assistant"
        return "tool" if results_apart and isinstance(message, ToolMessage) else "user"

    encoded: list[object] = []
    for sender, group in groupby(messages, role):
        if sender != "assistant":
            parts = [
                part for message in group for part in encode_user(cast(UserMessage | ToolMessage, message))
            ]
            encoded.append({"role": "user", key: parts})
        else:
            encoded += [encode_assistant(cast(AssistantMessage, message)) for message in group]
    return encoded


EARLIER_LEFT_OUT = "(The earlier part of this conversation was left out.)"


def starts_with_answer(messages: Sequence[Message]) -> bool:
    """Return whether the conversation lacks its first question, which some providers demand."""
    return bool(messages) and isinstance(messages[0], AssistantMessage)


def marked_parts(encoded: Sequence[object], request: Request, key: str) -> list[list[JsonDict]]:
    """Return the parts of the encoded user messages at whose end a cache mark belongs."""
    ends = set(request.cache.messages)
    # Messages in a row that are not the model's are encoded as one.
    marks: list[bool] = []
    after_answer = True
    for position, message in enumerate(request.messages):
        if isinstance(message, AssistantMessage):
            after_answer = True
            continue
        if after_answer:
            marks.append(False)
            after_answer = False
        marks[-1] = marks[-1] or position in ends
    user_messages = [item for item in encoded if isinstance(item, dict) and item["role"] == "user"]
    return [message[key] for message, marked in zip(user_messages, marks, strict=True) if marked]


class CallIdRule(msgspec.Struct, frozen=True):
    """The format of call ids that a provider accepts; other ids are replaced by a hash of this length."""

    pattern: str
    length: int

    def fit(self, call_id: str) -> str:
        """Return the id if it is accepted, else its hash, which is the same for every request."""
        if re.fullmatch(self.pattern, call_id):
            return call_id
        return hashlib.sha256(call_id.encode()).hexdigest()[: self.length]


def fit_call_ids(messages: Sequence[Message], rule: CallIdRule) -> list[Message]:
    """Replace call ids that the provider does not accept; a verbatim message keeps its ids."""
    new_ids: dict[str, str] = {}
    fitted_messages: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.calls:
            new_ids |= {call.call_id: rule.fit(call.call_id) for call in message.calls}
            calls = tuple(
                msgspec.structs.replace(call, call_id=new_ids[call.call_id]) for call in message.calls
            )
            message = msgspec.structs.replace(message, calls=calls)
        elif isinstance(message, ToolMessage):
            message = msgspec.structs.replace(message, call_id=new_ids.get(message.call_id, message.call_id))
        fitted_messages.append(message)
    return fitted_messages

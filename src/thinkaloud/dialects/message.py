"""The provider's own message, kept to be sent back as it came.

A whole message is kept byte for byte. One that came in deltas is put together from them: a tree of plain
JSON values in which strings grow by pieces (`Growing`) and are joined when the tree is encoded.

The assistant message of a chat completion, put together from its deltas to be sent back.

Pieces of `reasoning_details` that continue one another are joined, as the provider would have sent them
in a whole message; everything else in them is left as it came, in order.

Messages in a row, as strict providers want them: by turns, and with ids of calls that they take.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec

from thinkaloud.canon.requests import AssistantMessage, Message, ToolMessage, UserMessage
from thinkaloud.dialects.request import JsonDict
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


_TEXT_FIELD_BY_TYPE = {
    "reasoning.text": "text",
    "reasoning.summary": "summary",
    "thinking": "thinking",
    "text": "text",
}
"""The field in which a piece of this type goes on."""


class ChatMessage:
    """A message that grows."""

    def __init__(self) -> None:
        self._message: JsonObject = {"role": "assistant", "content": None}
        self._calls_by_serial: dict[int, JsonObject] = {}

    def append_text(self, field: str, text: str) -> None:
        """More of a text field; where it is a list of parts, more of its text."""
        if isinstance(self._message.get(field), list):
            self.add_parts(field, [{"type": "text", "text": text}])
        else:
            append_text(self._message, field, text)

    def add_parts(self, field: str, parts: list[JsonObject]) -> None:
        """More parts of a list; an empty list is kept too, since some providers want it back."""
        existing_parts = self._message.get(field)
        if not isinstance(existing_parts, list):
            text = text_of(existing_parts)
            existing_parts = self._message[field] = [{"type": "text", "text": text}] if text else []
        for part in parts:
            self._add_part(existing_parts, part)

    def add_call(self, serial: int, call: JsonObject, name: str, arguments: str) -> None:
        """More of the call with this serial number; `call` is what else the provider said of it."""
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
        """The message as JSON."""
        return encode_json(self._message)

    def _add_part(self, parts: list[JsonObject], part: JsonObject) -> None:
        part_type = part.get("type")
        field = _TEXT_FIELD_BY_TYPE.get(part_type) if isinstance(part_type, str) else None
        previous = _continued_part(parts, part, field)
        if field is None or previous is None:
            parts.append(part)
            return
        new_value, old_value = part.get(field), previous.get(field)
        if isinstance(new_value, list) and isinstance(old_value, list):
            old_value.extend(new_value)
        elif isinstance(new_value, str) and not isinstance(old_value, list):
            append_text(previous, field, new_value)
        elif new_value is not None:
            parts.append(part)
            return
        previous.update((name, value) for name, value in part.items() if name != field and value is not None)


def _continued_part(parts: list[JsonObject], part: JsonObject, field: str | None) -> JsonObject | None:
    """What a part goes on with: the last one; or, for a signature that comes late, the one with its index."""
    signature_only = field is not None and part.get(field) is None and part.get("index") is not None
    for previous in reversed(parts if signature_only else parts[-1:]):
        if previous.get("type") == part.get("type") and previous.get("index") == part.get("index"):
            return previous
    return None


def join_user_messages(messages: Sequence[Message]) -> list[Message]:
    """The same messages, with user messages in a row joined into one: not every provider takes two."""
    joined: list[Message] = []
    for message in messages:
        previous = joined[-1] if joined else None
        if isinstance(message, UserMessage) and isinstance(previous, UserMessage):
            text = "\n\n".join(part for part in (previous.text, message.text) if part)
            joined[-1] = UserMessage(text, previous.images + message.images)
        else:
            joined.append(message)
    return joined


def alternate_roles(
    messages: Sequence[Message],
    encode_assistant: Callable[[AssistantMessage], object],
    encode_user: Callable[[UserMessage | ToolMessage], list[JsonDict]],
    key: str,
) -> list[object]:
    """Messages strictly by turns: all of the user's side between two answers is one message."""
    encoded: list[object] = []
    for from_user, group in groupby(messages, lambda message: not isinstance(message, AssistantMessage)):
        if from_user:
            parts = [
                part for message in group for part in encode_user(cast(UserMessage | ToolMessage, message))
            ]
            encoded.append({"role": "user", key: parts})
        else:
            encoded += [encode_assistant(cast(AssistantMessage, message)) for message in group]
    return encoded


class CallIdRule(msgspec.Struct, frozen=True):
    """What the id of a call may look like; one that does not gets a name made from it."""

    pattern: str
    length: int

    def fit(self, call_id: str) -> str:
        """The id, or the name made from it, always the same one."""
        if re.fullmatch(self.pattern, call_id):
            return call_id
        return hashlib.sha256(call_id.encode()).hexdigest()[: self.length]


def fit_call_ids(messages: Sequence[Message], rule: CallIdRule) -> list[Message]:
    """The same messages with call ids that the provider takes; a provider's own message keeps its ids."""
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

"""The assistant message of a chat completion, put together from its deltas to be sent back.

Pieces of `reasoning_details` that continue one another are joined, as the provider would have sent them
in a whole message; everything else in them is left as it came, in order.
"""

from thinkaloud.dialects.verbatim import JsonObject, append_text, encode_json, text_of

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

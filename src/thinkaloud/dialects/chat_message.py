"""The assistant message of a chat completion, put together from its deltas to be sent back.

Pieces of `reasoning_details` that continue one another are joined, as the provider would have sent them
in a whole message; everything else in them is left as it came, in order.
"""

from thinkaloud.dialects.verbatim import JsonObject, encode, grow, text_of

_CONTINUED = {
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
        self._calls: dict[int, JsonObject] = {}

    def grow(self, field: str, text: str) -> None:
        """More of a text field; where it is a list of parts, more of its text."""
        if isinstance(self._message.get(field), list):
            self.add_parts(field, [{"type": "text", "text": text}])
        else:
            grow(self._message, field, text)

    def add_parts(self, field: str, parts: list[JsonObject]) -> None:
        """More parts of a list; an empty list is kept too, since some providers want it back."""
        there = self._message.get(field)
        if not isinstance(there, list):
            said = text_of(there)
            there = self._message[field] = [{"type": "text", "text": said}] if said else []
        for part in parts:
            self._add(there, part)

    def add_call(self, serial: int, call: JsonObject, name: str, arguments: str) -> None:
        """More of the call with this serial number; `call` is what else the provider said of it."""
        calls = self._message.setdefault("tool_calls", [])
        there = self._calls.get(serial)
        if there is None:
            there = self._calls[serial] = {"type": "function", "function": {"name": "", "arguments": ""}}
            calls.append(there)
        there.update((field, value) for field, value in call.items() if value is not None)
        if name:
            there["function"]["name"] = name
        grow(there["function"], "arguments", arguments)

    def encode(self) -> str:
        """The message as JSON."""
        return encode(self._message)

    def _add(self, there: list[JsonObject], part: JsonObject) -> None:
        kind = part.get("type")
        field = _CONTINUED.get(kind) if isinstance(kind, str) else None
        last = _continued(there, part, field)
        if field is None or last is None:
            there.append(part)
            return
        more, said = part.get(field), last.get(field)
        if isinstance(more, list) and isinstance(said, list):
            said.extend(more)
        elif isinstance(more, str) and not isinstance(said, list):
            grow(last, field, more)
        elif more is not None:
            there.append(part)
            return
        last.update((name, value) for name, value in part.items() if name != field and value is not None)


def _continued(there: list[JsonObject], part: JsonObject, field: str | None) -> JsonObject | None:
    """What a part goes on with: the last one; or, for a signature that comes late, the one with its index."""
    late = field is not None and part.get(field) is None and part.get("index") is not None
    for last in reversed(there if late else there[-1:]):
        if last.get("type") == part.get("type") and last.get("index") == part.get("index"):
            return last
    return None

"""Messages as public instrumentations write them into spans, in one form: a role and parts.

OpenTelemetry's GenAI conventions have messages with parts, as JSON text or structured. OpenInference has
flattened messages, and the whole response of the provider in `output.value`. Earlier instrumentations have
flattened `gen_ai.prompt` and `gen_ai.completion`. Seen on 2026-11-18 with OpenInference's instrumentation of
openai 0.1.66, anthropic 3.1.0, google-genai 1.4.14, langchain 0.1.80; opentelemetry-instrumentation-openai
and -anthropic 0.62.4, logfire 5.2.0 and pydantic-ai 2.66.0.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from thinkaloud.core.canon import Finish, Refused, Usage
from thinkaloud.core.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.core.dialects.client_request import checked_image, image_from_url, joined_message
from thinkaloud.importers.json_values import array, count, mapping, string
from thinkaloud.importers.otlp_spans import numbered
from thinkaloud.importers.source_conversation import UnreadCounter

_TEXTS = frozenset(("text", "input_text", "output_text"))
_THOUGHTS = frozenset(("reasoning", "thinking", "redacted_thinking"))
_CALLS = frozenset(("tool_call", "tool_use", "function_call"))
_RESULTS = frozenset(("tool_call_response", "tool_result", "function_call_output"))
_ASSISTANTS = frozenset(("assistant", "model", "ai"))
_SYSTEMS = frozenset(("system", "developer"))
_USAGE = {
    "input": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
    ),
    "output": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
    ),
    "reasoning": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
    ),
    "cache_read": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
}
"""The names of each count, today's first."""
_FINISHES = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
    "refusal": Finish.REFUSAL,
    "error": Finish.CANCELLED,
}


class Part(msgspec.Struct):
    """One part of a message. `kind` is text, thought, call, result or image."""

    kind: str
    text: str = ""
    """The text, the arguments of a call, or a result."""
    name: str = ""
    call_id: str = ""
    failed: bool = False
    signature: str = ""
    data: str = ""
    """A thought that only its provider can read."""
    encrypted: str = ""
    item_id: str = ""
    image: Image | None = None

    @property
    def sealed(self) -> bool:
        """Whether it holds something that its provider wants back."""
        return bool(self.signature or self.data or self.encrypted)


class Message(msgspec.Struct):
    """A message in one form: `user`, `assistant`, `tool`, or `system`."""

    role: str
    parts: list[Part]

    def prompt(self) -> UserMessage | None:
        """Return what a user wrote; None if nothing of it can be read."""
        texts = [part.text for part in self.parts if part.kind == "text" and part.text]
        images = [part.image for part in self.parts if part.image is not None]
        return joined_message(texts, images) if texts or images else None

    def results(self) -> tuple[ToolMessage, ...]:
        """Return the results of calls in it."""
        return tuple(
            ToolMessage(part.call_id, part.text, part.name, failed=part.failed)
            for part in self.parts
            if part.kind == "result"
        )


def input_messages(attributes: dict[str, Any], unread: UnreadCounter) -> list[Message]:
    """Return what a model was sent, without the system prompt."""
    raw = attributes.get("gen_ai.input.messages")
    found = numbered(attributes, "llm.input_messages")
    messages: Iterable[Message]
    if raw is not None:
        messages = (_message(entry, unread) for entry in _list_of(raw, unread))
    elif found:
        messages = (_openinference_message(entry, unread) for entry in found)
    else:
        messages = (_flat_message(entry, unread) for entry in numbered(attributes, "gen_ai.prompt"))
    return list(_joined(messages, unread))


def output_parts(attributes: dict[str, Any], unread: UnreadCounter) -> list[Part]:
    """Return what the model answered, the first answer if there are several."""
    if parts := _langchain_parts(attributes.get("output.value"), unread):
        return parts
    raw = attributes.get("gen_ai.output.messages")
    if raw is not None:
        answers = _list_of(raw, unread)
        reasons = _finish_reasons(attributes)
        # Each message should be an answer of its own. Some write the items of one answer as messages.
        if len(answers) > 1 and len(reasons) == len(answers):
            unread.add("other answer of a model to the same request", len(answers) - 1)
            answers = answers[:1]
        return [part for entry in answers for part in _message(entry, unread).parts]
    # One response of OpenAI's Responses API is several messages here.
    found = numbered(attributes, "llm.output_messages")
    if found:
        return [part for entry in found for part in _openinference_message(entry, unread).parts]
    completions = numbered(attributes, "gen_ai.completion")
    return [part for entry in completions[:1] for part in _flat_message(entry, unread).parts]


def usage_of(attributes: dict[str, Any]) -> Usage:
    """Return the counts of tokens, under whichever name they have."""
    counts: dict[str, int | None] = {}
    for field, names in _USAGE.items():
        found = (count(attributes, name) for name in names)
        counts[field] = next((number for number in found if number is not None), None)
    return Usage(**counts)


def finish_of(attributes: dict[str, Any], *, calls: bool) -> Finish:
    """Return why the model stopped."""
    reason = next(iter(_finish_reasons(attributes)), attributes.get("llm.finish_reason"))
    usual = Finish.TOOL_CALLS if calls else Finish.STOP
    return _FINISHES.get(reason, usual) if isinstance(reason, str) else usual


def _finish_reasons(attributes: dict[str, Any]) -> list[Any]:
    reasons = attributes.get("gen_ai.response.finish_reasons")
    if isinstance(reasons, str):
        reasons = _decoded(reasons)
    return reasons if isinstance(reasons, list) else []


def _joined(messages: Iterable[Message], unread: UnreadCounter) -> Iterator[Message]:
    """Yield the messages, with those of an assistant that follow one another as one."""
    waiting: Message | None = None
    for message in messages:
        if message.role == "assistant" and waiting is not None:
            waiting.parts += message.parts
            continue
        if waiting is not None:
            yield waiting
        waiting = message if message.role == "assistant" else None
        if message.role == "system":
            unread.add("system prompt")
        elif waiting is None:
            yield message
    if waiting is not None:
        yield waiting


def _role(role: str) -> str:
    if role in _ASSISTANTS:
        return "assistant"
    if role in _SYSTEMS:
        return "system"
    return "tool" if role in ("tool", "function") else "user"


def _message(entry: Any, unread: UnreadCounter) -> Message:
    """Return a message of the GenAI conventions."""
    parts = entry.get("parts") if isinstance(entry, dict) else None
    if parts is None:
        parts = entry.get("content") if isinstance(entry, dict) else None
    if isinstance(parts, str):
        parts = [{"type": "text", "content": parts}]
    return Message(_role(string(entry, "role")), list(_parts(parts or [], unread)))


def _parts(parts: Any, unread: UnreadCounter) -> Iterator[Part]:
    for part in parts if isinstance(parts, list) else ():
        kind = string(part, "type")
        if isinstance(part, str):
            yield Part("text", part)
        elif kind in _TEXTS:
            text = string(part, "content") or string(part, "text")
            yield Part("text", text, signature=string(part, "signature"))
        elif kind in _THOUGHTS:
            yield _thought(part)
        elif kind in _CALLS:
            yield _call(part)
        elif kind in _RESULTS:
            yield _result(part)
        elif kind == "message":
            yield from _parts(part.get("content"), unread)
        elif kind == "blob":
            yield from _image(part, unread)
        else:
            unread.add(f"part of type {kind[:40]!r} of a message")


def _thought(part: dict[str, Any]) -> Part:
    texts = (string(part, name) for name in ("content", "thinking", "text"))
    text = next(filter(None, texts), "")
    if text.startswith('[{"'):  # some write the list of summaries as JSON text
        part = {"summary": _decoded(text), **part}
    if summaries := [string(entry, "text") for entry in array(part, "summary")]:
        text = "\n\n".join(summaries)
    return Part(
        "thought",
        text,
        signature=string(part, "signature"),
        data=string(part, "data"),
        encrypted=string(part, "encrypted_content"),
        item_id=string(part, "id"),
    )


def _call(part: dict[str, Any]) -> Part:
    arguments = part.get("arguments", part.get("input", part.get("args")))
    return Part(
        "call",
        _text(arguments if arguments is not None else {}),
        name=string(part, "name"),
        call_id=string(part, "call_id") or string(part, "id"),
        signature=string(part, "signature"),
    )


def _result(part: dict[str, Any]) -> Part:
    names = ("response", "result", "content", "output")
    result = next((part[name] for name in names if part.get(name) is not None), "")
    call_id = string(part, "id") or string(part, "tool_use_id") or string(part, "call_id")
    failed = part.get("is_error") is True
    return Part("result", _text(result), name=string(part, "name"), call_id=call_id, failed=failed)


def _image(part: dict[str, Any], unread: UnreadCounter) -> Iterator[Part]:
    try:
        yield Part("image", image=checked_image(string(part, "mime_type"), string(part, "content")))
    except Refused:
        unread.add("attached file that is no image in the trace")


def _openinference_message(entry: dict[str, Any], unread: UnreadCounter) -> Message:
    """Return a flattened message of OpenInference."""
    role, parts = _role(string(entry, "message.role")), list[Part]()
    content = string(entry, "message.content")
    ordered_calls = False
    for item in numbered(entry, "message.contents"):
        kind = string(item, "message_content.type")
        if kind == "tool_use":
            parts.append(_flat_call(item, "tool_call."))
            ordered_calls = True
        elif kind in ("text", "reasoning"):
            parts.append(
                Part(
                    "text" if kind == "text" else "thought",
                    string(item, "message_content.text"),
                    signature=string(item, "message_content.signature"),
                    data=string(item, "message_content.data"),
                    encrypted=string(item, "message_content.encrypted_content"),
                    item_id=string(item, "message_content.id"),
                )
            )
        elif kind == "image":
            parts += _image_of_url(string(item, "message_content.image.image.url"), unread)
        elif kind or item:
            unread.add(f"part of type {kind[:40]!r} of a message")
    if content and not any(part.kind == "text" and part.text for part in parts):
        parts.append(Part("text", content))
    if not ordered_calls:
        calls = numbered(entry, "message.tool_calls")
        parts += (_flat_call(call, "tool_call.") for call in calls)
    if role == "tool":
        text = "\n\n".join(part.text for part in parts if part.kind == "text")
        call_id, name = string(entry, "message.tool_call_id"), string(entry, "message.name")
        parts = [Part("result", text, name=name, call_id=call_id)]
    return Message(role, parts)


def _flat_call(call: dict[str, Any], prefix: str) -> Part:
    return Part(
        "call",
        string(call, f"{prefix}function.arguments") or "{}",
        name=string(call, f"{prefix}function.name"),
        call_id=string(call, f"{prefix}id"),
        signature=string(call, f"{prefix}reasoning_signature"),
    )


def _image_of_url(url: str, unread: UnreadCounter) -> Iterator[Part]:
    try:
        yield Part("image", image=image_from_url(url))
    except Refused:
        unread.add("image that is not in the file")


def _flat_message(entry: dict[str, Any], unread: UnreadCounter) -> Message:
    """Return a message of earlier instrumentations: `gen_ai.prompt.0.content`."""
    role, content = _role(string(entry, "role")), entry.get("content")
    if isinstance(content, str) and content.startswith("[{"):
        content = _decoded(content)
    parts = list(_parts(content, unread)) if isinstance(content, list) else []
    if thought := string(entry, "reasoning"):
        parts.insert(0, Part("thought", thought))
    if isinstance(content, str) and content:
        parts.append(Part("text", content))
    parts += (_call(call) for call in numbered(entry, "tool_calls"))
    if role == "tool" or string(entry, "tool_call_id"):
        text = "\n\n".join(part.text for part in parts if part.kind == "text")
        return Message("tool", [Part("result", text, call_id=string(entry, "tool_call_id"))])
    return Message(role, parts)


def _langchain_parts(value: Any, unread: UnreadCounter) -> list[Part]:
    """Return the parts of LangChain's own message, which has the seals that its attributes leave out."""
    if not isinstance(value, str) or not value.startswith('{"generations"'):
        return []
    for generations in array(_decoded(value), "generations")[:1]:
        for generation in generations[:1] if isinstance(generations, list) else ():
            message = mapping(mapping(generation, "message"), "kwargs")
            content = message.get("content")
            parts = list(_parts([content] if isinstance(content, str) and content else content, unread))
            if not any(part.kind == "call" for part in parts):
                parts += (_call(call) for call in array(message, "tool_calls"))
            return parts
    return []


def _list_of(value: Any, unread: UnreadCounter) -> list[Any]:
    """Return messages that are structured or JSON text."""
    if isinstance(value, str):
        value = _decoded(value)
    if isinstance(value, list):
        return value
    unread.add("messages of a span that are no list")
    return []


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

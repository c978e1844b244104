"""The names under which a trace tells what happened, in two vocabularies, and messages in their form.

Those of OpenTelemetry: github.com/open-telemetry/semantic-conventions-genai, `client-inference.md`,
`gen-ai-agent-spans.md`, `gen-ai-spans.md` and `models.py`, read on 2026-11-18. They are in development:
`gen_ai.system` became `gen_ai.provider.name`, `cache_creation` became `cache_write`. OpenInference, which
Phoenix reads: github.com/Arize-ai/openinference, folder `spec`, of 2026-08-21. It alone has names for seals.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from thinkaloud.core.canon import Finish, Kind, Seal, SealForm, Usage
from thinkaloud.core.canon.requests import File, Image, ToolMessage, UserMessage
from thinkaloud.core.transcript import CALL_KINDS, Block

Value = str | int | float | bool | list[str]
"""What an attribute can hold."""
Attributes = dict[str, Value]


class SpanContent(StrEnum):
    """What of the texts of a turn a trace holds. Each of these includes the ones before it."""

    NONE = "none"
    MESSAGES = "messages"
    """Prompts, answers, calls and their results."""
    THOUGHTS = "thoughts"
    SEALS = "seals"
    """All that is stored of a turn. Such a trace can be imported without loss."""

    def includes(self, other: "SpanContent") -> bool:
        """Return whether all that `other` shows is shown."""
        levels = list(SpanContent)
        return levels.index(self) >= levels.index(other)


PROVIDER_NAMES = {
    "azure": ("azure.ai.openai", "azure"),
    "bedrock": ("aws.bedrock", "aws"),
    "gemini": ("gcp.gemini", "google"),
    "mistral": ("mistral_ai", "mistralai"),
    "moonshot": ("moonshot_ai", "moonshot"),
    "vertex": ("gcp.vertex_ai", "google"),
    "xai": ("x_ai", "xai"),
}
"""Providers that the two vocabularies, GenAI and OpenInference, call otherwise than our catalog."""

FINISH_REASONS = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.TOOL_CALLS: "tool_call",
    Finish.REFUSAL: "content_filter",
    Finish.CANCELLED: "error",
}
"""A reply that was cancelled or broke off counts as `error`."""

_USAGE = {
    "input": ("gen_ai.usage.input_tokens", "llm.token_count.prompt"),
    "output": ("gen_ai.usage.output_tokens", "llm.token_count.completion"),
    "reasoning": (
        "gen_ai.usage.reasoning.output_tokens",
        "llm.token_count.completion_details.reasoning",
    ),
    "cache_read": (
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write": (
        "gen_ai.usage.cache_write.input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
}
_SEAL_FIELDS = {
    SealForm.SIGNATURE: "signature",
    SealForm.REDACTED: "data",
    SealForm.ENCRYPTED: "encrypted_content",
}
"""Where OpenInference keeps a seal in `message_content`. A whole item of a provider has no place there."""

Messages = list[dict[str, Any]]
"""Messages in the form of the GenAI conventions."""


def provider_name(provider: str) -> str:
    """Return the name of a provider in the GenAI conventions."""
    return PROVIDER_NAMES.get(provider, (provider, ""))[0]


def openinference_provider(provider: str) -> str:
    """Return the name of a provider in OpenInference."""
    return PROVIDER_NAMES.get(provider, ("", provider))[1]


def usage_attributes(usage: Usage, *, openinference: bool) -> Attributes:
    """Return the token counts that are known."""
    attributes: Attributes = {}
    for field, (name, other_name) in _USAGE.items():
        if (count := getattr(usage, field)) is not None:
            attributes[name] = count
            if openinference:
                attributes[other_name] = count
    if openinference and usage.input is not None and usage.output is not None:
        attributes["llm.token_count.total"] = usage.input + usage.output
    return attributes


def asked_messages(asked: Iterable[UserMessage | ToolMessage]) -> Messages:
    """Return prompts and results as messages."""
    messages: Messages = []
    for message in asked:
        if isinstance(message, ToolMessage):
            messages.append(result_message(message.call_id, message.result))
        else:
            messages.append(_user_message(message))
    return messages


def result_message(call_id: str, result: str) -> dict[str, Any]:
    """Return the result of a call as a message."""
    part = {"type": "tool_call_response", "id": call_id, "response": result}
    return {"role": "tool", "parts": [part]}


def answer_message(blocks: Iterable[Block], content: SpanContent) -> dict[str, Any]:
    """Return the blocks of a reply as one message, without its thoughts unless they are wanted."""
    parts = []
    for block in blocks:
        if block.kind is Kind.REASONING:
            if content.includes(SpanContent.THOUGHTS) and block.text:
                parts.append({"type": "reasoning", "content": block.text})
        elif block.kind in CALL_KINDS:
            call = {"type": "tool_call", "id": block.call_id, "name": block.name}
            parts.append(call | {"arguments": call_arguments(block.text)})
        elif block.text:
            parts.append({"type": "text", "content": block.text})
    return {"role": "assistant", "parts": parts}


def call_arguments(text: str) -> Any:
    """Return the arguments of a call as an object, or as the text that a model wrote in place of one."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return text


def json_text(value: object) -> str:
    """Return a value as the JSON text of an attribute: few backends read structured ones."""
    return msgspec.json.encode(value).decode()


def openinference_messages(prefix: str, messages: Messages) -> Attributes:
    """Return prompts and results flattened: `llm.input_messages.0.message.content`, and so on."""
    attributes: Attributes = {}
    for number, message in enumerate(messages):
        name = f"{prefix}.{number}.message"
        attributes[f"{name}.role"] = message["role"]
        texts = [part["content"] for part in message["parts"] if part["type"] == "text"]
        for part in message["parts"]:
            if part["type"] == "tool_call_response":
                attributes[f"{name}.tool_call_id"] = part["id"]
                texts.append(part["response"])
        attributes[f"{name}.content"] = "\n\n".join(texts)
        images = (part for part in message["parts"] if part["type"] == "blob")
        for index, part in enumerate(images):
            item = f"{name}.contents.{index}.message_content"
            attributes[f"{item}.type"] = "image"
            attributes[f"{item}.image.image.url"] = f"data:{part['mime_type']};base64,{part['content']}"
    return attributes


def openinference_answer(prefix: str, blocks: Sequence[Block], content: SpanContent) -> Attributes:
    """Return the blocks of a reply flattened, with their seals if they are wanted."""
    name = f"{prefix}.0.message"
    attributes: Attributes = {f"{name}.role": "assistant"}
    items = (block for block in blocks if block.kind not in CALL_KINDS)
    shown = [block for block in items if _shown_item(block, content)]
    for number, block in enumerate(shown):
        item = f"{name}.contents.{number}.message_content"
        attributes[f"{item}.type"] = "reasoning" if block.kind is Kind.REASONING else "text"
        if block.text:
            attributes[f"{item}.text"] = block.text
        if content is SpanContent.SEALS:
            attributes |= {f"{item}.{field}": payload for field, payload in _sealed_fields(block.seals)}
    calls = (block for block in blocks if block.kind in CALL_KINDS)
    for number, block in enumerate(calls):
        call = f"{name}.tool_calls.{number}.tool_call"
        attributes[f"{call}.id"] = block.call_id
        attributes[f"{call}.function.name"] = block.name
        attributes[f"{call}.function.arguments"] = block.text
        signatures = [seal.payload for seal in block.seals if seal.form is SealForm.SIGNATURE]
        if content is SpanContent.SEALS and signatures:
            attributes[f"{call}.reasoning_signature"] = signatures[-1]
    return attributes


def _shown_item(block: Block, content: SpanContent) -> bool:
    if block.kind is Kind.REASONING and not content.includes(SpanContent.THOUGHTS):
        return False
    return bool(block.text) or (content is SpanContent.SEALS and bool(block.seals))


def _sealed_fields(seals: Iterable[Seal]) -> Iterator[tuple[str, str]]:
    for seal in seals:
        if (field := _SEAL_FIELDS.get(seal.form)) is not None:
            yield field, seal.payload


def _user_message(message: UserMessage) -> dict[str, Any]:
    parts: Messages = []
    if message.text:
        parts.append({"type": "text", "content": message.text})
    attachments: tuple[Image | File, ...] = (*message.images, *message.files)
    for attached in attachments:
        kind = attached.media_type.partition("/")[0]
        modality = "document" if kind == "application" else kind
        blob = {"type": "blob", "modality": modality, "mime_type": attached.media_type}
        parts.append(blob | {"content": attached.data})
    return {"role": "user", "parts": parts}

"""The fields of a chunk of Chat Completions that are read; a whole completion has the same fields."""

from typing import Any

import msgspec

from thinkaloud.core.dialects.lenient import Count, Text
from thinkaloud.core.dialects.message import ABSENT


class CompletionDetails(msgspec.Struct):
    """The reasoning tokens, which most providers include in the completion tokens."""

    reasoning_tokens: Count | None = None


class PromptDetails(msgspec.Struct):
    """The parts of the prompt tokens."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class Counts(msgspec.Struct):
    """Usage; SGLang has the reasoning tokens at the top level, DeepSeek the cached tokens."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_tokens_details: PromptDetails | None = None
    prompt_cache_hit_tokens: Count | None = None


class GoogleExtra(msgspec.Struct):
    """Gemini's compatible endpoint marks reasoning content and signs tool calls here."""

    thought: bool | None = None
    thought_signature: str | None = None


class ExtraContent(msgspec.Struct):
    """Extensions of Google's compatible endpoints."""

    google: GoogleExtra | None = None
    vertex: GoogleExtra | None = None


class Function(msgspec.Struct):
    """The function of a call; its arguments are JSON text, or an object from some servers."""

    name: str | None = None
    arguments: msgspec.Raw = ABSENT


class ToolCall(msgspec.Struct):
    """A call, or more of it. Some servers send no index, some the same index for every call."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    extra_content: msgspec.Raw = ABSENT


class Message(msgspec.Struct):
    """A delta, or the whole message; every field is optional."""

    content: Text | list[dict[str, Any] | Text] | None = None
    reasoning: Text | None = None
    reasoning_content: Text | None = None
    reasoning_text: Text | None = None
    reasoning_opaque: str | None = None
    reasoning_steps: list[dict[str, Any]] | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    reasoning_items: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    extra_content: ExtraContent | None = None


class Choice(msgspec.Struct):
    """One choice: a delta, a whole message, or the text of the older completions endpoint."""

    index: int = 0
    delta: Message | None = None
    message: msgspec.Raw = ABSENT
    text: Text | None = None
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    error: msgspec.Raw = ABSENT


class GroqExtra(msgspec.Struct):
    """Groq reports the usage of a stream here."""

    usage: Counts | None = None


class Chunk(msgspec.Struct):
    """A chunk of a stream, or a whole completion."""

    choices: list[Choice] | None = None
    model: str | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT
    object: str | None = None
    x_groq: GroqExtra | None = None

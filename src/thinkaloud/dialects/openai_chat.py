"""OpenAI Chat Completions, and everyone who speaks it: OpenRouter, DeepSeek, Kimi, Qwen, GLM, vLLM, Groq.

Reasoning arrives in one of four places, in this order of trust: `reasoning_details`,
`reasoning_content`, `reasoning`, and tags inside `content`. The first one that says something wins for
the rest of the turn, so the same text sent in two fields is told once. Mistral sends `content` as a list
of parts. Only the first choice counts.
"""

from typing import Any

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.chat_message import ChatMessage
from thinkaloud.dialects.counts import total
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.profiles import PROFILES, Profile
from thinkaloud.dialects.tagged_text import REASONING, TEXT, TaggedText
from thinkaloud.dialects.verbatim import ABSENT, present, raw_string, raw_text, text_of
from thinkaloud.wire import Frame

NAME = "openai_chat"

_FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "end_turn": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "content_filter": Finish.REFUSAL,
    "refusal": Finish.REFUSAL,
    "sensitive": Finish.REFUSAL,
}


_OPAQUE_FORMS = {"reasoning_details": SealForm.ENCRYPTED, "thinking_blocks": SealForm.REDACTED}
"""Lists of reasoning, and what their `data` is."""


class Details(msgspec.Struct):
    """What is inside the completion tokens, or beside them."""

    reasoning_tokens: int | None = None


class PromptDetails(msgspec.Struct):
    """What is inside the prompt tokens."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class Counts(msgspec.Struct):
    """Usage; SGLang puts the reasoning tokens at the top, DeepSeek the cached ones."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    completion_tokens_details: Details | None = None
    prompt_tokens_details: PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class Google(msgspec.Struct):
    """Gemini's compatible endpoint says here what content is, and signs tool calls."""

    thought: bool | None = None
    thought_signature: str | None = None


class Extra(msgspec.Struct):
    """Extensions of Google's compatible endpoints."""

    google: Google | None = None
    vertex: Google | None = None


class Function(msgspec.Struct):
    """The function of a call; arguments are JSON text, or an object at some servers."""

    name: str | None = None
    arguments: msgspec.Raw = ABSENT


class ToolCall(msgspec.Struct):
    """A call, or more of it. Some servers send no index, some the same one for every call."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    extra_content: msgspec.Raw = ABSENT


class Message(msgspec.Struct):
    """A delta, or the whole message: every field optional."""

    content: str | list[dict[str, Any]] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    reasoning_items: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    extra_content: Extra | None = None


class Choice(msgspec.Struct):
    """One choice: a delta of it, all of it, or the text of the older completions endpoint."""

    index: int = 0
    delta: Message | None = None
    message: msgspec.Raw = ABSENT
    text: str | None = None
    finish_reason: str | None = None


class Groq(msgspec.Struct):
    """Groq reports the usage of a stream here."""

    usage: Counts | None = None


class Chunk(msgspec.Struct):
    """A chunk of a stream, or a whole completion."""

    choices: list[Choice] | None = None
    model: str | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT
    object: str | None = None
    x_groq: Groq | None = None


_chunk = msgspec.json.Decoder(Chunk)
_message = msgspec.json.Decoder(Message)
_extra = msgspec.json.Decoder(Extra)
_NOTHING = Message()


class Reader:
    """Reads one completion."""

    def __init__(self, blocks: Blocks, tags: Profile | None = None) -> None:
        self._blocks = blocks
        self._text = TaggedText(blocks, tags)
        self._tags_given = tags is not None
        self._source = ""
        self._details_field = ""
        self._calls: dict[int | None, tuple[int, str]] = {}
        self._called = 0
        self._finish_reason = ""
        self._refused = False
        self._whole = ABSENT
        self._message = ChatMessage()

    def feed(self, frame: Frame) -> None:
        """One chunk, the whole completion, or the word that it is done."""
        if frame.data == b"[DONE]":
            self._finish()
            return
        chunk = _chunk.decode(frame.data)
        self._blocks.begin(chunk.model)
        if chunk.error and is_error(chunk.error):
            self._fault(chunk.error)
        elif chunk.object == "error":
            self._fault(frame.data)
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._choose(choice)
        if chunk.usage is not None:
            self._count(chunk.usage)
        elif chunk.x_groq is not None and chunk.x_groq.usage is not None:
            self._count(chunk.x_groq.usage)

    def close(self) -> None:
        """The bytes ended: that is an end if the provider had said why it stopped."""
        if self._finish_reason:
            self._finish()
        else:
            self._text.close()
            self._blocks.cut_off("finish_reason")

    def _choose(self, choice: Choice) -> None:
        if choice.message and present(choice.message) and choice.delta in (None, _NOTHING):
            self._whole = choice.message
            self._read(_message.decode(choice.message))
        elif choice.delta is not None:
            self._read(choice.delta)
        elif choice.text:
            self._text.feed(choice.text)
            self._message.grow("content", choice.text)
        if choice.finish_reason:
            self._finish_reason = choice.finish_reason

    def _read(self, message: Message) -> None:
        self._think(message)
        content = message.content
        if content:
            if isinstance(content, str):
                self._answer(content, message.extra_content)
            else:
                self._read_parts(content)
        if message.refusal:
            self._refused = True
            self._text.off()
            self._text.feed(message.refusal)
            self._message.grow("refusal", message.refusal)
        for call in message.tool_calls or ():
            self._call(call)
        if message.function_call is not None:
            self._call(ToolCall(index=0, function=message.function_call))

    def _think(self, message: Message) -> None:
        if message.reasoning_details is not None:
            self._read_details("reasoning_details", message.reasoning_details)
        if message.thinking_blocks is not None:
            self._read_details("thinking_blocks", message.thinking_blocks)
        if message.reasoning_content is not None:
            self._message.grow("reasoning_content", message.reasoning_content)
            self._reason("reasoning_content", message.reasoning_content)
        if message.reasoning is not None:
            self._message.grow("reasoning", message.reasoning)
            self._reason("reasoning", message.reasoning)
        for item in message.reasoning_items or ():
            self._seal_thought(SealForm.ENCRYPTED, text_of(item.get("encrypted_content")))
            self._message.add_parts("reasoning_items", [item])

    def _read_details(self, field: str, details: list[dict[str, Any]]) -> None:
        self._message.add_parts(field, details)
        if details:
            self._text.off()
            self._details_field = self._details_field or field
        if field != self._details_field:
            return  # a second list says the same in other words
        for detail in details:
            summary = text_of(detail.get("summary"))
            text = text_of(detail.get("text")) or summary or text_of(detail.get("thinking"))
            self._reason("details", text, Provenance.SUMMARY if summary else Provenance.UNKNOWN)
            self._seal_thought(_OPAQUE_FORMS[field], text_of(detail.get("data")))
            self._seal_thought(SealForm.SIGNATURE, text_of(detail.get("signature")))

    def _reason(self, source: str, text: str, provenance: Provenance = Provenance.UNKNOWN) -> None:
        """Tell a thought, if it comes from the place that this turn's thoughts come from."""
        if not text or (self._source and self._source != source):
            return
        if not self._source:
            self._source = source
            self._text.off()
        if not self._blocks.is_open(REASONING):
            self._blocks.end_all()
        self._blocks.say(REASONING, Kind.REASONING, text, provenance)

    def _seal_thought(self, form: SealForm, payload: str) -> None:
        """Keep a seal with the newest thought; where there is none, the seal is all we have of one."""
        if not payload:
            return
        if not self._blocks.known(REASONING):
            self._blocks.end_all()
            self._blocks.start(REASONING, Kind.REASONING)
        self._blocks.seal(REASONING, form, payload)

    def _answer(self, text: str, extra: Extra | None) -> None:
        google = extra and (extra.google or extra.vertex)
        if google and google.thought and not self._tags_given:
            self._tags_given = True
            self._text.close()
            self._text = TaggedText(self._blocks, PROFILES["thought"])
        self._text.feed(text)
        self._message.grow("content", text)

    def _read_parts(self, parts: list[dict[str, Any]]) -> None:
        """Mistral's way: a thought is a part whose text is itself a list of parts."""
        for part in parts:
            if part.get("type") == "thinking":
                self._reason("content", _text_in(part.get("thinking")))
                self._seal_thought(SealForm.SIGNATURE, text_of(part.get("signature")))
            elif text := _text_in(part.get("text")):
                self._text.feed(text)
        self._message.add_parts("content", parts)

    def _call(self, call: ToolCall) -> None:
        serial = self._serial(call)
        function = call.function or Function()
        key = ("tool", serial)
        if not self._blocks.is_open(key):
            self._text.close()
            self._blocks.end(REASONING)
            self._blocks.end(TEXT)
            self._blocks.start(key, Kind.TOOL_CALL, name=function.name or "", call_id=call.id or "")
        arguments = raw_string(function.arguments)
        self._blocks.grow(key, arguments)
        if present(call.extra_content):
            extra = _extra.decode(call.extra_content)
            for google in (extra.google, extra.vertex):
                if google is not None and google.thought_signature:
                    self._blocks.seal(key, SealForm.SIGNATURE, google.thought_signature)
        self._message.add_call(
            serial,
            {"id": call.id, "extra_content": call.extra_content or None},
            function.name or "",
            arguments,
        )

    def _serial(self, call: ToolCall) -> int:
        """Which call this is more of: by index, and a new one where another id comes or there is no index."""
        known = self._calls.get(call.index)
        named = bool(call.id or (call.index is None and call.function and call.function.name))
        if known is None or (named and call.id != known[1]):
            self._called += 1
            known = self._calls[call.index] = (self._called, call.id or "")
        return known[0]

    def _count(self, counts: Counts) -> None:
        details, prompt = counts.completion_tokens_details, counts.prompt_tokens_details
        reasoning = counts.reasoning_tokens if details is None else details.reasoning_tokens
        cached = counts.prompt_cache_hit_tokens if prompt is None else prompt.cached_tokens
        self._blocks.report(
            Usage(
                input=counts.prompt_tokens,
                output=_inclusive(counts, reasoning),
                reasoning=reasoning,
                cache_read=cached,
                cache_write=None if prompt is None else prompt.cache_write_tokens,
            )
        )

    def _fault(self, error: msgspec.Raw | bytes) -> None:
        self._text.close()
        code, message = read_error(error)
        if self._finish_reason:
            self._blocks.notice(code, message)  # the turn had ended by the provider's own word
        else:
            self._blocks.fail(code, message)

    def _finish(self) -> None:
        self._text.close()
        if self._finish_reason == "error":
            self._blocks.fail("provider_error", f"{self._blocks.dialect} ended the turn with an error")
            return
        finish = Finish.REFUSAL if self._refused else _FINISHES.get(self._finish_reason, Finish.UNKNOWN)
        message = raw_text(self._whole) or self._message.encode()
        self._blocks.finish(finish, self._finish_reason, message)


def _text_in(value: object) -> str:
    """The text of a part: a string, or the strings of the parts in it."""
    if isinstance(value, list):
        return "".join(_text_in(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _inclusive(counts: Counts, reasoning: int | None) -> int | None:
    """Output with reasoning in it. xAI counts it apart here, which only its total shows."""
    if counts.completion_tokens is None or not reasoning:
        return counts.completion_tokens
    apart = total(counts.prompt_tokens, counts.completion_tokens, reasoning)
    return counts.completion_tokens + (reasoning if counts.total_tokens == apart else 0)

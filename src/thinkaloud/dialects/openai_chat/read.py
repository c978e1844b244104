"""Reads OpenAI Chat Completions, also of OpenRouter, DeepSeek, Kimi, Qwen, GLM, vLLM and Groq.

Reasoning arrives in one of several places, in this order of trust: `reasoning_details`, `reasoning_content`,
`reasoning`, `reasoning_text` (Copilot), `reasoning_steps` (Perplexity), and tags inside `content`. The first
place with text is used for the rest of the turn, so that text sent in two fields is emitted once. Mistral and
Databricks send `content` as a list of parts. Only the first choice is read. A `message` beside or after
deltas repeats them, so only the fields that no delta had are read from it.
"""

from typing import Any

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.emitter import TurnEmitter
from thinkaloud.dialects.lenient import LenientDecoder
from thinkaloud.dialects.message import (
    ABSENT,
    ChatMessage,
    loose_text,
    present,
    raw_json,
    string_or_json,
    text_of,
)
from thinkaloud.dialects.openai_chat.chunk import (
    Choice,
    Chunk,
    Counts,
    ExtraContent,
    Function,
    Message,
    ToolCall,
)
from thinkaloud.dialects.payload import add_counts, find_error, has_error, parse_error, read_unknown_frame
from thinkaloud.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.dialects.tags.tagged_text import REASONING_KEY, TEXT_KEY, TaggedText
from thinkaloud.wire import Frame

NAME = "openai_chat"

_ERROR_REASON = "error"
_ERROR_FLAGS = (b"true", b"1")
_TAGS_SOURCE = "tags"
_STEPS_SOURCE = "reasoning_steps"
"""Steps say what was searched; the model's own thought may still be between tags."""
_FINISH_BY_REASON = {
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
_SEAL_FORM_BY_FIELD = {"reasoning_details": SealForm.ENCRYPTED, "thinking_blocks": SealForm.REDACTED}
"""The form of the `data` seal, by the field of the reasoning list."""


_chunk_decoder = LenientDecoder(Chunk)
_message_decoder = LenientDecoder(Message, "message")
_extra_decoder = LenientDecoder(ExtraContent, "extra_content")


class Reader:
    """Reads one completion."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._tagged_text = TaggedText(emitter, tags)
        self._tags_given = tags is not None
        self._reasoning_source = ""
        self._details_field = ""
        self._streamed = False
        self._tags_disabled = False
        self._serial_and_id_by_index: dict[int | None, tuple[int, str]] = {}
        self._call_count = 0
        self._finish_reason = ""
        self._final_usage = False
        self._refused = False
        self._whole_message = ABSENT
        self._chat_message = ChatMessage()

    def feed(self, frame: Frame) -> None:
        """Read one chunk, the whole completion, or `[DONE]`."""
        if frame.data == b"[DONE]":
            self.close()
            return
        chunk = _chunk_decoder.decode(frame.data, self._odd_fields)
        if chunk.choices is None and _unknown(chunk):
            self._read_unknown_frame(frame)
            return
        self._emitter.start_turn(chunk.model)
        reason_before = self._finish_reason
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._read_choice(choice)
        if chunk.usage is not None:
            self._final_usage = not chunk.choices  # a chunk of its own, which providers send at the end
            self._report_usage(chunk.usage)
        elif chunk.x_groq is not None and chunk.x_groq.usage is not None:
            self._report_usage(chunk.x_groq.usage)
        if chunk.error or chunk.object == "error":
            self._read_chunk_error(chunk, frame, reason_before)

    def close(self) -> None:
        """End the turn if a finish reason, a whole message or the final usage arrived, else it is cut off."""
        self._tagged_text.close()
        whole = self._whole_message or self._final_usage or (self._emitter.whole_body and not self._streamed)
        if self._finish_reason or (self._emitter.block_count and whole):
            self._finish()
        else:
            self._emitter.fail_cut_off("finish_reason")

    def _read_choice(self, choice: Choice) -> None:
        delta = choice.delta
        blank = delta is None or (choice.message and _blank(delta))
        if blank and choice.message and present(choice.message):
            self._read_whole_message(choice.message)
        elif delta is not None:
            self._streamed = self._streamed or not _blank(delta)
            self._read_message(delta)
        elif choice.text:
            self._tagged_text.feed(choice.text)
            self._chat_message.append_text("content", choice.text)
        if choice.finish_reason or choice.stop_reason:
            self._finish_reason = choice.finish_reason or str(choice.stop_reason)
        if choice.error and has_error(choice.error):
            self._read_error(choice.error)

    def _read_whole_message(self, raw: msgspec.Raw) -> None:
        message = _message_decoder.decode(raw, self._odd_fields)
        if self._streamed:
            for field in Message.__struct_fields__:
                if self._chat_message.has("tool_calls" if field == "function_call" else field):
                    setattr(message, field, None)
        elif not _blank(message):
            self._whole_message = raw
        self._read_message(message)

    def _read_message(self, message: Message) -> None:
        self._read_reasoning(message)
        content = message.content
        if content:
            if isinstance(content, str):
                self._append_content(content, message.extra_content)
            else:
                self._read_parts(content)
        if message.refusal:
            self._append_refusal(message.refusal)
            self._chat_message.append_text("refusal", message.refusal)
        for call in message.tool_calls or ():
            self._read_call(call)
        if message.function_call is not None:
            self._read_call(ToolCall(index=0, function=message.function_call))

    def _append_refusal(self, text: str) -> None:
        self._refused = True
        self._tagged_text.disable_tags()
        self._tagged_text.feed(text)

    def _read_reasoning(self, message: Message) -> None:
        if message.reasoning_details is not None:
            self._read_details("reasoning_details", message.reasoning_details)
        if message.thinking_blocks is not None:
            self._read_details("thinking_blocks", message.thinking_blocks)
        if message.reasoning_content is not None:
            self._chat_message.append_text("reasoning_content", message.reasoning_content)
            self._append_reasoning("reasoning_content", message.reasoning_content)
        if message.reasoning is not None:
            self._chat_message.append_text("reasoning", message.reasoning)
            self._append_reasoning("reasoning", message.reasoning)
        if message.reasoning_text is not None:
            self._chat_message.append_text("reasoning_text", message.reasoning_text)
            self._append_reasoning("reasoning_text", message.reasoning_text)
        if message.reasoning_opaque:
            self._seal_reasoning(SealForm.ENCRYPTED, message.reasoning_opaque)
            self._chat_message.set_field("reasoning_opaque", message.reasoning_opaque)
        for step in message.reasoning_steps or ():
            self._append_reasoning(_STEPS_SOURCE, loose_text(step.get("thought")))
            self._emitter.end_block(REASONING_KEY)
            self._chat_message.add_parts("reasoning_steps", [step])
        for item in message.reasoning_items or ():
            self._seal_reasoning(SealForm.ENCRYPTED, text_of(item.get("encrypted_content")))
            self._chat_message.add_parts("reasoning_items", [item])

    def _read_details(self, field: str, details: list[dict[str, Any]]) -> None:
        self._chat_message.add_parts(field, details)
        if details:
            self._details_field = self._details_field or field
        if field != self._details_field:
            return  # a second list repeats the same reasoning in another format
        for detail in details:
            summary = loose_text(detail.get("summary"))
            text = loose_text(detail.get("text")) or summary or loose_text(detail.get("thinking"))
            self._append_reasoning("details", text, Provenance.SUMMARY if summary else Provenance.UNKNOWN)
            self._seal_reasoning(_SEAL_FORM_BY_FIELD[field], text_of(detail.get("data")))
            self._seal_reasoning(SealForm.SIGNATURE, text_of(detail.get("signature")))

    def _append_reasoning(self, source: str, text: str, provenance: Provenance = Provenance.UNKNOWN) -> None:
        """Emit reasoning text if it is from the place that this turn's reasoning is read from."""
        if not self._reasoning_source and self._tagged_text.thought_seen:
            self._reasoning_source = _TAGS_SOURCE
        if not text or (self._reasoning_source and self._reasoning_source != source):
            return
        if not self._reasoning_source:
            self._reasoning_source = source
        if not self._tags_disabled and source != _STEPS_SOURCE and not text.isspace():
            self._tags_disabled = True
            self._tagged_text.disable_tags()
        if not self._emitter.has_open(REASONING_KEY):
            self._emitter.end_all_blocks()
        self._emitter.append_or_start(REASONING_KEY, Kind.REASONING, text, provenance)

    def _seal_reasoning(self, form: SealForm, payload: str) -> None:
        """Attach a seal to the latest reasoning block; start an empty one if there is none."""
        if not payload:
            return
        if not self._emitter.has_block(REASONING_KEY):
            self._emitter.end_all_blocks()
            self._emitter.start_block(REASONING_KEY, Kind.REASONING)
        self._emitter.seal(REASONING_KEY, form, payload)

    def _append_content(self, text: str, extra: ExtraContent | None) -> None:
        google = extra and (extra.google or extra.vertex)
        if google and google.thought and not self._tags_given:
            self._tags_given = True
            self._tagged_text.close()
            self._tagged_text = TaggedText(self._emitter, PROFILES["thought"])
        self._tagged_text.feed(text)
        self._chat_message.append_text("content", text)

    def _read_parts(self, items: list[dict[str, Any] | str]) -> None:
        """Read Mistral's list of parts, in which the text of a thinking part is itself a list of parts."""
        parts = [{"type": "text", "text": item} if isinstance(item, str) else item for item in items]
        for part in parts:
            part_type = part.get("type") if isinstance(part.get("type"), str) else None
            if part_type == "thinking" or (part_type is None and "thinking" in part):
                self._append_reasoning("content", loose_text(part.get("thinking")))
                self._seal_reasoning(SealForm.SIGNATURE, text_of(part.get("signature")))
            elif part_type == "reasoning" or (part_type is None and "summary" in part):
                self._read_summary(part.get("summary"))
                self._append_reasoning("content", loose_text(part.get("text")))
            elif text := loose_text(part.get("text")):
                self._tagged_text.feed(text)
            elif refusal := loose_text(part.get("refusal")):
                self._append_refusal(refusal)
        self._chat_message.add_parts("content", parts)

    def _read_summary(self, summary: object) -> None:
        """Read the summary of a reasoning part, as Databricks sends it: texts with their signatures."""
        for part in summary if isinstance(summary, list) else (summary,):
            self._append_reasoning("content", loose_text(part), Provenance.SUMMARY)
            if isinstance(part, dict):
                self._seal_reasoning(SealForm.SIGNATURE, text_of(part.get("signature")))

    def _read_call(self, call: ToolCall) -> None:
        function = call.function or Function()
        arguments = string_or_json(function.arguments)
        if not (call.id or function.name or arguments.strip("{}") or self._call_count):
            return  # an empty placeholder, which some servers send with every message
        serial = self._call_serial(call)
        key = ("tool", serial)
        if not self._emitter.has_open(key):
            self._tagged_text.close()
            self._emitter.end_block(REASONING_KEY)
            self._emitter.end_block(TEXT_KEY)
            self._emitter.start_block(key, Kind.TOOL_CALL, name=function.name or "", call_id=call.id or "")
        self._emitter.append(key, arguments)
        if present(call.extra_content):
            extra = _extra_decoder.decode(call.extra_content, self._odd_fields)
            for google in (extra.google, extra.vertex):
                if google is not None and google.thought_signature:
                    self._emitter.seal(key, SealForm.SIGNATURE, google.thought_signature)
        self._chat_message.add_call(
            serial,
            {"id": call.id, "extra_content": call.extra_content or None},
            function.name or "",
            arguments,
        )

    def _call_serial(self, call: ToolCall) -> int:
        """Return the serial number of the call that this continues, or of a new call.

        The index identifies the call. Another id, or a name without an index, starts a new call, because some
        servers repeat or omit the index.
        """
        serial_and_id = self._serial_and_id_by_index.get(call.index)
        new_call = bool(call.id or (call.index is None and call.function and call.function.name))
        if serial_and_id is None or (new_call and call.id != serial_and_id[1]):
            self._call_count += 1
            serial_and_id = self._serial_and_id_by_index[call.index] = (self._call_count, call.id or "")
        return serial_and_id[0]

    def _report_usage(self, counts: Counts) -> None:
        details, prompt_details = counts.completion_tokens_details, counts.prompt_tokens_details
        reasoning = counts.reasoning_tokens if details is None else details.reasoning_tokens
        cached_tokens = (
            counts.prompt_cache_hit_tokens if prompt_details is None else prompt_details.cached_tokens
        )
        self._emitter.report_usage(
            Usage(
                input=counts.prompt_tokens,
                output=_output_tokens(counts, reasoning),
                reasoning=reasoning,
                cache_read=cached_tokens,
                cache_write=None if prompt_details is None else prompt_details.cache_write_tokens,
            )
        )

    def _read_chunk_error(self, chunk: Chunk, frame: Frame, reason_before: str) -> None:
        """Read the error of a chunk, which counts less if the provider sent the end of the turn before it."""
        if has_error(chunk.error):
            error: msgspec.Raw | bytes = chunk.error
        elif chunk.object == "error" or (bytes(chunk.error) in _ERROR_FLAGS and not chunk.choices):
            error = frame.data
        else:
            return
        if reason_before in ("", _ERROR_REASON):
            self._read_error(error)
        else:
            self._emitter.add_notice(*parse_error(error))

    def _read_unknown_frame(self, frame: Frame) -> None:
        error = find_error(frame)
        if error is not None and self._finish_reason not in ("", _ERROR_REASON):
            self._emitter.add_notice(*error)
        else:
            read_unknown_frame(self._emitter, frame, self._tagged_text.close)

    def _read_error(self, error: msgspec.Raw | bytes) -> None:
        self._tagged_text.close()
        self._emitter.fail(*parse_error(error))

    def _finish(self) -> None:
        self._tagged_text.close()
        if self._finish_reason == _ERROR_REASON:
            self._emitter.fail("provider_error", f"{NAME} ended with the finish reason 'error'.")
            return
        finish = (
            Finish.REFUSAL if self._refused else _FINISH_BY_REASON.get(self._finish_reason, Finish.UNKNOWN)
        )
        message = raw_json(self._whole_message) or self._chat_message.encode()
        self._emitter.finish(finish, self._finish_reason, message)


def _unknown(chunk: Chunk) -> bool:
    """Return whether a chunk has nothing of a completion."""
    return not (chunk.model or chunk.usage or chunk.x_groq or chunk.object or bytes(chunk.error))


def _blank(message: Message) -> bool:
    """Return whether a message has no content: no text, no reasoning and no call."""
    return not any(getattr(message, field) for field in Message.__struct_fields__)


def _output_tokens(counts: Counts, reasoning: int | None) -> int | None:
    """Return the output tokens including reasoning. xAI excludes it, which only the total shows."""
    if counts.completion_tokens is None or not reasoning:
        return counts.completion_tokens
    separate_total = add_counts(counts.prompt_tokens, counts.completion_tokens, reasoning)
    return counts.completion_tokens + (reasoning if counts.total_tokens == separate_total else 0)

"""Reads OpenAI Chat Completions, also of OpenRouter, DeepSeek, Kimi, Qwen, GLM, vLLM and Groq.

Reasoning arrives in one of several places, in this order of trust: `reasoning_details`, `reasoning_content`,
`reasoning`, `reasoning_text` (Copilot), `reasoning_steps` (Perplexity), and tags inside `content`. The first
place with text is used for the rest of the turn, so that text sent in two fields is emitted once. Mistral and
Databricks send `content` as a list of parts. Only the first choice is read.
"""

from typing import Any

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.emitter import TurnEmitter
from thinkaloud.dialects.lenient import LenientDecoder
from thinkaloud.dialects.message import ABSENT, ChatMessage, present, raw_json, string_or_json, text_of
from thinkaloud.dialects.openai_chat.chunk import (
    Choice,
    Chunk,
    Counts,
    ExtraContent,
    Function,
    Message,
    ToolCall,
)
from thinkaloud.dialects.payload import add_counts, has_error, parse_error
from thinkaloud.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.dialects.tags.tagged_text import REASONING_KEY, TEXT_KEY, TaggedText
from thinkaloud.wire import Frame

NAME = "openai_chat"

_ERROR_REASON = "error"
_ERROR_FLAGS = (b"true", b"1")
_TAGS_SOURCE = "tags"
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
_EMPTY_MESSAGE = Message()


class Reader:
    """Reads one completion."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._tagged_text = TaggedText(emitter, tags)
        self._tags_given = tags is not None
        self._reasoning_source = ""
        self._details_field = ""
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
        if self._finish_reason or (self._emitter.block_count and (self._whole_message or self._final_usage)):
            self._finish()
        else:
            self._tagged_text.close()
            self._emitter.fail_cut_off("finish_reason")

    def _read_choice(self, choice: Choice) -> None:
        # Some servers send an empty delta beside the whole message.
        if choice.message and present(choice.message) and choice.delta in (None, _EMPTY_MESSAGE):
            self._whole_message = choice.message
            self._read_message(_message_decoder.decode(choice.message, self._odd_fields))
        elif choice.delta is not None:
            self._read_message(choice.delta)
        elif choice.text:
            self._tagged_text.feed(choice.text)
            self._chat_message.append_text("content", choice.text)
        if choice.finish_reason:
            self._finish_reason = choice.finish_reason
        if choice.error and has_error(choice.error):
            self._read_error(choice.error)

    def _read_message(self, message: Message) -> None:
        self._read_reasoning(message)
        content = message.content
        if content:
            if isinstance(content, str):
                self._append_content(content, message.extra_content)
            else:
                self._read_parts(content)
        if message.refusal:
            self._refused = True
            self._tagged_text.disable_tags()
            self._tagged_text.feed(message.refusal)
            self._chat_message.append_text("refusal", message.refusal)
        for call in message.tool_calls or ():
            self._read_call(call)
        if message.function_call is not None:
            self._read_call(ToolCall(index=0, function=message.function_call))

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
            self._emitter.end_block(REASONING_KEY)
            self._append_reasoning("reasoning_steps", text_of(step.get("thought")))
            self._chat_message.add_parts("reasoning_steps", [step])
        for item in message.reasoning_items or ():
            self._seal_reasoning(SealForm.ENCRYPTED, text_of(item.get("encrypted_content")))
            self._chat_message.add_parts("reasoning_items", [item])

    def _read_details(self, field: str, details: list[dict[str, Any]]) -> None:
        self._chat_message.add_parts(field, details)
        if details:
            self._tagged_text.disable_tags()
            self._details_field = self._details_field or field
        if field != self._details_field:
            return  # a second list repeats the same reasoning in another format
        for detail in details:
            summary = text_of(detail.get("summary"))
            text = text_of(detail.get("text")) or summary or text_of(detail.get("thinking"))
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

    def _read_parts(self, parts: list[dict[str, Any]]) -> None:
        """Read Mistral's list of parts, in which the text of a thinking part is itself a list of parts."""
        for part in parts:
            part_type = part.get("type") if isinstance(part.get("type"), str) else None
            if part_type == "thinking" or (part_type is None and "thinking" in part):
                self._append_reasoning("content", _part_text(part.get("thinking")))
                self._seal_reasoning(SealForm.SIGNATURE, text_of(part.get("signature")))
            elif part_type == "reasoning" or (part_type is None and "summary" in part):
                self._read_summary(part.get("summary"))
            elif text := _part_text(part.get("text")):
                self._tagged_text.feed(text)
        self._chat_message.add_parts("content", parts)

    def _read_summary(self, summary: object) -> None:
        """Read the summary of a reasoning part, as Databricks sends it: texts with their signatures."""
        for part in summary if isinstance(summary, list) else ():
            if isinstance(part, dict):
                self._append_reasoning("content", text_of(part.get("text")), Provenance.SUMMARY)
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


def _part_text(value: object) -> str:
    """Return the text of a part: a string, or the strings of its nested parts."""
    if isinstance(value, list):
        return "".join(_part_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _output_tokens(counts: Counts, reasoning: int | None) -> int | None:
    """Return the output tokens including reasoning. xAI excludes it, which only the total shows."""
    if counts.completion_tokens is None or not reasoning:
        return counts.completion_tokens
    separate_total = add_counts(counts.prompt_tokens, counts.completion_tokens, reasoning)
    return counts.completion_tokens + (reasoning if counts.total_tokens == separate_total else 0)

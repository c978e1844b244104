"""Reads OpenAI Chat Completions, also of OpenRouter, DeepSeek, Kimi, Qwen, GLM, vLLM and Groq.

Reasoning arrives in one of several places (`_SOURCES`). The first place with text is used for the rest of the
turn, so that text sent in two fields is emitted once. A more trusted place that comes later takes over: if it
says the same, nothing is emitted again, else it gets a block of its own. In a whole message, tags come first
if `content` does and begins with one. Only the first choice is read. A `message` beside or after deltas
repeats them, so only the fields that no delta had are read from it.
"""

from typing import Any

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, SealForm, Usage, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import LenientDecoder, decode_object
from thinkaloud.core.dialects.message import (
    ABSENT,
    ChatMessage,
    loose_text,
    present,
    raw_json,
    string_or_json,
    text_of,
)
from thinkaloud.core.dialects.openai_chat.chunk import (
    Choice,
    Chunk,
    Counts,
    ExtraContent,
    Function,
    Message,
    ToolCall,
)
from thinkaloud.core.dialects.payload import (
    add_counts,
    find_error,
    has_error,
    parse_error,
    read_unknown_frame,
)
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.core.dialects.tags.tagged_text import REASONING_KEY, TEXT_KEY, TaggedText
from thinkaloud.core.dialects.text_frame import TextFrame
from thinkaloud.core.wire import Frame

NAME = "openai_chat"

_ERROR_REASON = "error"
_ERROR_FLAGS = (b"true", b"1")
_DETAILS_SOURCE = "details"
_TAGS_SOURCE = "tags"
_STEPS_SOURCE = "reasoning_steps"
"""Steps say what was searched; the model's own thought may still be between tags."""
_SOURCES = (
    _DETAILS_SOURCE,
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "content",
    _STEPS_SOURCE,
    _TAGS_SOURCE,
)
"""The places of reasoning, the most trusted first.

`reasoning_text` is Copilot's, `reasoning_steps` Perplexity's. Mistral and Databricks send `content` as a list
of parts; tags are in `content` too.
"""
_REASONING_FIELDS = frozenset(
    field for field in Message.__struct_fields__ if field.startswith(("reasoning", "thinking"))
)
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning")
_FUNCTION_CALL_INDEX = -1
"""The index of the one call of the older `function_call`, which has none on the wire."""
_LATER_KEY = "later reasoning"
"""The key of reasoning that a more trusted place sent later."""
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


class LaterReasoning:
    """Reasoning from a more trusted place, held while it may only repeat what another place has sent before.

    Both may still grow: the other place adds to `earlier_pieces`. White space does not count.
    """

    def __init__(self, source: str, earlier_pieces: list[str]) -> None:
        self.source = source
        self.pieces: list[str] = []
        self.seals: list[tuple[SealForm, str]] = []
        self.provenance = Provenance.UNKNOWN
        self._earlier_pieces = earlier_pieces
        self._earlier_count = 0
        self._earlier, self._later = bytearray(), bytearray()
        self._checked = 0

    def append(self, text: str, provenance: Provenance) -> None:
        """Hold more text."""
        if not self.pieces:
            self.provenance = provenance
        self.pieces.append(text)
        self._later += _visible_bytes(text)

    def differs(self) -> bool:
        """Return whether this is not the beginning of the earlier text, nor that of this."""
        for piece in self._earlier_pieces[self._earlier_count :]:
            self._earlier += _visible_bytes(piece)
        self._earlier_count = len(self._earlier_pieces)
        start, self._checked = self._checked, min(len(self._earlier), len(self._later))
        return self._earlier[start : self._checked] != self._later[start : self._checked]

    def excess_bytes(self) -> int:
        """Return how much longer this is than the earlier text; 0 if they say the same."""
        return len(self._later) - len(self._earlier)


class Reader:
    """Reads one completion."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._tagged_text = TaggedText(emitter, tags, before_answer=self._prepare_answer)
        self._tags_given = tags is not None
        self._reasoning_source = ""
        self._reasoning_key = REASONING_KEY
        self._reasoning_pieces: list[str] = []
        self._reasoning_seen = False
        self._later_reasoning: LaterReasoning | None = None
        self._unread_reasoning: Message | None = None
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
        self._text_frame = emitter.text_frame = TextFrame(self._read_texts)

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
        elif (content := _only_text(chunk)) and not self._odd_fields.found:
            self._text_frame.learn(frame.data, *content)

    def _read_texts(self, field: str, texts: list[str]) -> None:
        """Read consecutive deltas that have one of these texts each, in this field, and nothing else."""
        plain = self._tagged_text.plain and self._later_reasoning is None
        if plain and field == "content":
            self._append_content("".join(texts), None)
        elif plain and field == self._reasoning_source:
            text = "".join(texts)
            self._chat_message.append_text(field, text)
            self._emit_reasoning(text, Provenance.UNKNOWN)
        else:
            for text in texts:
                message = Message()
                setattr(message, field, text)
                self._read_message(message)

    def close(self) -> None:
        """End the turn if a finish reason, a whole message or the final usage arrived, else it is cut off."""
        whole = self._whole_message or self._final_usage or (self._emitter.whole_body and not self._streamed)
        complete = self._finish_reason != _ERROR_REASON if self._finish_reason else bool(whole)
        self._close_text(broken=not complete)
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
        fields = decode_object(raw)
        first = next((field for field in fields if field == "content" or field in _REASONING_FIELDS), "")
        self._read_message(message, content_first=first == "content")

    def _read_message(self, message: Message, *, content_first: bool = False) -> None:
        self._unread_reasoning = message
        content = message.content
        # A closing tag alone shows no thought where a field has one.
        if not (content_first and isinstance(content, str) and self._tagged_text.opens(content)):
            self._read_unread_reasoning()
        if content:
            if isinstance(content, str):
                self._append_content(content, message.extra_content)
            else:
                self._read_parts(content)
        self._read_unread_reasoning()
        if message.refusal:
            self._append_refusal(message.refusal)
            self._chat_message.append_text("refusal", message.refusal)
        for call in message.tool_calls or ():
            self._read_call(call)
        if message.function_call is not None and not message.tool_calls:
            self._read_call(ToolCall(index=_FUNCTION_CALL_INDEX, function=message.function_call))

    def _append_refusal(self, text: str) -> None:
        self._refused = True
        self._tagged_text.disable_tags()
        self._tagged_text.feed(text)

    def _prepare_answer(self) -> None:
        """Emit the reasoning that comes before the text of an answer."""
        if self._unread_reasoning is not None:
            self._read_unread_reasoning()
        if self._later_reasoning is not None:
            self._compare_reasoning()

    def _read_unread_reasoning(self) -> None:
        message, self._unread_reasoning = self._unread_reasoning, None
        if message is not None:
            self._read_reasoning(message)

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
            self._emitter.end_block(self._reasoning_key)
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
            self._append_reasoning(
                _DETAILS_SOURCE, text, Provenance.SUMMARY if summary else Provenance.UNKNOWN
            )
            self._seal_reasoning(_SEAL_FORM_BY_FIELD[field], text_of(detail.get("data")))
            self._seal_reasoning(SealForm.SIGNATURE, text_of(detail.get("signature")))

    def _append_reasoning(self, source: str, text: str, provenance: Provenance = Provenance.UNKNOWN) -> None:
        """Emit reasoning text, unless a place that is trusted as much or more has sent some before."""
        if not text:
            return
        if not self._reasoning_source and self._tagged_text.thought_begun:
            self._reasoning_source = _TAGS_SOURCE
        blank = text.isspace()
        from_tags = self._reasoning_source == _TAGS_SOURCE
        if not self._reasoning_source or not (blank or from_tags or self._reasoning_seen):
            self._reasoning_source = source
        if source == self._reasoning_source:
            self._emit_reasoning(text, provenance)
        elif self._outranks(source):
            self._hold_reasoning(source, text, provenance)
        else:
            return
        if not self._tags_disabled and source != _STEPS_SOURCE and not blank:
            self._tags_disabled = True
            self._tagged_text.disable_tags()

    def _outranks(self, source: str) -> bool:
        """Return whether a place is trusted more than the one that reasoning is read from."""
        later = self._later_reasoning
        if later is not None and _SOURCES.index(source) > _SOURCES.index(later.source):
            return False
        return _SOURCES.index(source) < _SOURCES.index(self._reasoning_source)

    def _emit_reasoning(self, text: str, provenance: Provenance) -> None:
        self._reasoning_seen = self._reasoning_seen or not text.isspace()
        if not self._emitter.grow(self._reasoning_key, Kind.REASONING, text):
            self._emitter.end_all_blocks()
            self._emitter.append_or_start(self._reasoning_key, Kind.REASONING, text, provenance)
        self._reasoning_pieces.append(text)

    def _hold_reasoning(self, source: str, text: str, provenance: Provenance) -> None:
        if self._later_reasoning is None or self._later_reasoning.source != source:
            self._compare_reasoning(final=True)
            from_tags = self._reasoning_source == _TAGS_SOURCE
            earlier = self._tagged_text.thought_pieces if from_tags else self._reasoning_pieces
            self._later_reasoning = LaterReasoning(source, earlier)
        self._later_reasoning.append(text, provenance)
        if self._later_reasoning.differs():
            self._emit_later_reasoning(self._later_reasoning)

    def _compare_reasoning(self, *, final: bool = False) -> None:
        """Emit the held reasoning if it is not what another place has sent.

        Before the `final` comparison, text that is still shorter may become the same.
        """
        later = self._later_reasoning
        if later is None:
            return
        differs = later.differs()
        excess_bytes = later.excess_bytes()
        if differs or excess_bytes > 0 or (final and excess_bytes < 0):
            self._emit_later_reasoning(later)
        elif excess_bytes == 0:
            self._seal_all(self._reasoning_key, later)

    def _emit_later_reasoning(self, later: LaterReasoning) -> None:
        """Emit held reasoning as a block of its own; from now on reasoning is read from its place."""
        self._later_reasoning = None
        self._reasoning_source = later.source
        self._reasoning_key = _LATER_KEY
        self._reasoning_pieces = []
        self._emitter.end_all_blocks()
        for piece in later.pieces:
            self._emit_reasoning(piece, later.provenance)
        self._seal_all(_LATER_KEY, later)

    def _seal_all(self, key: str, later: LaterReasoning) -> None:
        for form, payload in later.seals:
            self._emitter.seal(key, form, payload)
        later.seals.clear()

    def _seal_reasoning(self, form: SealForm, payload: str) -> None:
        """Attach a seal to the latest reasoning block; start an empty one if there is none."""
        if not payload:
            return
        if self._later_reasoning is not None:
            self._later_reasoning.seals.append((form, payload))
            return
        if not self._emitter.has_block(self._reasoning_key):
            self._emitter.end_all_blocks()
            self._emitter.start_block(self._reasoning_key, Kind.REASONING)
        self._emitter.seal(self._reasoning_key, form, payload)

    def _close_text(self, *, broken: bool = False) -> None:
        """Emit the text and the reasoning that were held back.

        In a `broken` turn, held reasoning that is the beginning of what was emitted would have repeated the
        rest too, so only its seals are new.
        """
        self._tagged_text.close()
        self._compare_reasoning(final=not broken)
        if broken and self._later_reasoning is not None:
            self._seal_all(self._reasoning_key, self._later_reasoning)

    def _append_content(self, text: str, extra: ExtraContent | None) -> None:
        google = extra and (extra.google or extra.vertex)
        if google and google.thought and not self._tags_given:
            self._tags_given = True
            self._tagged_text.close()
            self._tagged_text = TaggedText(
                self._emitter, PROFILES["thought"], before_answer=self._prepare_answer
            )
        self._tagged_text.feed(text)
        self._chat_message.append_text("content", text)

    def _read_parts(self, items: list[dict[str, Any] | str]) -> None:
        """Read Mistral's list of parts, in which the text of a thinking part is itself a list of parts."""
        parts = [{"type": "text", "text": item} if isinstance(item, str) else item for item in items]
        for part in parts:
            match _part_type(part):
                case "thinking":
                    self._append_reasoning("content", loose_text(part.get("thinking")))
                    self._seal_reasoning(SealForm.SIGNATURE, text_of(part.get("signature")))
                case "reasoning":
                    self._read_summary(part.get("summary"))
                    self._append_reasoning("content", loose_text(part.get("text")))
                case _:
                    if text := loose_text(part.get("text")):
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
        continues = call.index in self._serial_and_id_by_index
        if not (call.id or function.name or arguments.strip("{}") or continues):
            return  # an empty placeholder, which Snowflake and others send with every message
        serial = self._call_serial(call)
        key = ("tool", serial)
        if not self._emitter.has_open(key):
            self._tagged_text.close()
            self._compare_reasoning()
            for block_key in (REASONING_KEY, _LATER_KEY, TEXT_KEY):
                self._emitter.end_block(block_key)
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
            read_unknown_frame(self._emitter, frame, lambda: self._close_text(broken=True))

    def _read_error(self, error: msgspec.Raw | bytes) -> None:
        self._close_text(broken=True)
        self._emitter.fail(*parse_error(error))

    def _finish(self) -> None:
        if self._finish_reason == _ERROR_REASON:
            self._emitter.fail(
                "provider_error", Wording("{name} ended with the finish reason 'error'.", name=NAME)
            )
            return
        finish = (
            Finish.REFUSAL if self._refused else _FINISH_BY_REASON.get(self._finish_reason, Finish.UNKNOWN)
        )
        message = raw_json(self._whole_message) or self._chat_message.encode()
        self._emitter.finish(finish, self._finish_reason, message)


def _unknown(chunk: Chunk) -> bool:
    """Return whether a chunk has nothing of a completion."""
    return not (chunk.model or chunk.usage or chunk.x_groq or chunk.object or bytes(chunk.error))


def _only_text(chunk: Chunk) -> tuple[str, str] | None:
    """Return the field and the text of a chunk that has one text and nothing else; None for any other."""
    if chunk.usage is not None or chunk.x_groq is not None or not chunk.choices or len(chunk.choices) > 1:
        return None
    choice = chunk.choices[0]
    others = (choice.message, choice.text, choice.finish_reason, choice.stop_reason, choice.error)
    if choice.index or choice.delta is None or any(others):
        return None
    values = {field: getattr(choice.delta, field) for field in Message.__struct_fields__}
    values = {field: value for field, value in values.items() if value is not None}
    if len(values) > 1 and values.get("content") == "":  # beside a thought, many providers send it empty
        del values["content"]
    for field in _TEXT_FIELDS:
        text = values.get(field)
        if text and isinstance(text, str) and len(values) == 1:
            return field, text
    return None


def _part_type(part: dict[str, Any]) -> str | None:
    """Return the type of a part; one without a type is known by its fields."""
    part_type = part.get("type")
    if isinstance(part_type, str):
        return part_type
    if "thinking" in part:
        return "thinking"
    return "reasoning" if "summary" in part else None


def _blank(message: Message) -> bool:
    """Return whether a message has no content: no text, no reasoning and no call."""
    return not any(getattr(message, field) for field in Message.__struct_fields__)


def _visible_bytes(text: str) -> bytes:
    return "".join(text.split()).encode(errors="surrogatepass")


def _output_tokens(counts: Counts, reasoning: int | None) -> int | None:
    """Return the output tokens including reasoning. xAI excludes it, which only the total shows."""
    if counts.completion_tokens is None or not reasoning:
        return counts.completion_tokens
    separate_total = add_counts(counts.prompt_tokens, counts.completion_tokens, reasoning)
    return counts.completion_tokens + (reasoning if counts.total_tokens == separate_total else 0)

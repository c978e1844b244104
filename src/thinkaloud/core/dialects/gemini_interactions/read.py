"""Reads Gemini Interactions responses: a list of steps, whole or as step events.

A thought step has a signature and sometimes a summary. The output token count excludes reasoning.
"""

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text, decode_object, type_name
from thinkaloud.core.dialects.message import (
    ABSENT,
    JsonObject,
    append_item,
    append_json,
    append_text,
    encode_json,
    finish_json,
    present,
    raw_json_array,
    string_or_json,
    text_of,
)
from thinkaloud.core.dialects.payload import add_counts, has_error, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedBlocks
from thinkaloud.core.wire import Frame

NAME = "gemini_interactions"

_FINISH_BY_STATUS = {
    "completed": Finish.STOP,
    "requires_action": Finish.TOOL_CALLS,
    "incomplete": Finish.LENGTH,
    "cancelled": Finish.CANCELLED,
}


class Counts(msgspec.Struct):
    """Usage; `total_output_tokens` excludes reasoning."""

    total_input_tokens: Count | None = None
    total_output_tokens: Count | None = None
    total_thought_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_tool_use_tokens: Count | None = None


class TextContent(msgspec.Struct):
    """Text in a summary or an output."""

    text: Text | None = None


class Step(msgspec.Struct):
    """A thought, an output, a call, or the result of a call that the provider ran itself."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    signature: str | None = None
    summary: list[TextContent] | None = None
    content: list[TextContent] | None = None
    result: msgspec.Raw = ABSENT
    is_error: bool | None = None


class Delta(msgspec.Struct):
    """More of a step."""

    type: str = ""
    text: Text | None = None
    content: TextContent | None = None
    signature: str | None = None
    arguments: msgspec.Raw = ABSENT


class Interaction(msgspec.Struct):
    """A whole interaction, or its metadata in a stream event."""

    model: str | None = None
    status: str | None = None
    steps: list[msgspec.Raw] | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT


class Update(msgspec.Struct):
    """One stream event."""

    event_type: str = ""
    index: int | None = None
    steps: msgspec.Raw = ABSENT
    step: msgspec.Raw = ABSENT
    delta: Delta | None = None
    interaction: Interaction | None = None
    error: msgspec.Raw = ABSENT


_update_decoder = LenientDecoder(Update)
_interaction_decoder = LenientDecoder(Interaction)
_step_decoder = LenientDecoder(Step, "steps[]")


class Reader:
    """Reads one interaction."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._texts = TaggedBlocks(emitter, tags)
        self._odd_fields = emitter.odd_fields
        self._steps_by_index: dict[int, JsonObject] = {}
        self._index_by_call_id: dict[str, int] = {}
        self._latest_index = -1

    def feed(self, frame: Frame) -> None:
        """Read one stream event, or the whole interaction."""
        if frame.data == b"[DONE]":
            return
        update = _update_decoder.decode(frame.data, self._odd_fields)
        if present(update.steps):
            self._read_whole_interaction(_interaction_decoder.decode(frame.data, self._odd_fields))
            return
        match type_name(update.event_type) or type_name(frame.event) or _infer_event_type(update):
            case "step.start" if present(update.step):
                index = self._latest_index = self._latest_index + 1 if update.index is None else update.index
                self._steps_by_index[index] = decode_object(update.step)
                self._start_step(index, _step_decoder.decode(update.step, self._odd_fields))
            case "step.delta" if update.delta is not None:
                self._apply_delta(self._index_of(update), update.delta)
            case "step.stop":
                self._end_step(self._index_of(update))
            case "interaction.completed" if update.interaction is not None:
                self._finish(
                    update.interaction,
                    encode_json([self._steps_by_index[index] for index in sorted(self._steps_by_index)]),
                )
            case event_type if has_error(update.error) or (
                event_type in ("", "error") and update.interaction is None
            ):
                read_unknown_frame(self._emitter, frame, self._texts.close)
            case _ if update.interaction is not None:
                self._emitter.start_turn(update.interaction.model)

    def close(self) -> None:
        """Fail the turn: `interaction.completed` did not arrive."""
        self._texts.close()
        self._emitter.fail_cut_off("interaction.completed")

    def _index_of(self, update: Update) -> int:
        """Return the index of the event's step; without an index, it is the latest."""
        return max(self._latest_index, 0) if update.index is None else update.index

    def _read_whole_interaction(self, interaction: Interaction) -> None:
        self._emitter.start_turn(interaction.model)
        steps = interaction.steps or []
        for index, raw in enumerate(steps):
            step = _step_decoder.decode(raw, self._odd_fields)
            self._start_step(index, step)
            if _step_type(step).endswith("_call"):
                self._emitter.append(index, string_or_json(step.arguments))
            self._emitter.seal(index, SealForm.SIGNATURE, step.signature or "")
            self._texts.end(index)
        self._finish(interaction, raw_json_array(steps))

    def _start_step(self, index: int, step: Step) -> None:
        step_type = _step_type(step)
        if step_type == "thought":
            self._emitter.start_block(index, Kind.REASONING, provenance=Provenance.SUMMARY)
            self._append_thought(index, _joined(step.summary))
        elif step_type.endswith("_result"):
            self._finish_call(step)
        elif step_type.endswith("_call"):
            self._index_by_call_id[step.id or ""] = index
            self._emitter.start_block(
                index, Kind.TOOL_CALL, name=step.name or step_type, call_id=step.id or ""
            )
        else:
            self._texts.append(index, _joined(step.content))

    def _finish_call(self, step: Step) -> None:
        call_index = self._index_by_call_id.get(step.call_id or "")
        if call_index is None:
            return
        result = string_or_json(step.result)
        error = ""
        if step.is_error:
            error = result or "failed"
        self._emitter.finish_tool(call_index, result, error)

    def _apply_delta(self, index: int, delta: Delta) -> None:
        step = self._steps_by_index.setdefault(index, {})
        text = delta.text or (delta.content and delta.content.text) or ""
        match delta.type:
            case "thought_signature":
                append_text(step, "signature", delta.signature or "")
            case "thought_summary":
                self._append_thought(index, text)
                append_item(step, "summary", {"type": "text", "text": text})
            case "arguments_delta":
                self._emitter.append(index, string_or_json(delta.arguments))
                append_json(step, string_or_json(delta.arguments))
            case _ if text:
                kind = Kind.TEXT if type_name(delta.type) else self._emitter.open_kind(index) or Kind.TEXT
                if kind is Kind.TEXT:
                    self._texts.append(index, text)
                else:
                    self._append_thought(index, text)
                append_item(step, "content", {"type": "text", "text": text})

    def _append_thought(self, index: int, text: str) -> None:
        if self._texts.enabled and text.strip():
            self._texts.disable_tags()
        self._emitter.append_or_start(index, Kind.REASONING, text, Provenance.SUMMARY)

    def _end_step(self, index: int) -> None:
        step = self._steps_by_index.get(index, {})
        streamed = finish_json(step, step, "arguments")
        if str(step.get("type")).endswith("_call") and not streamed:
            self._emitter.append(index, encode_json(step.get("arguments") or {}))
        self._emitter.seal(index, SealForm.SIGNATURE, text_of(step.get("signature")))
        self._texts.end(index)

    def _finish(self, interaction: Interaction, steps: str) -> None:
        self._texts.close()
        self._report_usage(interaction.usage)
        status = interaction.status or ""
        if has_error(interaction.error) or status == "failed":
            self._emitter.fail(*parse_error(interaction.error or b'"the interaction failed"'))
            return
        self._emitter.finish(_FINISH_BY_STATUS.get(status, Finish.UNKNOWN), status, steps)

    def _report_usage(self, counts: Counts | None) -> None:
        if counts is None:
            return
        self._emitter.report_usage(
            Usage(
                input=add_counts(counts.total_input_tokens, counts.total_tool_use_tokens),
                output=add_counts(counts.total_output_tokens, counts.total_thought_tokens),
                reasoning=counts.total_thought_tokens,
                cache_read=counts.total_cached_tokens,
            )
        )


def _infer_event_type(update: Update) -> str:
    """Return the type of an event that does not name it."""
    if update.delta is not None:
        return "step.delta"
    if present(update.step):
        return "step.start"
    return "interaction.completed" if update.interaction and update.interaction.usage else ""


def _step_type(step: Step) -> str:
    """Return the type of a step, from its other fields if it is not named."""
    if type_name(step.type):
        return step.type
    if step.name is not None:
        return "function_call"
    return "thought" if step.summary is not None or step.signature is not None else "model_output"


def _joined(parts: list[TextContent] | None) -> str:
    return "".join(part.text or "" for part in parts or ())

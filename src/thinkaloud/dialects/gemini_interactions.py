"""Gemini Interactions: a list of steps, whole or as step events.

A thought step has a signature and maybe a summary; counts of output leave the thoughts out.
"""

from typing import Any

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.counts import total
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.verbatim import (
    ABSENT,
    JsonObject,
    encode,
    grow,
    grow_json,
    present,
    raw_array,
    raw_string,
    settle_json,
    text_of,
)
from thinkaloud.wire import Frame

NAME = "gemini_interactions"

_FINISHES = {
    "completed": Finish.STOP,
    "requires_action": Finish.TOOL_CALLS,
    "incomplete": Finish.LENGTH,
    "cancelled": Finish.CANCELLED,
}


class Counts(msgspec.Struct):
    """Usage; output leaves the thoughts out."""

    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_thought_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_tool_use_tokens: int | None = None


class Text(msgspec.Struct):
    """A piece of text in a summary or an output."""

    text: str | None = None


class Step(msgspec.Struct):
    """A thought, an output, a call, or the result of one that the provider made itself."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    signature: str | None = None
    summary: list[Text] | None = None
    content: list[Text] | None = None
    result: msgspec.Raw = ABSENT
    is_error: bool | None = None


class Delta(msgspec.Struct):
    """More of a step."""

    type: str = ""
    text: str | None = None
    content: Text | None = None
    signature: str | None = None
    arguments: msgspec.Raw = ABSENT


class Interaction(msgspec.Struct):
    """A whole interaction, or the frame of one that comes in events."""

    model: str | None = None
    status: str | None = None
    steps: list[msgspec.Raw] | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT


class Update(msgspec.Struct):
    """One event of a stream."""

    event_type: str = ""
    object: str | None = None
    index: int = 0
    step: msgspec.Raw = ABSENT
    delta: Delta | None = None
    interaction: Interaction | None = None
    error: msgspec.Raw = ABSENT


_update = msgspec.json.Decoder(Update)
_interaction = msgspec.json.Decoder(Interaction)
_step = msgspec.json.Decoder(Step)
_object = msgspec.json.Decoder(dict[str, Any])


class Reader:
    """Reads one interaction."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._steps: dict[int, JsonObject] = {}
        self._calls: dict[str, int] = {}

    def feed(self, frame: Frame) -> None:
        """One event, or the whole interaction."""
        if frame.data == b"[DONE]":
            return
        update = _update.decode(frame.data)
        if update.object == "interaction":
            self._whole(_interaction.decode(frame.data))
            return
        match update.event_type:
            case "step.start" if present(update.step):
                self._steps[update.index] = _object.decode(update.step)
                self._start(update.index, _step.decode(update.step))
            case "step.delta" if update.delta is not None:
                self._grow(update.index, update.delta)
            case "step.stop":
                self._stop(update.index)
            case "interaction.completed" if update.interaction is not None:
                self._end(update.interaction, encode([self._steps[index] for index in sorted(self._steps)]))
            case _ if is_error(update.error):
                self._blocks.fail(*read_error(update.error))
            case _ if update.interaction is not None:
                self._blocks.begin(update.interaction.model)

    def close(self) -> None:
        """The bytes ended."""
        self._blocks.cut_off("interaction.completed")

    def _whole(self, interaction: Interaction) -> None:
        self._blocks.begin(interaction.model)
        steps = interaction.steps or []
        for index, raw in enumerate(steps):
            step = _step.decode(raw)
            self._start(index, step)
            if step.type.endswith("_call"):
                self._blocks.grow(index, raw_string(step.arguments))
            self._blocks.seal(index, SealForm.SIGNATURE, step.signature or "")
            self._blocks.end(index)
        self._end(interaction, raw_array(steps))

    def _start(self, index: int, step: Step) -> None:
        if step.type == "thought":
            self._blocks.start(index, Kind.REASONING, provenance=Provenance.SUMMARY)
            self._blocks.grow(index, "".join(part.text or "" for part in step.summary or ()))
        elif step.type.endswith("_result"):
            if (call := self._calls.get(step.call_id or "")) is not None:
                result = raw_string(step.result)
                self._blocks.finish_tool(call, result, (result or "failed") if step.is_error else "")
        elif step.type.endswith("_call"):
            self._calls[step.id or ""] = index
            self._blocks.start(index, Kind.TOOL_CALL, name=step.name or step.type, call_id=step.id or "")
        else:
            self._blocks.start(index, Kind.TEXT)
            self._blocks.grow(index, "".join(part.text or "" for part in step.content or ()))

    def _grow(self, index: int, delta: Delta) -> None:
        step = self._steps.setdefault(index, {})
        text = delta.text or (delta.content and delta.content.text) or ""
        match delta.type:
            case "thought_signature":
                grow(step, "signature", delta.signature or "")
            case "thought_summary":
                self._blocks.grow(index, text)
                step.setdefault("summary", []).append({"type": "text", "text": text})
            case "arguments_delta":
                self._blocks.grow(index, raw_string(delta.arguments))
                grow_json(step, raw_string(delta.arguments))
            case _ if text:
                self._blocks.grow(index, text)
                step.setdefault("content", []).append({"type": "text", "text": text})

    def _stop(self, index: int) -> None:
        step = self._steps.get(index, {})
        streamed = settle_json(step, step, "arguments")
        if str(step.get("type")).endswith("_call") and not streamed:
            self._blocks.grow(index, encode(step.get("arguments") or {}))
        self._blocks.seal(index, SealForm.SIGNATURE, text_of(step.get("signature")))
        self._blocks.end(index)

    def _end(self, interaction: Interaction, steps: str) -> None:
        self._count(interaction.usage)
        status = interaction.status or ""
        if is_error(interaction.error) or status == "failed":
            self._blocks.fail(*read_error(interaction.error or b'"the interaction failed"'))
            return
        self._blocks.finish(_FINISHES.get(status, Finish.UNKNOWN), status, steps)

    def _count(self, counts: Counts | None) -> None:
        if counts is None:
            return
        self._blocks.report(
            Usage(
                input=total(counts.total_input_tokens, counts.total_tool_use_tokens),
                output=total(counts.total_output_tokens, counts.total_thought_tokens),
                reasoning=counts.total_thought_tokens,
                cache_read=counts.total_cached_tokens,
            )
        )

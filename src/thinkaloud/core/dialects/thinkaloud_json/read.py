"""Reads Thinkaloud's own JSON of a turn: `content`, `reasoning_content` and `reasoning_meta`.

The gateway and `thinkaloud read --format json` add the thoughts one by one (`reasoning_blocks`) and the steps
of the thinking (`thinking` or `thinking_block`), which also have the tool calls. The most detailed of them is
read, so that no thought comes twice. Durations are not read: an event has no time of its own.
"""

import msgspec

from thinkaloud.core.canon import BlockStarted, Finish, Kind, Provenance, SealForm, Usage, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.wire import Frame

NAME = "thinkaloud_json"

_FINISH_BY_ENDING = {
    "called_tools": Finish.TOOL_CALLS,
    "cancelled": Finish.CANCELLED,
    "cut_off": Finish.LENGTH,
    "refused": Finish.REFUSAL,
}
_SEAL_FORM_BY_REASON = {"redacted": SealForm.REDACTED, "encrypted": SealForm.ENCRYPTED}


class TextPart(msgspec.Struct):
    """A part of the answer; one without text is of another format."""

    type: str | None = None
    text: Text | None = None


class ReasoningMeta(msgspec.Struct):
    """Facts about the thinking."""

    tokens: Count | None = None


class Thought(msgspec.Struct):
    """One thought; `unseen` says why it has no text."""

    block: int | None = None
    text: Text = ""
    provenance: str | None = None
    unseen: str | None = None


class Step(msgspec.Struct, rename="camel"):
    """A thought, or a call of a tool or an assistant, with the steps below it."""

    id: str = ""
    type: str = "reasoning"
    content: Text = ""
    tool_name: str | None = None
    tool_input: Text | None = None
    tool_result: Text | None = None
    assistant_name: str | None = None
    assistant_id: str | None = None
    assistant_task: Text | None = None
    assistant_result: Text | None = None
    child_steps: list[msgspec.Raw] | None = None


class Thinking(msgspec.Struct):
    """The steps of the thinking."""

    status: str | None = None
    steps: list[msgspec.Raw] | None = None


class OutcomeFields(msgspec.Struct):
    """How the turn ended."""

    ending: str | None = None
    cause: str | None = None
    message: Text | None = None
    wording: msgspec.Raw = msgspec.Raw()


class Counts(msgspec.Struct):
    """The token counts, by their names in `Usage`."""

    input: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None


class Answer(msgspec.Struct):
    """A whole turn; every field is optional."""

    content: list[TextPart] | None = None
    reasoning_content: Text | None = None
    reasoning_meta: ReasoningMeta | None = None
    reasoning_blocks: list[Thought] | None = None
    thinking: Thinking | None = None
    thinking_block: Thinking | None = None
    outcome: OutcomeFields | None = None
    usage: Counts | None = None
    model: str | None = None


_answer_decoder = LenientDecoder(Answer)
_step_decoder = LenientDecoder(Step, "steps[]")


class Reader:
    """Reads one turn. It has no thinking tags: the thoughts were separated before."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        del tags
        self._emitter = emitter
        self._thought_by_number: dict[str, Thought] = {}
        self._key = 0

    def feed(self, frame: Frame) -> None:
        """Read the turn."""
        answer = _answer_decoder.decode(frame.data, self._emitter.odd_fields)
        self._emitter.start_turn(answer.model)
        thinking = answer.thinking or answer.thinking_block or Thinking()
        thoughts = answer.reasoning_blocks or [Thought(text=answer.reasoning_content or "")]
        self._thought_by_number = {str(thought.block): thought for thought in thoughts}
        if thinking.steps:
            for raw in thinking.steps:
                self._read_step(raw, None)
        else:
            for thought in thoughts:
                self._read_thought(thought, None)
        for part in answer.content or ():
            if part.text is None:
                self._emitter.odd_fields.add("content[]", "a text part", f"of the type {part.type!r}")
            else:
                self._add_block(BlockStarted(0, Kind.TEXT), part.text)
        self._report_usage(answer)
        if answer.outcome is None and thinking.status == "thinking":
            self._emitter.fail_cut_off(Wording("the end of the turn"))
        else:
            self._finish(answer.outcome or OutcomeFields())

    def close(self) -> None:
        """Fail the turn: no JSON of a turn arrived."""
        self._emitter.fail_cut_off(Wording("any content"))

    def _read_step(self, raw: msgspec.Raw, parent: int | None) -> None:
        step = _step_decoder.decode(raw, self._emitter.odd_fields)
        key: int | None
        if step.type == "tool_call":
            call = BlockStarted(0, Kind.TOOL_CALL, step.tool_name or "", description=_description(step))
            key = self._add_block(call, step.tool_input or "", parent)
        elif step.type == "assistant_call":
            name, assistant_id = step.assistant_name or "", step.assistant_id or ""
            call = BlockStarted(0, Kind.ASSISTANT_CALL, name, assistant_id=assistant_id)
            key = self._add_block(call, step.assistant_task or "", parent)
        else:
            known = self._thought_by_number.get(step.id, Thought())
            thought = Thought(text=step.content, provenance=known.provenance, unseen=known.unseen)
            key = self._read_thought(thought, parent)
        for child in step.child_steps or ():
            self._read_step(child, parent if key is None else key)
        result = step.tool_result if step.assistant_result is None else step.assistant_result
        if key is not None and result is not None:
            self._emitter.finish_tool(key, result)

    def _read_thought(self, thought: Thought, parent: int | None) -> int | None:
        """Return the key of the thought's block; None if there is nothing to show, and so no block."""
        provenance = Provenance.UNKNOWN
        if thought.provenance in set(Provenance):
            provenance = Provenance(thought.provenance)
        if not thought.text and not thought.unseen:
            return None
        started = BlockStarted(0, Kind.REASONING, provenance=provenance)
        key = self._add_block(started, thought.text, parent)
        if thought.unseen:
            form = _SEAL_FORM_BY_REASON.get(thought.unseen, SealForm.SIGNATURE)
            self._emitter.seal(key, form, thought.unseen)
        return key

    def _add_block(self, started: BlockStarted, text: str, parent: int | None = None) -> int:
        self._key += 1
        self._emitter.start(self._key, started, parent)
        self._emitter.append(self._key, text)
        self._emitter.end_block(self._key)
        return self._key

    def _report_usage(self, answer: Answer) -> None:
        counts = answer.usage or Counts()
        if counts.reasoning is None and answer.reasoning_meta is not None:
            counts.reasoning = answer.reasoning_meta.tokens
        self._emitter.report_usage(Usage(**msgspec.structs.asdict(counts)))

    def _finish(self, outcome: OutcomeFields) -> None:
        cause = outcome.cause or ""
        lost = outcome.ending == "cut_off" and cause == "cut_off"
        if outcome.ending == "failed" or lost:
            self._emitter.fail(
                cause or "failed", Wording.received(outcome.message or "", _read_wording(outcome.wording))
            )
            return
        finish = _FINISH_BY_ENDING.get(outcome.ending or "", Finish.STOP)
        self._emitter.finish(finish, cause)


def _description(step: Step) -> str:
    """Return what a tool does, unless the record has only its name or its input in this place."""
    line = " ".join(step.content.split())
    tool_input = " ".join((step.tool_input or "").split())
    repeats = line == step.tool_name or tool_input.startswith(line.removesuffix("…"))
    return "" if repeats else step.content


def _read_wording(raw: msgspec.Raw) -> Wording | None:
    """Return the wording of a message; None without one, or with one that cannot be read."""
    try:
        return msgspec.json.decode(raw, type=Wording | None) if raw else None
    except msgspec.MsgspecError:
        return None

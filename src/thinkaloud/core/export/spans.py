"""A turn as the spans of a trace: the turn itself, its replies, its tools, and its assistants with theirs.

The turn and each assistant are `invoke_agent`, each reply is `chat`, each tool that ran is `execute_tool`. A
time that the entries do not tell stays unknown. What a reply was sent is only what is new since the reply
before it: the whole conversation in every span would grow with its square.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

import msgspec

from thinkaloud.core.canon import (
    ApprovalSettled,
    BlockEnded,
    Entry,
    Finish,
    Kind,
    TurnEnded,
    TurnFailed,
)
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.span_attributes import (
    FINISH_REASONS,
    Attributes,
    Messages,
    SpanContent,
    answer_message,
    asked_messages,
    json_text,
    openinference_answer,
    openinference_messages,
    openinference_provider,
    provider_name,
    result_message,
    usage_attributes,
)
from thinkaloud.core.transcript import CALL_KINDS, Block, Ending, Reply, Turn, fold_entries

_FAILED_ENDINGS = (Ending.FAILED, Ending.CUT_OFF)
_DATES_MS = range(10**11, 10**13)
"""From 1973 to 2286. Other times count from another moment than 1970, so they are no dates."""
NS_PER_MS = 1_000_000
TURN = "turn"
"""The path of the span of the turn itself."""


class SpanKind(IntEnum):
    """Whether a span is work in this process or a request to another one, as numbered by OTLP."""

    INTERNAL = 1
    CLIENT = 3


class SpanOptions(msgspec.Struct, frozen=True):
    """What spans hold, and whether they have the names of OpenInference beside those of OpenTelemetry."""

    content: SpanContent = SpanContent.NONE
    openinference: bool = False


class TracedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn to trace, and what is known about it besides its entries."""

    entries: Sequence[Entry]
    asked: tuple[UserMessage | ToolMessage, ...] = ()
    model: str = ""
    """The model that was asked for."""
    provider: str = ""
    agent_id: str = ""
    agent_name: str = ""
    conversation: str = ""


class SpanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One span. `path` tells it from the others of its turn, and stays the same whenever it is made."""

    path: str
    parent: str = ""
    """The path of the span that it is part of; empty for the turn itself."""
    name: str
    kind: SpanKind = SpanKind.INTERNAL
    started_ms: int | None = None
    ended_ms: int | None = None
    attributes: Attributes
    error: str = ""
    """The class of the error that it ended with; empty for none."""


def turn_spans(traced: TracedTurn, options: SpanOptions) -> list[SpanRecord]:
    """Return the spans of a turn, each after the one that it is part of."""
    return list(_SpanBuilder(traced, options).spans())


class _Step(msgspec.Struct, frozen=True):
    """A reply with its blocks; the last one of a caller may have broken off, and has no end of its own."""

    blocks: tuple[Block, ...]
    reply: Reply | None


class _Caller(msgspec.Struct, frozen=True):
    """Who a reply belongs to: the turn itself, or the call of an assistant."""

    number: int | None
    path: str
    messages: Messages
    """What it was asked."""
    started_ms: int | None
    ended_ms: int | None


class _SpanBuilder:
    """Makes the spans of one turn."""

    def __init__(self, traced: TracedTurn, options: SpanOptions) -> None:
        self._traced = traced
        self._content = options.content
        self._openinference = options.openinference
        self._turn = fold_entries(traced.entries)
        self._steps = _steps_by_caller(self._turn)
        self._run_ms = _run_times(traced.entries)
        self._reply_calls = {number for reply in self._turn.replies for number in reply.calls}

    def spans(self) -> Iterator[SpanRecord]:
        """Yield the span of the turn, then those of its parts."""
        turn, traced = self._turn, self._traced
        messages = asked_messages(traced.asked)
        attributes = self._agent_attributes(traced.agent_name, messages, turn.answer)
        if traced.agent_id:
            attributes["gen_ai.agent.id"] = traced.agent_id
        if traced.model:
            attributes["gen_ai.request.model"] = traced.model
        outcome = turn.outcome
        failed = outcome is not None and outcome.ending in _FAILED_ENDINGS
        yield self._span(
            SpanRecord(
                path=TURN,
                name=f"invoke_agent {traced.agent_name}".strip(),
                started_ms=turn.started_ms,
                ended_ms=turn.ended_ms,
                attributes=attributes,
                error=(outcome.cause or outcome.ending) if failed and outcome is not None else "",
            )
        )
        yield from self._replies(_Caller(None, TURN, messages, turn.started_ms, turn.ended_ms))

    def _replies(self, caller: _Caller) -> Iterator[SpanRecord]:
        """Yield the replies of a caller, each followed by its tools and assistants."""
        messages, started_ms = caller.messages, caller.started_ms
        for number, step in enumerate(self._steps.get(caller.number, ())):
            path = f"{caller.path}/reply.{number}"
            yield self._reply(path, caller, step, messages, started_ms)
            calls = [block for block in step.blocks if block.kind in CALL_KINDS]
            for block in calls:
                # The provider itself runs a call that is not left to the program, within its reply.
                parent = caller.path if block.number in self._reply_calls else path
                yield from self._call(parent, caller, block)
            results = (block for block in calls if block.result is not None)
            messages = [result_message(block.call_id, block.error or block.result or "") for block in results]
            started_ms = _latest([_ended_ms(step, caller), *(block.ended_ms for block in calls)])

    def _reply(
        self, path: str, caller: _Caller, step: _Step, messages: Messages, started_ms: int | None
    ) -> SpanRecord:
        traced, reply = self._traced, step.reply or self._last_reply(caller)
        provider = reply.provider or traced.provider
        finish = FINISH_REASONS.get(reply.finish, reply.said)
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider_name(provider),
            "gen_ai.request.model": traced.model if caller.number is None else "",
            "gen_ai.response.model": reply.model,
            "gen_ai.response.finish_reasons": [finish] if finish else [],
            **usage_attributes(reply.usage, openinference=self._openinference),
        }
        if self._content.includes(SpanContent.MESSAGES):
            answer = answer_message(step.blocks, self._content)
            attributes["gen_ai.input.messages"] = json_text(messages)
            attributes["gen_ai.output.messages"] = json_text([answer])
        if (reasoning_ms := _reasoning_ms(step.blocks)) is not None:
            attributes["thinkaloud.reasoning_ms"] = reasoning_ms
        if self._openinference:
            attributes |= {
                "openinference.span.kind": "LLM",
                "llm.model_name": reply.model or traced.model,
                "llm.provider": openinference_provider(provider),
                "llm.finish_reason": finish,
            }
            if self._content.includes(SpanContent.MESSAGES):
                attributes |= openinference_messages("llm.input_messages", messages)
                attributes |= openinference_answer("llm.output_messages", step.blocks, self._content)
        model = attributes["gen_ai.request.model"] or reply.model
        return self._span(
            SpanRecord(
                path=path,
                parent=caller.path,
                name=f"chat {model}".strip(),
                kind=SpanKind.CLIENT,
                started_ms=started_ms,
                ended_ms=_ended_ms(step, caller),
                attributes=attributes,
                error=self._error(caller, step),
            )
        )

    def _last_reply(self, caller: _Caller) -> Reply:
        """Return what is known of a reply that has no end of its own: the turn has it."""
        turn = self._turn
        if caller.number is not None or turn.replies:
            return Reply(Finish.CANCELLED)
        end = self._traced.entries[-1].event if self._traced.entries else None
        known = Reply(usage=turn.usage, model=turn.model)
        if isinstance(end, TurnEnded):
            return msgspec.structs.replace(known, finish=end.finish, said=end.said)
        if isinstance(end, TurnFailed):
            return msgspec.structs.replace(known, finish=Finish.CANCELLED)
        return known

    def _error(self, caller: _Caller, step: _Step) -> str:
        outcome = self._turn.outcome
        if caller.number is not None or step.reply is not None or outcome is None:
            return ""
        return outcome.cause or outcome.ending if outcome.ending in _FAILED_ENDINGS else ""

    def _call(self, parent: str, caller: _Caller, block: Block) -> Iterator[SpanRecord]:
        """Yield the span of a tool, or those of an assistant. A call that nobody ran has none."""
        path = f"{caller.path}/call.{block.number}"
        left_to_program = block.number in self._reply_calls
        started_ms = self._run_ms.get(block.number) if left_to_program else block.started_ms
        if block.kind is Kind.ASSISTANT_CALL:
            asked = asked_messages([UserMessage(block.text)])
            yield self._span(
                SpanRecord(
                    path=path,
                    parent=parent,
                    name=f"invoke_agent {block.name}".strip(),
                    started_ms=started_ms,
                    ended_ms=block.ended_ms,
                    attributes={
                        **self._agent_attributes(block.name, asked, block.result or ""),
                        "gen_ai.tool.call.id": block.call_id,
                    },
                    error="_OTHER" if block.error else "",
                )
            )
            yield from self._replies(_Caller(block.number, path, asked, started_ms, block.ended_ms))
        elif block.result is not None or block.error:
            yield self._span(
                SpanRecord(
                    path=path,
                    parent=parent,
                    name=f"execute_tool {block.name}".strip(),
                    started_ms=started_ms,
                    ended_ms=block.ended_ms,
                    attributes=self._tool_attributes(block),
                    error="_OTHER" if block.error else "",
                )
            )

    def _agent_attributes(self, name: str, messages: Messages, answer: str) -> Attributes:
        attributes: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        shown = self._content.includes(SpanContent.MESSAGES)
        if shown:
            parts = [{"type": "text", "content": answer}] if answer else []
            attributes["gen_ai.input.messages"] = json_text(messages)
            attributes["gen_ai.output.messages"] = json_text([{"role": "assistant", "parts": parts}])
        if self._openinference:
            attributes |= {"openinference.span.kind": "AGENT", "agent.name": name}
            if shown:
                texts = (part.get("content") for message in messages for part in message["parts"])
                attributes["input.value"] = "\n\n".join(text for text in texts if isinstance(text, str))
                attributes["output.value"] = answer
        return attributes

    def _tool_attributes(self, block: Block) -> Attributes:
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": block.name,
            "gen_ai.tool.call.id": block.call_id,
            "gen_ai.tool.type": "function" if block.number in self._reply_calls else "",
        }
        shown = self._content.includes(SpanContent.MESSAGES)
        result = block.error or block.result or ""
        if shown:
            attributes["gen_ai.tool.description"] = block.description
            attributes["gen_ai.tool.call.arguments"] = block.text
            attributes["gen_ai.tool.call.result"] = result
        if self._openinference:
            attributes |= {"openinference.span.kind": "TOOL", "tool.name": block.name}
            if shown:
                attributes |= {"input.value": block.text, "output.value": result}
        return attributes

    def _span(self, span: SpanRecord) -> SpanRecord:
        """Return a span with what all of them have, and without what is not known."""
        attributes = span.attributes | {
            "gen_ai.conversation.id": self._traced.conversation,
            "error.type": span.error,
        }
        if self._openinference:
            attributes["session.id"] = self._traced.conversation
        return msgspec.structs.replace(
            span,
            started_ms=_date(span.started_ms),
            ended_ms=_date(span.ended_ms),
            attributes={name: value for name, value in attributes.items() if value not in ("", [])},
        )


def _steps_by_caller(turn: Turn) -> dict[int | None, list[_Step]]:
    """Return the replies of the turn itself and of each assistant, with what broke off after the last."""
    starts: dict[int | None, int] = {}
    steps: dict[int | None, list[_Step]] = {None: []}
    for reply in turn.replies:
        start = starts.get(reply.parent, 0)
        blocks = [block for block in turn.blocks[start : reply.until] if block.parent == reply.parent]
        steps.setdefault(reply.parent, []).append(_Step(tuple(blocks), reply))
        starts[reply.parent] = reply.until
    unfinished: dict[int | None, list[Block]] = {}
    for block in turn.blocks:
        if block.number >= starts.get(block.parent, 0):
            unfinished.setdefault(block.parent, []).append(block)
    if not turn.replies:
        unfinished.setdefault(None, [])
    for caller, blocks in unfinished.items():
        steps.setdefault(caller, []).append(_Step(tuple(blocks), None))
    return steps


def _run_times(entries: Iterable[Entry]) -> dict[int, int]:
    """Return when each call began to run: when it was approved, else when it was complete."""
    times: dict[int, int] = {}
    for entry in entries:
        event = entry.event
        if entry.at_ms is not None and isinstance(event, BlockEnded | ApprovalSettled):
            times[event.block] = entry.at_ms
    return times


def _ended_ms(step: _Step, caller: _Caller) -> int | None:
    return caller.ended_ms if step.reply is None else step.reply.ended_ms


def _latest(times: Sequence[int | None]) -> int | None:
    """Return the latest of these times; unknown if one of them is."""
    known = [at_ms for at_ms in times if at_ms is not None]
    return max(known) if len(known) == len(times) else None


def _date(at_ms: int | None) -> int | None:
    return at_ms if at_ms is not None and at_ms in _DATES_MS else None


def _reasoning_ms(blocks: Iterable[Block]) -> int | None:
    """Return how long these blocks were thought about, or None if no duration is known."""
    durations = [block.duration_ms for block in blocks if block.kind is Kind.REASONING]
    known = [ms for ms in durations if ms is not None and ms >= 0]  # a clock may have gone back
    return sum(known) if known else None


def visible_content(content: SpanContent, *, hides_thoughts: bool) -> SpanContent:
    """Return what may be shown where thoughts are hidden: seals may hold a thought too."""
    if hides_thoughts and content.includes(SpanContent.THOUGHTS):
        return SpanContent.MESSAGES
    return content

"""Cohere chat v2: blocks of content that are thinking or text, then tool calls.

The plan that older models write before they call tools is a thought too.
"""

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.verbatim import ABSENT, JsonObject, encode, grow, present, raw_string, raw_text
from thinkaloud.wire import Frame

NAME = "cohere_v2"

_FINISHES = {
    "COMPLETE": Finish.STOP,
    "STOP_SEQUENCE": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "TOOL_CALL": Finish.TOOL_CALLS,
    "ERROR_TOXIC": Finish.REFUSAL,
}
_PLAN = "plan"


class Tokens(msgspec.Struct):
    """Counts; output includes reasoning."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class Counts(msgspec.Struct):
    """Usage."""

    tokens: Tokens | None = None
    cached_tokens: int | None = None


class Function(msgspec.Struct):
    """The function of a call."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    """A call, or more of it."""

    id: str | None = None
    function: Function | None = None


class Content(msgspec.Struct):
    """A block, or more of it."""

    type: str | None = None
    thinking: str | None = None
    text: str | None = None


class Message(msgspec.Struct):
    """A whole message holds lists; a piece of one holds single values."""

    content: list[Content] | Content | None = None
    tool_plan: str | None = None
    tool_calls: list[ToolCall] | ToolCall | None = None


class Delta(msgspec.Struct):
    """What an event adds."""

    message: Message | None = None
    finish_reason: str | None = None
    usage: Counts | None = None
    error: str | None = None


class Update(msgspec.Struct):
    """One event of a stream, or the whole response."""

    type: str = ""
    index: int = 0
    delta: Delta | None = None
    message: msgspec.Raw = ABSENT
    finish_reason: str | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT


_update = msgspec.json.Decoder(Update)
_message = msgspec.json.Decoder(Message)


class Reader:
    """Reads one response."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._content: dict[int, JsonObject] = {}
        self._calls: dict[int, JsonObject] = {}
        self._plan: JsonObject = {}

    def feed(self, frame: Frame) -> None:
        """One event, or the whole response."""
        if frame.data == b"[DONE]":
            return
        update = _update.decode(frame.data)
        delta = update.delta or Delta()
        if is_error(update.error):
            self._blocks.fail(*read_error(update.error))
        elif update.type == "message-end":
            self._end(delta.finish_reason or "", delta.usage, self._message(), delta.error)
        elif update.type.endswith("-end"):
            self._blocks.end(_key(update))
        elif update.delta is not None:
            self._read_piece(update, delta.message or Message())
        elif update.finish_reason is not None and present(update.message):
            self._read_whole(_message.decode(update.message))
            self._end(update.finish_reason, update.usage, raw_text(update.message))
        elif update.message and bytes(update.message)[:1] == b'"':
            self._blocks.fail("provider_error", raw_string(update.message))

    def close(self) -> None:
        """The bytes ended."""
        self._blocks.cut_off("message-end")

    def _read_whole(self, message: Message) -> None:
        self._say(_PLAN, Kind.REASONING, message.tool_plan or "")
        for index, content in enumerate(message.content if isinstance(message.content, list) else ()):
            self._read_content(("content", index), content)
            self._blocks.end(("content", index))
        for index, call in enumerate(message.tool_calls if isinstance(message.tool_calls, list) else ()):
            self._read_call(("tool", index), call)

    def _read_piece(self, update: Update, message: Message) -> None:
        if message.tool_plan:
            self._say(_PLAN, Kind.REASONING, message.tool_plan)
            grow(self._plan, "tool_plan", message.tool_plan)
        if isinstance(message.content, Content):
            self._read_content(_key(update), message.content)
            kept = self._content.setdefault(update.index, {"type": message.content.type})
            for field in ("thinking", "text"):
                if (text := getattr(message.content, field)) is not None:
                    grow(kept, field, text)
        if isinstance(message.tool_calls, ToolCall):
            self._read_call(_key(update), message.tool_calls)
            self._keep_call(update.index, message.tool_calls)

    def _read_content(self, key: object, content: Content) -> None:
        kind = Kind.REASONING if content.type == "thinking" or content.thinking is not None else Kind.TEXT
        if content.type is not None:
            self._blocks.end(_PLAN)
            self._blocks.start(
                key, kind, provenance=Provenance.RAW if kind is Kind.REASONING else Provenance.UNKNOWN
            )
        self._say(key, kind, content.thinking or content.text or "")

    def _read_call(self, key: object, call: ToolCall) -> None:
        function = call.function or Function()
        self._blocks.end(_PLAN)
        self._blocks.start(key, Kind.TOOL_CALL, name=function.name or "", call_id=call.id or "")
        self._blocks.grow(key, function.arguments or "")

    def _say(self, key: object, kind: Kind, text: str) -> None:
        self._blocks.say(key, kind, text, Provenance.RAW if kind is Kind.REASONING else Provenance.UNKNOWN)

    def _keep_call(self, index: int, call: ToolCall) -> None:
        function = call.function or Function()
        kept = self._calls.setdefault(
            index, {"id": call.id, "type": "function", "function": {"name": function.name, "arguments": ""}}
        )
        grow(kept["function"], "arguments", function.arguments or "")

    def _message(self) -> str:
        message: JsonObject = {"role": "assistant", **self._plan}
        message["content"] = [self._content[index] for index in sorted(self._content)]
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return encode(message)

    def _end(self, said: str, counts: Counts | None, message: str, error: str | None = None) -> None:
        if counts is not None and counts.tokens is not None:
            tokens = counts.tokens
            self._blocks.report(
                Usage(
                    tokens.input_tokens, tokens.output_tokens, tokens.reasoning_tokens, counts.cached_tokens
                )
            )
        if said in ("ERROR", "TIMEOUT"):
            self._blocks.fail(said.lower(), error or f"{NAME} ended the turn with {said}")
        else:
            self._blocks.finish(_FINISHES.get(said, Finish.UNKNOWN), said, message)


def _key(update: Update) -> tuple[str, int]:
    return ("tool" if update.type.startswith("tool-call") else "content", update.index)

"""Ollama's own API, chat and generate: JSON lines, or one of them.

Thoughts come in `thinking`; a model whose template Ollama does not know leaves tags in the text. Tool calls
are whole. There is no count of reasoning tokens.
"""

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.profiles import Profile
from thinkaloud.dialects.tagged_text import REASONING, TaggedText
from thinkaloud.dialects.verbatim import ABSENT, JsonObject, encode, grow, raw_text
from thinkaloud.wire import Frame

NAME = "ollama"

_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


class Function(msgspec.Struct):
    """The function of a call; arguments are an object."""

    name: str | None = None
    arguments: msgspec.Raw = ABSENT


class ToolCall(msgspec.Struct):
    """A whole call."""

    id: str | None = None
    function: Function | None = None


class Message(msgspec.Struct):
    """More of the message, or all of it."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: list[msgspec.Raw] | None = None


class Line(msgspec.Struct):
    """One line; generate says `response` and `thinking` where chat has a message."""

    model: str | None = None
    message: Message | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: msgspec.Raw = ABSENT


_line = msgspec.json.Decoder(Line)
_tool_call = msgspec.json.Decoder(ToolCall)


class Reader:
    """Reads one answer."""

    def __init__(self, blocks: Blocks, tags: Profile | None = None) -> None:
        self._blocks = blocks
        self._text = TaggedText(blocks, tags)
        self._called = 0
        self._message: JsonObject = {"role": "assistant", "content": ""}

    def feed(self, frame: Frame) -> None:
        """One line."""
        line = _line.decode(frame.data)
        self._blocks.begin(line.model)
        if is_error(line.error):
            self._text.close()
            self._blocks.fail(*read_error(line.error))
            return
        self._read(line.message or Message(line.response, line.thinking))
        if line.done:
            self._finish(line)

    def close(self) -> None:
        """The bytes ended."""
        self._text.close()
        self._blocks.cut_off("done")

    def _read(self, message: Message) -> None:
        if message.thinking:
            self._text.off()
            if not self._blocks.is_open(REASONING):
                self._blocks.end_all()
            self._blocks.say(REASONING, Kind.REASONING, message.thinking, Provenance.RAW)
            grow(self._message, "thinking", message.thinking)
        if message.content:
            self._text.feed(message.content)
            grow(self._message, "content", message.content)
        for raw in message.tool_calls or ():
            self._call(raw)

    def _call(self, raw: msgspec.Raw) -> None:
        self._text.close()
        self._blocks.end_all()
        call = _tool_call.decode(raw)
        function = call.function or Function()
        self._called += 1
        key = ("tool", self._called)
        self._blocks.start(key, Kind.TOOL_CALL, name=function.name or "", call_id=call.id or "")
        self._blocks.grow(key, raw_text(function.arguments) or "{}")
        self._blocks.end(key)
        self._message.setdefault("tool_calls", []).append(raw)

    def _finish(self, line: Line) -> None:
        self._text.close()
        self._blocks.report(Usage(input=line.prompt_eval_count, output=line.eval_count))
        said = line.done_reason or ""
        finish = _FINISHES.get(said, Finish.UNKNOWN)
        if self._called and finish is Finish.STOP:
            finish = Finish.TOOL_CALLS
        self._blocks.finish(finish, said, encode(self._message))

"""What a simulator answers: turns written in JSON, or else a small honest default.

A turn whose fault breaks the answer is given again, without the fault, to the request after it; so
"429 twice, then the answer" is one turn. When the turns are used up the default answers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from thinkaloud.simulators.schema_values import schema_value

_WORD_PATTERN = re.compile(r"\s*\S+\s?|\s+")
_BREAKING_FAULTS = {"status", "overload", "cut", "garbage", "gzip_bomb", "endless_line", "html", "empty"}
_DELAYING_FAULTS = {"stall", "comments", "slow"}
FAULT_KINDS = tuple(sorted(_BREAKING_FAULTS | _DELAYING_FAULTS))


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that goes wrong on the way; see the how-to for what each kind takes."""

    kind: str
    status: int = 503
    retry_after: float | None = None
    times: int = 1
    after_events: int = 0
    inside_bytes: int = 0
    seconds: float = 0.0
    size: int = 64 * 1024 * 1024
    again: bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in FAULT_KINDS:
            raise ValueError(f"no fault is called {self.kind!r}; there are {', '.join(FAULT_KINDS)}")

    @property
    def repeats(self) -> bool:
        """True when the request after this one gets the same turn again."""
        return self.kind in _BREAKING_FAULTS if self.again is None else self.again


class ScriptedToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the simulated model makes."""

    name: str
    arguments: dict[str, Any] = {}


class ScriptedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of the simulated model."""

    thinking: str | list[str] = ""
    text: str = ""
    tool_calls: list[ScriptedToolCall] = []
    redacted: bool = False
    finish: str = ""
    fault: Fault | None = None
    delay_ms: int = 0

    def __post_init__(self) -> None:
        if self.finish not in FINISH_WORDS:
            raise ValueError(f"no turn finishes with {self.finish!r}; there are {', '.join(FINISH_WORDS)}")

    @property
    def thoughts(self) -> list[str]:
        """The thoughts, one text for each block."""
        thoughts = [self.thinking] if isinstance(self.thinking, str) else self.thinking
        return thoughts if self.redacted else [thought for thought in thoughts if thought]

    @property
    def finish_reason(self) -> str:
        """Why the turn ends: what the script says, or what follows from it."""
        return self.finish or ("tool_calls" if self.tool_calls else "stop")


FINISH_WORDS = ("", "stop", "length", "tool_calls", "refusal")


class OfferedTool(NamedTuple):
    """A tool that the request offers."""

    name: str
    schema: object


class ReceivedPrompt(NamedTuple):
    """What a default answer goes by: the last words, the tools, and whether a tool just came back."""

    text: str
    tools: tuple[OfferedTool, ...] = ()
    after_tool: bool = False
    tool_choice: str = "auto"


class Script:
    """The turns to give, in order."""

    def __init__(self, turns: list[ScriptedAnswer] | None = None) -> None:
        self._turns = list(turns or [])
        self._remaining_faults = [turn.fault.times if turn.fault else 0 for turn in self._turns]
        self._position = 0

    @classmethod
    def parse(cls, source: str | bytes | list[Any] | None) -> "Script":
        """A script from JSON text, or from the list that such a text holds."""
        if source is None:
            return cls()
        if isinstance(source, list):
            return cls(msgspec.convert(source, list[ScriptedAnswer]))
        return cls(msgspec.json.decode(source, type=list[ScriptedAnswer]))

    @classmethod
    def load(cls, path: str | Path) -> "Script":
        """A script from a file."""
        return cls.parse(Path(path).read_bytes())

    @property
    def remaining(self) -> int:
        """How many turns were not given yet."""
        return len(self._turns) - self._position

    def next_answer(self, prompt: ReceivedPrompt) -> ScriptedAnswer:
        """The answer to this request."""
        if self._position >= len(self._turns):
            return default_answer(prompt)
        answer = self._turns[self._position]
        if answer.fault is None:
            self._position += 1
            return answer
        if self._remaining_faults[self._position] > 0:
            self._remaining_faults[self._position] -= 1
            if not answer.fault.repeats:
                self._position += 1
            return answer
        self._position += 1
        return msgspec.structs.replace(answer, fault=None)


def default_answer(prompt: ReceivedPrompt) -> ScriptedAnswer:
    """An answer that says what it is; with tools on offer, first a call that fits the first of them."""
    if prompt.tools and not prompt.after_tool and prompt.tool_choice != "none":
        tool = next((tool for tool in prompt.tools if tool.name == prompt.tool_choice), prompt.tools[0])
        arguments = schema_value(tool.schema)
        return ScriptedAnswer(
            thinking=f"A simulated thought: the tool {tool.name} is on offer, so it is called.",
            tool_calls=[ScriptedToolCall(tool.name, arguments if isinstance(arguments, dict) else {})],
        )
    source = "tool said" if prompt.after_tool else "message was"
    return ScriptedAnswer(
        thinking="A simulated thought: no model was asked.",
        text=f"This is a simulated answer; no model was asked. The last {source}: {prompt.text[:200]}",
    )


def split_words(text: str) -> Iterator[str]:
    """The text word by word, the way it is streamed."""
    yield from _WORD_PATTERN.findall(text)


def count_tokens(*texts: str) -> int:
    """A count that stands for tokens: one for each four characters, rounded up."""
    return sum((len(text) + 3) // 4 for text in texts)

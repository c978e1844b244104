"""What a simulator answers: turns written in JSON, or else a small honest default.

A turn whose fault breaks the answer is given again, without the fault, to the request after it; so
"429 twice, then the answer" is one turn. When the turns are used up the default answers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from thinkaloud.simulators.fitting import fitting

_WORD = re.compile(r"\s*\S+\s?|\s+")
_BREAKING = {"status", "overload", "cut", "garbage", "gzip_bomb", "endless_line", "html", "empty"}
_NOT_BREAKING = {"stall", "comments", "slow"}
FAULTS = tuple(sorted(_BREAKING | _NOT_BREAKING))


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
        if self.kind not in FAULTS:
            raise ValueError(f"no fault is called {self.kind!r}; there are {', '.join(FAULTS)}")

    @property
    def repeats(self) -> bool:
        """True when the request after this one gets the same turn again."""
        return self.kind in _BREAKING if self.again is None else self.again


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the simulated model makes."""

    name: str
    arguments: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of the simulated model."""

    thinking: str | list[str] = ""
    text: str = ""
    tool_calls: list[ToolCall] = []
    redacted: bool = False
    finish: str = ""
    fault: Fault | None = None
    delay_ms: int = 0

    def __post_init__(self) -> None:
        if self.finish not in FINISHES:
            raise ValueError(f"no turn finishes with {self.finish!r}; there are {', '.join(FINISHES)}")

    @property
    def thoughts(self) -> list[str]:
        """The thoughts, one text for each block."""
        told = [self.thinking] if isinstance(self.thinking, str) else self.thinking
        return told if self.redacted else [thought for thought in told if thought]

    @property
    def ending(self) -> str:
        """Why the turn ends: what the script says, or what follows from it."""
        return self.finish or ("tool_calls" if self.tool_calls else "stop")


FINISHES = ("", "stop", "length", "tool_calls", "refusal")


class Tool(NamedTuple):
    """A tool that the request offers."""

    name: str
    schema: object


class Heard(NamedTuple):
    """What a default answer goes by: the last words, the tools, and whether a tool just came back."""

    said: str
    tools: tuple[Tool, ...] = ()
    after_tool: bool = False
    choice: str = "auto"


class Script:
    """The turns to give, in order."""

    def __init__(self, turns: list[Answer] | None = None) -> None:
        self._turns = list(turns or [])
        self._faults_left = [turn.fault.times if turn.fault else 0 for turn in self._turns]
        self._at = 0

    @classmethod
    def read(cls, told: str | bytes | list[Any] | None) -> "Script":
        """A script from JSON text, or from the list that such a text holds."""
        if told is None:
            return cls()
        if isinstance(told, list):
            return cls(msgspec.convert(told, list[Answer]))
        return cls(msgspec.json.decode(told, type=list[Answer]))

    @classmethod
    def load(cls, path: str | Path) -> "Script":
        """A script from a file."""
        return cls.read(Path(path).read_bytes())

    @property
    def left(self) -> int:
        """How many turns were not given yet."""
        return len(self._turns) - self._at

    def next(self, heard: Heard) -> Answer:
        """The answer to this request."""
        if self._at >= len(self._turns):
            return default_answer(heard)
        answer = self._turns[self._at]
        if answer.fault is None:
            self._at += 1
            return answer
        if self._faults_left[self._at] > 0:
            self._faults_left[self._at] -= 1
            if not answer.fault.repeats:
                self._at += 1
            return answer
        self._at += 1
        return msgspec.structs.replace(answer, fault=None)


def default_answer(heard: Heard) -> Answer:
    """An answer that says what it is; with tools on offer, first a call that fits the first of them."""
    if heard.tools and not heard.after_tool and heard.choice != "none":
        tool = next((tool for tool in heard.tools if tool.name == heard.choice), heard.tools[0])
        arguments = fitting(tool.schema)
        return Answer(
            thinking=f"A simulated thought: the tool {tool.name} is on offer, so it is called.",
            tool_calls=[ToolCall(tool.name, arguments if isinstance(arguments, dict) else {})],
        )
    heard_last = "tool said" if heard.after_tool else "message was"
    return Answer(
        thinking="A simulated thought: no model was asked.",
        text=f"This is a simulated answer; no model was asked. The last {heard_last}: {heard.said[:200]}",
    )


def pieces(text: str) -> Iterator[str]:
    """The text word by word, the way it is streamed."""
    yield from _WORD.findall(text)


def tokens(*texts: str) -> int:
    """A count that stands for tokens: one for each four characters, rounded up."""
    return sum((len(text) + 3) // 4 for text in texts)

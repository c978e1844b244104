"""The plain command line: the answer on one stream, thoughts as `[think] ` lines on another, live.

Words and lines are `view`'s; here they are made safe for a terminal and sent to their stream.
"""

from typing import Protocol

from thinkaloud.canon import Entry
from thinkaloud.surfaces.terminal import Cleaner
from thinkaloud.transcript import Turn, apply
from thinkaloud.view import Channel, PlainTeller

_DIM, _NORMAL = "\x1b[2m", "\x1b[22m"


class Stream(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> object:
        """Take text."""

    def flush(self) -> None:
        """Let it be seen."""


class Plain:
    """Writes one turn, entry by entry; `turn` is the turn so far."""

    def __init__(self, answer: Stream, thoughts: Stream, *, locale: str = "en-US", dim: bool = False) -> None:
        self.turn = Turn()
        self._teller = PlainTeller(locale)
        self._streams = {Channel.ANSWER: answer, Channel.REASONING: thoughts, Channel.NOTICE: thoughts}
        self._cleaners = {channel: Cleaner() for channel in Channel}
        self._dim = dim
        self._answer_line_open = False

    def feed(self, entry: Entry) -> None:
        """Write what this entry adds."""
        apply(self.turn, entry)
        for channel, text in self._teller.feed(self.turn, entry.event):
            self._write(channel, self._cleaners[channel].feed(text))
        if not self.turn.live and self._answer_line_open:
            self._write(Channel.ANSWER, "\n")

    def _write(self, channel: Channel, text: str) -> None:
        if not text:
            return
        stream = self._streams[channel]
        if channel is Channel.ANSWER:
            self._answer_line_open = not text.endswith("\n")
        elif self._dim and channel is Channel.REASONING:
            text = f"{_DIM}{text}{_NORMAL}"
        stream.write(text)
        stream.flush()

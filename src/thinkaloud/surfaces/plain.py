"""The plain command line: the answer on one stream, thoughts as `[think] ` lines on another, live.

Words and lines are `view`'s; here they are made safe for a terminal and sent to their stream.
"""

from enum import StrEnum
from typing import Protocol

from thinkaloud.canon import Entry
from thinkaloud.surfaces.terminal import Cleaner, clean
from thinkaloud.transcript import Turn, apply
from thinkaloud.view import Channel, PlainTeller, view

_DIM, _NORMAL = "\x1b[2m", "\x1b[22m"


class Show(StrEnum):
    """How much of the thinking is shown."""

    SHOW = "show"
    SUMMARY = "summary"
    HIDE = "hide"


class Stream(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> object:
        """Take text."""

    def flush(self) -> None:
        """Let it be seen."""


class Plain:
    """Writes one turn, entry by entry; `turn` is the turn so far."""

    def __init__(
        self,
        answer: Stream,
        thoughts: Stream,
        *,
        locale: str = "en-US",
        dim: bool = False,
        show: Show = Show.SHOW,
    ) -> None:
        self.turn = Turn()
        self._locale = locale
        self._teller = PlainTeller(locale, labels=True)
        self._streams = {Channel.ANSWER: answer, Channel.REASONING: thoughts, Channel.NOTICE: thoughts}
        self._cleaners = {channel: Cleaner() for channel in Channel}
        self._dim = dim
        self._show = show
        self._answer_line_open = False

    def feed(self, entry: Entry) -> None:
        """Write what this entry adds."""
        apply(self.turn, entry)
        told = self._teller.feed(self.turn, entry.event)
        for channel, text in told:
            if self._show is Show.SHOW or channel is not Channel.REASONING:
                self._write(channel, self._cleaners[channel].feed(text))
        if not self.turn.live:
            self._end()

    def _end(self) -> None:
        if self._answer_line_open:
            self._write(Channel.ANSWER, "\n")
        if self._show is Show.SUMMARY and (seen := view(self.turn, locale=self._locale)) is not None:
            self._write(Channel.REASONING, f"[think] {clean(seen.header)}\n")

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

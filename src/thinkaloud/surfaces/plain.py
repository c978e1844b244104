"""The plain command line: the answer on one stream, thoughts as `[think] ` lines on another, live.

Words and lines are `view`'s; here they are made safe for a terminal and sent to their stream.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

from thinkaloud.canon import BlockEnded, Entry
from thinkaloud.surfaces.terminal import Cleaner, clean
from thinkaloud.surfaces.wrapping import Wrapper
from thinkaloud.transcript import Turn, apply
from thinkaloud.view import Channel, PlainTeller, view

_DIM, _NORMAL = "\x1b[2m", "\x1b[22m"


class Show(StrEnum):
    """How much of the thinking is shown."""

    SHOW = "show"
    SUMMARY = "summary"
    HIDE = "hide"


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a terminal makes of it; nothing of this where the streams are pipes or files."""

    dim: bool = False
    """Thoughts are dim."""
    columns: int | None = None
    """Thoughts and notices are wrapped to fit."""
    one_screen: bool = False
    """Both streams are seen in one place, where neither may begin within the other's line."""


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
        show: Show = Show.SHOW,
        look: Look = Look(),  # noqa: B008 a frozen value
    ) -> None:
        self.turn = Turn()
        self._locale = locale
        self._teller = PlainTeller(locale, labels=True)
        self._streams = {Channel.ANSWER: answer, Channel.REASONING: thoughts, Channel.NOTICE: thoughts}
        self._cleaners = {channel: Cleaner() for channel in Channel}
        wrapped = (Channel.REASONING, Channel.NOTICE) if look.columns else ()
        self._wrappers = {channel: Wrapper(look.columns or 0) for channel in wrapped}
        self._look = look
        self._show = show
        self._answer_line_open = False
        self._answer_broken = False

    def feed(self, entry: Entry) -> None:
        """Write what this entry adds."""
        apply(self.turn, entry)
        told = self._teller.feed(self.turn, entry.event)
        for channel, text in told:
            if self._show is Show.SHOW or channel is not Channel.REASONING:
                self._write(channel, self._wrapped(channel, self._cleaners[channel].feed(text)))
        if isinstance(entry.event, BlockEnded) and (wrapper := self._wrappers.get(Channel.REASONING)):
            self._write(Channel.REASONING, wrapper.flush())
        if not self.turn.live:
            self._end()

    def _end(self) -> None:
        if self._answer_line_open:
            self._write(Channel.ANSWER, "\n")
        if self._show is Show.SUMMARY and (seen := view(self.turn, locale=self._locale)) is not None:
            self._write(Channel.REASONING, f"[think] {clean(seen.header)}\n")

    def _wrapped(self, channel: Channel, text: str) -> str:
        return self._wrappers[channel].feed(text) if channel in self._wrappers else text

    def _write(self, channel: Channel, text: str) -> None:
        if channel is Channel.ANSWER and self._answer_broken:
            text = text.lstrip("\n")
        if not text:
            return
        stream = self._streams[channel]
        if channel is Channel.ANSWER:
            self._answer_line_open, self._answer_broken = not text.endswith("\n"), False
        else:
            self._break_answer(stream)
        if self._look.dim and channel is Channel.REASONING:
            text = f"{_DIM}{text}{_NORMAL}"
        stream.write(text)
        stream.flush()

    def _break_answer(self, stream: Stream) -> None:
        if self._look.one_screen and self._answer_line_open:
            stream.write("\n")
            self._answer_line_open, self._answer_broken = False, True

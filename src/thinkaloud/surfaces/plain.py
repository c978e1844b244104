"""The plain command line: the answer on one stream, thoughts as `[think] ` lines on another, live.

Words and lines are `view`'s; here they are made safe for a terminal and sent to their stream.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

from thinkaloud.canon import BlockEnded, Entry
from thinkaloud.surfaces.terminal import LineWrapper, TerminalCleaner, clean
from thinkaloud.transcript import Turn, apply
from thinkaloud.view import Channel, PlainRenderer, view

_DIM, _NOT_DIM = "\x1b[2m", "\x1b[22m"


class ShowThinking(StrEnum):
    """How much of the thinking is shown."""

    SHOW = "show"
    SUMMARY = "summary"
    HIDE = "hide"


class TerminalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a terminal makes of it; nothing of this where the streams are pipes or files."""

    dim: bool = False
    """Thoughts are dim."""
    columns: int | None = None
    """Thoughts and notices are wrapped to fit."""
    shared_screen: bool = False
    """Both streams are seen in one place, where neither may begin within the other's line."""


class TextStream(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> object:
        """Take text."""

    def flush(self) -> None:
        """Let it be seen."""


class PlainWriter:
    """Writes one turn, entry by entry; `turn` is the turn so far."""

    def __init__(
        self,
        answer: TextStream,
        thoughts: TextStream,
        *,
        locale: str = "en-US",
        show: ShowThinking = ShowThinking.SHOW,
        terminal: TerminalOptions = TerminalOptions(),  # noqa: B008 a frozen value
    ) -> None:
        self.turn = Turn()
        self._locale = locale
        self._renderer = PlainRenderer(locale, durations=True)
        self._streams = {Channel.ANSWER: answer, Channel.REASONING: thoughts, Channel.NOTICE: thoughts}
        self._cleaners = {channel: TerminalCleaner() for channel in Channel}
        wrapped_channels = (Channel.REASONING, Channel.NOTICE) if terminal.columns else ()
        self._wrappers = {channel: LineWrapper(terminal.columns or 0) for channel in wrapped_channels}
        self._terminal = terminal
        self._show = show
        self._answer_line_open = False
        self._answer_interrupted = False

    def feed(self, entry: Entry) -> None:
        """Write what this entry adds."""
        apply(self.turn, entry)
        pieces = self._renderer.feed(self.turn, entry.event)
        for channel, text in pieces:
            if self._show is ShowThinking.SHOW or channel is not Channel.REASONING:
                self._write(channel, self._wrap(channel, self._cleaners[channel].feed(text)))
        if isinstance(entry.event, BlockEnded) and (wrapper := self._wrappers.get(Channel.REASONING)):
            self._write(Channel.REASONING, wrapper.flush())
        if not self.turn.live:
            self._finish()

    def _finish(self) -> None:
        if self._answer_line_open:
            self._write(Channel.ANSWER, "\n")
        if (
            self._show is ShowThinking.SUMMARY
            and (thinking := view(self.turn, locale=self._locale)) is not None
        ):
            self._write(Channel.REASONING, f"[think] {clean(thinking.header)}\n")

    def _wrap(self, channel: Channel, text: str) -> str:
        return self._wrappers[channel].feed(text) if channel in self._wrappers else text

    def _write(self, channel: Channel, text: str) -> None:
        if channel is Channel.ANSWER and self._answer_interrupted:
            text = text.lstrip("\n")
        if not text:
            return
        stream = self._streams[channel]
        if channel is Channel.ANSWER:
            self._answer_line_open, self._answer_interrupted = not text.endswith("\n"), False
        else:
            self._interrupt_answer(stream)
        if self._terminal.dim and channel is Channel.REASONING:
            text = f"{_DIM}{text}{_NOT_DIM}"
        stream.write(text)
        stream.flush()

    def _interrupt_answer(self, stream: TextStream) -> None:
        if self._terminal.shared_screen and self._answer_line_open:
            stream.write("\n")
            self._answer_line_open, self._answer_interrupted = False, True

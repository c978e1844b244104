"""Writes a turn to the command line while it arrives: the answer to one stream, thoughts to another.

`view` renders the text; this module makes it safe for a terminal, wraps it and picks the stream.
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
    """What a terminal can show. The defaults are for pipes and files."""

    dim: bool = False
    """Whether thoughts are dimmed."""
    columns: int | None = None
    """The width to which thoughts and notices are wrapped; None does not wrap."""
    shared_screen: bool = False
    """Whether both streams appear on one screen, where each must start on a line of its own."""


NO_TERMINAL = TerminalOptions()


class TextStream(Protocol):
    """A stream to write text to."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> None:
        """Write buffered text."""


class PlainWriter:
    """Writes one turn entry by entry; `turn` is the turn so far."""

    def __init__(
        self,
        answer: TextStream,
        thoughts: TextStream,
        *,
        locale: str = "en-US",
        show: ShowThinking = ShowThinking.SHOW,
        terminal: TerminalOptions = NO_TERMINAL,
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
        """Apply an entry to the turn and write what it adds."""
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
            # `_interrupt_answer` already ended the line on the screen; the answer must not do it again.
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

"""Writes a turn to the command line while it arrives: the answer to one stream, thoughts to another.

`view` renders the text; this module makes it safe for a terminal, wraps it and picks the stream. Thoughts can
be hidden and shown again while they arrive: what came while they were hidden is written when they are
shown. On a terminal, `tick` tells that the model is still thinking, where thoughts are hidden or nothing came
yet: in a line that is redrawn, or in static lines for screen readers and terminals that cannot redraw.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

from thinkaloud.core.canon import BlockEnded, Entry
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import Channel, PlainRenderer, ThinkingState, Words, view
from thinkaloud.core.view.plain import THINK_PREFIX
from thinkaloud.surfaces.terminal import LineWrapper, TerminalCleaner, clean

_DIM, _NOT_DIM = "\x1b[2m", "\x1b[22m"
_ERASE_LINE = "\x1b[K"


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
    redraw: bool = False
    """Whether a status line may be redrawn."""
    heartbeat_ms: int | None = None
    """After how much silence a static line tells that the model is still at work; None tells nothing."""
    show_key: str = ""
    """The key that shows and hides thoughts, for the status line; empty if there is none."""


NO_TERMINAL = TerminalOptions()


class TextStream(Protocol):
    """A stream to write text to."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> None:
        """Write buffered text."""


class ScreenStreams:
    """The streams of the answer and of thoughts, which may appear on one screen.

    It knows which lines are open there: each stream starts on a line of its own, a thought that was
    interrupted goes on below, and the status line goes before anything else is written.
    """

    def __init__(self, answer: TextStream, thoughts: TextStream, terminal: TerminalOptions) -> None:
        self.answer_line_open = False
        self.thought_line_open = False
        self.silent_ms = 0
        """How long nothing was written, when that was last told."""
        self._streams = {Channel.ANSWER: answer, Channel.REASONING: thoughts, Channel.NOTICE: thoughts}
        self._cleaners = {channel: TerminalCleaner() for channel in Channel}
        wrapped_channels = (Channel.REASONING, Channel.NOTICE) if terminal.columns else ()
        self._wrappers = {channel: LineWrapper(terminal.columns or 0) for channel in wrapped_channels}
        self._terminal = terminal
        self._answer_interrupted = False
        self._thought_interrupted = False
        """Whether something was told in the middle of a line of a thought."""
        self._status_drawn = False

    def write_model_text(self, channel: Channel, text: str) -> None:
        """Write text from a model: cleaned, and wrapped between words."""
        text = self._cleaners[channel].feed(text)
        if channel in self._wrappers:
            text = self._wrappers[channel].feed(text)
        self.write(channel, text)

    def write_line(self, text: str) -> None:
        """Write a line that is not part of the turn."""
        self.write(Channel.NOTICE, f"{text}\n")

    def flush_thoughts(self) -> None:
        """Write the word of a thought that was held back to wrap it."""
        if wrapper := self._wrappers.get(Channel.REASONING):
            self.write(Channel.REASONING, wrapper.flush())

    def interrupt_thought(self) -> None:
        """End the open line of a thought, which goes on below what is written next."""
        if self.thought_line_open:
            self.write(Channel.REASONING, "\n")
            self._thought_interrupted = True

    def write(self, channel: Channel, text: str) -> None:
        """Write text as it is."""
        if channel is Channel.ANSWER and self._answer_interrupted:
            # `_interrupt_answer` already ended the line on the screen; the answer must not do it again.
            text = text.lstrip("\n")
        if channel is Channel.REASONING and self._thought_interrupted and text:
            text = text[1:] if text.startswith("\n") else THINK_PREFIX + text.lstrip(" ")
            self._thought_interrupted = False
        if not text:
            return
        self.erase_status()
        self.silent_ms = 0
        if channel is Channel.REASONING:
            self.thought_line_open = not text.endswith("\n")
        stream = self._streams[channel]
        if channel is Channel.ANSWER:
            self.answer_line_open = not text.endswith("\n")
            self._answer_interrupted = False
        else:
            self._interrupt_answer(stream)
        if self._terminal.dim and channel is Channel.REASONING:
            text = f"{_DIM}{text}{_NOT_DIM}"
        stream.write(text)
        stream.flush()

    def _interrupt_answer(self, stream: TextStream) -> None:
        if self._terminal.shared_screen and self.answer_line_open:
            stream.write("\n")
            self.answer_line_open = False
            self._answer_interrupted = True

    def draw_status(self, text: str) -> None:
        """Draw the status line, in place of the one before."""
        room = (self._terminal.columns or 80) - 1
        self._draw_status(text[:room])
        self._status_drawn = bool(text)

    def erase_status(self) -> None:
        """Remove the status line from the screen."""
        if self._status_drawn:
            self._draw_status("")
            self._status_drawn = False

    def _draw_status(self, text: str) -> None:
        stream = self._streams[Channel.NOTICE]
        stream.write(f"\r{_ERASE_LINE}{text}")
        stream.flush()


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
        self._words = Words(locale)
        self._renderer = PlainRenderer(locale, durations=True)
        self._screen = ScreenStreams(answer, thoughts, terminal)
        self._terminal = terminal
        self._show = show
        self._missed: list[str] = []
        """Thoughts that came while they were hidden."""
        self._last_at_ms: int | None = None

    def feed(self, entry: Entry) -> None:
        """Apply an entry to the turn and write what it adds."""
        apply(self.turn, entry)
        self._last_at_ms = self._last_at_ms if entry.at_ms is None else entry.at_ms
        for channel, text in self._renderer.feed(self.turn, entry.event):
            if channel is Channel.REASONING and not self.thoughts_shown:
                self._missed.append(text)
            else:
                self._screen.write_model_text(channel, text)
        if isinstance(entry.event, BlockEnded):
            self._flush_thoughts()
        if not self.turn.live:
            self._finish()

    @property
    def thoughts_shown(self) -> bool:
        """Whether thoughts are written while they arrive."""
        return self._show is ShowThinking.SHOW

    def toggle_thinking(self) -> None:
        """Hide thoughts from now on, or show them, with those that came meanwhile."""
        if self.thoughts_shown:
            self._flush_thoughts()
            if self._screen.thought_line_open:
                self._screen.write(Channel.REASONING, "\n")
                self._missed.append(THINK_PREFIX)  # the line goes on when thoughts are shown
            self._show = ShowThinking.HIDE
            self._screen.write_line(self._words.text("ai.thinking.blocks_hidden"))
            return
        self._show = ShowThinking.SHOW
        self._screen.write_line(self._words.text("ai.thinking.blocks_shown"))
        missed, self._missed = "".join(self._missed), []
        if missed.startswith(f"{THINK_PREFIX} "):  # the line was hidden between two words
            missed = missed.replace(" ", "", 1)
        self._screen.write_model_text(Channel.REASONING, missed)

    def write_notice(self, text: str) -> None:
        """Write something that is not part of the turn, on its own line. An open thought goes on below."""
        self._flush_thoughts()
        self._screen.interrupt_thought()
        self._screen.write_line(clean(text))

    def tick(self, elapsed_ms: int) -> None:
        """Tell that the model is still at work, if nothing else does. `elapsed_ms`: since the last entry."""
        screen = self._screen
        if not self.turn.live or screen.answer_line_open:
            return
        now_ms = None if self._last_at_ms is None else self._last_at_ms + elapsed_ms
        heartbeat_ms = self._terminal.heartbeat_ms
        if heartbeat_ms is not None and elapsed_ms - screen.silent_ms >= heartbeat_ms:
            self.write_notice(self._status_text(now_ms))
            screen.silent_ms = elapsed_ms
        elif self._terminal.redraw and not screen.thought_line_open:
            screen.draw_status(self._status_text(now_ms))

    def erase_status(self) -> None:
        """Remove the status line from the screen."""
        self._screen.erase_status()

    def _status_text(self, now_ms: int | None) -> str:
        thinking = view(self.turn, locale=self._words.locale, now_ms=now_ms)
        if thinking is None or thinking.status is not ThinkingState.THINKING:
            return self._words.text("ai.thinking.streaming")
        label = f"{clean(thinking.label)} {thinking.duration}".rstrip()
        if self.thoughts_shown or not self._terminal.show_key:
            return label
        key_hint = self._words.text("cli.show_key", name=self._terminal.show_key)
        return f"{label} ({key_hint})"

    def _flush_thoughts(self) -> None:
        if self.thoughts_shown:
            self._screen.flush_thoughts()

    def _finish(self) -> None:
        if self._screen.answer_line_open:
            self._screen.write(Channel.ANSWER, "\n")
        thinking = None
        if self._show is ShowThinking.SUMMARY:
            thinking = view(self.turn, locale=self._words.locale)
        if thinking is not None:
            self._screen.write(Channel.REASONING, f"[think] {clean(thinking.header)}\n")

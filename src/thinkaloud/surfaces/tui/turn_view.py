"""One turn on the screen: its thinking, its answer, and the notices about it.

The view takes entries at any rate and draws at most 30 times a second. Text that streams is appended to what
is drawn. While the turn runs, the header with the clock is drawn once a second.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing
from typing import Protocol

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer

from thinkaloud.core.canon import Entry, Event, Finish, Kind, TurnEnded, TurnFailed
from thinkaloud.core.transcript import Delta, Turn, apply
from thinkaloud.core.view import Policy, notice, preset
from thinkaloud.core.view.labels import notice_text
from thinkaloud.surfaces.chat.live_turn import DeltaEvents, TurnChanges, TurnClock
from thinkaloud.surfaces.tui.text.answer import AnswerView
from thinkaloud.surfaces.tui.text.line_view import FRAME_S, LineView, TallStylesCache
from thinkaloud.surfaces.tui.text.sections import TextSection
from thinkaloud.surfaces.tui.thinking_panel import Clock, ThinkingPanel

CLOCK_S = 1.0


class FollowedStream(Protocol):
    """What `thinkaloud.follow` returns."""

    @property
    def blocking(self) -> bool:
        """Whether waiting for it blocks the thread."""

    def entries(self) -> Generator[list[Entry], None, None]:
        """Iterate over its entries."""

    def entries_async(self) -> AsyncGenerator[list[Entry], None]:
        """Iterate over its entries with `async for`."""


class TurnView(Vertical):
    """Draws one turn, live or complete."""

    BLANK = True  # there is nothing behind its parts; Textual would draw every row of it
    DEFAULT_CSS = """
    TurnView {
        height: auto;
    }
    """

    def __init__(
        self,
        turn: Turn | None = None,
        *,
        policy: Policy | None = None,
        locale: str = "en-US",
        clock: Clock | None = None,
        choices: Mapping[int, bool] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._styles_cache = TallStylesCache()
        self.turn = Turn() if turn is None else turn
        self.policy, self.locale = policy or preset("default"), locale
        self._turn_clock = TurnClock()
        self._clock = clock or self._turn_clock.now_ms
        self._delta_events = DeltaEvents(self.turn)
        self.thinking = ThinkingPanel(
            self.turn, policy=self.policy, locale=locale, clock=self._clock, choices=choices
        )
        self.answer = AnswerView(self.turn.answer)
        self.notices = _Notices()
        # They scroll with their parent and have no keys: as places of the focus, nothing would show it.
        self.answer.can_focus = self.notices.can_focus = False
        self._changes = TurnChanges(self.turn)
        self._frame: Timer | None = None
        if not self.turn.live:
            self.answer.finish()
        self._draw_notices()

    def compose(self) -> ComposeResult:
        """Yield the parts from top to bottom."""
        yield self.thinking
        yield self.answer
        yield self.notices

    def on_mount(self) -> None:
        """Start the clock, and draw what arrived on the way to the screen."""
        self.set_interval(CLOCK_S, self._tick)
        self._frame = self.set_timer(FRAME_S, self.flush)

    def append(self, delta: Delta | str, kind: Kind = Kind.REASONING) -> None:
        """Append a delta of a followed stream, or text: to a thought, or to the answer if `kind` says so."""
        if isinstance(delta, Delta):
            self._take(self._delta_events.append(delta.block, delta.kind, delta.text, delta.name))
        elif isinstance(delta, str):
            self._take(self._delta_events.append(kind, kind, delta))
        else:
            raise TypeError("append takes a delta of thinkaloud.follow(...), or text")

    def finish(self, error: str = "") -> None:
        """End a turn that was given by `append`; with an error it ends as failed."""
        end = TurnFailed("source_failed", error) if error else TurnEnded(Finish.STOP)
        self._take(self._delta_events.finish(end))

    async def follow(self, stream: FollowedStream) -> Turn:
        """Draw a stream as it arrives, `thinkaloud.follow(...)`, and return its whole turn.

        The screen stays alive also while a blocking stream is waited for. An error of the stream is raised
        after the turn has ended as failed.
        """
        batches = _in_thread(stream.entries()) if stream.blocking else stream.entries_async()
        async with aclosing(batches):
            async for entries in batches:
                for entry in entries:
                    self.feed(entry)
        return self.turn

    def feed(self, entry: Entry) -> None:
        """Apply an entry to the turn and draw it with the next frame."""
        apply(self.turn, entry)
        self._turn_clock.set(entry.at_ms)
        self._changes.note(entry.event)
        if self._changes.text_changed:
            self.show(self.turn)
        self._draw_soon()

    def show(self, turn: Turn) -> None:
        """Draw another turn, or this one after its text was changed and not only appended to."""
        if turn is not self.turn:
            self._delta_events = DeltaEvents(turn)
        self.turn = turn
        self.thinking.show_turn(turn)
        self.answer.replace(turn.answer)
        if not turn.live:
            self.answer.finish()
        self._draw_notices()
        self._changes = TurnChanges(turn)

    def apply_policy(self, policy: Policy, locale: str | None = None) -> None:
        """Draw the turn with other settings, or in another language."""
        self.policy, self.locale = policy, locale or self.locale
        self.thinking.policy, self.thinking.locale = self.policy, self.locale
        self.thinking.redraw()
        self._draw_notices()

    def flush(self) -> None:
        """Draw what has changed, without waiting for the next frame."""
        if self._frame is not None:
            self._frame.stop()
            self._frame = None
        changes = self._changes
        if changes.turn_changed:
            self.thinking.redraw()
            self._draw_answer()
            self._draw_notices()
        else:
            if changes.thought_grew:
                self.thinking.grow()
            if changes.new_answer:
                self.answer.append("".join(changes.new_answer))
        changes.drawn(self.turn)

    def _take(self, events: list[Event]) -> None:
        now_ms = self._clock()
        at_ms = int(time.monotonic() * 1000) if now_ms is None else now_ms
        for event in events:
            self.feed(Entry(self.turn.seq + 1, event, at_ms))

    def _draw_soon(self) -> None:
        if self._frame is None and self.is_mounted:
            self._frame = self.set_timer(FRAME_S, self.flush)

    def _tick(self) -> None:
        if self.turn.live:
            self.answer.draw_pending()
        if self.turn.live and self.thinking.view is not None:
            self.thinking.redraw()

    def _draw_answer(self) -> None:
        answer, drawn = self.turn.answer, self.answer.text
        if answer.startswith(drawn):
            self.answer.append(answer[len(drawn) :])
        else:
            self.answer.replace(answer)
        if not self.turn.live:
            self.answer.finish()

    def _draw_notices(self) -> None:
        texts = [notice_text(event, self.locale) or event.code for event in self.turn.notices]
        self.notices.show([*texts, notice(self.turn, self.locale)])


async def _in_thread(batches: Generator[list[Entry], None, None]) -> AsyncGenerator[list[Entry], None]:
    while (entries := await asyncio.to_thread(next, batches, None)) is not None:
        yield entries


class _Notices(LineView):
    """The notices about a turn, one below the other."""

    def show(self, notices: list[str]) -> None:
        """Draw these notices; empty ones are left out."""
        sections = []
        for text in notices:
            if text:
                section = TextSection(role="warning")
                section.append(text)
                sections.append(section)
        self.display = bool(sections)
        self.replace_sections(sections)

"""Replays a turn with its timing: pause, seek and speed. Nothing is asked again."""

import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from thinkaloud.core.canon import Entry
from thinkaloud.core.transcript import ReplayTimeline, Turn, fold_entries
from thinkaloud.core.view import Words
from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.text.line_view import FRAME_S
from thinkaloud.surfaces.tui.turn_view import TurnView

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
SEEK_MS = 5_000


class ReplayPlayer:
    """The entries of a turn on a time line; `position_ms` is the present place on it."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = tuple(entries)
        timeline = ReplayTimeline()
        self._due_ms = [timeline.add(entry.at_ms) for entry in self.entries]
        self.position_ms = 0.0
        self.speed = 1.0
        self.paused = False
        self._next = 0

    @property
    def duration_ms(self) -> int:
        """The length of the replay at normal speed."""
        return self._due_ms[-1] if self._due_ms else 0

    @property
    def ended(self) -> bool:
        """Whether everything was played."""
        return self._next >= len(self.entries)

    @property
    def played(self) -> tuple[Entry, ...]:
        """The entries up to the present place."""
        return self.entries[: self._next]

    def advance(self, elapsed_ms: float) -> tuple[Entry, ...]:
        """Move on by a time, and return the entries that are due now."""
        if self.paused or self.ended:
            return ()
        return self._move_to(self.position_ms + elapsed_ms * self.speed)

    def seek(self, step_ms: float) -> None:
        """Jump forward or back; `played` has the entries of the new place."""
        self._next = 0
        self._move_to(min(max(self.position_ms + step_ms, 0.0), float(self.duration_ms)))

    def change_speed(self, step: int) -> None:
        """Play faster or slower by one step."""
        index = SPEEDS.index(self.speed) + step
        self.speed = SPEEDS[min(max(index, 0), len(SPEEDS) - 1)]

    def now_ms(self) -> int | None:
        """Return the present time on the clock of the turn."""
        if not self._next or (at_ms := self.entries[self._next - 1].at_ms) is None:
            return None
        return at_ms + max(0, int(self.position_ms) - self._due_ms[self._next - 1])

    def _move_to(self, position_ms: float) -> tuple[Entry, ...]:
        first = self._next
        self.position_ms = min(position_ms, float(self.duration_ms))
        self._next = max(first, bisect_right(self._due_ms, self.position_ms))
        return self.entries[first : self._next]


class ReplayScreen(Screen[None]):
    """A turn that is played again."""

    DEFAULT_CSS = """
    ReplayScreen #replay-question { height: auto; max-height: 4; padding: 0 1; background: $boost; }
    ReplayScreen VerticalScroll { height: 1fr; padding: 0 1; }
    ReplayScreen #replay-line { height: auto; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", show=False, priority=True),
        Binding("left", "seek(-1)", show=False, priority=True),
        Binding("right", "seek(1)", show=False, priority=True),
        Binding("home", "seek(-1000000)", show=False, priority=True),
        Binding("end", "seek(1000000)", show=False, priority=True),
        Binding("plus,equals_sign", "speed(1)", show=False),
        Binding("minus", "speed(-1)", show=False),
        Binding("escape,q", "dismiss", show=False),
    ]

    def __init__(self, question: str, entries: Sequence[Entry], display: Display) -> None:
        super().__init__()
        self._question = question
        self._display_settings = display
        self.player = ReplayPlayer(entries)
        self._last_s = time.monotonic()

    def compose(self) -> ComposeResult:
        display = self._display_settings
        yield Static(Content(clean(self._question)), id="replay-question", markup=False)
        with VerticalScroll():
            yield TurnView(Turn(), policy=display.policy, locale=display.locale, clock=self.player.now_ms)
        yield Static("", id="replay-line", markup=False)

    def on_mount(self) -> None:
        """Start to play."""
        self.query_one(VerticalScroll).anchor()
        self._last_s = time.monotonic()
        self.set_interval(FRAME_S, self._play)
        self._show_line()

    def _play(self) -> None:
        now_s = time.monotonic()
        elapsed_ms, self._last_s = (now_s - self._last_s) * 1000, now_s
        turn_view = self.query_one(TurnView)
        for entry in self.player.advance(elapsed_ms):
            turn_view.feed(entry)
        self._show_line()

    def action_pause(self) -> None:
        """Pause, go on, or play again from the start."""
        if self.player.ended:
            self.action_seek(-1_000_000)
            self.player.paused = False
        else:
            self.player.paused = not self.player.paused
        self._show_line()

    def action_seek(self, steps: int) -> None:
        """Jump forward or back."""
        self.player.seek(steps * SEEK_MS)
        self.query_one(TurnView).show(fold_entries(self.player.played))
        self._show_line()

    def action_speed(self, step: int) -> None:
        """Play faster or slower."""
        self.player.change_speed(step)
        self._show_line()

    def _show_line(self) -> None:
        player = self.player
        words = self._display_settings.words
        state = "⏸" if player.paused else "▶"
        if player.ended:
            state = "■"
        columns = max(8, min(40, self.size.width // 4))
        share = 1.0 if not player.duration_ms else player.position_ms / player.duration_ms
        filled = round(columns * share)
        bar = "━" * filled + "─" * (columns - filled)
        duration = Words(words.locale).duration
        times = f"{duration(round(player.position_ms))} / {duration(round(player.duration_ms))}"
        line = f"{state} {bar} {times} ×{player.speed:g}  {words.text('replay.keys')}"
        self.query_one("#replay-line", Static).update(Content(line))

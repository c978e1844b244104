"""The thinking block as a Flet control, fed by plain text or by the entries of a turn.

The view decides words and states; a person's choices are kept here. Text that streams is appended to what is
drawn, and everything else is drawn from a new view. All methods are called in the event loop of the page.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from types import UnionType

import flet as ft
import msgspec

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    OutOfOrder,
    TurnStarted,
)
from thinkaloud.core.transcript import BlockStatus, Turn, apply
from thinkaloud.core.view import (
    HeaderStyle,
    OpenState,
    Policy,
    ThinkingState,
    ThinkingView,
    UserChoices,
    Words,
    read_policy,
    tail,
    view,
)
from thinkaloud.core.view.state import hidden_reason
from thinkaloud.surfaces.chat.live_turn import TurnChanges, TurnClock
from thinkaloud.surfaces.chat.panel_rows import (
    FooterRow,
    HeaderRow,
    MarkerRow,
    NewestLineRow,
    PanelRow,
    PassageRow,
    ThoughtRow,
    last_text,
    panel_rows,
    text_after,
    toggled_choices,
)
from thinkaloud.surfaces.flutter.controls import screen_line
from thinkaloud.surfaces.flutter.page_tasks import FrameTimer, has_browser, start_task
from thinkaloud.surfaces.flutter.row_controls import (
    FooterLine,
    HeaderButton,
    MarkerButton,
    NewestLineText,
    PassageText,
    RowStyle,
    StatusAnnouncement,
)
from thinkaloud.surfaces.flutter.streamed_text import ThoughtText

TAIL_SIZE = 4_000
"""Characters at the end of a thought in which its newest line is found."""
MOTION = ft.Animation(180, ft.AnimationCurve.EASE_OUT)

Clock = Callable[[], int | None]
"""Returns the present time in milliseconds, on the clock of the entries; None if it is unknown."""
RowKey = tuple[object, ...]
Content = str | Turn | Iterable[Entry] | None
Duration = float | timedelta | None
PolicySettings = Policy | Mapping[str, object] | None


class PanelColumn(ft.Column):
    """The rows of a panel as controls, and what a screen reader is told of it.

    A row that is the same in the next view keeps its control, so that focus and scroll position stay.
    """

    def __init__(self, on_press: Callable[[int], None]) -> None:
        self.rows: list[PanelRow] = []
        self.style = RowStyle("thinking", on_press)
        self.announcement = StatusAnnouncement()
        self._row_controls: dict[RowKey, ft.Control] = {}
        self._top = ft.Column(spacing=0, tight=True)
        self._body = ft.Column(spacing=0, tight=True, animate_size=MOTION)
        super().__init__([self._top, self._body, self.announcement], spacing=0, tight=True)

    def show(self, rows: list[PanelRow], turn: Turn) -> None:
        """Show these rows of a turn."""
        self.rows = rows
        used: dict[RowKey, ft.Control] = {}
        for row in rows:
            key = _row_key(row, self.style)
            control = self._row_controls.get(key)
            if control is None:
                control = self._new_control(row, turn)
            else:
                _show_row(control, row, turn)
            used[key] = control
        self._row_controls = used
        # The header stays outside of the part whose size is animated.
        headers = 1 if rows and isinstance(rows[0], HeaderRow) else 0
        controls = list(used.values())
        self._top.controls = controls[:headers]
        self._body.controls = controls[headers:]
        self._body.animate_size = None if self.style.reduced_motion else MOTION

    def forget_rows(self) -> None:
        """Make new controls for all rows when they are shown next."""
        self._row_controls.clear()

    def grow(self, turn: Turn, *, mounted: bool) -> None:
        """Draw the text that was appended to thoughts; nothing else has changed."""
        for row, control in zip(self.rows, self._row_controls.values(), strict=True):
            match control, row:
                case (_, ThoughtRow()):
                    _show_row(control, row, turn)
                case (NewestLineText(), NewestLineRow(block=int() as number)):
                    control.line.value = screen_line(tail(last_text(turn.blocks[number], TAIL_SIZE)))
                    if mounted:
                        control.line.update()

    def breathe(self) -> None:
        """Move the dots of headers that run."""
        for control in self._row_controls.values():
            if isinstance(control, HeaderButton):
                control.breathe()

    def _new_control(self, row: PanelRow, turn: Turn) -> ft.Control:
        match row:
            case HeaderRow():
                return HeaderButton(row, self.style)
            case NewestLineRow():
                return NewestLineText(row, self.style)
            case PassageRow():
                return PassageText(row, self.style)
            case FooterRow():
                return FooterLine(row, self.style)
            case MarkerRow():
                return MarkerButton(row, self.style)
            case ThoughtRow():
                running = turn.blocks[row.block].status is BlockStatus.RUNNING
                text = ThoughtText(follow=turn.live and running)
                text.append(_new_text(row, turn, 0))
                framed = self.style.gutter(row.depth, text)
                framed.data = text
                return framed


def _show_row(control: ft.Control, row: PanelRow, turn: Turn) -> None:
    """Show another state of a row in its control."""
    match control, row:
        case (HeaderButton(), HeaderRow()):
            control.show(row)
        case (NewestLineText(), NewestLineRow()):
            control.show(row)
        case (PassageText(), PassageRow()):
            control.show(row)
        case (FooterLine(), FooterRow()):
            control.show(row)
        case (MarkerButton(), MarkerRow()):
            control.show(row)
        case (ft.Container(data=ThoughtText() as text), ThoughtRow()):
            if new_text := _new_text(row, turn, text.source_length):
                text.append(new_text)


def _new_text(row: ThoughtRow, turn: Turn, start: int) -> str:
    """Return the text of a thought that is not drawn yet, or the line that says why there is none."""
    block = turn.blocks[row.block]
    return row.text[start:] if hidden_reason(block) else text_after(block, start)


class KoderThinkingBlock(ft.Container):
    """The thinking of one turn: a header, and below it as much of the thoughts and steps as is open.

    `content` is the text of a thought, a turn, its entries, or None, which draws nothing. `duration` is how
    long the thought took, in seconds. A text without a duration is live until `finish` is called if it was
    given by `append`; else its duration is unknown.
    """

    def __init__(
        self,
        content: Content = None,
        duration: Duration = None,
        auto_close: bool = True,
        *,
        policy: PolicySettings = None,
        locale: str = "en-US",
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            border_radius=12,
            bgcolor=ft.Colors.SURFACE_CONTAINER_LOW,
            border=ft.Border.all(1, ft.Colors.OUTLINE_VARIANT),
            clip_behavior=ft.ClipBehavior.ANTI_ALIAS,
        )
        self.policy = read_auto_close(read_settings(policy), auto_close)
        self.locale = locale
        require("locale", locale, str, "the name of a language")
        if clock is not None and not callable(clock):
            raise TypeError("clock must be a function that returns milliseconds, or None")
        self.turn = Turn()
        self.view: ThinkingView | None = None
        """What is drawn; None if the turn has no thinking."""
        self.on_toggle: Callable[[int, bool], None] | None = None
        """Called after a person opened or closed a block: its number, or `PANEL`, and whether it is open."""
        self._turn_clock = TurnClock()
        self._clock = clock or self._now_ms
        self._user_choices = UserChoices()
        self._panel = PanelColumn(self._press)
        self.content = self._panel
        self._frames = FrameTimer(self, self.flush)
        self._changes = TurnChanges(self.turn)
        self._take_content(content, duration)

    # What it shows

    def append(self, text: str) -> None:
        """Append text to the thought; the first text starts it."""
        require("text", text, str, "a str")
        if self.turn.blocks and self.turn.blocks[0].ended_ms is not None:
            raise OutOfOrder("The thought has ended: `append` cannot follow `finish`, nor a text as content.")
        if not self.turn.blocks:
            self._take_event(TurnStarted())
            self._take_event(BlockStarted(0, Kind.REASONING))
        self._take_event(BlockGrew(0, text))

    def finish(self, duration: Duration = None) -> None:
        """End a thought that was given by `append`. Without a duration, the time since its start is shown."""
        duration_ms = read_duration(duration)
        if self.turn.blocks and self.turn.blocks[0].ended_ms is None:
            start_ms = self.turn.blocks[0].started_ms
            ended_ms = self._clock() if duration_ms is None else (start_ms or 0) + duration_ms
            self.feed(Entry(self.turn.seq + 1, BlockEnded(0), ended_ms))

    def feed(self, entry: Entry) -> None:
        """Apply an entry of a turn, and draw it with the next frame."""
        apply(self.turn, read_entry(entry))
        self.note(entry)
        self._frames.draw_soon()

    def note(self, entry: Entry) -> None:
        """Note an entry that was applied to the turn elsewhere. `flush` draws what changed."""
        self._turn_clock.set(entry.at_ms)
        self._changes.note(entry.event)

    def show_turn(self, turn: Turn) -> None:
        """Draw another turn, or the same one after its text was changed and not only appended to."""
        require("turn", turn, Turn, "a Turn")
        self.turn = turn
        self._panel.forget_rows()
        self._changes = TurnChanges(turn)
        self.redraw()

    def flush(self) -> None:
        """Draw what has changed, without waiting for the next frame."""
        if self._changes.text_changed:
            self.show_turn(self.turn)
        elif self._changes.turn_changed:
            self.redraw()
        elif self._changes.thought_grew:
            self._panel.grow(self.turn, mounted=self._frames.mounted)
        self._changes.drawn(self.turn)

    def redraw(self) -> None:
        """Draw the turn as it is now."""
        self._draw_rows()
        if self._frames.mounted:
            self.update()
        self._keep_time()

    def _draw_rows(self) -> None:
        self.view = view(self.turn, self.policy, self.locale, now_ms=self._clock(), choices=self.choices)
        rows = [] if self.view is None else panel_rows(self.view, self.policy, Words(self.locale))
        self._panel.style.rtl = bool(self.rtl)
        self._panel.style.bar = self.policy.header is HeaderStyle.SUMMARY
        self._panel.show(rows, self.turn)
        self._panel.announcement.show(self.view, self.policy)
        self.visible = bool(rows)

    # What a person chose

    @property
    def choices(self) -> dict[int, bool]:
        """What a person opened (True) or closed (False) under this policy, by block number or `PANEL`."""
        return self._user_choices.current(self.policy)

    def choose(self, number: int, open: bool | None) -> None:
        """Open or close a block, or the panel; None lets the policy decide again."""
        if open is None:
            self.choices.pop(number, None)
        else:
            self.choices[number] = open
        self.redraw()

    def replace_choices(self, choices: Mapping[int, bool]) -> None:
        """Replace all choices."""
        chosen = dict(choices)
        self.choices.clear()
        self.choices.update(chosen)
        self.redraw()

    def apply_policy(self, policy: PolicySettings, locale: str | None = None) -> None:
        """Draw with other settings, or in another language."""
        self.policy, self.locale = read_settings(policy), locale or self.locale
        self.redraw()

    def open_states(self) -> list[OpenState]:
        """Return how much is shown of the panel and of each thought; empty without thinking."""
        return [] if self.view is None else self.view.open_states

    @property
    def motion_reduced(self) -> bool:
        """Whether it opens and closes without a transition."""
        return self._panel.style.reduced_motion

    def reduce_motion(self, reduced: bool) -> None:
        """Open and close without a transition. The platform's own setting is used unless this is called."""
        self._panel.style.reduced_motion = reduced
        self.redraw()

    # Flet

    def did_mount(self) -> None:
        """Draw, start the clock, and ask the platform whether it reduces motion."""
        self._frames.mount()
        self._keep_time()
        start_task(self.page, self._ask_for_motion)

    def will_unmount(self) -> None:
        """Stop the clock."""
        self._frames.unmount()

    def before_update(self) -> None:
        """Mirror the rows if `rtl` was changed."""
        if self._panel.style.rtl is not bool(self.rtl):
            self._draw_rows()

    async def _ask_for_motion(self) -> None:
        if not self._frames.mounted or not has_browser(self.page):
            return
        features = await ft.SemanticsService().get_accessibility_features()
        reduced = features.disable_animations or features.reduce_motion
        if reduced and not self._panel.style.reduced_motion and self._frames.mounted:
            self.reduce_motion(True)

    # Parts

    def _take_content(self, content: Content, duration: Duration) -> None:
        duration_ms = read_duration(duration)
        given = read_content(content)
        if isinstance(given, str):
            self._take_text(given, duration_ms)
        elif duration_ms is not None:
            raise ValueError("duration is for a text: the entries of a turn have their own times")
        elif isinstance(given, Turn):
            self.turn = given
        else:
            for entry in given:
                apply(self.turn, entry)
                self._turn_clock.set(entry.at_ms)
        self.show_turn(self.turn)

    def _take_text(self, text: str, duration_ms: int | None) -> None:
        if text:
            start_ms = None if duration_ms is None else 0
            events: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, text)]
            for event in events:
                apply(self.turn, Entry(self.turn.seq + 1, event, start_ms))
            apply(self.turn, Entry(self.turn.seq + 1, BlockEnded(0), duration_ms))

    def _take_event(self, event: Event) -> None:
        now_ms = self._clock()
        self.feed(Entry(self.turn.seq + 1, event, 0 if now_ms is None else now_ms))

    def _now_ms(self) -> int | None:
        return self._turn_clock.now_ms() if self.turn.live else None

    def _press(self, key: int) -> None:
        choices = toggled_choices(self.view, self._panel.rows, self.choices, key)
        self.replace_choices(choices)
        if self.on_toggle is not None:
            self.on_toggle(key, choices[key])

    @property
    def _thinking(self) -> bool:
        return self.view is not None and self.view.status is ThinkingState.THINKING

    def _keep_time(self) -> None:
        if self._thinking:
            self._frames.start_clock(self._tick)

    def _tick(self) -> bool:
        """Draw the time that has passed, and return whether the thinking goes on."""
        if self._thinking:
            self._panel.breathe()
            self.redraw()
        return self._thinking


ThinkingBlock = KoderThinkingBlock


def _row_key(row: PanelRow, style: RowStyle) -> RowKey:
    """Return what makes a row the same one in the next view."""
    match row:
        case HeaderRow():
            return ("header", row.key, row.depth, style.rtl)
        case ThoughtRow():
            return ("thought", row.block, row.depth, style.rtl)
        case NewestLineRow():
            return ("newest line", row.block, row.depth, style.rtl)
        case PassageRow():
            return ("passage", row.block, row.part, style.rtl)
        case FooterRow() | MarkerRow():
            return (type(row),)


# Checks of what an app passes: an error names the argument and what it takes.


def require(name: str, value: object, kinds: type | UnionType, expected: str) -> None:
    """Raise unless an argument is of one of these kinds."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be {expected}, not {type(value).__name__}")


def read_content(content: Content) -> str | Turn | list[Entry]:
    """Return a text, a turn or a list of entries; None is an empty text."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Turn):
        return content
    entries: object = None if isinstance(content, bytes | Mapping) else content
    require("content", entries, Iterable, "a text, a Turn, entries of a turn, or None")
    return [read_entry(entry) for entry in content]


def read_entry(entry: Entry) -> Entry:
    """Return an entry, or raise."""
    require("entry", entry, Entry, "an Entry with its sequence number and event")
    return entry


def read_duration(duration: Duration) -> int | None:
    """Return a duration in milliseconds; None if it is unknown."""
    if duration is None:
        return None
    require("duration", duration, int | float | timedelta, "seconds, a timedelta, or None")
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 <= seconds <= timedelta.max.total_seconds():  # false for NaN as well
        raise ValueError(f"duration must be zero or more seconds, not {seconds}")
    return round(seconds * 1000)


def read_settings(policy: PolicySettings) -> Policy:
    """Return a policy from a policy or its settings."""
    require("policy", policy, Policy | Mapping | None, "a Policy, its settings as a dict, or None")
    return policy if isinstance(policy, Policy) else read_policy(policy or {})


def read_auto_close(policy: Policy, auto_close: bool) -> Policy:
    """Return the policy with what the app said of closing at the end."""
    require("auto_close", auto_close, bool, "True or False")
    return policy if auto_close else msgspec.structs.replace(policy, auto_close=False)

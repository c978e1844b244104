"""An app with nothing but the widgets of turns in a conversation that scrolls, for tests of the widgets."""

from collections.abc import Iterable

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widget import Widget

from thinkaloud.core.canon import Entry, Event
from thinkaloud.surfaces.tui.text.line_view import LineView
from thinkaloud.surfaces.tui.turn_view import TurnView


class WidgetApp(App[None]):
    """Shows the given widgets one below the other."""

    CSS = "VerticalScroll { scrollbar-size-vertical: 1; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self._widgets = widgets

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield from self._widgets


class TestClock:
    """A clock that a test sets."""

    __test__ = False

    def __init__(self, now_ms: int | None = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int | None:
        return self.now_ms


def feed(view: TurnView, events: Iterable[Event], at_ms: int | None = None) -> None:
    """Feed events at one time and draw them."""
    for event in events:
        view.feed(Entry(view.turn.seq + 1, event, at_ms))
    view.flush()


async def settle(pilot: Pilot[None], *views: LineView) -> None:
    """Wait until all text is wrapped to the width of the screen and drawn.

    A view has no width before its first layout, and wraps for some milliseconds of a frame only. On a busy
    machine one pause is too short for either.
    """
    await pilot.pause()
    while not all(view.laid_out for view in views):
        await pilot.pause(0.02)
    await pilot.pause()


def screen_rows(app: App[None]) -> list[str]:
    """Return the rows of the whole screen as text."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

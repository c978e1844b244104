"""The small controls that the parts of the app are made of, and text that is safe for a Flutter client.

Text from a model passes through `screen_text` or `screen_line` before it is given to any control.
"""

import asyncio
from collections.abc import Callable

import flet as ft

from thinkaloud.core.view.text import SURROGATES
from thinkaloud.surfaces.flutter.page_tasks import FRAME_S, find_page, has_browser, start_task
from thinkaloud.surfaces.terminal import clean

END_DISTANCE = 24
"""Pixels from the end within which the person is at the end."""
NOTICE_S = 6.0
NOTICE_LINES = 5


def screen_text(text: str) -> str:
    """Return a text without control characters; half a character, which cannot be sent, becomes �."""
    return SURROGATES.sub("\ufffd", clean(text))


def screen_line(text: str) -> str:
    """Return a text in one line."""
    return " ".join(screen_text(text).split())


def readable(content: ft.Control) -> ft.Control:
    """Return text that can be selected, and that a screen reader reads apart from what is beside it."""
    return ft.Semantics(container=True, content=ft.SelectionArea(content=content))


class IsolatedControl(ft.Control):
    """A control that sends its own changes: what contains it can be updated without looking inside.

    It is listed before the class of the control.
    """

    _isolated = True
    _mounted = False

    def did_mount(self) -> None:
        """Note that changes are to be sent from now on."""
        self._mounted = True

    def will_unmount(self) -> None:
        """Note that there is no client any more."""
        self._mounted = False

    def send_changes(self) -> None:
        """Send what changed, if the control is on a page."""
        if self._mounted:
            self.update()


class IconAction(ft.MergeSemantics):
    """An icon that does something when it is pressed, read as one with its name."""

    def __init__(self, identifier: str, icon: ft.IconData, on_press: Callable[[], None]) -> None:
        self.button = ft.IconButton(icon, on_click=lambda _: on_press())
        super().__init__(content=ft.Semantics(identifier=identifier, content=self.button))

    def name(self, text: str) -> None:
        """Give the button a name, which is shown while the pointer rests on it."""
        self.button.tooltip = text


def text_action(identifier: str, button: ft.TextButton) -> ft.MergeSemantics:
    """Return a button with text as one node with an identifier."""
    return ft.MergeSemantics(content=ft.Semantics(identifier=identifier, content=button))


class FollowedList(ft.ListView):
    """Stays at its end while it grows if `follow` is true, until the person scrolls away from the end.

    Scrolling back to the end follows it again.
    """

    def __init__(self, controls: list[ft.Control], *, follow: bool, spacing: int = 0) -> None:
        super().__init__(controls, spacing=spacing, padding=0, on_scroll=self._scrolled, scroll_interval=50)
        self.follow = follow
        self._mounted = self._going = False

    def did_mount(self) -> None:
        """Go to the end."""
        self._mounted = True
        self.follow_end()

    def will_unmount(self) -> None:
        """Note that there is no client any more."""
        self._mounted = False

    def follow_end(self) -> None:
        """Go to the end, unless the person has scrolled away."""
        page = find_page(self) if self._mounted else None
        if page is not None and self.follow and not self._going:
            self._going = True
            start_task(page, self._go_to_end)

    async def _go_to_end(self) -> None:
        await asyncio.sleep(2 * FRAME_S)  # what grew is drawn by then
        self._going = False
        page = find_page(self) if self._mounted else None
        if page is not None and self.follow and has_browser(page):
            await self.scroll_to(offset=-1, duration=0)

    def _scrolled(self, event: ft.OnScrollEvent) -> None:
        at_end = event.max_scroll_extent - event.pixels < END_DISTANCE
        if event.event_type is ft.ScrollType.USER and event.direction is ft.ScrollDirection.FORWARD:
            self.follow = False  # towards the start
        elif at_end:
            self.follow = True


class NoticeBar(IsolatedControl, ft.Container):
    """Shows the newest notice for some seconds and reads it out. It takes room, so that it covers nothing.

    `on_resize` is called when it comes and when it goes.
    """

    def __init__(self, on_resize: Callable[[], None]) -> None:
        super().__init__(
            bgcolor=ft.Colors.INVERSE_SURFACE,
            border_radius=10,
            padding=ft.Padding(left=14, right=4, top=2, bottom=2),
            visible=False,
        )
        self._on_resize = on_resize
        self._shown = 0
        self._text = ft.Text(
            color=ft.Colors.ON_INVERSE_SURFACE, max_lines=NOTICE_LINES, overflow=ft.TextOverflow.ELLIPSIS
        )
        self._close = IconAction("close-notice", ft.Icons.CLOSE, self.hide)
        self._close.button.icon_color = ft.Colors.ON_INVERSE_SURFACE
        words = ft.Semantics(live_region=True, container=True, content=self._text, expand=True)
        self.content = ft.Row([words, self._close], spacing=4)

    def show(self, text: str, close_name: str) -> None:
        """Show a notice for some seconds, in place of the one before."""
        self._shown += 1
        self._text.value = screen_line(text)
        self.visible = True
        self._close.name(close_name)
        self.send_changes()
        self._on_resize()
        start_task(self.page, self._hide_later, self._shown)

    def hide(self) -> None:
        """Show nothing."""
        if self.visible:
            self.visible = False
            self.send_changes()
            self._on_resize()

    async def _hide_later(self, shown: int) -> None:
        await asyncio.sleep(NOTICE_S)
        if shown == self._shown:
            self.hide()

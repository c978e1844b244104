"""A short notice above the message box, which goes by itself. It takes room, so that it covers nothing."""

import asyncio
from collections.abc import Callable

import flet as ft

from thinkaloud.surfaces.flutter.icon_action import IconAction
from thinkaloud.surfaces.flutter.isolated_control import IsolatedControl
from thinkaloud.surfaces.flutter.page_tasks import start_task
from thinkaloud.surfaces.flutter.screen_text import screen_line

NOTICE_S = 6.0
NOTICE_LINES = 5


class NoticeBar(IsolatedControl, ft.Container):
    """Shows the newest notice and reads it out. `on_resize` is called when it comes and when it goes."""

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
        self._text.value, self.visible = screen_line(text), True
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

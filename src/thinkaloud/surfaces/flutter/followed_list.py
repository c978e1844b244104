"""A list that stays at its end while it grows, until the person scrolls away from it."""

import asyncio

import flet as ft

from thinkaloud.surfaces.flutter.frame_timer import FRAME_S
from thinkaloud.surfaces.flutter.page_tasks import find_page, has_browser, start_task

END_DISTANCE = 24
"""Pixels from the end within which the person is at the end."""


class FollowedList(ft.ListView):
    """Follows its end if `follow` is true. Scrolling back to the end follows it again."""

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

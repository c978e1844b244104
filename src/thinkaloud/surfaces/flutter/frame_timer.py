"""Draws a control soon: at most a few times a second, however often it changes."""

import asyncio
from collections.abc import Callable

import flet as ft

from thinkaloud.surfaces.flutter.page_tasks import find_page, has_closed, start_task

FRAME_S = 0.066
CLOCK_S = 1.0


class FrameTimer:
    """Calls `draw` once after any number of changes, in the event loop of the page."""

    def __init__(self, control: ft.Control, draw: Callable[[], None]) -> None:
        self._control, self._draw = control, draw
        self._mounted = self._waiting = self._ticking = False

    @property
    def mounted(self) -> bool:
        """Whether the control is on a page that still has a session."""
        return self._mounted and find_page(self._control) is not None

    def mount(self) -> None:
        """Note that the control is on a page, and draw what changed before."""
        self._mounted = True
        self.draw_soon()

    def unmount(self) -> None:
        """Note that the control is on no page any more."""
        self._mounted = False

    def draw_soon(self) -> None:
        """Draw with the next frame."""
        if self.mounted and not self._waiting:
            self._waiting = True
            start_task(self._control.page, self._draw_later)

    def start_clock(self, tick: Callable[[], bool]) -> None:
        """Call `tick` every second until it returns false or the control is on no page any more."""
        if self.mounted and not self._ticking:
            self._ticking = True
            start_task(self._control.page, self._run_clock, tick)

    async def _draw_later(self) -> None:
        await asyncio.sleep(FRAME_S)
        self._waiting = False
        if self.mounted:
            self._draw()

    async def _run_clock(self, tick: Callable[[], bool]) -> None:
        await asyncio.sleep(CLOCK_S)
        while self.mounted and not has_closed(self._control.page) and tick():
            await asyncio.sleep(CLOCK_S)
        self._ticking = False

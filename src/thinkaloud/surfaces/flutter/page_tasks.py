"""Runs work beside a page, and draws what changes a few times a second at most.

Work goes on while the browser is away for a moment: it may come back within the time that its session is
kept. What changes until then is kept in the controls, and sent when it is back.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, ParamSpec

import flet as ft
from flet.messaging.session import Session

from thinkaloud.core.canon import Refused
from thinkaloud.surfaces.chat.backend import BackendUnreachable

FRAME_S = 0.066
"""A control that changes all the time is drawn once in this time."""
CLOCK_S = 1.0

Arguments = ParamSpec("Arguments")

_tasks: set[asyncio.Task[None]] = set()
"""Tasks of pages without a browser. The event loop alone would not keep them alive."""


def start_task(
    page: ft.Page,
    work: Callable[Arguments, Coroutine[Any, Any, None]],
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> None:
    """Run work in the event loop of a page. Flet's own `run_task` fails while there is no browser."""
    if has_browser(page):
        page.run_task(work, *args, **kwargs)
    else:
        task = asyncio.get_running_loop().create_task(work(*args, **kwargs))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)


def find_page(control: ft.Control) -> ft.Page | None:
    """Return the page of a control that was mounted; None once Flet has deleted the session of that page."""
    try:
        page = control.page
    except RuntimeError:
        return None
    return None if find_session(page) is None else page


def find_session(page: ft.Page) -> Session | None:
    """Return the session of a page, which Flet deletes some time after the browser has gone."""
    try:
        return page.session
    except RuntimeError:
        return None


def has_browser(page: ft.Page) -> bool:
    """Return whether a browser shows the page now."""
    session = find_session(page)
    return session is not None and session.connection is not None


def has_closed(page: ft.Page) -> bool:
    """Return whether the browser has been away for so long that it cannot come back."""
    session = find_session(page)
    if session is None:
        return True
    return session.expires_at is not None and session.expires_at < datetime.now(UTC)


class FrameTimer:
    """Calls `draw` once after any number of changes, in the event loop of the page."""

    def __init__(self, control: ft.Control, draw: Callable[[], None]) -> None:
        self._control = control
        self._draw = draw
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


class PageFlows:
    """Work of a page that waits for the gateway. It ends when the page closes; what is refused is shown."""

    def __init__(self, page: ft.Page, show_error: Callable[[Exception], None]) -> None:
        self.closed = False
        self._page = page
        self._show_error = show_error
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, flow: Coroutine[Any, Any, None]) -> None:
        """Run work beside the page."""
        if self.closed:
            flow.close()
        else:
            start_task(self._page, self._run, flow)

    async def _run(self, flow: Coroutine[Any, Any, None]) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await flow
        except (Refused, BackendUnreachable) as error:
            self._show_error(error)
        finally:
            self._tasks.discard(task)

    def close(self) -> None:
        """End all work."""
        self.closed = True
        for task in self._tasks:
            task.cancel()

"""Runs work beside a page, also while its browser is away for a moment.

A browser that lost its connection may come back within the time that its session is kept. What changes until
then is kept in the controls, and sent when it is back.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, ParamSpec

import flet as ft
from flet.messaging.session import Session

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

"""Runs work beside a page, also while its browser is away for a moment.

A browser that lost its connection may come back within the time that its session is kept. What changes until
then is kept in the controls, and sent when it is back.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, ParamSpec

import flet as ft

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


def has_browser(page: ft.Page) -> bool:
    """Return whether a browser shows the page now."""
    return page.session.connection is not None


def has_closed(page: ft.Page) -> bool:
    """Return whether the browser has been away for so long that it cannot come back."""
    expires_at = page.session.expires_at
    return expires_at is not None and expires_at < datetime.now(UTC)

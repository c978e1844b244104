"""A stream in a notebook: its thinking live in `<thinking-block>`, and its answer below it.

`show` is for Jupyter and marimo. In an app of Panel or Shiny, place a `ThinkingWidget`, and let it follow a
stream. The page gets each entry once, and the saved notebook has the turn as HTML that needs no script.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import copy_context
from functools import partial
from threading import Lock, Thread
from typing import Any
from uuid import uuid4

from thinkaloud.client.follow import Following
from thinkaloud.core.canon import Entry, Refused
from thinkaloud.core.dialects import AUTO
from thinkaloud.core.export.displays import turn_html
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import read_policy
from thinkaloud.extras import refuse_missing_extras
from thinkaloud.integrations.element import BATCH_S, EntryBatches, followed, script, script_path

with refuse_missing_extras():
    import anywidget
    import traitlets

_ADOPT = (
    '<script>globalThis[Symbol.for("thinkaloud.views")]'
    '?.adopt("{turn_id}", document.currentScript.parentElement)</script>'
)
"""Puts the block that is there into the place of the HTML, so that what a person opened stays open."""


class ThinkingWidget(anywidget.AnyWidget):
    """The block and the answer of one turn. Each batch of entries is sent once, and kept for later views."""

    turn_id = traitlets.Unicode().tag(sync=True)
    attributes = traitlets.Dict().tag(sync=True)
    policy = traitlets.Dict().tag(sync=True)
    batch_count = traitlets.Int(0).tag(sync=True)

    def __init__(self, policy: Mapping[str, str | bool] | None = None, lang: str = "") -> None:
        read_policy(policy or {})  # refuses what the element could not show
        self._following: Following | None = None
        self._waiting = EntryBatches()
        self._batches: list[str] = []
        self._sent_count = 0
        self._called_later = False
        self._lock = Lock()
        super().__init__(
            _esm=f"{script()}\n{script_path('notebook.js').read_text('utf-8')}",
            turn_id=uuid4().hex,
            attributes={"lang": lang} if lang else {},
            policy=dict(policy or {}),
        )

    @property
    def turn(self) -> Turn:
        """The turn so far."""
        return self._following.turn if self._following else Turn()

    def follow(self, source: object, dialect: str = AUTO, *, model: str = "", tags: str = "") -> Turn:
        """Show a stream as it arrives, and return the turn at its end."""
        following = self._begin(source, dialect, model, tags)
        try:
            with closing(following.entries()) as batches:
                for entries in batches:
                    self._take(entries, _call_in_thread)
        finally:
            self._end(following)
        return following.turn

    async def follow_async(
        self, source: object, dialect: str = AUTO, *, model: str = "", tags: str = ""
    ) -> Turn:
        """Show an asynchronous stream as it arrives, and return the turn at its end."""
        following = self._begin(source, dialect, model, tags)
        call_later = partial(asyncio.get_running_loop().call_later, BATCH_S)
        try:
            async with aclosing(following.entries_async()) as batches:
                async for entries in batches:
                    self._take(entries, call_later)
        finally:
            self._end(following)
        return following.turn

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state for the page: with the count of batches those that are new, else all of them."""
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        first = self._sent_count if key is not None else 0
        if key is not None and "batch_count" not in state:
            return state
        # They come before their count: some pages read one field after the other.
        new = {f"batch_{number}": self._batches[number] for number in range(first, len(self._batches))}
        return new | state

    def _begin(self, source: object, dialect: str, model: str, tags: str) -> Following:
        if self._following is not None:
            raise Refused("A ThinkingWidget shows one turn. Make another one for the next stream.")
        self._following = followed(source, dialect, model=model, tags=tags)
        return self._following

    def _end(self, following: Following) -> None:
        with self._lock:
            self._publish(self._waiting.add(following.unread))
            self._publish(self._waiting.flush())

    def _take(self, entries: Iterable[Entry], call_later: Callable[[Callable[[], None]], object]) -> None:
        with self._lock:
            self._publish(self._waiting.add(entries))
            if self._waiting.waiting and not self._called_later:
                self._called_later = True
                call_later(self._publish_waiting)

    def _publish_waiting(self) -> None:
        with self._lock:
            self._called_later = False
            self._publish(self._waiting.flush())

    def _publish(self, lines: str) -> None:
        if lines:
            self._batches.append(lines)
            self.batch_count = len(self._batches)
            self._sent_count = self.batch_count


def _call_in_thread(call: Callable[[], None]) -> None:
    """Call a function after `BATCH_S`, while the program waits for its stream."""

    def wait_and_call() -> None:
        time.sleep(BATCH_S)
        call()

    # Jupyter knows by the context to which cell a message belongs, and marimo by its own kind of thread.
    thread = marimo.Thread if (marimo := _running_marimo()) else Thread
    thread(target=copy_context().run, args=(wait_and_call,), daemon=True).start()


def _running_marimo() -> Any:
    """Return the module marimo if this is a notebook of it."""
    marimo: Any = sys.modules.get("marimo")
    return marimo if marimo is not None and marimo.running_in_notebook() else None


class Shown:
    """A turn that is shown in a notebook. As the value of a cell it is not shown once more."""

    def __init__(self, widget: ThinkingWidget) -> None:
        self.widget = widget

    @property
    def turn(self) -> Turn:
        """The turn so far, and the whole turn at the end of the stream."""
        return self.widget.turn

    def __repr__(self) -> str:
        return f"<Shown: {self.turn!r}>"

    def _ipython_display_(self) -> None:
        """Jupyter shows the block where `show` was called."""

    def _display_(self) -> ThinkingWidget:
        """Return what marimo shows as the output of the cell: the same block again."""
        return self.widget


def show(
    source: object,
    dialect: str = AUTO,
    *,
    model: str = "",
    tags: str = "",
    policy: Mapping[str, str | bool] | None = None,
    lang: str = "",
) -> Shown:
    """Show a stream live in the output of this cell, until its end.

    `dialect`, `model` and `tags` are those of `follow`. `policy` are display settings such as
    `{"preset": "koder"}`, and `lang` is the language of the words.
    """
    with _output(ThinkingWidget(policy, lang)) as widget:
        widget.follow(source, dialect, model=model, tags=tags)
    return Shown(widget)


async def show_async(
    source: object,
    dialect: str = AUTO,
    *,
    model: str = "",
    tags: str = "",
    policy: Mapping[str, str | bool] | None = None,
    lang: str = "",
) -> Shown:
    """Show an asynchronous stream like `show`: `await show_async(stream)`."""
    with _output(ThinkingWidget(policy, lang)) as widget:
        await widget.follow_async(source, dialect, model=model, tags=tags)
    return Shown(widget)


@contextmanager
def _output(widget: ThinkingWidget) -> Iterator[ThinkingWidget]:
    """Show the widget as output of this cell; at the end, Jupyter gets what a saved notebook keeps."""
    if marimo := _running_marimo():
        marimo.output.append(widget)
        yield widget
        return
    from IPython.display import display

    handle = display(widget, display_id=True)
    try:
        yield widget
    finally:
        if handle is not None and widget.turn.outcome is not None:
            handle.update(saved_output(widget), raw=True)


def saved_output(widget: ThinkingWidget) -> dict[str, str]:
    """Return the output of a cell by media type, for a notebook without its kernel.

    It names no widget: JupyterLab would show an error in place of one whose kernel is gone.
    """
    adopt = _ADOPT.format(turn_id=widget.turn_id)
    return {"text/html": f"<div>{turn_html(widget.turn)}{adopt}</div>", "text/plain": repr(widget.turn)}

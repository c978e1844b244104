"""Streamlit: `show` draws the thinking of a stream live, and turns of the session again in every run.

The element is a component of Streamlit's second kind, in the page itself. It is placed once for each turn.
The entries come in components that nobody sees: Streamlit sends the value of a component whole, and makes a
new component for each value.
"""

from collections.abc import Mapping, MutableSequence, Sequence
from contextlib import closing, suppress
from itertools import count
from threading import Lock, Thread, Timer
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitDuplicateElementKey
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from thinkaloud.core.canon import Entry
from thinkaloud.core.export.markdown_format import without_html
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import read_policy
from thinkaloud.integrations.chunks import CHUNKS_SCRIPT, Chunk, TurnChunks, whole_turn
from thinkaloud.integrations.element import BATCH_S, EntryBatches, followed, script, unshown_notice

_STYLE = """
thinking-block {
  --thinking-accent: var(--st-primary-color);
  --thinking-background: transparent;
  --thinking-border: var(--st-border-color);
  --thinking-color: var(--st-text-color);
  --thinking-font: var(--st-base-font-size) / 1.6 var(--st-font);
}
thinking-block:not(:state(empty)) { margin-block-end: 1rem; }
"""
_WHEN_DEFINED = """export default ({ parentElement, data }) =>
  void customElements.whenDefined("thinking-block").then(() => { %s });"""
_load = st.components.v2.component(
    "thinkaloud_script", js=f"{script()}\n{CHUNKS_SCRIPT}\nexport default () => {{}};"
)
_place = st.components.v2.component(
    "thinkaloud_turn", css=_STYLE, js=_WHEN_DEFINED % "thinkingTurns.place(parentElement, data)"
)
_feed = st.components.v2.component("thinkaloud_entries", js=_WHEN_DEFINED % "thinkingTurns.feed(data)")


def show(
    source: object,
    *,
    keep_in: MutableSequence[Any] | None = None,
    policy: Mapping[str, str | bool] | None = None,
    lang: str = "",
) -> Turn:
    """Draw a stream live, its thinking in a block and its answer below; return the turn at its end.

    `source` is what `thinkaloud.follow` takes or returns, or a turn, which is drawn as it is. The turn is
    added to `keep_in` when it begins: Streamlit ends a script wherever it is when a person does something.
    `policy` are display settings, and `lang` is the language of the words, by default the browser's.
    """
    read_policy(policy or {})
    settings = {"policy": dict(policy or {}), "lang": lang or st.context.locale or ""}
    if isinstance(source, Turn):
        _Drawing(source, settings).draw_whole()
        return source
    following = followed(source)
    drawing = _Drawing(following.turn, settings)
    if keep_in is not None:
        keep_in.append(following.turn)
    try:
        with closing(following.entries()) as batches:
            for entries in batches:
                drawing.add(entries)
    finally:
        drawing.end(following.unread)
    return following.turn


class _Drawing:
    """The place of one turn in this run of the script."""

    def __init__(self, turn: Turn, settings: Mapping[str, Any]) -> None:
        self._turn = turn
        self._settings = settings
        self._box = st.container(gap=None)
        self._answer = st.empty()
        self._answer_text = ""
        self._chunks: TurnChunks | None = None
        self._slots: list[Any] = []
        self._waiting = EntryBatches()
        self._timer: Thread | None = None
        self._lock = Lock()

    def add(self, entries: Sequence[Entry]) -> None:
        """Draw these entries now or soon."""
        with self._lock:
            self._draw(self._waiting.add(entries))
            if self._timer is None:
                # What waits is drawn in another thread if the model pauses: this one waits for the model.
                self._timer = _start(Timer(BATCH_S, self._flush))

    def end(self, unread: Sequence[Entry]) -> None:
        """Draw the end of a turn that was broken off: in its own thread, a stopped script draws nothing."""
        if unread:
            _start(Thread(target=self.add, args=[unread])).join()
        if self._timer is not None:
            self._timer.join()

    def _flush(self) -> None:
        with self._lock:
            self._timer = None
            self._draw(self._waiting.flush())

    def _draw(self, lines: str) -> None:
        if not lines:
            return
        if self._chunks is None:
            self._chunks = TurnChunks(self._place())
        self._feed(self._chunks.add(lines), self._chunks.number)
        self._draw_answer()

    def draw_whole(self) -> None:
        """Draw all of the turn."""
        self._feed(whole_turn(self._place(), self._turn), 0)
        self._draw_answer()

    def _place(self) -> str:
        """Place the element and return its name. The same turn has the same name in every run."""
        name = ""
        for number in count():
            name = f"thinkaloud-{self._turn.started_ms}-{number}"
            with self._box, suppress(StreamlitDuplicateElementKey):
                _place(key=name, data={"turn": name, **self._settings})
                break
        # The script is on the page once, where the first turn of a run is.
        with self._box, suppress(StreamlitDuplicateElementKey):
            _load(key="thinkaloud")
        return name

    def _feed(self, chunk: Chunk, number: int) -> None:
        if number == len(self._slots):
            self._slots.append(self._box.empty())
        with self._slots[number]:
            _feed(data=chunk)

    def _draw_answer(self) -> None:
        if (answer := without_html(self._turn.answer)) != self._answer_text:
            self._answer_text = answer
            self._answer.markdown(answer)
        if ending := unshown_notice(self._turn, self._settings["lang"]):
            self._box.text(ending)


def _start(thread: Thread) -> Thread:
    """Start a thread that may draw for this script."""
    add_script_run_ctx(thread, get_script_run_ctx())
    thread.start()
    return thread

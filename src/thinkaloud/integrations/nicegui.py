"""NiceGUI: `show` places an answer that grows: its thinking in a block, its text below.

`<thinking-block>` is an element of NiceGUI like every other tag, with its script in the head of all pages.
Entries are method calls: the connection keeps their order and sends them again after it broke.
"""

import json
from collections.abc import Mapping
from contextlib import aclosing

from nicegui import app, ui

from thinkaloud.core.export.markdown_format import without_html
from thinkaloud.core.transcript import Turn, unfold
from thinkaloud.core.view import read_policy
from thinkaloud.integrations.element import (
    batches_async,
    entry_lines,
    followed,
    script_path,
    unshown_notice,
)

_SCRIPT_URL = app.add_static_file(local_file=script_path())
ui.add_head_html(f'<script src="{_SCRIPT_URL}"></script>', shared=True)


class ThinkingBlock(ui.element):
    """The element `<thinking-block>`; `feed` gives it entries as lines of JSON."""

    def __init__(self, policy: Mapping[str, str | bool] | None = None, lang: str = "") -> None:
        read_policy(policy or {})  # refuses what the element could not show
        super().__init__("thinking-block")
        self.classes("w-full")
        self.props["policy"] = dict(policy or {})
        if lang:
            self.props["lang"] = lang

    def feed(self, lines: str) -> None:
        """Send entries to the page."""
        for line in lines.splitlines():
            self.run_method("feed", json.loads(line))


async def show(source: object, *, policy: Mapping[str, str | bool] | None = None, lang: str = "") -> Turn:
    """Place a stream here as it arrives, and return its turn at the end.

    `source` is what `thinkaloud.follow` takes or returns, or a turn, which is placed whole. `policy` are
    display settings, and `lang` is the language of the words, by default the page's.
    """
    with ui.column().classes("w-full"):
        block, answer, ending = ThinkingBlock(policy, lang), ui.markdown(), ui.label()
    if isinstance(source, Turn):
        block.feed(entry_lines(unfold(source)))
        _draw_answer(source, answer, ending, lang)
        return source
    following = followed(source)
    try:
        async with aclosing(batches_async(following)) as batches:
            async for lines in batches:
                block.feed(lines)
                _draw_answer(following.turn, answer, ending, lang)
    finally:
        block.feed(entry_lines(following.unread))
        _draw_answer(following.turn, answer, ending, lang)
    return following.turn


def _draw_answer(turn: Turn, answer: ui.markdown, ending: ui.label, lang: str) -> None:
    answer.content = without_html(turn.answer)
    answer.visible = bool(turn.answer)
    ending.text = unshown_notice(turn, lang)
    ending.visible = bool(ending.text)

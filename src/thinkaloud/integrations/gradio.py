"""Gradio: `show` yields the message of an answer as it grows, with its thinking in a block.

A message of a chat may hold a `gr.HTML`, whose script runs in the page. Its value is all entries so far;
Gradio sends what was added to it. In the page the value becomes an attribute by a template, so it is Base64:
no text of a model can end the attribute, and none is evaluated as part of the template.
"""

import base64
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from uuid import uuid4

import gradio as gr
import msgspec

from thinkaloud.core.export.markdown_format import TextForm, format_text, without_html
from thinkaloud.core.transcript import Turn, unfold
from thinkaloud.core.view import read_policy
from thinkaloud.integrations.chunks import CHUNKS_SCRIPT
from thinkaloud.integrations.element import (
    batches_async,
    entry_lines,
    followed,
    script_path,
    unshown_notice,
)

gr.set_static_paths([script_path()])
_HEAD = f'<script src="gradio_api/file={script_path()}"></script>'
_STYLE = """
--thinking-accent: var(--color-accent);
--thinking-background: transparent;
--thinking-border: var(--border-color-primary);
--thinking-color: var(--body-text-color);
--thinking-error-color: var(--error-text-color);
--thinking-font: var(--text-md) / 1.6 var(--font);
--thinking-muted-color: color-mix(in srgb, var(--body-text-color) 70%, transparent);
--thinking-rule-color: var(--border-color-primary);
"""
_WHOLE = "!"
"""The sign before a value that is a turn that is over, and not the entries as they arrived."""
# The stop button of Gradio ends the program without a last message, so the page itself ends what streams.
_ON_LOAD = (
    CHUNKS_SCRIPT
    + """
const text = base64 => new TextDecoder().decode(Uint8Array.from(atob(base64), sign => sign.charCodeAt(0)));
const [place] = element.children;
const root = place.attachShadow({ mode: "open" });
let shown, read, settings;
const draw = () => {
  const { entries } = place.dataset;
  if (place.dataset.settings !== shown) {
    shown = place.dataset.settings;
    settings = JSON.parse(text(shown));
    read = 0;
    root.replaceChildren();
    thinkingTurns.place(root, settings);
  }
  const whole = entries.startsWith("!");
  const lines = entries.slice(whole ? 1 : read).split(".").map(text).join("");
  read = entries.length;
  thinkingTurns.feed({ turn: settings.turn, whole, after: -1, lines });
};
draw();
new MutationObserver(draw).observe(place, { attributes: true });
const stop = event => {
  if (!element.isConnected) document.removeEventListener("click", stop);
  else if (event.target.closest?.(".stop-button")) thinkingTurns.stop(settings.turn);
};
document.addEventListener("click", stop);
"""
)


def show(
    source: object, *, policy: Mapping[str, str | bool] | None = None, lang: str = ""
) -> Generator[gr.ChatMessage, None, None]:
    """Yield the message of a stream as it grows: its thinking in a block, and its answer below.

    `source` is what `thinkaloud.follow` takes or returns. `policy` are display settings, and `lang` is the
    language of the words, by default the page's.
    """
    following = followed(source)
    answer = _Answer(following.turn, policy, lang)
    with closing(following.entries()) as batches:
        for entries in batches:
            if entries:
                yield answer.grow(entry_lines(entries))
    yield answer.whole()


async def show_async(
    source: object, *, policy: Mapping[str, str | bool] | None = None, lang: str = ""
) -> AsyncGenerator[gr.ChatMessage, None]:
    """Yield the message of an asynchronous stream like `show`."""
    following = followed(source)
    answer = _Answer(following.turn, policy, lang)
    async with aclosing(batches_async(following)) as batches:
        async for lines in batches:
            yield answer.grow(lines)
    yield answer.whole()


def message(turn: Turn, *, policy: Mapping[str, str | bool] | None = None, lang: str = "") -> gr.ChatMessage:
    """Return the message of a turn that is over, for a chat that is drawn again."""
    return _Answer(turn, policy, lang).whole()


class _Answer:
    """The message of one turn."""

    def __init__(self, turn: Turn, policy: Mapping[str, str | bool] | None, lang: str) -> None:
        read_policy(policy or {})
        settings = {"turn": uuid4().hex, "policy": dict(policy or {}), "lang": lang}
        attribute = _base64(msgspec.json.encode(settings))
        self._turn = turn
        self._lang = lang
        self._template = f'<div data-settings="{attribute}" data-entries="${{value}}"></div>'
        self._entries = ""

    def grow(self, lines: str) -> gr.ChatMessage:
        """Return the message with what these lines add."""
        self._entries += _base64(lines.encode()) + "."
        return self._message(self._entries)

    def whole(self) -> gr.ChatMessage:
        """Return the message of the whole turn, with as few entries as it needs: the page sends it back."""
        return self._message(_WHOLE + _base64(entry_lines(unfold(self._turn)).encode()))

    def _message(self, value: str) -> gr.ChatMessage:
        block = gr.HTML(
            value, html_template=self._template, css_template=_STYLE, js_on_load=_ON_LOAD, head=_HEAD
        )
        ending = unshown_notice(self._turn, self._lang)
        note = format_text(f"*{ending}*", TextForm.PLAIN)[1] if ending else ""
        answer = "\n\n".join(filter(None, (without_html(self._turn.answer), note)))
        return gr.ChatMessage(role="assistant", content=[block, answer] if answer else [block])


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()

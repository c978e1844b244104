"""A turn as notebooks and Rich show it: thoughts and calls folded or dimmed, the answer below them.

All text of a model is escaped; folding needs no script.
"""

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from thinkaloud.core.canon import Kind
from thinkaloud.core.export.markdown_format import TextForm, format_text, readable
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.view import ThinkingState, Words, notice, view
from thinkaloud.core.view.labels import TOOL_ICON, call_name
from thinkaloud.core.view.text import one_line
from thinkaloud.core.view.thinking import thought_text

if TYPE_CHECKING:
    from rich.console import Group

_WRAPPED = 'style="white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.5em 0"'
_MUTED = 'style="opacity: 0.75; margin: 0.5em 0"'
_HEADER_COLUMNS = 120


class _Part(NamedTuple):
    """A part of a turn: the answer, or what is folded below a header."""

    text: str
    header: str = ""


def _parts(turn: Turn) -> Iterator[_Part]:
    thinking, words = view(turn), Words("en-US")
    labels = {block.block: block for block in thinking.blocks} if thinking else {}
    for block in turn.own_blocks():
        if block.kind is Kind.TEXT:
            if not block.blank:
                yield _Part(block.text)
        elif block.kind is Kind.REASONING:
            if label := labels.get(block.number):
                # The label of a thought that is over says its duration.
                duration = label.duration if label.status is ThinkingState.THINKING else ""
                header = " · ".join(filter(None, (label.label, duration, label.words_text)))
                yield _Part(thought_text(words, block), header)
        else:
            name = one_line(call_name(words, block), _HEADER_COLUMNS)
            yield _Part(_call_text(block), f"{TOOL_ICON} {name}")


def _call_text(block: Block) -> str:
    return "\n\n".join(text for text in (block.text, block.error, block.result) if text)


def turn_html(turn: Turn) -> str:
    """Return a turn as HTML, for notebooks."""
    parts = []
    for text, header in _parts(turn):
        body = html.escape(text)
        if header:
            body = f"<pre {_WRAPPED}>{body}</pre>"
            parts.append(f"<details {_MUTED}><summary>{html.escape(header)}</summary>{body}</details>")
        else:
            parts.append(f"<div {_WRAPPED}>{body}</div>")
    if ending := notice(turn):
        parts.append(f"<p {_MUTED}>{html.escape(ending)}</p>")
    return f"<div>{''.join(parts)}</div>"


def turn_markdown(turn: Turn) -> str:
    """Return a turn as markdown: thoughts and calls folded, in fences."""
    parts = []
    for text, header in _parts(turn):
        form = TextForm.FENCE if header else TextForm.PLAIN
        body = format_text(text, form, "text" if header else "")[1]
        if header:
            body = f"<details><summary>{html.escape(header)}</summary>\n\n{body}\n\n</details>"
        parts.append(body)
    if ending := notice(turn):
        parts.append(format_text(f"*{ending}*", TextForm.PLAIN)[1])
    return "\n\n".join(parts)


def turn_rich(turn: Turn) -> "Group":
    """Return a turn for the console of Rich, with its thoughts dimmed."""
    from rich.console import Group
    from rich.text import Text

    lines = []
    for text, header in _parts(turn):
        if header:
            lines.append(Text(readable(header), style="bold dim"))
        lines.append(Text(readable(text), style="dim" if header else ""))
    if ending := notice(turn):
        lines.append(Text(readable(ending), style="italic dim"))
    return Group(*lines)

"""Makes text from a model safe for a Flutter client, and cuts long text into pieces."""

import re

import flet as ft

from thinkaloud.surfaces.terminal import clean

PIECE_CHARACTERS = 1_500
"""The size of a piece of text. A change sends one piece to the client, whatever the length of the text."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def screen_text(text: str) -> str:
    """Return a text without control characters; half a character, which cannot be sent, becomes �."""
    return _LONE_SURROGATE.sub("\ufffd", clean(text))


def screen_line(text: str) -> str:
    """Return a text in one line."""
    return " ".join(screen_text(text).split())


def piece_end(text: str) -> int:
    """Return where the first piece of a text ends that is longer than a piece: behind a line, else a word."""
    end = text.rfind("\n", 0, PIECE_CHARACTERS) + 1
    if end:
        return end
    return text.rfind(" ", PIECE_CHARACTERS // 2, PIECE_CHARACTERS) + 1 or PIECE_CHARACTERS


def readable(content: ft.Control) -> ft.Control:
    """Return text that can be selected, and that a screen reader reads apart from what is beside it."""
    return ft.Semantics(container=True, content=ft.SelectionArea(content=content))

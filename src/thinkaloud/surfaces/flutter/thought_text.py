"""The text of a thought in pieces, so that a delta costs the same however long the thought is.

The last piece grows and is the only one that is sent again. A long text scrolls in a box of its own: the
client lays out only the pages in sight. The box follows the end until the person scrolls away from it.
"""

import flet as ft

from thinkaloud.surfaces.flutter.followed_list import FollowedList
from thinkaloud.surfaces.flutter.isolated_control import IsolatedControl
from thinkaloud.surfaces.flutter.screen_text import PIECE_CHARACTERS, piece_end, readable, screen_text

PIECES_PER_PAGE = 24
LONG_CHARACTERS = 4 * PIECE_CHARACTERS
BOX_HEIGHT = 320
"""The height of the box of a long text."""


class TextPage(IsolatedControl, ft.Column):
    """Some pieces of a text. Its changes are sent without looking at other pages."""

    def __init__(self) -> None:
        super().__init__(spacing=0, tight=True)


class ThoughtText(IsolatedControl, ft.Container):
    """A text that grows at its end."""

    def __init__(self, *, follow: bool = False) -> None:
        super().__init__(padding=0)
        self.source_length = 0
        """How many characters of the source are here."""
        self._length = 0
        self._follow = follow
        self._tail = _piece_text("")
        self._pages = [TextPage()]
        self._pages[0].controls = [self._tail]
        self._list: FollowedList | None = None
        self._column: ft.Column | FollowedList = ft.Column([*self._pages], spacing=0, tight=True)
        self.content = readable(self._column)

    def append(self, text: str) -> None:
        """Append text, and send what changed."""
        self.source_length += len(text)
        new_text = screen_text(text)
        value = self._tail.value + new_text
        self._length += len(new_text)
        changed: list[ft.Control] = [self._tail]
        while len(value) > PIECE_CHARACTERS:
            end = piece_end(value)
            self._tail.value = value[:end].removesuffix("\n")
            value = value[end:]
            changed.append(self._add_piece())
        self._tail.value = value
        if self._list is None and self._length > LONG_CHARACTERS:
            self._become_long()
            changed.append(self)
        if self._mounted:
            for control in dict.fromkeys(changed):
                control.update()
            if self._list is not None:
                self._list.follow_end()

    def _add_piece(self) -> ft.Control:
        """Add an empty piece, and return the control that changed by it."""
        self._tail = _piece_text("")
        if len(self._pages[-1].controls) < PIECES_PER_PAGE:
            self._pages[-1].controls.append(self._tail)
            return self._pages[-1]
        page = TextPage()
        page.controls = [self._tail]
        self._pages.append(page)
        self._column.controls.append(page)
        return self._column

    def _become_long(self) -> None:
        self._list = FollowedList([*self._pages], follow=self._follow)
        self._column = self._list
        self.height = BOX_HEIGHT
        self.content = readable(self._list)


def _piece_text(value: str) -> ft.Text:
    return ft.Text(value, size=14, color=ft.Colors.ON_SURFACE_VARIANT)

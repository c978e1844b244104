"""Text that streams, in pieces: a thought and an answer. A delta costs the same however long the text is.

The last piece grows and is the only one that is sent again. A long thought scrolls in a box of its own: the
client lays out only the pages in sight. The box follows the end until the person scrolls away from it.
"""

import re

import flet as ft

from thinkaloud.core.view.text import unclosed_fence
from thinkaloud.surfaces.chat.display import link_allowed
from thinkaloud.surfaces.flutter.controls import (
    FollowedList,
    IsolatedControl,
    readable,
    screen_text,
)

PIECE_CHARACTERS = 1_500
"""The size of a piece of text. A change sends one piece to the client, whatever the length of the text."""
PIECES_PER_PAGE = 24
LONG_CHARACTERS = 4 * PIECE_CHARACTERS
BOX_HEIGHT = 320
"""The height of the box of a long text."""
LONGEST_PART = 4 * PIECE_CHARACTERS
"""A part of an answer is cut at the end of a line if no paragraph has ended before this size."""

# The blue of Flutter's own links is too faint on light surfaces, and colour alone does not tell a link.
# With a style sheet, quotes lose the colours of the theme unless they are given as well.
_ANSWER_STYLE = ft.MarkdownStyleSheet(
    a_text_style=ft.TextStyle(color=ft.Colors.PRIMARY, decoration=ft.TextDecoration.UNDERLINE),
    blockquote_decoration=ft.BoxDecoration(
        bgcolor=ft.Colors.SURFACE_CONTAINER_HIGH, border=ft.Border(left=ft.BorderSide(3, ft.Colors.PRIMARY))
    ),
    blockquote_padding=ft.Padding(left=12, right=12, top=6, bottom=6),
)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")


class TextPage(IsolatedControl, ft.Column):
    """Some pieces of a text. Its changes are sent without looking at other pages."""

    def __init__(self) -> None:
        super().__init__(spacing=0, tight=True)


class ThoughtText(IsolatedControl, ft.Container):
    """The text of a thought, which grows at its end."""

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


def piece_end(text: str) -> int:
    """Return where the first piece of a text ends that is longer than a piece: behind a line, else a word."""
    end = text.rfind("\n", 0, PIECE_CHARACTERS) + 1
    if end:
        return end
    return text.rfind(" ", PIECE_CHARACTERS // 2, PIECE_CHARACTERS) + 1 or PIECE_CHARACTERS


def _piece_text(value: str) -> ft.Text:
    return ft.Text(value, size=14, color=ft.Colors.ON_SURFACE_VARIANT)


class AnswerColumn(IsolatedControl, ft.Column):
    """The answer of a turn in Markdown, of which only the last part is parsed again when text arrives.

    Images are not loaded; links open only when a person presses them.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(spacing=8, tight=True)
        self._pieces: list[str] = []
        self._tail = self._new_part()
        self.replace(text)

    @property
    def text(self) -> str:
        """The whole answer, as it was written."""
        self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0]

    def replace(self, text: str) -> None:
        """Show another answer."""
        self._pieces.clear()
        self._tail = self._new_part()
        self.controls = [readable(self._tail)]
        self.visible = False
        self.append(text)
        self.send_changes()

    def append(self, text: str) -> None:
        """Append text to the answer, and send what changed."""
        if not text:
            return
        self._pieces.append(text)
        value = self._tail.value + screen_text(text)
        whole = not self.visible
        while (end := part_end(value)) > 0:
            self._tail.value, value = _closed_part(value, end)
            self._tail = self._new_part()
            self.controls.append(readable(self._tail))
            whole = True
        self._tail.value = value
        self.visible = True
        if self._mounted:
            changed = self if whole else self._tail
            changed.update()

    def _new_part(self) -> ft.Markdown:
        return ft.Markdown(
            "",
            extension_set=ft.MarkdownExtensionSet.GITHUB_WEB,
            on_tap_link=self._open_link,
            md_style_sheet=_ANSWER_STYLE,
            image_error_content=ft.Icon(ft.Icons.IMAGE_NOT_SUPPORTED_OUTLINED),
            soft_line_break=True,
        )

    async def _open_link(self, event: ft.Event[ft.Markdown]) -> None:
        if link_allowed(str(event.data)):
            await ft.UrlLauncher().launch_url(str(event.data))


def part_end(text: str) -> int:
    """Return where a part ends that nothing can change any more; 0 if there is none yet."""
    if len(text) <= PIECE_CHARACTERS:
        return 0
    for paragraph_end in reversed(list(_PARAGRAPH_END.finditer(text))):
        if not unclosed_fence(text[: paragraph_end.end()]):
            return paragraph_end.end()
    return text.rfind("\n") + 1 if len(text) > LONGEST_PART else 0


def _closed_part(text: str, end: int) -> tuple[str, str]:
    """Cut a text. A code block that is cut is closed in the first part and opened again in the second."""
    first, rest = text[:end], text[end:]
    if fence := unclosed_fence(first):
        return f"{first}{fence}", f"{fence}\n{rest}"
    return first, rest

"""An answer in Markdown, cut into parts: only the last part is parsed and sent again when text arrives."""

import re
from urllib.parse import urlsplit

import flet as ft

from thinkaloud.core.view.text import unclosed_fence
from thinkaloud.surfaces.chat.display import LINK_SCHEMES
from thinkaloud.surfaces.flutter.isolated_control import IsolatedControl
from thinkaloud.surfaces.flutter.screen_text import PIECE_CHARACTERS, readable, screen_text

LONGEST_PART = 4 * PIECE_CHARACTERS
"""A part is cut at the end of a line if no paragraph has ended before this size."""

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")


class AnswerColumn(IsolatedControl, ft.Column):
    """The answer of a turn. Images are not loaded; links open only when a person presses them."""

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
            (self if whole else self._tail).update()

    def _new_part(self) -> ft.Markdown:
        return ft.Markdown(
            "",
            extension_set=ft.MarkdownExtensionSet.GITHUB_WEB,
            on_tap_link=self._open_link,
            image_error_content=ft.Icon(ft.Icons.IMAGE_NOT_SUPPORTED_OUTLINED),
            soft_line_break=True,
        )

    async def _open_link(self, event: ft.Event[ft.Markdown]) -> None:
        if urlsplit(str(event.data)).scheme.lower() in LINK_SCHEMES:
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
    fence = unclosed_fence(first)
    return (f"{first}{fence}", f"{fence}\n{rest}") if fence else (first, rest)

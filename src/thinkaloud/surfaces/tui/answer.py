"""The answer of a turn."""

from textual.message import Message

from thinkaloud.surfaces.tui.line_view import LineView
from thinkaloud.surfaces.tui.sections import TextSection


class AnswerView(LineView):
    """Draws the answer of a turn while it streams."""

    class LinkClicked(Message):
        """A link of the answer was clicked. Its scheme is http, https or mailto."""

        def __init__(self, view: "AnswerView", href: str) -> None:
            super().__init__()
            self.view, self.href = view, href

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = ""
        self.replace(text)

    def append(self, text: str) -> None:
        """Append text to the answer."""
        if not text:
            return
        self.text += text
        self.display = True
        section = self.sections[0]
        assert isinstance(section, TextSection)
        self.section_changed(0, section.append(text))

    def replace(self, text: str) -> None:
        """Replace the whole answer."""
        self.text = ""
        self.display = bool(text)
        self.replace_sections([TextSection()])
        self.append(text)

    def finish(self) -> None:
        """Draw the end of an answer that is complete."""

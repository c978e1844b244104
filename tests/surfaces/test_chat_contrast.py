"""All text on the screens of the chat is readable, in both themes and on terminals of 256 colours."""

import pytest
from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend
from textual.color import Color

from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.text.palette import TEXT_CONTRAST, least_contrast

ANSWER = "A **word**, `code`, [a link](https://example.com)\n\n```python\nreturn 1  # a note\n```\n"
ROUNDING = 0.05


def faint_texts(chat: ChatPilot) -> list[tuple[str, float]]:
    """Return the words of the window, or of the screen, with too little contrast; signs are no words."""
    screen, faint = chat.app.screen, []
    windows = screen.query(".window")
    region = windows.first().region if windows else screen.region
    for strip in screen._compositor.render_strips()[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            style = segment.style
            if style is None or style.color is None or style.bgcolor is None or style.reverse:
                continue
            if any(character.isalnum() for character in segment.text):
                text = Color(*style.color.get_truecolor())
                contrast = least_contrast(text, Color(*style.bgcolor.get_truecolor()))
                if contrast < TEXT_CONTRAST - ROUNDING:
                    faint.append((segment.text.strip(), round(contrast, 2)))
    return faint


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((), "Ask anything"),
        (("ctrl+l",), "Because of this"),
        (("ctrl+b",), "Enter opens"),
        (("ctrl+o",), "Filter"),
        (("f9",), "Display of thinking"),
        (("ctrl+s",), "Search all conversations"),
        (("f1",), "Keys where the focus is"),
        (("f4",), "Editing a question"),
        (("f2",), "New title"),
        (("ctrl+t",), "Thinking blocks: hidden"),
    ],
)
def test_text_of_the_screen_is_readable(theme: str, keys: tuple[str, ...], text: str) -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("Why?", "Because of this", ANSWER)])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("a link")
        await chat.press(*keys)
        await chat.sees(text)
        assert faint_texts(chat) == []

    run_chat(act, backend=backend, options=ChatOptions(theme=theme, session=info.id), size=(120, 30))

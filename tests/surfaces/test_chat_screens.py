"""What every screen of the chat looks like, in both languages: the text is compared with `screens/*.txt`.

`python -m tests.surfaces.test_chat_screens` writes the texts anew, and pictures of all sizes to
`build/screens`, to be looked at; with `--texts` pictures of one size only, and with names only those screens.
"""

import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend
from textual.screen import ModalScreen

from thinkaloud.core.canon import ApprovalAsked, BlockEnded, BlockGrew, BlockStarted, Kind, TurnStarted
from thinkaloud.core.view import LOCALES
from thinkaloud.surfaces.chat.backend import FoundText, TurnCost
from thinkaloud.surfaces.tui.screens.app import ChatOptions

SCREENS = Path(__file__).with_name("screens")
PICTURES = Path(__file__).parents[2] / "build" / "screens"
WAITED = re.compile(r" · [0-9.,]+ ?m?s(?=  🔧)")
"""The time of a call that waits, which depends on the machine."""
SCROLL_BAR = re.compile("[ ▁▂▃▄▅▆▇█▔]+$")
"""Where it stands depends on which turns were drawn already."""
SIZES = ((40, 15), (80, 24), (120, 40), (200, 50))

ANSWER = """## Two ways

1. Add them: `2 + 2`.
2. Count them.

| way | result |
|---|---|
| add | 4 |
| count | **4** |

```python
assert 2 + 2 == 4
```
"""


def _backend() -> MemoryBackend:
    backend = MemoryBackend()
    backend.add_session("Trip to Lisbon", [("Where to?", "Sea or hills?", "Lisbon.")])
    backend.add_session("Rust or Go", [("Which one?", "It depends.", "It depends.")])
    thought = "Two and two. I know this one.\nLet me count on my fingers to be sure: one, two, three, four."
    backend.add_session(
        "Sum of two numbers", [("What is 2+2?", thought, ANSWER), ("And 3+3?", "Six.", "It is 6.")]
    )
    last = backend.last_turn().id
    backend.costs[last] = TurnCost(
        input_tokens=1234, output_tokens=56, usd="0.00123", context_tokens=1290, context_window=128_000
    )
    backend.places = [
        FoundText(session="s1", turn="t2", kind="answer", snippet="a trip to Lisbon", marks=((10, 16),)),
        FoundText(session="s1", turn="t2", kind="thought", snippet="the hills of Lisbon", marks=((13, 19),)),
    ]
    return backend


async def conversation(chat: ChatPilot) -> None:
    await chat.sees("It is 6.")


async def thinking_open(chat: ChatPilot) -> None:
    await chat.sees("It is 6.")
    await chat.press("ctrl+l")


async def approval(chat: ChatPilot) -> None:
    conversation = chat.chat.query_one("#conversation")
    width = conversation.outer_size.width
    await chat.type("Clean up")
    await chat.until(lambda: chat.called("ask"))
    chat.backend.last_turn().say(
        TurnStarted("", "island"),
        BlockStarted(0, Kind.TOOL_CALL, "shell", "c1"),
        BlockGrew(0, '{"command": "rm -rf build dist", "timeout_s": 30}'),
        BlockEnded(0),
        ApprovalAsked(0),
        step_ms=0,
    )
    await chat.until(lambda: "shell?" in chat.text)
    assert conversation.outer_size.width == width, "the text would be wrapped again"


async def waiting(chat: ChatPilot) -> None:
    await chat.type("What is 4+4?")
    await chat.until(lambda: chat.called("ask"))
    chat.backend.last_turn().say(TurnStarted("", "island"), step_ms=0)
    for question in (
        "And 5+5?",
        "What is the largest sum that fits into this line, and why no larger one?",
    ):
        await chat.type(question)
        await chat.until(lambda: not chat.chat.composer.area.text)


async def lost(chat: ChatPilot) -> None:
    chat.backend.unreachable = "Nobody listens on http://127.0.0.1:8321."
    await chat.until(lambda: chat.chat.query_one("#status").has_class("-lost"))


async def sessions(chat: ChatPilot) -> None:
    await chat.sees("It is 6.")
    await chat.press("ctrl+b")


async def _window(chat: ChatPilot, *keys: str) -> None:
    await chat.sees("It is 6.")
    await chat.press(*keys)
    await chat.until(lambda: isinstance(chat.app.screen, ModalScreen))


async def models(chat: ChatPilot) -> None:
    await _window(chat, "ctrl+o")


async def settings(chat: ChatPilot) -> None:
    await _window(chat, "f9")


async def rename(chat: ChatPilot) -> None:
    await _window(chat, "f2")


async def help_window(chat: ChatPilot) -> None:
    await _window(chat, "f1")


async def search(chat: ChatPilot) -> None:
    await _window(chat, "ctrl+s")
    await chat.press(*"Lisbon", "enter")
    await chat.until(lambda: "hills" in chat.text)


async def delete(chat: ChatPilot) -> None:
    await chat.sees("It is 6.")
    await chat.type("/delete")
    await chat.until(lambda: isinstance(chat.app.screen, ModalScreen))


async def replay(chat: ChatPilot) -> None:
    await chat.sees("It is 6.")
    await chat.press("ctrl+r")
    await chat.until(lambda: chat.app.screen is not chat.chat)
    await chat.press("space", "home", "right")
    await chat.until(lambda: "It is 6." in chat.text)


async def empty(chat: ChatPilot) -> None:
    await chat.press("ctrl+n")


STATES: Mapping[str, Callable[[ChatPilot], Awaitable[None]]] = {
    "empty": empty,
    "conversation": conversation,
    "thinking_open": thinking_open,
    "approval": approval,
    "waiting": waiting,
    "lost": lost,
    "sessions": sessions,
    "models": models,
    "settings": settings,
    "rename": rename,
    "delete": delete,
    "help": help_window,
    "search": search,
    "replay": replay,
}


def _shown(name: str, locale: str, size: tuple[int, int], picture: Path | None = None) -> str:
    """Return the text of a screen, and draw it if a file is given."""
    texts: list[str] = []

    async def act(chat: ChatPilot) -> None:
        await STATES[name](chat)
        await chat.settles()
        lines = (WAITED.sub("", SCROLL_BAR.sub("", line)) for line in chat.text.splitlines())
        texts.append("".join(f"{line}\n" for line in lines))
        if picture is not None:
            picture.write_text(chat.app.export_screenshot(), encoding="utf-8")

    options = ChatOptions(session="s5", language=locale, gateway_check_s=0.05 if name == "lost" else 5)
    run_chat(act, backend=_backend(), options=options, size=size)
    return texts[0]


def _file(name: str, locale: str) -> Path:
    return SCREENS / f"{name}.{locale}.txt"


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("name", STATES)
def test_screen_shows_what_was_looked_at(name: str, locale: str) -> None:
    assert _shown(name, locale, (80, 24)) == _file(name, locale).read_text("utf-8")


def test_no_screen_of_another_language_is_the_same() -> None:
    english, portuguese = LOCALES
    for name in STATES:
        assert _file(name, english).read_text("utf-8") != _file(name, portuguese).read_text("utf-8"), name


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if word in STATES] or list(STATES)
    sizes = ((80, 24),) if "--texts" in sys.argv else SIZES
    SCREENS.mkdir(exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in names:
        for locale in LOCALES:
            for size in sizes:
                picture = PICTURES / f"{name}.{locale}.{size[0]}x{size[1]}.svg"
                text = _shown(name, locale, size, picture)
                if size == (80, 24):
                    _file(name, locale).write_text(text, encoding="utf-8")

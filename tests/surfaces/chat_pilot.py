"""Drives the chat in a terminal without a terminal: keys in, the text of the screen out."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from tests.patience import PATIENCE_S
from tests.surfaces.memory_backend import MemoryBackend
from textual.pilot import Pilot

from thinkaloud.surfaces.tui.screens.app import ChatApp, ChatOptions
from thinkaloud.surfaces.tui.screens.chat_screen import ChatScreen


class ChatPilot:
    """A running chat, and the gateway in memory behind it."""

    def __init__(self, app: ChatApp, pilot: Pilot[None], backend: MemoryBackend) -> None:
        self.app, self.pilot, self.backend = app, pilot, backend

    @property
    def chat(self) -> ChatScreen:
        return self.app.chat_screen

    @property
    def text(self) -> str:
        """The text on the screen, line by line."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait until something is so; show the screen if it never is."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"never: {what}\n{self.text}"
            await self.pilot.pause(0.02)

    async def sees(self, *texts: str) -> None:
        """Wait until all these texts are on the screen."""
        await self.until(lambda: all(text in self.text for text in texts), f"on the screen: {texts}")

    async def lost_sight_of(self, text: str) -> None:
        """Wait until a text is not on the screen."""
        await self.until(lambda: text not in self.text, f"gone from the screen: {text}")

    async def settles(self) -> None:
        """Wait until the screen has not changed for a while."""
        before = ""
        while before != self.text:
            before = self.text
            await self.pilot.pause(0.1)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str, *, send: bool = True) -> None:
        """Type into the prompt, and send it."""
        self.chat.composer.area.focus()
        self.chat.composer.fill(text)
        await self.pilot.pause()
        if send:
            await self.press("enter")

    def called(self, name: str) -> list[tuple[object, ...]]:
        """The calls of a method of the gateway."""
        return [call[1:] for call in self.backend.calls if call[0] == name]


def run_chat(
    act: Callable[[ChatPilot], Awaitable[None]],
    *,
    backend: MemoryBackend | None = None,
    options: ChatOptions | None = None,
    size: tuple[int, int] = (100, 30),
) -> ChatApp:
    """Run the chat with a test inside it, and return the app afterwards."""

    async def run() -> ChatApp:
        memory = backend or MemoryBackend()
        app = ChatApp(memory, options or ChatOptions())
        async with app.run_test(size=size, notifications=True) as pilot:
            chat_pilot = ChatPilot(app, pilot, memory)
            await chat_pilot.until(
                lambda: app.screen is app.chat_screen and app.chat_screen.is_mounted, "started"
            )
            await act(chat_pilot)
        return app

    return asyncio.run(run())

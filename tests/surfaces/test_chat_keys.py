"""Keys that arrive close together take effect in the order in which they were pressed."""

from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend, asked
from textual import events
from textual.widgets import Input

from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.screens.session_list import SessionList


def _burst(chat: ChatPilot, *parts: str) -> None:
    """Press keys without a pause; a part of one letter or more is typed, `ctrl+…` and `enter` are keys."""
    for part in parts:
        if part in ("enter", "backspace") or part.startswith("ctrl+"):
            chat.app.post_message(events.Key(part, None))
        else:
            for character in part:
                chat.app.post_message(events.Key(character, character))


def test_burst_of_keys_writes_lines_in_order_and_sends_all_of_them() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.until(lambda: chat.chat.composer.area.has_focus)
        _burst(chat, "one", "ctrl+j", "twx", "backspace", "o", "ctrl+j", "three", "enter")
        await chat.until(lambda: chat.called("ask"), "asked")
        assert chat.called("ask")[0][1] == asked("one\ntwo\nthree")
        await chat.settles()

    run_chat(act)


def test_burst_of_keys_replaces_the_title_in_a_window() -> None:
    backend = MemoryBackend()
    info = backend.add_session("Old title", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Old title")
        await chat.press("f2")
        await chat.until(lambda: isinstance(chat.app.focused, Input))
        _burst(chat, "ctrl+u", "Another", "enter")
        await chat.until(lambda: chat.called("rename_session"), "renamed")
        assert chat.called("rename_session") == [(info.id, "Another")]

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_text_pasted_beside_the_prompt_goes_into_it_once() -> None:
    backend = MemoryBackend()
    info = backend.add_session("Sums", [("What is 2+2?", "t", "It is 4.")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("It is 4.")
        chat.chat.query_one(SessionList).focus()
        chat.app.post_message(events.Paste("one "))
        await chat.until(lambda: chat.chat.composer.area.text)
        chat.app.post_message(events.Paste("two"))
        await chat.until(lambda: "two" in chat.chat.composer.area.text)
        await chat.settles()
        assert chat.chat.composer.area.text == "one two"

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))

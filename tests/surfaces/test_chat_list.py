"""The list of sessions in the chat: which one is highlighted, how it is drawn, and how to leave it."""

import msgspec
import pytest
from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend
from textual.widgets import Static

from thinkaloud.surfaces.chat.backend import SessionInfo
from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.screens.session_list import SessionList


def test_list_offers_the_first_session_to_keys_if_none_is_open() -> None:
    backend = MemoryBackend()
    backend.add_session("Trip to Lisbon", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        await chat.until(lambda: chat.chat.state.sessions)
        await chat.press("ctrl+b", "d")
        await chat.sees("Delete “Trip to Lisbon”")

    run_chat(act, backend=backend)


def test_list_highlights_the_open_session_not_the_one_used_before() -> None:
    backend = MemoryBackend()
    backend.add_session("Older", [("q", "t", "a")])
    opened = backend.add_session("Newer", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        sessions = chat.chat.query_one(SessionList)
        await chat.until(lambda: sessions.highlighted_session == opened.id)
        await chat.press("ctrl+n")
        await chat.type("Which one?")
        await chat.until(lambda: chat.called("ask"))
        asked = str(chat.called("ask")[0][0])
        chat.backend.last_turn().answer()
        await chat.until(lambda: sessions.highlighted_session == asked)
        await chat.press("ctrl+b", "down", "ctrl+b", "ctrl+b")
        assert sessions.highlighted_session == asked
        await chat.press("down")
        await chat.settles()
        assert sessions.highlighted_session == opened.id  # drawing the list again moves nothing

    run_chat(act, backend=backend, options=ChatOptions(session=opened.id, gateway_check_s=0.05))


def test_sessions_that_are_read_again_unchanged_are_not_drawn_again() -> None:
    class CountingBackend(MemoryBackend):
        reads = 0

        async def sessions(self, *, after: str = "", limit: int = 50) -> tuple[list[SessionInfo], str]:
            self.reads += 1
            return await super().sessions(after=after, limit=limit)

    backend = CountingBackend()
    opened = backend.add_session("Sums", [("q", "t", "The answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The answer")
        await chat.settles()

        def drawn() -> list[object]:
            title = chat.chat.query_one("#title", Static)
            return [title.content, *(option.prompt for option in chat.chat.query_one(SessionList).options)]

        before, reads = drawn(), backend.reads
        await chat.until(lambda: backend.reads > reads + 2, "read again")
        assert [id(content) for content in drawn()] == [id(content) for content in before]
        backend.rows[opened.id] = msgspec.structs.replace(opened, title="Differences")
        await chat.sees("Differences")

    run_chat(
        act,
        backend=backend,
        options=ChatOptions(session=opened.id, gateway_check_s=0.05),
        size=(120, 20),
    )


@pytest.mark.parametrize("preset", ["default", "trace"])
def test_headers_and_text_fit_the_width_when_the_list_opens_and_closes(preset: str) -> None:
    backend = MemoryBackend()
    backend.saved.display = {"preset": preset}
    thought = "First I look at all of the numbers, and then I think about them with great care."
    opened = backend.add_session(
        "Sums", [("q", thought, "A longer answer that goes over the end of a line.")]
    )

    async def act(chat: ChatPilot) -> None:
        await chat.sees("A longer answer")
        await chat.settles()
        wide = chat.text
        for _ in range(2):
            await chat.press("ctrl+b")
            await chat.sees("Conversations")
            await chat.settles()
            assert "over the end of a line" not in chat.text
            await chat.press("ctrl+b")
            await chat.until(lambda: chat.text == wide, "drawn at the full width")

    run_chat(act, backend=backend, options=ChatOptions(session=opened.id, gateway_check_s=5), size=(80, 20))


def test_list_shows_a_long_title_in_one_line_and_names_its_keys() -> None:
    backend = MemoryBackend()
    backend.add_session("Below", [("q", "t", "a")])
    backend.add_session("A title that is much longer than the list is wide", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("  A title that is", "Below")
        lines = [line for line in chat.text.splitlines() if "│" in line][1:4]
        assert "…" in lines[0]
        assert "island" in lines[1], "when it was used, and its model"
        assert "Below" in lines[2]
        await chat.press("ctrl+b")
        await chat.sees("n new · r rename · d delete · x export")
        await chat.press("escape")
        await chat.until(lambda: chat.chat.composer.area.has_focus)
        await chat.sees("Ctrl+P commands", "Below")

    run_chat(act, backend=backend, size=(120, 40))


def test_escape_hides_a_list_that_was_opened_over_the_conversation() -> None:
    backend = MemoryBackend()
    backend.add_session("Trip to Lisbon", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        await chat.until(lambda: chat.chat.state.sessions)
        await chat.press("ctrl+b")
        await chat.sees("Trip to Lisbon")
        await chat.press("escape")
        await chat.lost_sight_of("Trip to Lisbon")
        assert chat.chat.composer.area.has_focus

    run_chat(act, backend=backend, size=(80, 24))

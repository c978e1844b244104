"""The conversation on the screen: long sessions, following the end, narrow windows, resizing, replay."""

import re

import pytest
from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend, thought_and_answer

from thinkaloud.core.canon import BlockGrew, Entry
from thinkaloud.core.view import Policy
from thinkaloud.surfaces.chat.backend import FoundText
from thinkaloud.surfaces.chat.chat_session import ChatTurn
from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.screens.conversation import ConversationView
from thinkaloud.surfaces.tui.screens.exchange import ExchangeView
from thinkaloud.surfaces.tui.screens.replay import ReplayScreen
from thinkaloud.surfaces.tui.screens.words import TerminalDisplay

TURNS = 300


def _long_backend(turns: int = TURNS) -> tuple[MemoryBackend, str]:
    backend = MemoryBackend()
    exchanges = [
        (f"Question {n}", f"Thought {n}. " * 5, f"Answer {n}\n\n" + "A line of text.\n" * (n % 7))
        for n in range(turns)
    ]
    return backend, backend.add_session("Long", exchanges).id


def _drawn(conversation: ConversationView) -> int:
    return len(conversation.query(ExchangeView))


def test_r089_long_session_draws_only_turns_near_the_visible_part() -> None:
    backend, session = _long_backend()

    async def act(chat: ChatPilot) -> None:
        conversation = chat.chat.conversation
        most = 0
        await chat.sees(f"Answer {TURNS - 1}")
        most = max(most, _drawn(conversation))
        await chat.press("ctrl+home")
        await chat.sees("Question 0", "Answer 0")
        most = max(most, _drawn(conversation))
        for _ in range(12):
            await chat.press("pagedown")
            await chat.pilot.pause()
            most = max(most, _drawn(conversation))
        conversation.scroll_to_turn(backend.turns_by_session[session][150].id)
        await chat.sees("Question 150", "Answer 150")
        most = max(most, _drawn(conversation))
        await chat.press("ctrl+end")
        await chat.sees(f"Answer {TURNS - 1}")
        most = max(most, _drawn(conversation))
        assert most <= 40, f"{most} of {TURNS} turns had widgets"

    run_chat(act, backend=backend, options=ChatOptions(session=session))


def test_r089_every_turn_of_a_session_is_reached_by_scrolling_up() -> None:
    backend, session = _long_backend(40)

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer 39")
        missing = set(range(40))
        for _ in range(60):
            missing -= {int(n) for n in re.findall(r"Question (\d+)", chat.text)}
            if not missing:
                break
            await chat.press("pageup")
            await chat.settles()
        assert not missing

    run_chat(act, backend=backend, options=ChatOptions(session=session))


def test_turn_that_is_sought_is_forgotten_with_its_session() -> None:
    backend, session = _long_backend(100)
    short = backend.add_session("Short", [("Short question", "t", "Short answer")]).id

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer 99")
        conversation = chat.chat.conversation
        conversation.scroll_to_turn(backend.turns_by_session[session][50].id)
        await chat.chat.open_session(short)
        await chat.sees("Short answer")
        await chat.chat.open_session(session)
        await chat.sees("Answer 99")

    run_chat(act, backend=backend, options=ChatOptions(session=session))


def test_turn_that_is_sought_is_forgotten_when_an_earlier_question_is_replaced() -> None:
    backend, session = _long_backend(100)

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer 99")
        shown = chat.chat.chat
        assert shown is not None
        chat.chat.conversation.scroll_to_turn(shown.turns[50].id)
        del shown.turns[10:]
        chat.chat.conversation.changed()
        await chat.sees("Answer 9")

    run_chat(act, backend=backend, options=ChatOptions(session=session))


def test_conversation_follows_the_end_and_lets_go_when_the_person_scrolls() -> None:
    backend, session = _long_backend(10)

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer 9")
        await chat.type("More")
        await chat.until(lambda: chat.called("ask"))
        turn = chat.backend.last_turn()
        turn.say(*thought_and_answer("t", "")[:5])
        for number in range(60):
            turn.say(BlockGrew(1, f"Row {number}\n\n"))
        await chat.sees("Row 59")
        await chat.press("pageup", "pageup")
        await chat.lost_sight_of("Row 59")
        before = chat.text
        for number in range(60, 90):
            turn.say(BlockGrew(1, f"Row {number}\n\n"))
        turn.end()
        await chat.until(lambda: "Row 89" in chat.chat.conversation.exchanges[-1].turn_view.answer.text)
        await chat.pilot.pause(0.1)
        assert chat.text.splitlines()[1:10] == before.splitlines()[1:10]
        await chat.press("ctrl+end")
        await chat.sees("Row 89")

    run_chat(act, backend=backend, options=ChatOptions(session=session))


@pytest.mark.parametrize("size", [(40, 15), (80, 24), (120, 40), (200, 50)])
def test_chat_fits_windows_of_any_size(size: tuple[int, int]) -> None:
    backend, session = _long_backend(5)

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer 4")
        lines = chat.text.splitlines()
        assert len(lines) == size[1]
        assert max(len(line) for line in lines) <= size[0]
        assert ("Conversations" in chat.text) is (size[0] >= 110)
        await chat.press("ctrl+b")
        await chat.sees("Conversations", "Long")
        await chat.press("ctrl+b")
        await chat.sees("Answer 4")

    run_chat(act, backend=backend, options=ChatOptions(session=session), size=size)


def test_resize_storm_ends_with_the_newest_text_at_the_bottom() -> None:
    backend, session = _long_backend(60)

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer 59")
        await chat.type("More")
        await chat.until(lambda: chat.called("ask"))
        turn = chat.backend.last_turn()
        turn.say(*thought_and_answer("t", "")[:5])
        for number in range(16):
            turn.say(BlockGrew(1, f"word{number} " * 30))
            await chat.pilot.resize_terminal(30 + number * 37 % 150, 8 + number * 11 % 40)
        await chat.pilot.resize_terminal(100, 30)
        turn.say(BlockGrew(1, "\n\nthe last word"))
        turn.end()
        await chat.sees("the last word")
        assert _drawn(chat.chat.conversation) <= 40

    run_chat(act, backend=backend, options=ChatOptions(session=session))


def test_replay_pauses_seeks_and_changes_speed() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("Why?", "Thought of it", "The answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The answer")
        await chat.press("ctrl+r")
        await chat.until(lambda: isinstance(chat.app.screen, ReplayScreen))
        screen = chat.app.screen
        assert isinstance(screen, ReplayScreen)
        await chat.press("space")
        await chat.sees("⏸")
        await chat.press("home")
        await chat.sees("0 ms / 2.8s")
        assert "The answer" not in chat.text
        await chat.press("plus", "plus")
        await chat.sees("×4")
        await chat.press("right")
        await chat.sees("The answer", "2.8s / 2.8s", "■")
        await chat.press("left")
        await chat.lost_sight_of("The answer")
        await chat.press("space")
        await chat.sees("The answer", "■")
        await chat.press("escape")
        await chat.until(lambda: chat.app.screen is chat.chat)
        assert not chat.called("ask")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_hide_reaches_blocks_opened_by_hand_and_show_gives_their_state_back() -> None:
    backend = MemoryBackend()
    thought = "First words.\n" + "More of it. " * 20 + "The very end."
    info = backend.add_session("One", [("a", thought, "One"), ("b", thought, "Two")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Two")
        chat.chat.conversation.exchanges[0].turn_view.thinking.focus()
        await chat.press("enter")
        await chat.until(lambda: chat.text.count("The very end.") == 1)
        await chat.press("ctrl+t")
        await chat.lost_sight_of("The very end.")
        await chat.press("ctrl+t")
        await chat.until(lambda: chat.text.count("The very end.") == 1)

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_clicked_header_stays_under_the_pointer_at_the_end_of_the_conversation() -> None:
    backend = MemoryBackend()
    thought = "\n".join(f"Thought line {number}" for number in range(60))
    info = backend.add_session("Long", [("q", "t", "a"), ("q", "t", "a" * 900), ("q", thought, "The end.")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The end.")
        await chat.settles()
        row = max(n for n, line in enumerate(chat.text.splitlines()) if "Thought for" in line)
        await chat.pilot.click(offset=(4, row))
        await chat.sees("Thought line 0")
        await chat.settles()
        assert "▼" in chat.text.splitlines()[row]

    run_chat(act, backend=backend, options=ChatOptions(session=info.id), size=(80, 24))


def test_answer_that_arrives_before_its_exchange_is_on_the_screen_is_drawn() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.sees("Ask a question below")
        conversation = chat.chat.conversation
        chat_turn = ChatTurn("Be quick", id="t1")
        conversation.show([chat_turn])
        exchange = ExchangeView(chat_turn, TerminalDisplay(Policy(), "en-US"))
        conversation._mounted[0] = exchange
        for seq, event in enumerate(thought_and_answer("Hm.", "The quick answer")):
            conversation.feed(chat_turn, Entry(seq, event, 1000))
        await conversation.mount(exchange)
        await chat.sees("The quick answer")

    run_chat(act)


def _styles_of(chat: ChatPilot, word: str) -> list[bool]:
    """Return for each piece of the screen that is exactly this word whether it is drawn in reverse."""
    strips = chat.app.screen._compositor.render_strips()
    segments = [segment for strip in strips for segment in strip if segment.text == word]
    return [bool(segment.style and segment.style.reverse) for segment in segments]


@pytest.mark.parametrize("policy", [{"preset": "default"}, {"preset": "default", "show_thinking": False}])
def test_search_hit_in_a_thought_opens_its_block_and_shows_the_marked_word(policy: dict[str, object]) -> None:
    backend = MemoryBackend()
    thought = "A line of the thought.\n" * 400 + "Here is the needle.\n" + "More lines.\n" * 400
    exchanges = [(f"Question {n}", thought if n == 20 else "Hm.", f"Answer {n}") for n in range(40)]
    session = backend.add_session("Long", exchanges).id
    backend.saved.display = policy
    turn = backend.turns_by_session[session][20].id
    snippet = "Here is the needle."
    backend.places = [
        FoundText(session=session, turn=turn, kind="thought", block=0, snippet=snippet, marks=((12, 18),))
    ]

    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+s")
        await chat.until(lambda: chat.app.screen is not chat.chat)
        await chat.press(*"needle", "ctrl+t")
        await chat.sees("1 place")
        await chat.press("enter")
        await chat.until(lambda: chat.app.screen is chat.chat)
        await chat.sees("Here is the needle.")
        await chat.settles()
        assert _styles_of(chat, "needle") == [True]

    run_chat(act, backend=backend)

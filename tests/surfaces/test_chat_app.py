"""The chat in a terminal: questions, sessions, commands, approvals, lost connections."""

import base64
from pathlib import Path

import pytest
from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend, MemoryTurn, asked, prompt_of, thought_and_answer
from textual import events
from textual.command import CommandPalette

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Kind,
    Refused,
    TurnStarted,
    Wording,
)
from thinkaloud.core.canon.requests import TurnRequest
from thinkaloud.core.export import ThinkingStyle
from thinkaloud.surfaces.chat.backend import FoundText, Reconnecting
from thinkaloud.surfaces.chat.chat_session import Answerer
from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.screens.approval_bar import ApprovalBar
from thinkaloud.surfaces.tui.screens.commands import COMMANDS, KEYLESS_COMMANDS
from thinkaloud.surfaces.tui.screens.dialogs import ConfirmScreen, PickerScreen
from thinkaloud.surfaces.tui.screens.exchange import QuestionView
from thinkaloud.surfaces.tui.screens.keys import CHAT_KEYS
from thinkaloud.surfaces.tui.screens.session_list import RUNNING, UNREAD, WAITING, SessionList

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_question_is_asked_and_answer_is_drawn_below_its_thinking() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("What is 2+2?")
        await chat.until(lambda: chat.called("ask"))
        question = chat.called("ask")[0][1]
        assert question == asked("What is 2+2?", model="qwen", thinking="high")
        assert chat.called("create_session") == [("qwen", "")]
        turn = chat.backend.last_turn()
        turn.say(*thought_and_answer("Two and two.", "It is four.")[:3])
        await chat.sees("What is 2+2?", "Thinking", "Esc")
        turn.say(*thought_and_answer("Two and two.", "It is four.")[3:])
        turn.end()
        await chat.sees("Thought for", "It is four.")
        await chat.until(lambda: not chat.chat.chat.running_turn)  # type: ignore[union-attr]
        assert chat.chat.composer.area.text == ""

    answerer = Answerer(model="qwen", thinking="high")
    run_chat(act, options=ChatOptions(answerer=answerer))


def test_refused_question_stays_in_the_prompt_with_the_reason() -> None:
    async def act(chat: ChatPilot) -> None:
        chat.backend.refusal = "No API key. Set ONE."
        await chat.type("What is 2+2?")
        await chat.sees("No API key. Set ONE.", "What is 2+2?")
        assert chat.chat.composer.area.text == "What is 2+2?"
        assert not chat.called("ask")

    run_chat(act)


class _RefusingBackend(MemoryBackend):
    async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
        raise Refused("No API key. Set ONE.")


def test_refused_first_question_leaves_no_empty_session() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("What is 2+2?")
        await chat.sees("No API key. Set ONE.")
        assert [bool(chat.called(name)) for name in ("create_session", "delete_session")] == [True, True]
        assert not chat.chat.state.sessions

    run_chat(act, backend=_RefusingBackend())


def test_turn_goes_on_while_another_session_is_shown_and_is_marked_in_the_list() -> None:
    backend = MemoryBackend()
    backend.add_session("Second", [("Old question", "Old thought", "Old answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.type("Long question")
        await chat.until(lambda: chat.called("ask"))
        turn, first = chat.backend.last_turn(), chat.called("ask")[0][0]
        events = thought_and_answer("Hm.", "The late answer")
        turn.say(*events[:3])
        await chat.press("ctrl+pagedown")
        await chat.sees("Old answer", f"{RUNNING} ")
        turn.say(*events[3:])
        turn.end()
        await chat.sees(f"{UNREAD} ")
        assert "The late answer" not in chat.text
        await chat.press("ctrl+pageup")
        await chat.sees("The late answer")
        assert chat.chat.chat is not None
        assert chat.chat.chat.info.id == first
        await chat.lost_sight_of(f"{UNREAD} ")

    run_chat(act, backend=backend, size=(120, 30))


def test_two_turns_of_two_sessions_stream_at_once() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("First")
        await chat.until(lambda: len(chat.called("ask")) == 1)
        await chat.press("ctrl+n")
        await chat.type("Second")
        await chat.until(lambda: len(chat.called("ask")) == 2)
        first, second = chat.backend.turns_by_id.values()
        for one, other in zip(
            thought_and_answer("a", "Answer A"), thought_and_answer("b", "Answer B"), strict=True
        ):
            first.say(one)
            second.say(other)
        first.end()
        second.end()
        await chat.sees("Answer B")
        await chat.press("ctrl+pagedown")
        await chat.sees("Answer A")

    run_chat(act)


def test_sessions_are_renamed_and_deleted_after_a_question() -> None:
    backend = MemoryBackend()
    info = backend.add_session("Old title", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        await chat.press("f2")
        await chat.sees("New title")
        await chat.press("home", *"My ", "enter")
        await chat.until(lambda: chat.called("rename_session") == [(info.id, "My Old title")])
        await chat.sees("My Old title")
        await chat.type("/delete")
        await chat.sees("Delete “My Old title”")
        await chat.press("n")
        await chat.until(lambda: chat.app.screen is chat.chat)
        assert not chat.called("delete_session")
        await chat.type("/delete")
        await chat.until(lambda: isinstance(chat.app.screen, ConfirmScreen))
        await chat.press("y")
        await chat.until(lambda: chat.called("delete_session") == [(info.id,)])
        await chat.until(lambda: chat.chat.chat is None)

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_search_leaves_thoughts_out_unless_asked_and_opens_the_place() -> None:
    backend = MemoryBackend()
    info = backend.add_session("Deep", [(f"Question {n}", "t", f"Answer {n}") for n in range(40)])
    turn = backend.turns_by_session[info.id][3].id
    backend.places = [
        FoundText(session=info.id, turn=turn, kind="thought", snippet="the owl", marks=((4, 7),))
    ]

    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+s")
        await chat.sees("Search all conversations")
        await chat.press(*"owl", "enter")
        await chat.sees("the owl", "1 place")
        await chat.press("ctrl+t")
        await chat.sees("thoughts.")
        await chat.until(lambda: chat.called("search") == [("owl", False), ("owl", True)])
        await chat.press("enter")
        await chat.sees("Question 3", "Answer 3")

    run_chat(act, backend=backend)


@pytest.mark.parametrize("command", ["/thinking", ":thinking", ":toggle thinking", "/thinking hide"])
def test_r115_r116_r117_thinking_command_hides_all_blocks_and_says_so(command: str) -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("q", "A thought of some length", "The answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The answer", "Thought")
        await chat.type(command)
        await chat.sees("Thinking blocks: hidden")
        await chat.lost_sight_of("A thought of")
        assert chat.backend.saved.display == {"preset": "default", "show_thinking": False}
        await chat.type("/thinking show")
        await chat.sees("Thinking blocks: shown", "A thought of")
        assert chat.backend.saved.display == {"preset": "default"}
        assert not chat.called("ask")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_r055_r114_key_hides_thinking_of_past_turns_and_is_remembered() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [(f"q{n}", f"Thought number {n}", "The answer") for n in range(3)])

    async def hide(chat: ChatPilot) -> None:
        await chat.sees("Thought number 0", "Thought number 2")
        await chat.press("ctrl+t")
        await chat.sees("Thinking blocks: hidden")
        await chat.lost_sight_of("Thought number")

    async def see_hidden(chat: ChatPilot) -> None:
        await chat.sees("The answer")
        assert "Thought number" not in chat.text
        await chat.press("ctrl+t")
        await chat.sees("Thought number 0", "Thought number 2")

    run_chat(hide, backend=backend, options=ChatOptions(session=info.id))
    run_chat(see_hidden, backend=backend, options=ChatOptions(session=info.id))


def test_key_opens_and_closes_all_blocks() -> None:
    backend = MemoryBackend()
    long_thought = "First line.\n" + "More of it. " * 20 + "The very end."
    info = backend.add_session("One", [(f"q{n}", long_thought, "The answer") for n in range(2)])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The answer")
        assert "The very end." not in chat.text
        await chat.press("ctrl+l")
        await chat.until(lambda: chat.text.count("The very end.") == 2)
        await chat.press("ctrl+l")
        await chat.lost_sight_of("The very end.")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_unknown_slash_command_is_not_sent_without_asking() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("/etcetera and so on")
        await chat.sees("There is no command /etcetera.")
        await chat.press("n")
        await chat.until(lambda: chat.app.screen is chat.chat)
        assert not chat.called("ask")
        assert chat.chat.composer.area.text == "/etcetera and so on"
        await chat.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, ConfirmScreen))
        await chat.press("y")
        await chat.until(lambda: chat.called("ask"))
        assert chat.called("ask")[0][1] == asked("/etcetera and so on")

    run_chat(act)


def test_question_is_edited_and_asked_again_from_there() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("First?", "t", "Answer one"), ("Second?", "t", "Answer two")])
    replaced = backend.turns_by_session[info.id][0].id

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer two")
        chat.chat.conversation.exchanges[0].query_one("QuestionView").focus()
        await chat.press("e")
        await chat.until(lambda: chat.chat.composer.area.text == "First?")
        await chat.sees("Editing")
        await chat.press(*" Again", "enter")
        await chat.until(lambda: chat.called("ask"))
        assert chat.called("ask")[0][1] == asked("First? Again", replaces=replaced)
        chat.backend.last_turn().answer("t", "Answer three")
        await chat.sees("First? Again", "Answer three")
        assert "Answer one" not in chat.text
        assert "Answer two" not in chat.text

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_escape_leaves_the_edit_before_it_stops_anything() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("First?", "t", "Answer one")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer one")
        await chat.press("f4")
        await chat.sees("Editing")
        await chat.press("escape")
        await chat.lost_sight_of("Editing")
        assert chat.chat.composer.area.text == ""
        await chat.type("Next")
        await chat.until(lambda: chat.called("ask"))
        assert chat.called("ask")[0][1] == asked("Next")
        await chat.press("escape")
        await chat.until(lambda: chat.called("cancel"))
        await chat.sees("Stopped before")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_image_is_attached_by_command_and_by_pasted_path(tmp_path: Path) -> None:
    picture = tmp_path / "my picture.png"
    picture.write_bytes(PIXEL)
    text_file = tmp_path / "notes.png"
    text_file.write_text("no image")

    async def act(chat: ChatPilot) -> None:
        await chat.type(f"/attach {picture}")
        await chat.sees("📎 my picture.png")
        chat.chat.composer.area.post_message(events.Paste(f"'{picture}'"))
        await chat.until(lambda: len(chat.chat.composer.attachments) == 2)
        await chat.type(f"/attach {text_file}")
        await chat.sees("not a PNG")
        await chat.type("/attach /no/such/file.png")
        await chat.sees("No such file")
        await chat.type("What is this?")
        await chat.until(lambda: chat.called("ask"))
        question = chat.called("ask")[0][1]
        assert isinstance(question, TurnRequest)
        assert [image.media_type for image in prompt_of(question).images] == ["image/png", "image/png"]
        assert base64.b64decode(prompt_of(question).images[0].data) == PIXEL
        await chat.until(lambda: not chat.chat.composer.attachments)

    run_chat(act)


def _call_waits(name: str = "shell", arguments: str = '{"command": "rm -rf build"}') -> list[Event]:
    return [
        TurnStarted("", "island"),
        BlockStarted(0, Kind.TOOL_CALL, name, "c1"),
        BlockGrew(0, arguments),
        BlockEnded(0),
        ApprovalAsked(0),
    ]


async def _shown_call(chat: ChatPilot) -> tuple[ApprovalBar, MemoryTurn]:
    """Ask, and wait until a call waits for approval and the bar has the focus."""
    await chat.type("Clean up")
    await chat.until(lambda: chat.called("ask"))
    turn = chat.backend.last_turn()
    turn.say(*_call_waits())
    bar = chat.chat.query_one(ApprovalBar)
    await chat.until(lambda: bar.has_focus)
    return bar, turn


@pytest.mark.parametrize(
    ("keys", "locale", "granted"),
    [
        (("y", "enter"), "en-US", True),
        (("n", "enter"), "en-US", False),
        (("ctrl+y",), "en-US", True),
        (("y", "escape", "n", "enter"), "en-US", False),
        (("s", "enter"), "pt-BR", True),
        (("n", "enter"), "pt-BR", False),
        (("ctrl+y",), "pt-BR", True),
    ],
)
def test_call_is_approved_or_denied_with_its_arguments_shown(
    keys: tuple[str, ...], locale: str, granted: bool
) -> None:
    async def act(chat: ChatPilot) -> None:
        bar, turn = await _shown_call(chat)
        await chat.sees("Run shell?" if locale == "en-US" else "Executar shell?", "command: rm -rf build")
        await chat.until(lambda: bar.armed)
        await chat.press(*keys[:-1])
        assert not chat.called("approve")
        await chat.press(keys[-1])
        await chat.until(lambda: chat.called("approve") == [(turn.id, 0, granted)])
        turn.say(ApprovalSettled(0, granted))
        await chat.until(lambda: not bar.asked and chat.chat.composer.area.has_focus)

    run_chat(act, options=ChatOptions(language=locale))


@pytest.mark.parametrize("locale", ["en-US", "pt-BR"])
@pytest.mark.parametrize("text", ["stop", "yes", "sim", "no", "why", "so"])
@pytest.mark.parametrize("armed", [False, True])
def test_words_typed_at_an_approval_go_to_the_prompt(text: str, locale: str, armed: bool) -> None:
    async def act(chat: ChatPilot) -> None:
        bar, _ = await _shown_call(chat)
        if armed:
            await chat.until(lambda: bar.armed)
        await chat.press(*text)
        await chat.until(lambda: chat.chat.composer.area.text == text)
        assert chat.chat.composer.area.has_focus
        assert not chat.called("approve")

    run_chat(act, options=ChatOptions(language=locale))


def test_keys_typed_into_the_prompt_do_not_approve_a_call() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("Clean up")
        await chat.until(lambda: chat.called("ask"))
        chat.chat.composer.fill("And wh")
        chat.backend.last_turn().say(*_call_waits())
        await chat.sees("Run shell?")
        bar = chat.chat.query_one(ApprovalBar)
        await chat.until(lambda: bar.armed)
        await chat.press("y")
        assert chat.chat.composer.area.text == "And why"
        await chat.press("ctrl+y")
        assert not chat.called("approve")

    run_chat(act)


def test_approval_in_another_session_is_marked_in_the_list() -> None:
    backend = MemoryBackend()
    backend.add_session("Other", [("q", "t", "Other answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.type("Clean up")
        await chat.until(lambda: chat.called("ask"))
        await chat.press("ctrl+pagedown")
        await chat.sees("Other answer")
        chat.backend.turns_by_id[chat.backend.last_turn().id].say(*_call_waits())
        await chat.sees(f"{WAITING} ")
        assert "Run shell?" not in chat.text
        await chat.press("ctrl+pageup")
        await chat.sees("Run shell?")

    run_chat(act, backend=backend, size=(120, 30))


def test_answer_now_and_copy_without_thoughts() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("Think long")
        await chat.until(lambda: chat.called("ask"))
        turn = chat.backend.last_turn()
        turn.say(*thought_and_answer("Secret thought", "Plain answer")[:3])
        await chat.sees("Thinking")
        await chat.press("ctrl+g")
        await chat.until(lambda: chat.called("answer_now") == [(turn.id,)])
        turn.say(*thought_and_answer("Secret thought", "Plain answer")[3:])
        turn.end()
        await chat.sees("Plain answer")
        await chat.press("f6")
        await chat.until(lambda: chat.app.clipboard == "Plain answer")
        await chat.type("/copy thoughts")
        await chat.until(lambda: chat.app.clipboard == "Secret thought\n\nPlain answer")

    run_chat(act)


def test_model_picker_shows_what_is_not_ready_and_why() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+o")
        await chat.sees("Island", "Claude", "ANTHROPIC_API_KEY is not set.")
        await chat.press(*"claude", "enter")
        assert isinstance(chat.app.screen, PickerScreen)
        await chat.press("escape")
        await chat.press("ctrl+o")
        await chat.sees("Qwen")
        await chat.press(*"qw", "enter")
        await chat.until(lambda: chat.chat.state.answerer.model == "qwen")
        await chat.press("f7")
        await chat.sees("Planner", "plans, then works")
        await chat.press("enter")
        await chat.until(lambda: chat.chat.state.answerer == Answerer(agent="planner"))
        await chat.type("/effort low")
        await chat.until(lambda: chat.chat.state.answerer == Answerer(agent="planner", thinking="low"))
        await chat.type("/effort lots")
        await chat.sees("Unknown effort: lots")

    run_chat(act)


def test_settings_are_saved_and_language_changes_at_once() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("f9")
        await chat.sees("Display of thinking", "Language", "Theme")
        await chat.press(*"lang", "enter")
        await chat.sees("Brazilian Portuguese")
        await chat.press(*"pt", "enter")
        await chat.sees("Nova conversa", "Pergunte algo")
        await chat.until(lambda: chat.backend.saved.language == "pt-BR")
        await chat.press("f9")
        await chat.press(*"exib", "enter")
        await chat.sees("preview")
        await chat.press(*"preview", "enter")
        await chat.until(lambda: chat.backend.saved.display["preset"] == "preview")
        await chat.type("/theme light")
        await chat.until(lambda: chat.app.theme == "textual-light")

    run_chat(act)


def test_lost_stream_is_shown_and_resumes() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("q")
        await chat.until(lambda: chat.called("ask"))
        turn = chat.backend.last_turn()
        events = thought_and_answer("Thinking of it", "Done")
        turn.say(*events[:3])
        turn.add(Reconnecting(1, Wording("connection refused")))
        await chat.sees("Connection lost; resuming", "connection refused")
        turn.say(*events[3:])
        turn.end()
        await chat.sees("Done")
        await chat.lost_sight_of("Connection lost")

    run_chat(act)


def test_restarted_stream_draws_the_turn_again() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("q")
        await chat.until(lambda: chat.called("ask"))
        turn = chat.backend.last_turn()
        turn.say(*thought_and_answer("t", "Wrong words")[:6])
        await chat.sees("Wrong words")
        turn.restart_with(thought_and_answer("t", "Right words"))
        await chat.sees("Right words")
        assert "Wrong words" not in chat.text

    run_chat(act)


def test_lost_gateway_is_shown_and_the_turn_goes_on_when_it_is_back() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.sees("Ctrl+P")
        chat.backend.unreachable = "Nobody listens on 127.0.0.1:1."
        await chat.sees("No connection to the gateway", "Nobody listens")
        await chat.type("Are you there?")
        await chat.until(lambda: chat.chat.composer.area.text == "Are you there?")
        chat.backend.unreachable = ""
        await chat.lost_sight_of("No connection to the gateway")
        await chat.sees("The gateway is back.")
        await chat.press("enter")
        await chat.until(lambda: chat.backend.turns_by_id)
        chat.backend.last_turn().answer("t", "Here I am")
        await chat.sees("Here I am")

    run_chat(act, options=ChatOptions(gateway_check_s=0.05))


def test_export_writes_a_file_and_asks_before_replacing_one(tmp_path: Path) -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("q", "t", "a")])
    target = tmp_path / "out.md"

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Thought")
        await chat.type(f"/export markdown {target}")
        await chat.until(target.exists)
        assert target.read_text() == f"markdown of {info.id}\n"
        target.write_text("mine")
        await chat.type(f"/export json {target}")
        await chat.sees("exists. Replace it?")
        await chat.press("n")
        await chat.until(lambda: chat.app.screen is chat.chat)
        assert target.read_text() == "mine"
        await chat.type("/export pdf")
        await chat.sees("Unknown form: pdf")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_export_while_thinking_is_hidden_holds_none(tmp_path: Path) -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("q", "t", "a")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Thought")
        await chat.type("/thinking hide")
        await chat.lost_sight_of("Thought")
        await chat.type(f"/export markdown {tmp_path / 'out.md'}")
        await chat.until((tmp_path / "out.md").exists)
        assert chat.called("export") == [(info.id, "markdown", ThinkingStyle.OMIT)]

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_question_mark_lists_every_key_and_command() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("question_mark")
        await chat.sees("Keys everywhere", "Ctrl+T", "/thinking [show|hide]", "Answer now")
        await chat.press("escape")
        await chat.until(lambda: chat.app.screen is chat.chat)
        await chat.type("Really", send=False)
        await chat.press("question_mark")
        assert chat.chat.composer.area.text == "Really?"

    run_chat(act, size=(100, 90))


def test_command_palette_finds_commands_without_a_key_by_their_words() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+p")
        await chat.until(lambda: isinstance(chat.app.screen, CommandPalette))
        await chat.press(*"theme")
        await chat.sees("/theme [light|dark]")
        await chat.press("enter")
        await chat.until(lambda: chat.chat.composer.area.text == "/theme ")
        await chat.press(*"light", "enter")
        await chat.until(lambda: chat.app.theme == "textual-light")

    run_chat(act)


def test_every_command_is_in_the_palette_or_has_a_key() -> None:
    with_key = {key.words.removeprefix("key.") for key in CHAT_KEYS} | {"quit"}
    assert set(COMMANDS) - with_key == set(KEYLESS_COMMANDS)


def test_command_palette_offers_the_keys_in_the_language_of_the_person() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+p")
        await chat.sees("Buscar um comando")
        await chat.press(*"ocultar")
        await chat.sees("Mostrar ou ocultar todo o pensamento")
        await chat.press("enter")
        await chat.sees("Blocos de pensamento: ocultos")
        await chat.until(lambda: chat.called("save_preferences"))
        assert chat.backend.saved.language == "en-US", "a language for one time was saved"

    run_chat(act, options=ChatOptions(language="pt-BR"))


def test_focus_goes_only_where_keys_do_something() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("Why?", "Because of this", "That is **why**.")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("That is why.")
        places = [type(widget).__name__ for widget in chat.chat.focus_chain]
        assert {"QuestionView", "ThinkingPanel", "PromptArea"} <= set(places)
        assert not {"AnswerView", "_Notices"} & set(places)

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_command_palette_says_in_the_language_of_the_person_that_nothing_was_found() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+p")
        await chat.sees("Buscar um comando")
        await chat.press(*"zzzz")
        await chat.sees("Nada foi encontrado.")

    run_chat(act, options=ChatOptions(language="pt-BR"))


def test_transcript_for_the_scroll_back_has_questions_thoughts_and_answers() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("Why?", "Because of this", "That is **why**."), ("So?", "Hm", "So.")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("So.")
        await chat.press("ctrl+q")

    app = run_chat(act, backend=backend, options=ChatOptions(session=info.id))
    assert app.transcript(80).splitlines() == [
        "❯ Why?",
        "",
        "▶ 💭 Thought for 800 ms · 3 words — Because of this",
        "",
        "That is why.",
        "",
        "❯ So?",
        "",
        "▶ 💭 Thought for 800 ms · 1 word — Hm",
        "",
        "So.",
    ]


def test_session_list_loads_more_at_its_end() -> None:
    backend = MemoryBackend()
    for number in range(120):
        backend.add_session(f"Session {number}")

    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+b")
        sessions = chat.chat.query_one(SessionList)
        await chat.until(lambda: sessions.option_count == 50)
        await chat.press("end")
        await chat.until(lambda: sessions.option_count == 100)
        await chat.press("end")
        await chat.until(lambda: sessions.option_count == 120)
        await chat.press("end", "enter")
        await chat.until(lambda: chat.chat.chat is not None and chat.chat.chat.info.title == "Session 0")

    run_chat(act, backend=backend)


def test_dragged_text_is_copied_and_ctrl_c_without_a_selection_says_how_to_quit() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("q", "The thought", "Copy exactly this line")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Copy exactly this line")
        await chat.press("ctrl+c")
        await chat.sees("Press Ctrl+C again to quit.")
        row = next(n for n, line in enumerate(chat.text.splitlines()) if "Copy exactly" in line)
        column = chat.text.splitlines()[row].index("exactly")
        await chat.pilot.mouse_down(offset=(column, row))
        await chat.pilot.hover(offset=(column + len("exactly") - 1, row))
        await chat.pilot.mouse_up(offset=(column + len("exactly") - 1, row))
        await chat.press("ctrl+c")
        await chat.until(lambda: chat.app.clipboard.startswith("exactl"))
        assert "thought" not in chat.app.clipboard

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_what_is_typed_on_the_conversation_goes_to_the_prompt() -> None:
    backend = MemoryBackend()
    info = backend.add_session("One", [("q", "The thought", "The answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The answer")
        exchange = chat.chat.conversation.exchanges[0]
        exchange.turn_view.thinking.focus()
        await chat.press("h", "i")
        await chat.until(lambda: chat.chat.composer.area.text == "hi")
        chat.chat.composer.fill("")
        exchange.query_one(QuestionView).focus()
        await chat.press("e")
        await chat.until(lambda: chat.chat.composer.edited is exchange.chat_turn)
        assert chat.chat.composer.area.text == "q"

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_session_beyond_the_first_page_is_opened_with_its_title() -> None:
    backend = MemoryBackend()
    first = backend.add_session("The very first", [("q", "t", "Old answer")])
    for number in range(70):
        backend.add_session(f"Session {number}")

    async def act(chat: ChatPilot) -> None:
        await chat.sees("The very first", "Old answer")

    run_chat(act, backend=backend, options=ChatOptions(session=first.id))


@pytest.mark.parametrize("command", ["/copy", "/edit", "/replay", "/rename x", "/delete", "/export text"])
def test_command_without_a_session_says_that_there_is_none(command: str) -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type(command)
        await chat.sees("There is no conversation yet.")
        await chat.type("/stop")
        await chat.sees("Nothing runs in this")

    run_chat(act)

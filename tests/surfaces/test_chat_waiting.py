"""Questions that are sent while a turn runs: they wait, are edited and removed, and are sent in order."""

from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend, MemoryTurn, asked, prompt_of, thought_and_answer

from thinkaloud.core.canon import Refused, TurnFailed
from thinkaloud.core.canon.requests import Image, TurnRequest
from thinkaloud.surfaces.chat.attachments import Attachment
from thinkaloud.surfaces.chat.backend import BackendUnreachable, SessionBusy
from thinkaloud.surfaces.chat.chat_session import Answerer, ChatSession
from thinkaloud.surfaces.chat.question_queue import Change, Questions, WaitingInMemory, WaitingQuestion
from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.screens.composer import Composer, WaitingList


class BusyBackend(MemoryBackend):
    """Refuses a question while a turn of the session runs, as the gateway does."""

    async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
        if any(turn.state == "running" for turn in self.turns_by_session[session]):
            raise SessionBusy("Turn trn_1 of session ses_1 is still running.")
        return await super().ask(session, request, key)


class FailingStore(WaitingInMemory):
    """Refuses what the test tells it to refuse."""

    unreadable = unwritable = ""

    def read(self, session: str) -> Questions:
        if self.unreadable:
            raise Refused(self.unreadable)
        return super().read(session)

    def change(self, session: str, change: Change) -> Questions:
        if self.unwritable:
            raise Refused(self.unwritable)
        return super().change(session, change)


def _shown(chat: ChatPilot) -> ChatSession:
    shown = chat.chat.chat
    assert shown is not None
    return shown


def _prompts(chat: ChatPilot) -> list[str]:
    return [prompt_of(call[1]).text for call in chat.called("ask") if isinstance(call[1], TurnRequest)]


async def _start_turn(chat: ChatPilot) -> MemoryTurn:
    await chat.type("First")
    await chat.until(lambda: chat.called("ask"), "asked")
    turn = chat.backend.last_turn()
    turn.say(*thought_and_answer("Hm.", "")[:3])
    await chat.sees("Esc stops")
    return turn


def _answer(turn: MemoryTurn, text: str) -> None:
    turn.say(*thought_and_answer("Hm.", text)[len(turn.entries) :])
    turn.end()


def test_questions_sent_while_a_turn_runs_wait_and_are_asked_in_order() -> None:
    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("Waiting for this answer", "… Second", "Esc stops")
        await chat.type("Third")
        await chat.sees("… Third")
        assert _prompts(chat) == ["First"]
        assert "trn_" not in chat.text
        _answer(turn, "Answer one")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked the second")
        await chat.lost_sight_of("… Second")
        await chat.sees("… Third")
        _answer(chat.backend.last_turn(), "Answer two")
        await chat.until(lambda: len(_prompts(chat)) == 3, "asked the third")
        _answer(chat.backend.last_turn(), "Answer three")
        await chat.sees("Answer three")
        await chat.lost_sight_of("Waiting")
        assert _prompts(chat) == ["First", "Second", "Third"]

    run_chat(act, backend=BusyBackend())


def test_waiting_question_stays_after_a_turn_that_failed_until_it_is_sent_by_hand() -> None:
    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        turn.say(TurnFailed("overloaded", "The provider is overloaded."))
        turn.end("failed")
        await chat.sees("Waiting · Enter sends", "… Second")
        await chat.settles()
        assert _prompts(chat) == ["First"]
        await chat.press("enter")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked by hand")
        assert _prompts(chat) == ["First", "Second"]

    run_chat(act, backend=BusyBackend())


def test_waiting_question_stays_after_esc() -> None:
    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        await chat.press("escape")
        await chat.sees("Waiting · Enter sends", "… Second")
        await chat.settles()
        assert _prompts(chat) == ["First"]

    run_chat(act, backend=BusyBackend())


def test_waiting_questions_are_edited_in_place_and_removed() -> None:
    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        for text in ("Second", "Third", "Fourth"):
            await chat.type(text)
            await chat.sees(f"… {text}")
        chat.chat.query_one(WaitingList).focus()
        await chat.press("up", "up", "up", "d")
        await chat.lost_sight_of("… Second")
        await chat.press("enter")
        await chat.sees("Editing a question that waits")
        assert chat.chat.composer.area.text == "Third"
        _answer(turn, "Answer one")
        await chat.sees("Answer one")
        await chat.settles()
        assert _prompts(chat) == ["First"], "a question that is edited is not sent"
        await chat.type("Third, but better")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked")
        _answer(chat.backend.last_turn(), "Answer two")
        await chat.until(lambda: len(_prompts(chat)) == 3, "asked the last")
        assert _prompts(chat) == ["First", "Third, but better", "Fourth"]

    run_chat(act, backend=BusyBackend())


def test_up_in_an_empty_prompt_edits_the_last_waiting_question_and_esc_leaves_it() -> None:
    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        await chat.press("up")
        await chat.sees("Editing a question that waits")
        await chat.press("escape")
        await chat.lost_sight_of("Editing a question that waits")
        assert chat.chat.composer.area.text == ""
        _answer(turn, "Answer one")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked")
        assert _prompts(chat) == ["First", "Second"]

    run_chat(act, backend=BusyBackend())


def test_waiting_question_is_sent_after_the_chat_was_opened_again() -> None:
    backend, store = BusyBackend(), WaitingInMemory()

    async def leave_it_waiting(chat: ChatPilot) -> None:
        await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")

    async def come_back(chat: ChatPilot) -> None:
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked")
        question = chat.called("ask")[1][1]
        assert isinstance(question, TurnRequest)
        assert (prompt_of(question).text, question.model) == ("Second", "qwen")

    answerer = Answerer(model="qwen")
    run_chat(leave_it_waiting, backend=backend, options=ChatOptions(answerer=answerer, waiting_store=store))
    _answer(backend.last_turn(), "Answer one")
    [session] = backend.rows
    run_chat(come_back, backend=backend, options=ChatOptions(session=session, waiting_store=store))
    assert store.read(session) == []


def test_question_waits_for_the_turn_of_another_surface() -> None:
    backend = BusyBackend()
    info = backend.add_session("Shared", [("Old", "t", "Old answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Old answer")
        other = backend._new_turn(info.id, asked("From the page"))
        await chat.type("Second")
        await chat.sees("… Second", "From the page")
        _answer(other, "Answer for the page")
        await chat.until(lambda: _prompts(chat) == ["Second"], "asked")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_refused_question_stays_and_is_not_sent_again_by_itself() -> None:
    class RefusingBackend(BusyBackend):
        async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
            if prompt_of(request).text == "Second":
                self.calls.append(("refused",))
                raise Refused("No API key. Set ONE.")
            return await super().ask(session, request, key)

    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        _answer(turn, "Answer one")
        await chat.sees("No API key. Set ONE.", "… Second", "Waiting · Enter sends")
        await chat.settles()
        assert len(chat.called("refused")) == 1

    run_chat(act, backend=RefusingBackend())


def test_unreadable_file_of_waiting_questions_is_shown_and_the_chat_goes_on() -> None:
    store = FailingStore()

    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        store.unreadable = "Cannot read waiting.json. Repair or remove the file."
        await chat.sees("Cannot read waiting.json.")
        store.unreadable = ""
        await chat.type("Second")
        await chat.sees("… Second")

    options = ChatOptions(gateway_check_s=0.05, waiting_store=store)
    run_chat(act, backend=BusyBackend(), options=options)


def test_question_whose_edit_cannot_be_left_on_disk_stays_and_the_chat_goes_on() -> None:
    store = FailingStore()

    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        await chat.press("up")
        await chat.sees("Editing a question that waits")
        store.unwritable = "waiting.json cannot be written: No space left on device."
        await chat.press("escape")
        await chat.sees("No space left on device", "… Second")
        store.unwritable = ""
        await chat.type("Third")
        await chat.sees("… Second", "… Third")

    run_chat(act, backend=BusyBackend(), options=ChatOptions(waiting_store=store))


def test_enter_in_an_emptied_edit_removes_the_question_and_sends_the_next() -> None:
    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        await chat.press("up")
        await chat.sees("Editing a question that waits")
        chat.chat.state.wait(_shown(chat), "Third", [])
        _answer(turn, "Answer one")
        await chat.sees("Answer one", "… Third")
        await chat.type("")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked the third")
        await chat.lost_sight_of("… Second")
        assert _prompts(chat) == ["First", "Third"]
        assert "Editing" not in chat.text

    run_chat(act, backend=BusyBackend())


def test_waiting_image_without_text_survives_an_edit() -> None:
    image = Attachment(name="cat.png", image=Image(media_type="image/png", data="aGk="))

    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        chat.chat.state.wait(_shown(chat), "", [image])
        await chat.sees("📎 cat.png")
        await chat.press("up")
        await chat.sees("Editing a question that waits")
        await chat.press("enter")
        await chat.lost_sight_of("Editing a question that waits")
        [question] = _shown(chat).waiting
        assert question.attachments == (image,)

    run_chat(act, backend=BusyBackend())


def test_question_that_was_sent_elsewhere_during_its_edit_does_not_come_back() -> None:
    store = WaitingInMemory()

    async def edit_one_that_goes(chat: ChatPilot, text: str) -> None:
        await chat.type(text)
        await chat.sees(f"… {text}")
        await chat.press("up")
        await chat.sees("Editing a question that waits")
        store.change(chat.app.shown_session, lambda questions: [])

    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        await edit_one_that_goes(chat, "Second")
        await chat.press("escape")
        await chat.lost_sight_of("Editing a question that waits")
        assert store.read(chat.app.shown_session) == []
        await edit_one_that_goes(chat, "Third")
        await chat.type("Third, but better")
        await chat.sees("was sent or removed meanwhile")
        assert chat.chat.composer.area.text == "Third, but better"
        assert store.read(chat.app.shown_session) == []
        await chat.press("enter")
        await chat.sees("… Third, but better")

    run_chat(act, backend=BusyBackend(), options=ChatOptions(waiting_store=store))


def test_question_that_is_sent_twice_has_one_turn() -> None:
    class SameTurnBackend(BusyBackend):
        """Knows a question by its key, as the gateway does."""

        async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
            for turn in self.turns_by_session[session]:
                if key and turn.key == key:
                    self.calls.append(("repeated",))
                    return turn.id
            return await super().ask(session, request, key)

    store = WaitingInMemory()
    question = WaitingQuestion(prompt="Second")

    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        store.change(chat.app.shown_session, lambda questions: [question])
        _answer(turn, "Answer one")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked")
        store.change(chat.app.shown_session, lambda questions: [question])
        _answer(chat.backend.last_turn(), "Answer two")
        await chat.until(lambda: chat.called("repeated"), "sent again")
        await chat.until(lambda: not store.read(chat.app.shown_session), "removed")
        assert [turn.prompt for turn in _shown(chat).turns] == ["First", "Second"]

    run_chat(act, backend=SameTurnBackend(), options=ChatOptions(waiting_store=store))


def test_text_of_an_edited_waiting_question_is_no_draft() -> None:
    backend = BusyBackend()
    info = backend.add_session("Other", [("Old", "t", "Old answer")])

    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        first = chat.app.shown_session
        await chat.type("Second")
        await chat.sees("… Second")
        await chat.press("up")
        await chat.sees("Editing a question that waits")
        await chat.chat.open_session(info.id)
        await chat.sees("Old answer")
        await chat.chat.open_session(first)
        await chat.sees("… Second")
        assert chat.chat.composer.area.text == ""

    run_chat(act, backend=backend)


def test_second_edit_lets_the_first_question_go() -> None:
    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        for text in ("Second", "Third"):
            await chat.type(text)
            await chat.sees(f"… {text}")
        waiting = chat.chat.query_one(WaitingList)
        waiting.focus()
        await chat.press("home", "enter")
        await chat.until(lambda: chat.chat.composer.area.text == "Second", "edited")
        chat.chat.composer.fill("")
        waiting.focus()
        await chat.press("end", "enter")
        await chat.until(lambda: chat.chat.composer.area.text == "Third", "edited")
        _answer(turn, "Answer one")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked")
        assert _prompts(chat) == ["First", "Second"]

    run_chat(act, backend=BusyBackend())


def test_waiting_question_that_goes_while_it_is_recalled_is_not_edited() -> None:
    async def act(chat: ChatPilot) -> None:
        await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        [question] = _shown(chat).waiting
        chat.chat.state.change_waiting(_shown(chat), question.key, None)
        chat.chat.composer.post_message(Composer.WaitingRecalled(question.key))
        await chat.settles()
        assert "Editing" not in chat.text

    run_chat(act, backend=BusyBackend())


def test_waiting_question_is_sent_when_the_gateway_is_back() -> None:
    class LosingBackend(BusyBackend):
        lost = 0

        async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
            if prompt_of(request).text == "Second" and not self.lost:
                self.lost += 1
                raise BackendUnreachable("Nobody listens on 127.0.0.1:1.")
            return await super().ask(session, request, key)

    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        _answer(turn, "Answer one")
        await chat.until(lambda: len(_prompts(chat)) == 2, "asked again")
        assert _prompts(chat) == ["First", "Second"]

    run_chat(act, backend=LosingBackend(), options=ChatOptions(gateway_check_s=0.05))


def test_waiting_question_is_sent_after_a_turn_that_ended_while_it_was_refused() -> None:
    class LateBackend(BusyBackend):
        """The turn that runs ends just after it was the reason to refuse a question for the second time."""

        async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
            try:
                return await super().ask(session, request, key)
            except SessionBusy:
                self.calls.append(("busy",))
                if self.calls.count(("busy",)) == 2:
                    _answer(self.last_turn(), "Answer for the page")
                raise

    backend = LateBackend()
    info = backend.add_session("Shared", [("Old", "t", "Old answer")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Old answer")
        backend._new_turn(info.id, asked("From the page"))
        await chat.type("Second")
        await chat.until(lambda: _prompts(chat) == ["Second"], "asked")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id, gateway_check_s=0.05))


def test_questions_of_a_session_that_was_deleted_elsewhere_are_dropped() -> None:
    backend, store = BusyBackend(), WaitingInMemory()
    gone = backend.add_session("Gone", [("Old", "t", "Old answer")])
    kept = backend.add_session("Kept", [("Old", "t", "Old answer")])
    for info in (gone, kept):
        store.change(info.id, lambda questions: [WaitingQuestion(prompt="Later")])

    async def act(chat: ChatPilot) -> None:
        await chat.until(lambda: gone.id in chat.chat.state.sessions, "listed")
        del backend.rows[gone.id]
        await chat.until(lambda: not store.read(gone.id), "dropped")
        assert store.read(kept.id)

    run_chat(act, backend=backend, options=ChatOptions(gateway_check_s=0.05, waiting_store=store))

"""Questions that are sent while a turn runs: they wait, are edited and removed, and are sent in order."""

from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend, MemoryTurn, thought_and_answer

from thinkaloud.canon import Refused, TurnFailed
from thinkaloud.surfaces.backend import Question, SessionBusy
from thinkaloud.surfaces.chat_session import Answerer
from thinkaloud.surfaces.question_queue import WaitingInMemory
from thinkaloud.surfaces.tui.app import ChatOptions
from thinkaloud.surfaces.tui.waiting_list import WaitingList


class BusyBackend(MemoryBackend):
    """Refuses a question while a turn of the session runs, as the gateway does."""

    async def ask(self, session: str, question: Question) -> str:
        if any(turn.state == "running" for turn in self.turns_by_session[session]):
            raise SessionBusy("Turn trn_1 of session ses_1 is still running.")
        return await super().ask(session, question)


def _prompts(chat: ChatPilot) -> list[str]:
    return [call[1].prompt for call in chat.called("ask") if isinstance(call[1], Question)]


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
        assert isinstance(question, Question)
        assert (question.prompt, question.model) == ("Second", "qwen")

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
        other = backend._new_turn(info.id, Question(prompt="From the page"))
        await chat.type("Second")
        await chat.sees("… Second", "From the page")
        _answer(other, "Answer for the page")
        await chat.until(lambda: _prompts(chat) == ["Second"], "asked")

    run_chat(act, backend=backend, options=ChatOptions(session=info.id))


def test_refused_question_stays_and_is_not_sent_again_by_itself() -> None:
    class RefusingBackend(BusyBackend):
        async def ask(self, session: str, question: Question) -> str:
            if question.prompt == "Second":
                self.calls.append(("refused",))
                raise Refused("No API key. Set ONE.")
            return await super().ask(session, question)

    async def act(chat: ChatPilot) -> None:
        turn = await _start_turn(chat)
        await chat.type("Second")
        await chat.sees("… Second")
        _answer(turn, "Answer one")
        await chat.sees("No API key. Set ONE.", "… Second", "Waiting · Enter sends")
        await chat.settles()
        assert len(chat.called("refused")) == 1

    run_chat(act, backend=RefusingBackend())

"""Versions of an edited question in the chat: which one is shown, and how to go to the others."""

from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend

from thinkaloud.core.canon.requests import TurnRequest
from thinkaloud.surfaces.tui.screens.app import ChatOptions
from thinkaloud.surfaces.tui.screens.exchange import QuestionView


def test_edited_question_tells_its_version_and_keys_show_the_others() -> None:
    backend = MemoryBackend()
    exchanges = [("First question", "t", "First answer."), ("Follow-up", "t", "Second answer.")]
    session = backend.add_session("Sums", exchanges)

    async def act(chat: ChatPilot) -> None:
        await chat.sees("First answer.", "Second answer.")
        chat.chat.conversation.exchanges[0].query_one(QuestionView).focus()
        await chat.press("e")
        await chat.sees("Editing a question")
        await chat.type("Edited question")
        await chat.until(lambda: chat.called("ask"))
        backend.last_turn().answer("t", "Another answer.")
        await chat.sees("Edited question", "‹ 2/2 ›", "Another answer.")
        await chat.lost_sight_of("Follow-up")
        chat.chat.conversation.exchanges[0].query_one(QuestionView).focus()
        await chat.sees("← → versions")
        await chat.press("left")
        await chat.sees("First question", "‹ 1/2 ›", "Follow-up", "Second answer.")
        await chat.lost_sight_of("Another answer.")
        await chat.until(lambda: isinstance(chat.app.focused, QuestionView), "the question has the focus")
        await chat.press("left")  # there is none before
        await chat.press("right")
        await chat.sees("Edited question", "‹ 2/2 ›", "Another answer.")
        await chat.until(lambda: isinstance(chat.app.focused, QuestionView), "the question has the focus")
        await chat.press("left")
        await chat.sees("Second answer.")
        await chat.type("In the older branch")
        await chat.until(lambda: len(chat.called("ask")) == 2)
        question = chat.called("ask")[1][1]
        assert isinstance(question, TurnRequest)
        assert chat.chat.chat is not None
        assert question.follows == backend.older_branches[chat.chat.chat.turns[0].id][-1].id

    run_chat(act, backend=backend, options=ChatOptions(session=session.id, gateway_check_s=5))


def test_question_with_one_version_says_so() -> None:
    backend = MemoryBackend()
    session = backend.add_session("Sums", [("Only question", "t", "Answer.")])

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer.")
        chat.chat.conversation.exchanges[0].query_one(QuestionView).focus()
        await chat.press("right")
        await chat.sees("one version only")

    run_chat(act, backend=backend, options=ChatOptions(session=session.id, gateway_check_s=5))

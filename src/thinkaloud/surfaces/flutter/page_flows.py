"""What a button of the chat page does: each flow may ask the person, then asks the gateway."""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import flet as ft
import msgspec

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.core.view import (
    Words,
    copy_text,
    read_policy,
    run_thinking_command,
    thinking_shown,
    unknown_command,
)
from thinkaloud.surfaces.chat.backend import Responder
from thinkaloud.surfaces.chat.chat_session import EFFORTS, Answerer, ChatTurn
from thinkaloud.surfaces.chat.display import responder_note, responder_reason
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter.dialogs import (
    Choice,
    ChoiceDialog,
    SettingsDialog,
    confirm_dialog,
    line_dialog,
)
from thinkaloud.surfaces.flutter.words import FlutterDisplay

if TYPE_CHECKING:
    from thinkaloud.surfaces.flutter.chat_page import ChatPage

Flow = Coroutine[Any, Any, None]


async def send(chat_page: "ChatPage") -> None:
    """Ask what is in the message box, or do what the command in it says."""
    text = chat_page.frame.composer.field.value
    display = chat_page.display
    policy = run_thinking_command(text, display.policy)
    if policy is not None:
        chat_page.frame.composer.fill("")
        await save_display(chat_page, display.with_policy(policy))
        key = "ai.thinking.blocks_shown" if thinking_shown(policy) else "ai.thinking.blocks_hidden"
        chat_page.show_notice(Words(display.locale).text(key))
    elif command := unknown_command(text):
        question = display.words.text("unknown_command", name=command)
        chat_page.page.show_dialog(
            confirm_dialog(
                question,
                display.words.text("send"),
                display.words,
                lambda: chat_page.run_flow(chat_page.ask()),
            )
        )
    else:
        await chat_page.ask()


async def stop(chat_page: "ChatPage") -> None:
    """Stop the running turn of the shown session."""
    running = chat_page.chat.running_turn if chat_page.chat else None
    if running is not None:
        await chat_page.state.backend.cancel(running.id)


async def answer_now(chat_page: "ChatPage") -> None:
    """Stop the thinking of the running turn, and make the model answer."""
    running = chat_page.chat.running_turn if chat_page.chat else None
    if running is None:
        raise Refused(wording=Wording.plain(chat_page.display.words.text("nothing_runs")))
    await chat_page.state.backend.answer_now(running.id)


async def toggle_blocks(chat_page: "ChatPage") -> None:
    """Open every block of the session, or close them all if all are open."""
    if chat_page.chat:
        chat_page.chat.toggle_blocks(chat_page.display.policy)
    chat_page.frame.conversation.replace_choices()


async def choose_answerer(chat_page: "ChatPage") -> None:
    """Choose the model or the agent that answers the next question."""
    words = chat_page.display.words
    state = chat_page.state
    agents, models = await state.backend.agents(), await state.backend.models()
    choices = [_choice(agent, f"agent {agent.id}", words.text("agent.title"), words) for agent in agents]
    choices += [_choice(model, f"model {model.id}", words.text("model.title"), words) for model in models]
    current = chat_page.display.model(chat_page.chat, state.answerer)
    if current not in [model.id for model in models]:
        current = current.partition("/")[2]  # the list names models without their provider
    chosen = f"agent {state.answerer.agent}" if state.answerer.agent else f"model {current}"

    def use(value: str) -> None:
        kind, _, name = value.partition(" ")
        use_answerer(chat_page, Answerer(**{kind: name}, thinking=state.answerer.thinking))

    chat_page.page.show_dialog(ChoiceDialog(words.text("answerer"), choices, chosen, words, use))


def _choice(responder: Responder, value: str, group: str, words: ScreenWords) -> Choice:
    reason = responder_reason(responder, words)
    return Choice(
        value=value,
        title=responder.name or responder.id,
        note=responder_note(responder, words),
        group=group,
        reason="" if responder.ready else reason or words.text("picker.not_ready"),
    )


def use_answerer(chat_page: "ChatPage", answerer: Answerer) -> None:
    """Let somebody else answer the next question."""
    chat_page.state.answerer = answerer
    chat_page.show_composer()


async def settings(chat_page: "ChatPage") -> None:
    """Change how thinking is shown, language, colours or effort."""

    def change(name: str, value: str) -> None:
        display = chosen = chat_page.display
        match name:
            case "theme":
                chat_page.use_theme(value)
            case "effort":
                use_answerer(chat_page, msgspec.structs.replace(chat_page.state.answerer, thinking=value))
            case "preset":
                chosen = display.with_policy(read_policy({"preset": value}))
                chat_page.run_flow(save_display(chat_page, chosen))
            case "language":
                chosen = display.with_language(value)
                chat_page.run_flow(save_display(chat_page, chosen))
        show(chosen)
        dialog.update()

    def show(display: FlutterDisplay) -> None:
        effort = chat_page.state.answerer.thinking
        dialog.show(display, chat_page.theme, effort if effort in EFFORTS else "")

    dialog = SettingsDialog(change)
    show(chat_page.display)
    chat_page.page.show_dialog(dialog)


async def save_display(chat_page: "ChatPage", display: FlutterDisplay) -> None:
    """Draw with other settings, and save them as the user's preferences."""
    chat_page.apply_display(display)
    await chat_page.state.backend.save_preferences(display.preferences())


async def copy(chat_page: "ChatPage", chat_turn: ChatTurn) -> None:
    """Copy the answer of a turn, without its thoughts."""
    text = copy_text(chat_turn.turn)
    if not text:
        raise Refused(wording=Wording.plain(chat_page.display.words.text("copy.nothing")))
    await ft.Clipboard().set(text)
    chat_page.show_notice(chat_page.display.words.text("copy.done"))


def rename(chat_page: "ChatPage", session: str) -> None:
    """Give a session another title."""
    words = chat_page.display.words
    info = chat_page.state.sessions[session].info
    chat_page.page.show_dialog(
        line_dialog(
            words.text("rename.title"),
            info.title,
            words,
            lambda title: chat_page.run_flow(chat_page.state.rename(session, title)),
        )
    )


def delete(chat_page: "ChatPage", session: str) -> None:
    """Delete a session, if the person confirms it."""
    words = chat_page.display.words
    info = chat_page.state.sessions[session].info

    async def run() -> None:
        await chat_page.state.delete(session)
        if chat_page.chat and chat_page.chat.info.id == session:
            chat_page.show(None)

    question = words.text("delete.question", name=info.title or words.text("untitled"))
    chat_page.page.show_dialog(
        confirm_dialog(question, words.text("delete"), words, lambda: chat_page.run_flow(run()))
    )


PAGE_FLOWS: Mapping[str, Callable[["ChatPage"], Flow]] = {
    "send": send,
    "stop": stop,
    "now": answer_now,
    "blocks": toggle_blocks,
    "answerer": choose_answerer,
    "settings": settings,
}
"""The flows of the buttons of the page."""

SESSION_FLOWS: Mapping[str, Callable[["ChatPage", str], None]] = {"rename": rename, "delete": delete}
"""The flows of a session, by the name of the act."""

"""What a key or a command does, step by step: each flow may ask the person, then asks the gateway.

A flow is a coroutine of the chat screen. What the gateway refuses is shown by the screen that runs it.
"""

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from thinkaloud.core.canon import Entry, Refused, Wording
from thinkaloud.core.view import LOCALES, PRESETS, Words, read_policy, run_thinking_command, thinking_shown
from thinkaloud.surfaces.chat.attachments import read_attachment
from thinkaloud.surfaces.chat.backend import Responder, SessionInfo
from thinkaloud.surfaces.chat.chat_session import EFFORTS, Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.chat.display import responder_note, responder_reason
from thinkaloud.surfaces.chat.question_queue import WaitingQuestion
from thinkaloud.surfaces.tui.screens.commands import Command
from thinkaloud.surfaces.tui.screens.dialogs import ConfirmScreen, PickerRow, PickerScreen, TextScreen
from thinkaloud.surfaces.tui.screens.help import HelpScreen
from thinkaloud.surfaces.tui.screens.replay import ReplayScreen
from thinkaloud.surfaces.tui.screens.search import SearchScreen

if TYPE_CHECKING:
    from thinkaloud.surfaces.tui.screens.chat_screen import ChatScreen

Flow = Coroutine[Any, Any, None]
EXPORT_FORMS = {"markdown": "md", "text": "txt", "json": "json"}


async def set_thinking(screen: "ChatScreen", argument: str = "") -> None:
    """Show or hide every block of thinking: `show`, `hide`, or the other one of what is now."""
    display = screen.display_settings
    policy = run_thinking_command(f"/thinking {argument}", display.policy)
    if policy is None:
        raise Refused(wording=Wording.plain(display.words.text("thinking.usage", name=argument)))
    await screen.chat_app.save_display(display.with_policy(policy))
    key = "ai.thinking.blocks_shown" if thinking_shown(policy) else "ai.thinking.blocks_hidden"
    screen.chat_app.show_notice(Words(display.locale).text(key))


async def toggle_blocks(screen: "ChatScreen") -> None:
    """Open every block of the session, or close them all if all are open."""
    if screen.chat:
        screen.chat.toggle_blocks(screen.display_settings.policy)
    screen.conversation.replace_choices()


async def stop(screen: "ChatScreen") -> None:
    """Stop the running turn of the shown session."""
    running = screen.chat.running_turn if screen.chat else None
    if running is not None:
        await screen.state.backend.cancel(running.id)


async def wait(screen: "ChatScreen", chat: ChatSession, replaces: str) -> None:
    """Have what is in the prompt wait for the turn that runs. An edit of an earlier question cannot."""
    if replaces:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("edit.running")))
    screen.state.wait(chat, screen.composer.area.text, screen.composer.attachments)
    screen.clear_prompt()
    chat.draft = ""
    if not screen.state.busy(chat):  # the turn is one of another surface, or has ended just now
        await screen.state.run_waiting(chat, chosen=True)


async def edit_waiting(screen: "ChatScreen", key: str) -> None:
    """Put a waiting question into the prompt. It is not sent meanwhile."""
    question = _waiting(screen, key)
    if question is None or screen.chat is None:
        return
    if screen.composer.area.text.strip():
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("waiting.prompt_full")))
    screen.leave_edit()
    screen.state.change_waiting(screen.chat, key, msgspec.structs.replace(question, held=True))
    if _waiting(screen, key) is not None:  # it was not sent or removed meanwhile
        screen.composer.edit_waiting(msgspec.structs.replace(question, held=False))


async def save_waiting(screen: "ChatScreen", chat: ChatSession) -> None:
    """Put the edited question back to those that wait, and send the first one if nothing runs."""
    composer = screen.composer
    edited = screen.composer.edited_waiting
    if edited is None:
        return
    text, attachments = composer.area.text, [*edited.attachments, *composer.attachments]
    changed = WaitingQuestion(prompt=text, attachments=tuple(attachments), answerer=edited.answerer)
    screen.state.change_waiting(chat, edited.key, changed)
    if _waiting(screen, changed.key) is None:  # it was sent or removed meanwhile
        composer.leave_edit()
        composer.fill(text)
        composer.attachments = attachments
        composer.show_line()
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("waiting.gone")))
    screen.clear_prompt()
    await screen.state.run_waiting(chat, chosen=True)


async def remove_waiting(screen: "ChatScreen", key: str) -> None:
    """Remove a question that waits."""
    edited = screen.composer.edited_waiting
    if screen.chat is None:
        return
    screen.state.change_waiting(screen.chat, key, None)
    if edited is not None and edited.key == key:  # those behind it do not have to wait for it any more
        screen.composer.leave_edit()
        await screen.state.run_waiting(screen.chat)


def _waiting(screen: "ChatScreen", key: str) -> WaitingQuestion | None:
    questions = screen.chat.waiting if screen.chat else ()
    return next((question for question in questions if question.key == key), None)


async def answer_now(screen: "ChatScreen") -> None:
    """Stop the thinking of the running turn, and make the model answer."""
    await screen.state.backend.answer_now(_running_turn(screen).id)


async def _stop_running(screen: "ChatScreen") -> None:
    """Stop the running turn; other than the key, the command says if there is none."""
    await screen.state.backend.cancel(_running_turn(screen).id)


def _running_turn(screen: "ChatScreen") -> ChatTurn:
    running = screen.chat.running_turn if screen.chat else None
    if running is None:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("nothing_runs")))
    return running


async def new_session(screen: "ChatScreen", session: str = "") -> None:
    """Show an empty session."""
    screen.show_new()


async def rename(screen: "ChatScreen", session: str, title: str = "") -> None:
    """Give a session another title; without one, ask for it."""
    words = screen.display_settings.words
    info = _existing(screen, session)
    title = title or await screen.chat_app.push_screen_wait(
        TextScreen(words.text("rename.title"), info.title, words)
    )
    if title:
        await screen.state.rename(session, title)


async def delete(screen: "ChatScreen", session: str) -> None:
    """Delete a session, if the person confirms it."""
    words = screen.display_settings.words
    info = _existing(screen, session)
    question = words.text("delete.question", name=info.title or words.text("untitled"))
    if await screen.chat_app.push_screen_wait(ConfirmScreen(question, words)):
        await screen.state.delete(session)
        if screen.chat and screen.chat.info.id == session:
            screen.show_new()


async def export(screen: "ChatScreen", session: str, form: str = "", file: str = "") -> None:
    """Write a session to a file, in a form that the person chooses if none is given."""
    words = screen.display_settings.words
    info = _existing(screen, session)
    if form and form not in EXPORT_FORMS:
        raise Refused(wording=Wording.plain(words.text("export.forms", name=form)))
    if not form:
        rows = [PickerRow(value=name, title=name, note=words.text(f"export.{name}")) for name in EXPORT_FORMS]
        chosen = await screen.chat_app.push_screen_wait(
            PickerScreen(words.text("export.title"), rows, "", words)
        )
        if chosen is None:
            return
        form = chosen
    path = Path(file).expanduser() if file else _free_path(info.title or session, EXPORT_FORMS[form])
    if path.exists() and not await screen.chat_app.push_screen_wait(
        ConfirmScreen(words.text("export.replace", name=str(path)), words)
    ):
        return
    thinking = "details" if thinking_shown(screen.display_settings.policy) else "omit"
    text = await screen.state.backend.export(session, form, thinking=thinking)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(
            wording=Wording.plain(
                words.text("export.failed", name=str(path), reason=error.strerror or str(error))
            )
        ) from None
    screen.chat_app.show_notice(words.text("export.done", name=str(path)))


def _existing(screen: "ChatScreen", session: str) -> SessionInfo:
    chat = screen.state.sessions.get(session)
    if chat is None:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("no_session")))
    return chat.info


def _free_path(title: str, suffix: str) -> Path:
    """Return a path in the present folder that does not exist, named after the title."""
    stem = re.sub(r"[^\w]+", "-", title.lower()).strip("-")[:40] or "session"
    path = Path(f"{stem}.{suffix}")
    number = 1
    while path.exists():
        number += 1
        path = Path(f"{stem}-{number}.{suffix}")
    return path


async def pick_model(screen: "ChatScreen") -> None:
    """Choose the model that answers the next question."""
    models = await screen.state.backend.models()
    current = screen.display_settings.model(screen.chat, screen.state.answerer)
    if current not in [model.id for model in models]:
        current = current.partition("/")[2]  # the list names models without their provider
    chosen = await _pick(screen, "model.title", models, current)
    if chosen is not None:
        use_answerer(screen, Answerer(model=chosen, thinking=screen.state.answerer.thinking))


async def pick_agent(screen: "ChatScreen") -> None:
    """Choose the agent that answers the next question."""
    agents = await screen.state.backend.agents()
    chosen = await _pick(screen, "agent.title", agents, screen.state.answerer.agent)
    if chosen is not None:
        use_answerer(screen, Answerer(agent=chosen, thinking=screen.state.answerer.thinking))


async def _pick(screen: "ChatScreen", title: str, choices: list[Responder], chosen: str) -> str | None:
    words = screen.display_settings.words
    rows = [
        PickerRow(
            value=choice.id,
            title=choice.name or choice.id,
            note=responder_note(choice, words),
            ready=choice.ready,
            reason=responder_reason(choice, words),
        )
        for choice in choices
    ]
    return await screen.chat_app.push_screen_wait(PickerScreen(words.text(title), rows, chosen, words))


def use_answerer(screen: "ChatScreen", answerer: Answerer) -> None:
    """Let somebody else answer the next question."""
    screen.state.answerer = answerer
    screen.sessions_changed()


async def set_effort(screen: "ChatScreen", argument: str) -> None:
    """Set how much the model thinks: a level or a number of tokens; nothing is the model's default."""
    if argument and argument not in EFFORTS and not argument.isdecimal():
        raise Refused(
            wording=Wording.plain(screen.display_settings.words.text("effort.usage", name=argument))
        )
    use_answerer(screen, msgspec.structs.replace(screen.state.answerer, thinking=argument))


async def search(screen: "ChatScreen", text: str = "") -> None:
    """Search all sessions, and show the place that the person chooses."""
    window = SearchScreen(screen.state.backend, screen.display_settings.words, text)
    place = await screen.chat_app.push_screen_wait(window)
    if place is not None:
        await screen.open_session(place.session)
        screen.call_after_refresh(screen.conversation.show_found, place)


async def attach(screen: "ChatScreen", path: str) -> None:
    """Attach an image to the next question."""
    if not path:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("attach.usage")))
    screen.composer.attach(read_attachment(path))


async def ask_unknown_command(screen: "ChatScreen", command: Command) -> None:
    """Ask whether a text that looks like a command is a question after all."""
    words = screen.display_settings.words
    question = words.text("unknown_command", name=command.name)
    if await screen.chat_app.push_screen_wait(ConfirmScreen(question, words)):
        await screen.ask()


async def settings(screen: "ChatScreen") -> None:
    """Change preset, language or theme, which are saved."""
    display = screen.display_settings
    app = screen.chat_app
    words = display.words
    theme = "light" if app.theme.endswith("light") else "dark"
    values = {
        "preset": words.text(f"preset.{display.policy.preset}"),
        "language": words.text(f"language.{display.locale}"),
        "theme": words.text(f"theme.{theme}"),
    }
    rows = [
        PickerRow(value=name, title=words.text(f"settings.{name}"), note=now) for name, now in values.items()
    ]
    setting = await app.push_screen_wait(PickerScreen(words.text("settings.title"), rows, "", words))
    if setting == "theme":
        app.use_theme("light" if theme == "dark" else "dark")
    elif setting == "preset":
        name = await _pick_setting(screen, setting, PRESETS, display.policy.preset)
        if name is not None:
            await app.save_display(display.with_policy(read_policy({"preset": name})))
    elif setting == "language":
        name = await _pick_setting(screen, setting, LOCALES, display.locale)
        if name is not None:
            await app.save_display(display.with_language(name))


async def _pick_setting(screen: "ChatScreen", setting: str, names: Iterable[str], current: str) -> str | None:
    """Let the person choose one of the values of a setting."""
    words = screen.display_settings.words
    rows = [PickerRow(value=name, title=name, note=words.text(f"{setting}.{name}")) for name in names]
    window = PickerScreen(words.text(f"settings.{setting}"), rows, current, words)
    return await screen.chat_app.push_screen_wait(window)


async def show_help(screen: "ChatScreen") -> None:
    """List every key and command."""
    await screen.chat_app.push_screen_wait(HelpScreen(screen.display_settings.words))


async def edit(screen: "ChatScreen", chat_turn: ChatTurn) -> None:
    """Put the question of a turn into the prompt; sending it asks again from there."""
    if chat_turn.running:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("edit.running")))
    screen.leave_edit()
    screen.composer.edit(chat_turn)


async def copy(screen: "ChatScreen", chat_turn: ChatTurn, thoughts: bool = False) -> None:
    """Copy the answer of a turn; with its thoughts only if asked for."""
    words = screen.display_settings.words
    parts = [chat_turn.turn.answer]
    if thoughts:
        parts.insert(0, chat_turn.turn.reasoning)
    text = "\n\n".join(filter(None, parts))
    if not text:
        raise Refused(wording=Wording.plain(words.text("copy.nothing")))
    screen.chat_app.copy_to_clipboard(text)
    screen.chat_app.show_notice(words.text("copy.thoughts" if thoughts else "copy.done"))


async def show_version(screen: "ChatScreen", chat_turn: ChatTurn, step: int) -> None:
    """Show the version of a turn before or after this one, and what was asked after it."""
    chat = screen.chat
    versions = chat_turn.versions
    index = versions.index(chat_turn.id) + step if chat_turn.id in versions else -1
    if chat is None or not versions:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("version.none")))
    if 0 <= index < len(versions):
        await screen.state.load_version(chat, versions[index])
        if screen.chat is chat:  # the person has not gone to another session meanwhile
            screen.conversation.changed()
            screen.conversation.focus_question(versions[index])
            screen.turn_changed(chat, chat_turn)
        for running in (other for other in chat.turns if other.running):
            screen.run_flow(screen.state.follow(chat, running))


async def replay(screen: "ChatScreen", chat_turn: ChatTurn) -> None:
    """Play a turn again with its timing."""
    if chat_turn.running:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("replay.running")))
    items = [item async for item in screen.state.backend.stream(chat_turn.id)]
    entries = [item for item in items if isinstance(item, Entry)]
    await screen.chat_app.push_screen_wait(ReplayScreen(chat_turn.prompt, entries, screen.display_settings))


SCREEN_FLOWS: Mapping[str, Callable[["ChatScreen"], Flow]] = {
    "thinking": set_thinking,
    "blocks": toggle_blocks,
    "answer_now": answer_now,
    "new": new_session,
    "model": pick_model,
    "agent": pick_agent,
    "search": search,
    "settings": settings,
    "help": show_help,
}
"""The flows of keys that work everywhere."""

SESSION_FLOWS: Mapping[str, Callable[["ChatScreen", str], Flow]] = {
    "new": new_session,
    "rename": rename,
    "delete": delete,
    "export": export,
}
"""The flows of a session, by the name of the act."""

WAITING_FLOWS: Mapping[str, Callable[["ChatScreen", str], Flow]] = {
    "edit": edit_waiting,
    "remove": remove_waiting,
}
"""The flows of a question that waits, by the name of the act."""

TURN_FLOWS: Mapping[str, Callable[["ChatScreen", ChatTurn], Flow]] = {
    "edit": edit,
    "copy": copy,
    "replay": replay,
    "previous_version": lambda screen, chat_turn: show_version(screen, chat_turn, -1),
    "next_version": lambda screen, chat_turn: show_version(screen, chat_turn, 1),
}
"""The flows of a turn, by the name of the act."""


async def act_on_turn(screen: "ChatScreen", act: str) -> None:
    """Edit, copy or replay the selected turn."""
    await TURN_FLOWS[act](screen, selected_turn(screen))


def selected_turn(screen: "ChatScreen") -> ChatTurn:
    """Return the turn that has the focus, else the last one; refuse if there is none."""
    for exchange in screen.conversation.exchanges:
        if exchange.has_focus_within:
            return exchange.chat_turn
    if screen.chat is None or not screen.chat.turns:
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("no_session")))
    return screen.chat.turns[-1]


async def run_command(screen: "ChatScreen", command: Command) -> None:
    """Carry out a known command that was typed into the prompt."""
    await COMMAND_FLOWS[command.name](screen, command.argument)


async def _set_answerer(screen: "ChatScreen", kind: str, name: str) -> None:
    """Let a model or an agent answer the next question; without a name, show the list."""
    if name:
        use_answerer(screen, Answerer(**{kind: name}, thinking=screen.state.answerer.thinking))
    else:
        await SCREEN_FLOWS[kind](screen)


async def _export_as(screen: "ChatScreen", argument: str) -> None:
    form, _, file = argument.partition(" ")
    await export(screen, _shown_session(screen), form.lower(), file.strip())


async def _set_theme(screen: "ChatScreen", name: str) -> None:
    if name not in ("light", "dark"):
        raise Refused(wording=Wording.plain(screen.display_settings.words.text("theme.usage")))
    screen.chat_app.use_theme(name)


async def _copy_selected(screen: "ChatScreen", argument: str) -> None:
    await copy(screen, selected_turn(screen), thoughts=argument.lower() == "thoughts")


async def _detach(screen: "ChatScreen", argument: str) -> None:
    screen.composer.take_attachments()


async def _toggle_sessions(screen: "ChatScreen", argument: str) -> None:
    screen.action_toggle_sessions()


def _shown_session(screen: "ChatScreen") -> str:
    return screen.chat.info.id if screen.chat else ""


COMMAND_FLOWS: Mapping[str, Callable[["ChatScreen", str], Flow]] = {
    "thinking": lambda screen, argument: set_thinking(screen, argument.lower()),
    "model": lambda screen, name: _set_answerer(screen, "model", name),
    "agent": lambda screen, name: _set_answerer(screen, "agent", name),
    "effort": set_effort,
    "new": new_session,
    "sessions": _toggle_sessions,
    "rename": lambda screen, title: rename(screen, _shown_session(screen), title),
    "delete": lambda screen, _: delete(screen, _shown_session(screen)),
    "search": search,
    "export": _export_as,
    "attach": attach,
    "detach": _detach,
    "edit": lambda screen, _: act_on_turn(screen, "edit"),
    "copy": _copy_selected,
    "now": lambda screen, _: answer_now(screen),
    "stop": lambda screen, _: _stop_running(screen),
    "replay": lambda screen, _: act_on_turn(screen, "replay"),
    "settings": lambda screen, _: settings(screen),
    "theme": _set_theme,
    "help": lambda screen, _: show_help(screen),
    "quit": lambda screen, _: screen.chat_app.action_quit(),
}
"""The flows of commands, by the name of the command and with its argument."""

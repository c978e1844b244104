"""Carries out a command that was typed into the prompt."""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from thinkaloud.core.canon import Refused
from thinkaloud.surfaces.chat.chat_session import Answerer
from thinkaloud.surfaces.tui.screens import flows
from thinkaloud.surfaces.tui.screens.commands import Command

if TYPE_CHECKING:
    from thinkaloud.surfaces.tui.screens.chat_screen import ChatScreen

Run = Callable[["ChatScreen", str], Coroutine[Any, Any, None]]


async def run_command(screen: "ChatScreen", command: Command) -> None:
    """Carry out a known command."""
    await _RUNS[command.name](screen, command.argument)


async def _thinking(screen: "ChatScreen", argument: str) -> None:
    await flows.set_thinking(screen, argument.lower())


async def _model(screen: "ChatScreen", argument: str) -> None:
    if argument:
        flows.use_answerer(screen, Answerer(model=argument, thinking=screen.state.answerer.thinking))
    else:
        await flows.pick_model(screen)


async def _agent(screen: "ChatScreen", argument: str) -> None:
    if argument:
        flows.use_answerer(screen, Answerer(agent=argument, thinking=screen.state.answerer.thinking))
    else:
        await flows.pick_agent(screen)


async def _sessions(screen: "ChatScreen", argument: str) -> None:
    screen.action_toggle_sessions()


async def _rename(screen: "ChatScreen", argument: str) -> None:
    await flows.rename(screen, _session(screen), argument)


async def _delete(screen: "ChatScreen", argument: str) -> None:
    await flows.delete(screen, _session(screen))


async def _export(screen: "ChatScreen", argument: str) -> None:
    form, _, file = argument.partition(" ")
    await flows.export(screen, _session(screen), form.lower(), file.strip())


async def _attach(screen: "ChatScreen", argument: str) -> None:
    if not argument:
        raise Refused(screen.display_settings.words.text("attach.usage"))
    await flows.attach(screen, argument)


async def _detach(screen: "ChatScreen", argument: str) -> None:
    screen.composer.take_attachments()


async def _copy(screen: "ChatScreen", argument: str) -> None:
    await flows.copy(screen, flows.selected_turn(screen), thoughts=argument.lower() == "thoughts")


async def _theme(screen: "ChatScreen", argument: str) -> None:
    if argument not in ("light", "dark"):
        raise Refused(screen.display_settings.words.text("theme.usage"))
    screen.chat_app.use_theme(argument)


async def _quit(screen: "ChatScreen", argument: str) -> None:
    await screen.chat_app.action_quit()


def _session(screen: "ChatScreen") -> str:
    return screen.chat.info.id if screen.chat else ""


def _screen_run(name: str) -> Run:
    async def run(screen: "ChatScreen", argument: str) -> None:
        await flows.SCREEN_FLOWS[name](screen)

    return run


def _turn_run(name: str) -> Run:
    async def run(screen: "ChatScreen", argument: str) -> None:
        await flows.act_on_turn(screen, name)

    return run


async def _stop(screen: "ChatScreen", argument: str) -> None:
    if screen.chat is None or screen.chat.running_turn is None:
        raise Refused(screen.display_settings.words.text("nothing_runs"))
    await flows.stop(screen)


_RUNS: Mapping[str, Run] = {
    "thinking": _thinking,
    "model": _model,
    "agent": _agent,
    "effort": flows.set_effort,
    "new": _screen_run("new"),
    "sessions": _sessions,
    "rename": _rename,
    "delete": _delete,
    "search": flows.search,
    "export": _export,
    "attach": _attach,
    "detach": _detach,
    "edit": _turn_run("edit"),
    "copy": _copy,
    "now": _screen_run("answer_now"),
    "stop": _stop,
    "replay": _turn_run("replay"),
    "settings": _screen_run("settings"),
    "theme": _theme,
    "help": _screen_run("help"),
    "quit": _quit,
}

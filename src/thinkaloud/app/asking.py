"""`thinkaloud ask`: one prompt, one answer, live; by a model alone, or by an agent with its tools."""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext, suppress

import msgspec

from thinkaloud.agents.agent import Agent, everyone, model_alone
from thinkaloud.agents.prices import cost_of
from thinkaloud.agents.run import Run, Surroundings
from thinkaloud.agents.tools import Tool
from thinkaloud.app import builtin_model
from thinkaloud.app.approving import Approvals
from thinkaloud.app.reading import summary
from thinkaloud.app.settings import model_name, user_agents, user_catalog
from thinkaloud.app.shared import DONE, FAILED, STDIN, STOPPED, add_language, pieces, plain, positive
from thinkaloud.canon import ApprovalAsked, Entry, Finish, NoticeGiven, Refused, ThinkingNotOffered, TurnEnded
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client import steady_clock
from thinkaloud.client.prepare import Options, PreparedRequest, prepare, require_key
from thinkaloud.context import Conversation
from thinkaloud.surfaces.plain import Show
from thinkaloud.surfaces.terminal import clean_json
from thinkaloud.transcript import Ending, Turn, apply, stopped
from thinkaloud.view import Words
from thinkaloud.view.notices import asks_for_help

_CODES = {Ending.FAILED: FAILED, Ending.CUT_OFF: FAILED, Ending.CANCELLED: STOPPED}
_ALL = "all"


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `ask`."""
    add = parser.add_argument
    add("prompt", metavar="PROMPT", help="what to ask; - reads it from standard input")
    add("--agent", default="", metavar="A", help="who answers, with tools and assistants: thinkaloud agents")
    add(
        "--model",
        default="",
        metavar="M",
        help="provider/model or a model's name (default: the agent's; without one THINKALOUD_MODEL, else "
        "builtin/solver)",
    )
    add("--thinking", default="", metavar="T", help="off, low, medium, high, max, or a number of tokens")
    add("--system", default="", metavar="S", help="instructions for the model")
    add("--max-tokens", type=positive, metavar="N", help="the most the answer may take, thoughts included")
    add(
        "--approve",
        action="append",
        default=[],
        metavar="NAME",
        help="let this tool run without asking, or all; can be repeated",
    )
    add(
        "--show-thinking",
        choices=tuple(Show),
        default=Show.SHOW,
        type=Show,
        help="how much of the thinking to show (default: show)",
    )
    add(
        "--on-thinking-unavailable",
        choices=("error", "warn"),
        default="error",
        help="when thinking is asked for and cannot be had: do not ask (error, the default), or ask without "
        "it and say so",
    )
    add(
        "--format",
        choices=("plain", "json", "ndjson"),
        default="plain",
        help="plain: thoughts on stderr, answer on stdout; json: one object at the end; ndjson: the events "
        "with their times",
    )
    add_language(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask and show. Stopped by Ctrl-C, the turn ends as cancelled, with what was said."""
    told = _Told(options)
    try:
        asyncio.run(_ask(_prompt(options.prompt), options, told))
    except KeyboardInterrupt:
        for entry in _stopped(told.turn):
            told.feed(entry)
    return told.end()


class _Told:
    """The turn as it is written, in the format that was asked for."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._plain = plain(options.lang, options.show_thinking)
        self._format = options.format
        self.turn = self._plain.turn
        self.provider = ""

    def feed(self, entry: Entry) -> None:
        if self._format == "plain":
            self._plain.feed(entry)
            return
        apply(self.turn, entry)
        if self._format == "ndjson":
            print(clean_json(msgspec.json.encode(entry).decode()), flush=True)

    def end(self) -> int:
        """Write what is written at the end; the exit code."""
        outcome = self.turn.outcome
        if self._format == "json" and outcome is not None:
            cost = cost_of(self.turn, provider=self.provider, at_ms=self.turn.started_ms)
            print(clean_json(msgspec.json.encode({**summary(self.turn), "cost": cost}).decode()))
        return STOPPED if outcome is None else _CODES.get(outcome.ending, DONE)


def _prompt(given: str) -> str:
    prompt = b"".join(pieces(STDIN)).decode(errors="replace") if given == STDIN else given
    if prompt.strip():
        return prompt
    raise Refused(
        "The prompt is empty, so nothing was asked. Write it in quotes, or pipe it in and use - in its place."
    )


async def _ask(prompt: str, options: argparse.Namespace, told: _Told) -> None:
    async with _agent(options) as (agent, allowed), _catalog(agent) as catalog:
        asked = UserMessage(prompt)
        agent, first = _prepared(agent, asked, options.on_thinking_unavailable, catalog)
        told.provider = first.route.provider.name
        run = Run(agent, (asked,), around=Surroundings(catalog=catalog), first=first)
        approvals = Approvals(allowed, options.lang)
        async with _hurried_by_key(run), aclosing(run.entries()) as entries:
            async for entry in entries:
                told.feed(entry)
                _hint(entry, options.lang)
                if isinstance(entry.event, ApprovalAsked):
                    await approvals.settle(run, run.turn.blocks[entry.event.block])


def _hint(entry: Entry, locale: str) -> None:
    """Say how to steer when something was noticed, to whoever has the keys for it."""
    if isinstance(entry.event, NoticeGiven) and asks_for_help(entry.event) and sys.stderr.isatty():
        print(Words(locale).say("cli.steer"), file=sys.stderr, flush=True)


@asynccontextmanager
async def _hurried_by_key(run: Run) -> AsyncIterator[None]:
    """Ctrl-\\ on a terminal has the model answer now; elsewhere the signal does what it always does."""
    if not sys.stderr.isatty() or not hasattr(signal, "SIGQUIT"):
        yield
        return

    def hurry() -> None:
        with suppress(Refused):  # it is answering already, or has not begun
            run.answer_now()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGQUIT, hurry)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGQUIT)


@asynccontextmanager
async def _agent(options: argparse.Namespace) -> AsyncIterator[tuple[Agent, Collection[str]]]:
    """Who answers, as the options want it, and the tools that may run without asking."""
    if not options.agent:
        if options.approve:
            raise Refused("--approve lets a tool of an agent run, and no agent was named. Add --agent NAME.")
        yield _as_asked(model_alone(model_name(options.model)), options), ()
        return
    from thinkaloud.agents.files import SEARCH_SESSIONS, agent_of, local_tools
    from thinkaloud.agents.toolbox import Toolbox

    file = user_agents()
    names = file.tools_of(options.agent)
    if SEARCH_SESSIONS in names:
        raise Refused(
            f"The agent {options.agent!r} uses {SEARCH_SESSIONS}, and only the gateway keeps sessions. "
            "Ask it there, or take the tool out of its row."
        )
    async with Toolbox(local_tools(file), tuple(file.mcp.values())) as toolbox:
        found = await asyncio.gather(*(toolbox.find([name]) for name in names))
        tools = dict(zip(names, found, strict=True))
        agent = _as_asked(agent_of(file, options.agent, tools), options)
        yield agent, _allowed(options.approve, agent, tools)


def _as_asked(agent: Agent, options: argparse.Namespace) -> Agent:
    """The agent, with what the command line says about it."""
    return msgspec.structs.replace(
        agent,
        model=options.model or agent.model,
        thinking=options.thinking or agent.thinking,
        system=options.system or agent.system,
        max_tokens=options.max_tokens or agent.max_tokens,
    )


def _allowed(given: list[str], agent: Agent, tools: dict[str, tuple[Tool, ...]]) -> set[str]:
    """The tools that may run without asking, by the names that models call them."""
    called = {name: {tool.definition.name for tool in found} for name, found in tools.items()}
    allowed: set[str] = set()
    for name in given:
        meant = {
            one
            for reference, names in called.items()
            for one in names
            if name in (_ALL, one, reference, reference.partition("/")[0])
        }
        if not meant and name != _ALL:
            known = ", ".join(called) or "none"
            raise Refused(f"--approve {name}: {agent.name} has no such tool. It has: {known}; or say {_ALL}.")
        allowed |= meant
    return allowed


def _prepared(
    agent: Agent, asked: UserMessage, on_thinking_unavailable: str, catalog: Catalog
) -> tuple[Agent, PreparedRequest]:
    """The first request, and the agent, which does not ask again for thinking that cannot be had."""
    conversation = Conversation((asked,), agent.system, agent.offered)
    options = Options(tools=agent.offered, max_tokens=agent.max_tokens, catalog=catalog)
    try:
        ready = prepare(conversation, model=agent.model, thinking=agent.thinking, options=options)
    except ThinkingNotOffered:
        if on_thinking_unavailable == "error":
            raise
        options = msgspec.structs.replace(options, on_thinking_unavailable="warn")
        ready = prepare(conversation, model=agent.model, thinking=agent.thinking, options=options)
        agent = msgspec.structs.replace(agent, thinking=None)
    require_key(ready.route)
    return agent, ready


def _catalog(agent: Agent) -> AbstractAsyncContextManager[Catalog]:
    catalog = user_catalog()
    needed = any(builtin_model.meant_by(one.model) for one in everyone(agent))
    return builtin_model.reachable(catalog) if needed else nullcontext(catalog)


def _stopped(turn: Turn) -> Iterator[Entry]:
    """The end of a turn that a person stopped; nothing where none had begun."""
    if turn.seq < 0:
        return
    at_ms = steady_clock()()
    for seq, event in enumerate(stopped(turn, TurnEnded(Finish.CANCELLED)), turn.seq + 1):
        yield Entry(seq, event, at_ms)

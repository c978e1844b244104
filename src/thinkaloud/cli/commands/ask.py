"""`thinkaloud ask`: sends one prompt to a model or an agent and shows the answer while it arrives."""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext, suppress

import msgspec

from thinkaloud.agents.loop import prepare_reply
from thinkaloud.agents.prices import cost_of
from thinkaloud.agents.reply import BAD_OUTPUT
from thinkaloud.agents.run import Run, RunContext
from thinkaloud.agents.spec import Agent, agent_tree, apply_request, bare_model
from thinkaloud.cli import EXIT_STOPPED
from thinkaloud.cli.approvals import ApprovalPrompter, approved_tools
from thinkaloud.cli.commands.ask_stored import add_stored_options, ask_stored, keeps_turns
from thinkaloud.cli.commands.read import turn_as_json
from thinkaloud.cli.output.console import (
    EXIT_FAILED,
    EXIT_OK,
    SHOW_KEY,
    add_language_option,
    plain_writer,
    positive,
    print_error,
)
from thinkaloud.cli.output.follow import TurnNotSaved
from thinkaloud.cli.output.live_output import LiveOutput
from thinkaloud.cli.prompt import read_prompt
from thinkaloud.cli.request_options import add_request_options, output_schema_of, sampling_of
from thinkaloud.cli.settings import (
    model_name,
    names_builtin_model,
    user_agents,
    user_config,
    with_builtin_model,
)
from thinkaloud.client import monotonic_clock
from thinkaloud.client.files import user_message
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import ApprovalAsked, Entry, Finish, NoticeGiven, Refused, TurnEnded
from thinkaloud.core.canon.requests import TurnRequest
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.transcript import Block, Ending, Turn, apply, events_to_end_turn
from thinkaloud.core.view import Words
from thinkaloud.core.view.labels import needs_attention
from thinkaloud.surfaces.plain import ShowThinking
from thinkaloud.surfaces.terminal import clean_json

EXIT_CODES = {Ending.FAILED: EXIT_FAILED, Ending.CUT_OFF: EXIT_FAILED, Ending.CANCELLED: EXIT_STOPPED}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ask`."""
    add_option = parser.add_argument
    add_option(
        "prompt",
        nargs="*",
        metavar="PROMPT",
        help="the prompt, quoted or not; text from standard input is put before it",
    )
    add_option(
        "--agent", default="", metavar="A", help="the agent that answers; `thinkaloud agents` lists them"
    )
    add_option(
        "-m",
        "--model",
        default="",
        metavar="M",
        help="a model, or provider/model (default: the agent's model, else THINKALOUD_MODEL, else your "
        "setting, else builtin/solver)",
    )
    add_option(
        "--thinking", default="", metavar="T", help="off, low, medium, high, max, or a number of tokens"
    )
    add_option("--system", default="", metavar="S", help="the system prompt")
    add_option(
        "--max-tokens", type=positive, metavar="N", help="token limit of the answer, thoughts included"
    )
    add_request_options(parser)
    add_option(
        "--approve",
        action="append",
        default=[],
        metavar="NAME",
        help="run this tool without asking, or `all` tools; can be repeated",
    )
    add_option(
        "--show-thinking",
        choices=tuple(ShowThinking),
        help="how much of the thinking to show (default: show, or hide if your settings hide it); on a "
        f"terminal the key {SHOW_KEY} shows and hides it",
    )
    add_option(
        "--on-thinking-unavailable",
        choices=("error", "warn"),
        default="error",
        help="if the model cannot think as requested: fail (error, the default), or warn and ask without "
        "thinking",
    )
    add_option(
        "--format",
        choices=("plain", "json", "ndjson"),
        default="plain",
        help="plain: thoughts on stderr, answer on stdout; json: one object at the end; ndjson: one event "
        "with its time per line",
    )
    add_option("--json", dest="format", action="store_const", const="json", help="short for --format json")
    add_stored_options(parser)
    add_language_option(parser)
    parser.set_defaults(run=run_ask)


def run_ask(options: argparse.Namespace) -> int:
    """Ask and show the answer. Ctrl-C ends the turn as cancelled and keeps what arrived."""
    prompt = read_prompt(options.prompt)
    _apply_settings(options)
    output = AskOutput(options)
    try:
        asyncio.run((ask_stored if keeps_turns(options) else _ask)(prompt, options, output))
    except KeyboardInterrupt:
        for entry in _cancelled_entries(output.turn):
            output.feed(entry)
    except TurnNotSaved as error:
        output.finish()
        return print_error(str(error), EXIT_FAILED)
    output.live.remember()
    return output.finish()


def _apply_settings(options: argparse.Namespace) -> None:
    """Take from the user's settings what the options leave open."""
    config = user_config()
    if options.show_thinking is None:
        options.show_thinking = ShowThinking.SHOW if config.display.show_thinking else ShowThinking.HIDE
    if not options.thinking and not options.agent and (level := config.text("thinking.level")):
        # A setting for all models is a wish; only what was asked for here is worth an error.
        options.thinking, options.on_thinking_unavailable = level, "warn"


class AskOutput:
    """Writes the turn in the format of `--format`."""

    def __init__(self, options: argparse.Namespace) -> None:
        writer = plain_writer(options.lang, ShowThinking(options.show_thinking))
        self.live = LiveOutput(writer)
        self._format = options.format
        self.turn = writer.turn
        self.provider = ""
        self.ids: dict[str, str] = {}
        """The ids of the session and the turn, if they are kept."""

    def feed(self, entry: Entry) -> None:
        if self._format == "plain":
            self.live.feed(entry)
            return
        apply(self.turn, entry)
        if self._format == "ndjson":
            print(clean_json(msgspec.json.encode(entry).decode()), flush=True)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep a terminal informed while the turn runs."""
        return self.live.running() if self._format == "plain" else nullcontext()

    def finish(self) -> int:
        """Write what the format writes at the end, and return the exit code."""
        outcome = self.turn.outcome
        if self._format == "json" and outcome is not None:
            cost = cost_of(self.turn, provider=self.provider, at_ms=self.turn.started_ms)
            print(
                clean_json(
                    msgspec.json.encode({**self.ids, **turn_as_json(self.turn), "cost": cost}).decode()
                )
            )
        if outcome is None:
            return EXIT_STOPPED
        bad_output = any(notice.code == BAD_OUTPUT and notice.block is None for notice in self.turn.notices)
        return EXIT_CODES.get(outcome.ending, EXIT_FAILED if bad_output else EXIT_OK)


async def _ask(prompt: str, options: argparse.Namespace, output: AskOutput) -> None:
    async with _open_agent(options) as (agent, allowed), _open_catalog(agent) as catalog:
        message = user_message(prompt, options.files)
        first_request = prepare_reply(agent, (message,), catalog=catalog)
        output.provider = first_request.route.provider.name
        run = Run(agent, (message,), context=RunContext(catalog=catalog), first_request=first_request)
        approvals = ApprovalPrompter(allowed, options.lang)
        async with output.running(), answer_now_key(run.answer_now), aclosing(run.entries()) as entries:
            async for entry in entries:
                output.feed(entry)
                print_hint(entry, options.lang)
                if isinstance(entry.event, ApprovalAsked):
                    with output.live.question():
                        await _decide(run, run.turn.blocks[entry.event.block], approvals)


async def _decide(run: Run, block: Block, approvals: ApprovalPrompter) -> None:
    if not block.awaiting_result:
        return  # the turn was stopped before the question
    decision = await approvals.decide(block)
    if decision.reason:
        run.emit(NoticeGiven("approval_denied", decision.reason, block.number))
    with suppress(Refused):  # the turn ended while the user was asked
        run.decide(block.number, granted=decision.granted, by=decision.by)


def print_hint(entry: Entry, locale: str) -> None:
    """Print the keys that stop a turn after a notice that needs attention, if there is a terminal."""
    if isinstance(entry.event, NoticeGiven) and needs_attention(entry.event) and sys.stderr.isatty():
        print(Words(locale).text("cli.steer"), file=sys.stderr, flush=True)


@asynccontextmanager
async def answer_now_key(on_key: Callable[[], object]) -> AsyncIterator[None]:
    """Make Ctrl-\\ on a terminal ask for the answer now; without one SIGQUIT keeps its default effect."""
    if not sys.stderr.isatty() or not hasattr(signal, "SIGQUIT"):
        yield
        return

    def answer_now() -> None:
        with suppress(Refused):  # the model already answers, or has not started
            on_key()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGQUIT, answer_now)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGQUIT)


@asynccontextmanager
async def _open_agent(options: argparse.Namespace) -> AsyncIterator[tuple[Agent, Callable[[str], bool]]]:
    """Open the agent with the options applied; yield it and which tools may run without asking."""
    if not options.agent:
        yield _with_options(bare_model(model_name(options.model)), options), approved_tools(options)
        return
    from thinkaloud.agents.config import SEARCH_SESSIONS, build_agent, local_tools
    from thinkaloud.agents.toolbox import Toolbox

    file = user_agents()
    names = file.tool_names(options.agent)
    if SEARCH_SESSIONS in names:
        raise Refused(
            f"The agent {options.agent!r} uses the tool {SEARCH_SESSIONS}, which works only in the gateway. "
            "Use the agent through `thinkaloud serve`, or remove the tool from its row."
        )
    allowed = approved_tools(options)
    async with Toolbox(local_tools(file), tuple(file.mcp.values())) as toolbox:
        tools_by_name = await asyncio.gather(*(toolbox.find([name]) for name in names))
        tools = dict(zip(names, tools_by_name, strict=True))
        agent = _with_options(build_agent(file, options.agent, tools), options)
        yield agent, allowed


def _with_options(agent: Agent, options: argparse.Namespace) -> Agent:
    """Return the agent with the options of the command line applied."""
    request = TurnRequest(
        **msgspec.structs.asdict(sampling_of(options)),
        model=options.model,
        thinking=options.thinking or None,
        on_thinking_unavailable=options.on_thinking_unavailable,
        system=options.system,
        max_tokens=options.max_tokens,
        output_schema=output_schema_of(options),
    )
    return apply_request(agent, request)


def _open_catalog(agent: Agent) -> AbstractAsyncContextManager[Catalog]:
    catalog = load_catalog()
    needed = any(names_builtin_model(member.model) for member in agent_tree(agent))
    return with_builtin_model(catalog) if needed else nullcontext(catalog)


def _cancelled_entries(turn: Turn) -> Iterator[Entry]:
    """Yield the entries that end a turn stopped by the user; nothing if it had not started."""
    if turn.seq < 0:
        return
    at_ms = monotonic_clock()()
    for seq, event in enumerate(events_to_end_turn(turn, TurnEnded(Finish.CANCELLED)), turn.seq + 1):
        yield Entry(seq, event, at_ms)

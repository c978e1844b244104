"""Asks one question and shows its turn: entries, approvals, keys, Ctrl-C and the exit code.

The turn runs in a gateway, which keeps it, or in this process only. Both are a `TurnBackend`, so that
everything here is the same for both. What a gateway runs is not lost when this command is killed.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from typing import Any

import msgspec

from thinkaloud.agents.prices import cost_of
from thinkaloud.agents.reply import BAD_OUTPUT
from thinkaloud.cli import EXIT_STOPPED
from thinkaloud.cli.approvals import ApprovalPrompter, approved_tools
from thinkaloud.cli.commands.read import turn_as_json
from thinkaloud.cli.gateway_client import GatewayClient, GatewayRefusal, open_backend, server_choice
from thinkaloud.cli.gateway_client.find import find_session
from thinkaloud.cli.output.console import EXIT_FAILED, EXIT_OK, plain_writer, print_error, read_bytes
from thinkaloud.cli.output.follow import TurnNotSaved, follow_printed
from thinkaloud.cli.output.live_output import LiveOutput
from thinkaloud.cli.settings import database_path, model_name
from thinkaloud.cli.unsaved import open_unsaved
from thinkaloud.client.files import user_message
from thinkaloud.client.json_schema import checked_schema
from thinkaloud.client.prepared_request import checked_sampling
from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    Entry,
    Event,
    NoticeGiven,
    Refused,
    Wording,
    reason_of,
)
from thinkaloud.core.canon.requests import RequestOptions, TurnRequest
from thinkaloud.core.transcript import Block, Ending, apply
from thinkaloud.core.view import Words
from thinkaloud.core.view.labels import needs_attention
from thinkaloud.extras import install_command, installed
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path
from thinkaloud.surfaces.chat.backend import INSIDE, BackendUnreachable, TurnBackend, TurnInfo
from thinkaloud.surfaces.plain import ShowThinking
from thinkaloud.surfaces.terminal import clean, clean_json

EXIT_CODES = {Ending.FAILED: EXIT_FAILED, Ending.CUT_OFF: EXIT_FAILED, Ending.CANCELLED: EXIT_STOPPED}
_STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_NOTE_FILE = "not-kept.noted"


def ask(prompt: str, options: argparse.Namespace) -> int:
    """Ask, show the turn and return the exit code. Ctrl-C ends it as cancelled and keeps what arrived."""
    output = AskOutput(options)
    try:
        asyncio.run(_ask(prompt, options, output))
    except (KeyboardInterrupt, asyncio.CancelledError):
        output.live.leave()
    except TurnNotSaved as error:
        output.finish()
        return print_error(error.wording, EXIT_FAILED)
    output.live.remember()
    return output.finish()


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
    approvals = ApprovalPrompter(approved_tools(options), options.lang)
    async with _started(_turn_request(prompt, options), options) as (backend, turn):
        output.provider = turn.provider
        if turn.session:
            output.ids = {"session": turn.session, "turn": turn.id}
        await _ShownTurn(backend, turn.id, output, approvals).show(options.lang)


def _turn_request(prompt: str, options: argparse.Namespace) -> TurnRequest:
    """Return the request. An option of the command line has the name of its field."""
    model = options.model
    if not (model or options.agent or options.server or options.session):
        model = model_name()
    chosen = {name: getattr(options, name, None) for name in RequestOptions.__struct_fields__}
    chosen["stop"] = tuple(options.stop)
    chosen["extra"] = dict(map(_extra_field, options.extra))
    chosen["output_schema"] = _output_schema_of(options)
    request = TurnRequest(
        **{name: value for name, value in chosen.items() if value not in (None, "")},
        messages=(user_message(prompt, options.files),),
        model=model,
        agent=options.agent,
    )
    checked_sampling(request)
    return request


@asynccontextmanager
async def _started(
    request: TurnRequest, options: argparse.Namespace
) -> AsyncIterator[tuple[TurnBackend, TurnInfo]]:
    """Start the turn where the options say, and yield this place and the turn."""
    if not _keeps_turns(options):
        async with open_unsaved(request) as started:
            yield started
        return
    async with open_backend(server_choice(options)) as client:
        try:
            turn = await _start(client, request, options.session)
        except GatewayRefusal as error:
            raise _with_place(error, client) from None
        yield client, turn


async def _start(client: GatewayClient, request: TurnRequest, session_name: str) -> TurnInfo:
    if session_name:
        session = await find_session(client, session_name)
        return await client.start(session.id, request)
    session = await client.create_session(model=request.model, agent=request.agent)
    try:
        return await client.start(session.id, request)
    except Refused:
        await client.delete_session(session.id)  # nothing was asked in it
        raise


def _keeps_turns(options: argparse.Namespace) -> bool:
    """Return whether the turn is kept. Say once per home why it is not, if it could have been."""
    if options.no_save and options.server:
        raise Refused(
            "--no-save asks from this process, and the gateway of --server keeps its turns. Use one of them."
        )
    if options.no_save:
        return False
    if options.server or installed("server") or lock_holder(lock_path(database_path())) is not None:
        return True
    install = install_command("server")
    if options.session:
        raise Refused(
            "Sessions need the extra [server], which is not installed. Run: {install}", install=install
        )
    note = database_path().with_name(_NOTE_FILE)
    if not note.exists():
        with suppress(OSError):  # a home that cannot be written gets the note each time
            note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            note.touch()
        print(
            f"thinkaloud: Turns are not kept, because the extra [server] is not installed. Run: {install} "
            "This is said only once.",
            file=sys.stderr,
        )
    return False


def _output_schema_of(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the JSON Schema that the answer must match, if there is one."""
    if not options.schema:
        return None
    data = read_bytes(options.schema, Wording("a JSON Schema"))
    try:
        schema = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            "Invalid value for --schema: {schema} is not a JSON Schema: {reason}.",
            schema=options.schema,
            reason=reason_of(error),
        ) from None
    checked_schema(schema)
    return schema


def _extra_field(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    try:
        if name and equals:
            return name, msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError):
        pass
    raise Refused(
        "Invalid value for --extra: {text}. Write NAME=JSON, for example top_k=40.", text=repr(text)
    )


class _ShownTurn:
    """A turn on the terminal: its entries, and what the user does while they arrive."""

    def __init__(
        self, backend: TurnBackend, turn: str, output: AskOutput, approvals: ApprovalPrompter
    ) -> None:
        self._backend = backend
        self._turn = turn
        self._output = output
        self._approvals = approvals
        self._asking = asyncio.Lock()
        self._requests: set[asyncio.Task[None]] = set()
        self._questions: dict[int, asyncio.Task[None]] = {}
        """The questions to the user, by the block of the call."""

    async def show(self, locale: str) -> None:
        """Show the turn until it has ended."""
        output, backend, turn = self._output, self._backend, self._turn
        async with output.running(), _answer_now_key(lambda: self._send(backend.answer_now(turn))):
            with interrupts(self._cancel):
                async with aclosing(follow_printed(backend, turn, output.live.write_notice)) as entries:
                    async for entry in entries:
                        output.feed(entry)
                        _print_hint(entry, locale)
                        self._ask_approval(entry.event)
        for request in self._requests:
            request.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)

    def _ask_approval(self, event: Event) -> None:
        """Ask the user, or withdraw the question because it was answered elsewhere."""
        if isinstance(event, ApprovalAsked):
            question = self._decide(self._output.turn.blocks[event.block])
            self._questions[event.block] = self._send(question)
        elif isinstance(event, ApprovalSettled) and event.block in self._questions:
            self._questions.pop(event.block).cancel()

    def _cancel(self) -> None:
        for question in self._questions.values():
            question.cancel()
        self._send(self._backend.cancel(self._turn))

    def _send(self, request: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Send a request while entries arrive. It fails if the turn ended first or the connection broke."""

        async def send() -> None:
            with suppress(Refused, BackendUnreachable):
                await request

        task = asyncio.create_task(send())
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        return task

    async def _decide(self, block: Block) -> None:
        async with self._asking:
            if not block.awaiting_result:
                return  # the turn was stopped before the question
            with self._output.live.question():
                decision = await self._approvals.decide(block)
        if decision.reason:
            print(clean(decision.reason), file=sys.stderr, flush=True)
        await self._backend.approve(self._turn, block.number, granted=decision.granted)


def _print_hint(entry: Entry, locale: str) -> None:
    """Print the keys that stop a turn after a notice that needs attention, if there is a terminal."""
    if isinstance(entry.event, NoticeGiven) and needs_attention(entry.event) and sys.stderr.isatty():
        print(Words(locale).text("cli.steer"), file=sys.stderr, flush=True)


@asynccontextmanager
async def _answer_now_key(on_key: Callable[[], object]) -> AsyncIterator[None]:
    """Make Ctrl-\\ on a terminal ask for the answer now; without one SIGQUIT keeps its default effect."""
    if not sys.stderr.isatty() or not hasattr(signal, "SIGQUIT"):
        yield
        return

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGQUIT, on_key)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGQUIT)


@contextmanager
def interrupts(on_interrupt: Callable[[], None]) -> Iterator[None]:
    """Make the first Ctrl-C cancel the turn; the next one ends the command.

    A closed terminal and a request to end count as Ctrl-C: turns of other commands may run in this process.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    pressed = False

    def press() -> None:
        nonlocal pressed
        if pressed:
            task.cancel()
        pressed = True
        on_interrupt()

    signals = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in signals:
        loop.add_signal_handler(number, press)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _with_place(error: GatewayRefusal, client: GatewayClient) -> Refused:
    """Return the refusal, with the place whose keys were looked for if that is another process."""
    if error.code != "key_missing" or client.address == INSIDE:
        return error
    return Refused(
        "{reason} The gateway at {address} answers, with its own environment: set the key there, or "
        "add --no-save to ask from here.",
        reason=reason_of(error),
        address=client.address,
    )

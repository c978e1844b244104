"""`thinkaloud ask` in a gateway, which keeps the turn in a session.

The gateway runs the turn, so that nothing that was shown is lost when this command is killed.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING

from thinkaloud.cli.approvals import ApprovalPrompter, approved_tools
from thinkaloud.cli.gateway_client import (
    GatewayClient,
    GatewayRefusal,
    add_server_options,
    open_backend,
    server_choice,
)
from thinkaloud.cli.gateway_client.attach import INSIDE
from thinkaloud.cli.gateway_client.client import TurnInfo
from thinkaloud.cli.gateway_client.find import LATEST, find_session
from thinkaloud.cli.output.follow import follow_printed
from thinkaloud.cli.request_options import output_schema_of, sampling_of
from thinkaloud.cli.settings import database_path, model_name
from thinkaloud.client.files import user_message
from thinkaloud.core.canon import ApprovalAsked, ApprovalSettled, Event, Refused
from thinkaloud.core.transcript import Block
from thinkaloud.extras import install_command, installed
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path
from thinkaloud.surfaces.chat.backend import BackendUnreachable, Question
from thinkaloud.surfaces.terminal import clean

if TYPE_CHECKING:
    from thinkaloud.cli.commands.ask import AskOutput

_STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_NOTE_FILE = "not-kept.noted"


def add_stored_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose where the turn is kept."""
    sessions = parser.add_mutually_exclusive_group()
    sessions.add_argument(
        "-c",
        "--continue",
        dest="session",
        action="store_const",
        const=LATEST,
        default="",
        help="continue the session that was used last",
    )
    sessions.add_argument(
        "-s",
        "--session",
        dest="session",
        type=_session_name,
        metavar="SESSION",
        help="continue this session: its id, or the beginning of one",
    )
    sessions.add_argument(
        "--no-save", action="store_true", help="do not keep the turn: no gateway, no session"
    )
    add_server_options(parser)


def _session_name(text: str) -> str:
    """Parse the name of a session, for argparse. An empty one, of an unset variable, names none."""
    if text.strip():
        return text
    raise argparse.ArgumentTypeError("the name of the session is empty. Leave the option out for a new one")


def keeps_turns(options: argparse.Namespace) -> bool:
    """Return whether the turn is kept. Say once per home why it is not, if it could have been."""
    if options.no_save:
        return False
    if options.server or installed("server") or lock_holder(lock_path(database_path())) is not None:
        return True
    install = install_command("server")
    if options.session:
        raise Refused(f"Sessions need the extra [server], which is not installed. Run: {install}")
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


async def ask_stored(prompt: str, options: argparse.Namespace, output: "AskOutput") -> None:
    """Ask in a session and show the turn while it runs. Ctrl-C cancels it."""
    approved = approved_tools(options)
    async with open_backend(server_choice(options)) as client:
        try:
            info = await _start(client, prompt, options)
        except GatewayRefusal as error:
            raise _with_place(error, client) from None
        output.provider = info.provider
        output.ids = {"session": info.session, "turn": info.id}
        approvals = ApprovalPrompter(approved, options.lang)
        await _ShownTurn(client, info.id, output, approvals).show(options.lang)


async def _start(client: GatewayClient, prompt: str, options: argparse.Namespace) -> TurnInfo:
    message = user_message(prompt, options.files)
    question = Question(
        prompt=message.text,
        images=message.images,
        files=message.files,
        model=options.model,
        agent=options.agent,
        thinking=options.thinking,
        system=options.system,
        max_tokens=options.max_tokens or 0,
        thinking_optional=options.on_thinking_unavailable == "warn",
        sampling=sampling_of(options),
        output_schema=output_schema_of(options),
    )
    if options.session:
        session = await find_session(client, options.session)
        return await client.start(session.id, question)
    model = options.model or ("" if options.agent or options.server else model_name())
    session = await client.create_session(model=model, agent=options.agent)
    try:
        return await client.start(session.id, question)
    except Refused:
        await client.delete_session(session.id)  # nothing was asked in it
        raise


class _ShownTurn:
    """A turn on the terminal: its entries, and what the user does while they arrive."""

    def __init__(
        self, client: GatewayClient, turn: str, output: "AskOutput", approvals: ApprovalPrompter
    ) -> None:
        self._client = client
        self._turn = turn
        self._output = output
        self._approvals = approvals
        self._asking = asyncio.Lock()
        self._requests: set[asyncio.Task[None]] = set()
        self._questions: dict[int, asyncio.Task[None]] = {}
        """The questions to the user, by the block of the call."""

    async def show(self, locale: str) -> None:
        """Show the turn until it has ended."""
        from thinkaloud.cli.commands.ask import answer_now_key, print_hint

        client, turn = self._client, self._turn
        async with self._output.running(), answer_now_key(lambda: self._send(client.answer_now(turn))):
            with _interrupts(self._cancel):
                async with aclosing(follow_printed(client, turn, self._output.live.write_notice)) as entries:
                    async for entry in entries:
                        self._output.feed(entry)
                        print_hint(entry, locale)
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
        self._send(self._client.cancel(self._turn))

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
        await self._client.approve(self._turn, block.number, granted=decision.granted)


@contextmanager
def _interrupts(on_interrupt: Callable[[], None]) -> Iterator[None]:
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
        f"{error} The gateway at {client.address} answers, with its own environment: set the key there, "
        "or add --no-save to ask from here."
    )

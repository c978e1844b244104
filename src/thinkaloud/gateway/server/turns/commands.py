"""Commands for running turns. They are run here, or by the gateway that runs the turn."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.server.http.errors import Conflict, ServiceUnavailable
from thinkaloud.gateway.server.turns.registry import TURN_ENDED
from thinkaloud.gateway.store.engine.coordination import Wakeup
from thinkaloud.gateway.store.engine.database import FailureLog, NotSaved
from thinkaloud.gateway.store.log import commands
from thinkaloud.gateway.store.log.commands import CommandKind, CommandRow, TurnCommand
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.rows import TurnRow

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

logger = logging.getLogger(__name__)

_POLL_S = 1.0
"""How often commands are looked for even if no notification comes."""
_OUTCOME_TIMEOUT_S = 5.0


class CommandRouter:
    """Sends commands to the gateway that runs a turn, and runs those that other gateways send."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._due = asyncio.Event()
        self._in_progress: set[int] = set()
        self._waiting_for: Counter[int] = Counter()
        self._outcome = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self, wakeup: Wakeup) -> None:
        """Look for commands and outcomes of these turns."""
        woken = wakeup.turns
        if woken is None or not woken.isdisjoint(self._gateway.turns.running_epochs):
            self._due.set()
        if woken is None or not woken.isdisjoint(self._waiting_for):
            self._outcome.set()

    async def run_command(self, turn: TurnRow, command: TurnCommand) -> None:
        """Run a command, wherever the turn runs; refuse it if the turn has ended."""
        if self._gateway.turns.runs_here(turn):
            await self._gateway.turns.run_command(turn.key, command)
        elif self._gateway.database.exclusive:
            raise Conflict(wording=TURN_ENDED)
        else:
            await self._send(turn, command)

    async def _send(self, turn: TurnRow, command: TurnCommand) -> None:
        database = self._gateway.database
        self._waiting_for[turn.key] += 1
        try:
            key = await database.write(partial(commands.send, turn=turn.key, command=command))
            error = await self._outcome_or_withdraw(turn, key)
        finally:
            self._waiting_for[turn.key] -= 1
            if not self._waiting_for[turn.key]:
                del self._waiting_for[turn.key]
        if error:
            raise Refused(wording=Wording.received(error, None))

    async def _outcome_or_withdraw(self, turn: TurnRow, key: int) -> str:
        """Return the error of a command, empty if it was run. One that nobody runs is withdrawn."""
        try:
            async with asyncio.timeout(_OUTCOME_TIMEOUT_S):
                return await self._wait_for_outcome(turn, key)
        except (TimeoutError, Conflict) as unanswered:
            await self._gateway.database.write(partial(commands.withdraw, key=key))
            if isinstance(unanswered, Conflict):
                raise
            raise ServiceUnavailable(
                "The gateway that runs this turn does not answer. If it has failed, the turn is ended "
                "within a minute. Read the turn to see its state, then try again."
            ) from None

    async def _wait_for_outcome(self, turn: TurnRow, key: int) -> str:
        database = self._gateway.database
        while (error := await database.write(partial(commands.take_outcome, key=key))) is None:
            if not await database.read(partial(turns.is_running, key=turn.key)):
                raise Conflict(wording=TURN_ENDED)
            self._outcome.clear()
            await _wait(self._outcome, _POLL_S / 2)
        return error

    async def run(self) -> None:
        """Run the commands of other gateways until cancelled."""
        failures = FailureLog(logger, "reading the commands of other gateways")
        while True:
            await _wait(self._due, _POLL_S)
            self._due.clear()
            running = tuple(self._gateway.turns.running_epochs)
            if not running:
                continue
            waiting: Sequence[CommandRow] = ()
            with failures.attempt():  # meanwhile, whoever sent one is told that nobody answers
                waiting = await self._gateway.database.read(partial(commands.waiting_for, turns=running))
            for command in waiting:
                if command.key not in self._in_progress:
                    self._start(command)

    def _start(self, command: CommandRow) -> None:
        self._in_progress.add(command.key)
        task = asyncio.create_task(self._run_and_settle(command), name=f"thinkaloud-command-{command.key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_and_settle(self, command: CommandRow) -> None:
        error = ""
        try:
            await self._gateway.turns.run_command(command.turn, command)
        except Refused as refused:
            error = str(refused)
        try:
            await self._gateway.database.write(partial(commands.settle, command=command, error=error))
        except NotSaved as not_saved:
            logger.warning("the outcome of a command could not be stored: %s", not_saved)
        finally:
            self._in_progress.discard(command.key)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or for this time: a notification may be lost."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


CANCEL = TurnCommand(kind=CommandKind.CANCEL)
ANSWER_NOW = TurnCommand(kind=CommandKind.ANSWER_NOW)

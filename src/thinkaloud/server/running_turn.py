"""One live turn of the gateway: a run of its agent, written to the log, that comes to exactly one end.

It belongs to nobody who reads it and goes on when they leave. What ends it from outside (a cancel, a limit, a
stop of the gateway) stops the run first, and then says so in the log. A turn that waits for a person is not
ended by a stop: it is left as it stands, and goes on with the next start.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.agents.run import Run, RunContext, waits_for_approval
from thinkaloud.agents.spec import Agent
from thinkaloud.canon import (
    BlockGrew,
    Entry,
    Kind,
    LimitExceeded,
    ProviderFault,
    Refused,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.client import monotonic_clock
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.context import Step
from thinkaloud.server.tracing import turn_span
from thinkaloud.store.database import NotSaved
from thinkaloud.store.finish import state_of
from thinkaloud.store.log import EventLog
from thinkaloud.store.rows import TurnRow, TurnState
from thinkaloud.transcript import Turn, apply, events_to_end_turn

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_entry_decoder = msgspec.json.Decoder(Entry)


class TurnPlan(msgspec.Struct, frozen=True):
    """What a turn is to do: who answers, to what, and with which first request; or what it goes on from."""

    agent: Agent
    steps: tuple[Step, ...]
    first_request: PreparedRequest
    entries: tuple[Entry, ...] = ()


class RunningTurn:
    """One live turn, from the request to the rows that stay of it."""

    def __init__(self, gateway: "Gateway", row: TurnRow, plan: TurnPlan) -> None:
        self.row = row
        self._gateway = gateway
        self._limits = gateway.settings.limits
        self._route = plan.first_request.route
        self._writer = gateway.log.writer(row.key, row.epoch, len(plan.entries) - 1)
        self._clock = monotonic_clock()
        self._started_ms = self._clock()
        context = RunContext(catalog=gateway.catalog, client=gateway.client, clock=self._clock)
        self._run = Run(
            plan.agent,
            plan.steps,
            context=context,
            first_request=None if plan.entries else plan.first_request,
            turn=_fold_entries(plan.entries),
        )
        self._chars_left = self._limits.said_chars_per_turn
        self._reasoning_chars: dict[int, int] = {}
        self._end: TurnEnded | TurnFailed | None = None
        self._error: Exception | None = None
        self._state = TurnState.INTERRUPTED
        self._suspended = False
        self._run_task = asyncio.create_task(self._run.execute(self._write), name=f"thinkaloud-run-{row.id}")
        self.task = asyncio.create_task(self._supervise(), name=f"thinkaloud-turn-{row.id}")

    @property
    def awaits_approval(self) -> bool:
        """Whether it waits for a person to let a call run."""
        return waits_for_approval(self._run.turn)

    def end(self, end: TurnEnded | TurnFailed) -> None:
        """Bring the turn to this end, unless it has one."""
        if self._end is None and self._run.turn.live:
            self._end = end
            self._run_task.cancel()

    def suspend(self) -> None:
        """Let a turn that waits go, without an end."""
        self._suspended = True
        self._run_task.cancel()

    def decide(self, block: int, *, granted: bool, by: str) -> None:
        """Let a call run that waits for it, or not."""
        self._run.decide(block, granted=granted, by=by)

    def answer_now(self) -> None:
        """Stop thinking, and answer with what there is."""
        self._run.answer_now()

    async def _supervise(self) -> None:
        self._gateway.metrics.turn_started()
        try:
            with turn_span(model=self._route.model_id, provider=self._route.provider.name) as span:
                await asyncio.wait((self._run_task,))
                if self._suspended:
                    self._state = TurnState.RUNNING
                else:
                    await self._write_end()
                span.record_end(self._run.turn)
            await (self._writer.release() if self._suspended else self._writer.close(self._run.turn))
        except Exception:
            logger.exception("what turn %s came to could not be kept", self.row.id)
        finally:
            self._gateway.metrics.turn_ended(self._state)

    def _write(self, entry: Entry) -> None:
        """Write an entry of the run. A limit or a full disk stops the run and ends its log there."""
        if self._error is not None:
            return
        event = entry.event
        try:
            self._writer.append(entry)
            if type(event) is BlockGrew or type(event) is ToolFinished:
                self._check_length(event)
        except (NotSaved, LimitExceeded) as error:
            self._error = error
        if not self._run.turn.live:
            self._state = state_of(event)
        if self._error is not None or self._writer.taken_over:
            self._run_task.cancel()

    def _check_length(self, event: BlockGrew | ToolFinished) -> None:
        limits = self._limits
        size = len(event.text if isinstance(event, BlockGrew) else event.result)
        if isinstance(event, BlockGrew) and self._run.turn.blocks[event.block].kind is Kind.REASONING:
            reasoning_chars = self._reasoning_chars[event.block] = (
                self._reasoning_chars.get(event.block, 0) + size
            )
            if reasoning_chars > limits.reasoning_chars_per_block:
                raise _length_exceeded(
                    "One thought", "reasoning_chars_per_block", limits.reasoning_chars_per_block
                )
        self._chars_left -= size
        if self._chars_left < 0:
            raise _length_exceeded("The turn", "said_chars_per_turn", limits.said_chars_per_turn)

    async def _write_end(self) -> None:
        """Write the one end, where the provider has not told one."""
        error = self._error or (None if self._run_task.cancelled() else self._run_task.exception())
        if self._error is not None:
            # The run went on for a moment after its log had ended: the turn goes on from the log.
            self._error = None
            await self._writer.flush()
            self._run.turn = await visible_turn(self._gateway.log, self.row.key)
        turn = self._run.turn
        if self._writer.taken_over or not turn.live:
            return
        events = events_to_end_turn(turn, self._end or self._failure(error))
        if turn.seq < 0:
            turn_started = TurnStarted(self._route.provider.dialect, self._route.model_id)
            self._run.append(turn_started, self._started_ms)
        for event in events:
            self._run.append(event)

    def _failure(self, error: BaseException | None) -> TurnFailed:
        match error:
            case ProviderFault():
                return TurnFailed(error.code, str(error))
            case Refused():
                return TurnFailed("refused", str(error))
            case NotSaved():
                return TurnFailed(
                    "not_saved",
                    "Nothing could be saved for so long that the memory for it was full, so the turn was "
                    "ended. What is here was said; make room on the disk, then ask again.",
                )
        logger.error("turn %s failed by a mistake of the gateway", self.row.id, exc_info=error)
        return TurnFailed(
            "internal",
            f"The gateway made a mistake ({type(error).__name__}), and the turn could not go on. "
            f"What was said stands; ask again. Its log says more under {self.row.id}.",
        )


async def entries_so_far(log: EventLog, turn: int) -> tuple[Entry, ...]:
    """The entries of a turn as far as readers can see them."""
    lines: list[bytes] = []
    while True:
        span = await log.read(turn, len(lines) - 1)
        lines += span.lines
        if span.ended or not span.lines:
            return await asyncio.to_thread(_decode_entries, lines)


def _decode_entries(lines: list[bytes]) -> tuple[Entry, ...]:
    return tuple(_entry_decoder.decode(line) for line in lines)


async def visible_turn(log: EventLog, turn: int) -> Turn:
    """A turn as far as readers can see it, from its log."""
    return await asyncio.to_thread(_fold_entries, await entries_so_far(log, turn))


def _fold_entries(entries: tuple[Entry, ...]) -> Turn:
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn


def _length_exceeded(subject: str, limit_name: str, max_chars: int) -> LimitExceeded:
    return LimitExceeded(
        f"{subject} is longer than the {max_chars:,} characters that are taken (limit {limit_name}), so the connection "
        "was closed. What was said until then stands."
    )

"""A running turn: runs its agent, writes the events to the log, and ends exactly once.

The turn continues when its readers leave. An end from outside (a cancel, a limit, a stop of the gateway)
first stops the run and then writes the final event. A turn that waits for approval is not ended when the
gateway stops: it is suspended and resumed at the next start.
"""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.agents.loop import wait_until_done
from thinkaloud.agents.reply import failure_of
from thinkaloud.agents.run import Run, RunContext, waits_for_approval
from thinkaloud.agents.spec import Agent
from thinkaloud.client import monotonic_clock
from thinkaloud.client.prepared_request import PreparedRequest
from thinkaloud.core.canon import (
    BlockGrew,
    BlockStarted,
    Entry,
    Kind,
    LimitExceeded,
    ProviderFault,
    Refused,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Wording,
)
from thinkaloud.core.context import Step
from thinkaloud.core.export.spans import SpanOptions, TracedTurn
from thinkaloud.core.transcript import Turn, events_to_end_turn, fold_entries
from thinkaloud.gateway.server.streams.entry_feed import EntryFeed
from thinkaloud.gateway.server.turns.tracing import TurnSpan, read_stored, turn_span
from thinkaloud.gateway.store.engine.database import NotSaved, Query
from thinkaloud.gateway.store.log.archive import decode_entries
from thinkaloud.gateway.store.log.event_log import EventLog
from thinkaloud.gateway.store.log.finish import state_of
from thinkaloud.gateway.store.log.live import ENDS
from thinkaloud.gateway.store.rows import Owner, TurnRow, TurnState

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

logger = logging.getLogger(__name__)


class TurnPlan(msgspec.Struct, frozen=True):
    """The agent, conversation and first request of a turn, and its earlier entries if it is resumed."""

    agent: Agent
    steps: tuple[Step, ...]
    first_request: PreparedRequest
    entries: tuple[Entry, ...] = ()
    feed: EntryFeed | None = None
    """Gets the entries as they happen."""
    save_start: Query[object] | None = None
    """Saves the turn itself, if it is not saved yet."""


class RunningTurn:
    """One turn, from its first request until its rows are saved."""

    def __init__(self, gateway: "Gateway", row: TurnRow, owner: Owner, plan: TurnPlan) -> None:
        self.row = row
        self.owner = owner
        self.saved_state: TurnState | None = None
        """The final state, once the turn is saved."""
        self._gateway = gateway
        self._limits = gateway.settings.limits
        self._route = plan.first_request.route
        self._agent_name = plan.agent.name
        self._writer = gateway.log.writer(
            row.key, row.epoch, len(plan.entries) - 1, row.id, start=plan.save_start
        )
        self._clock = monotonic_clock()
        self._started_ms = self._clock()
        self._feed = plan.feed
        if self._feed is not None:
            self._feed.with_bytes = self._feed.dialect == self._route.provider.dialect
        context = RunContext(
            catalog=gateway.catalog,
            client=gateway.client,
            clock=self._clock,
            byte_sink=self._pass_on if self._feed is not None and self._feed.with_bytes else None,
        )
        self._run = Run(
            plan.agent,
            plan.steps,
            context=context,
            first_request=None if plan.entries else plan.first_request,
            turn=fold_entries(plan.entries),
        )
        self._chars_left = self._limits.text_chars_per_turn
        self._image_chars_left = self._limits.image_chars_per_turn
        self._reasoning_chars: dict[int, int] = {}
        self._end: TurnEnded | TurnFailed | None = None
        self._error: Exception | None = None
        self._accepted = True
        """Whether the last entry was accepted."""
        self._state = TurnState.INTERRUPTED
        self._suspended = False
        self._run_task = asyncio.create_task(self._run.execute(self._write), name=f"thinkaloud-run-{row.id}")
        self.task = asyncio.create_task(self._supervise(), name=f"thinkaloud-turn-{row.id}")

    @property
    def awaits_approval(self) -> bool:
        """Whether a tool call waits for approval."""
        return waits_for_approval(self._run.turn)

    def end(self, end: TurnEnded | TurnFailed) -> None:
        """End the turn with this event, unless it has ended."""
        if self._end is None and self._run.turn.live:
            self._end = end
            self._run_task.cancel()

    def abandon(self) -> None:
        """Stop the turn, because another gateway writes it now. Its client is told nothing more of it."""
        if self._feed is not None:
            self._feed.finish(None)
        self._run_task.cancel()

    def suspend(self) -> None:
        """Stop the turn without ending it, so that the next process can resume it."""
        self._suspended = True
        self._run_task.cancel()

    def decide(self, block: int, *, granted: bool, by: str) -> None:
        """Approve or deny a tool call that waits for approval."""
        self._run.decide(block, granted=granted, by=by)

    def answer_now(self) -> None:
        """Stop the thinking and make the model answer now."""
        self._run.answer_now()

    async def _supervise(self) -> None:
        self._gateway.metrics.turn_started()
        try:
            route, options = self._route, self._gateway.settings.trace
            traced = TracedTurn(
                entries=(),
                model=route.model_id,
                provider=route.provider.name,
                agent_id=self.row.agent,
                agent_name=self._agent_name,
            )
            with turn_span(traced, options) as span:
                await wait_until_done(self._run_task)
                if self._suspended:
                    self._state = TurnState.RUNNING
                else:
                    await self._write_end()
                    await self._record_trace(span)
            if self._suspended:
                await self._writer.release()
            elif await self._writer.close(self._run.turn) is not None:
                self.saved_state = self._state
                if self._state is TurnState.DONE:
                    self._gateway.titles.start(self.row, self.owner, self._run.turn.answer)
        except Exception:
            logger.exception("the end of turn %s could not be saved", self.row.id)
        finally:
            if self._feed is not None:
                self._feed.finish(self.saved_state)
            self._gateway.metrics.turn_ended(self._state)

    async def _record_trace(self, span: TurnSpan) -> None:
        """Complete the spans. A turn is saved although its spans are not."""
        try:
            await span.record_end(self._read_trace)
        except Exception:
            logger.exception("the spans of turn %s could not be recorded", self.row.id)

    async def _read_trace(self, traced: TracedTurn, options: SpanOptions) -> tuple[TracedTurn, SpanOptions]:
        await self._writer.flush()
        entries = await entries_so_far(self._gateway.log, self.row.key)
        query = partial(read_stored, row=self.row, owner=self.owner, traced=traced, options=options)
        traced, options = await self._gateway.database.read(query)
        return msgspec.structs.replace(traced, entries=entries), options

    def _write(self, entry: Entry) -> None:
        """Write an entry to the log. A limit or a full disk stops the run; later entries are dropped."""
        if self._error is not None:
            return
        event = entry.event
        try:
            self._accepted = self._writer.append(entry)
            if self._feed is not None and self._accepted:
                self._feed.append(entry)
            if type(event) is BlockGrew or type(event) is ToolFinished:
                self._check_length(event)
            elif type(event) is BlockStarted and event.block >= self._limits.blocks_per_turn:
                limit = f"{self._limits.blocks_per_turn:,}"
                excess = Wording("The turn has more than {limit} blocks", limit=limit)
                raise _limit_exceeded(excess, "blocks_per_turn")
        except (NotSaved, LimitExceeded) as error:
            self._error = error
        if type(event) in ENDS:
            self._state = state_of(event)
        if self._error is not None or not self._accepted:
            self._accepted = False
            self._run_task.cancel()

    def _pass_on(self, data: bytes, *, ended: bool) -> None:
        """Pass the provider's bytes to the response, unless their entries were not accepted."""
        if self._feed is not None and self._accepted:
            self._feed.append_bytes(data, ended=ended)

    def _check_length(self, event: BlockGrew | ToolFinished) -> None:
        limits = self._limits
        size = len(event.text) if isinstance(event, BlockGrew) else len(event.result)
        if type(event) is BlockGrew and self._run.turn.blocks[event.block].kind is Kind.REASONING:
            reasoning_chars = self._reasoning_chars.get(event.block, 0) + size
            self._reasoning_chars[event.block] = reasoning_chars
            if reasoning_chars > limits.reasoning_chars_per_block:
                limit = f"{limits.reasoning_chars_per_block:,}"
                excess = Wording("One block of reasoning is longer than {limit} characters", limit=limit)
                raise _limit_exceeded(excess, "reasoning_chars_per_block")
        self._chars_left -= size
        if self._chars_left < 0:
            limit = f"{limits.text_chars_per_turn:,}"
            excess = Wording("The turn is longer than {limit} characters", limit=limit)
            raise _limit_exceeded(excess, "text_chars_per_turn")
        if type(event) is ToolFinished:
            self._image_chars_left -= sum(len(image.data) for image in event.images)
            if self._image_chars_left < 0:
                limit = f"{limits.image_chars_per_turn:,}"
                excess = Wording("The images of the turn are larger than {limit} characters", limit=limit)
                raise _limit_exceeded(excess, "image_chars_per_turn")

    async def _write_end(self) -> None:
        """Write the final event, unless the run has written one."""
        error = self._error or (None if self._run_task.cancelled() else self._run_task.exception())
        if self._error is not None:
            # The run may have produced entries after the log stopped accepting them, so its turn is ahead.
            # Readers have seen the log, so the end must follow the turn as the log has it.
            self._error = None
            await self._writer.flush()
            self._run.turn = await visible_turn(self._gateway.log, self.row.key)
        turn = self._run.turn
        if self._writer.taken_over or not turn.live:
            return
        if turn.seq < 0:
            turn_started = TurnStarted(self._route.provider.dialect, self._route.model_id)
            self._run.append(turn_started, self._started_ms)
        for event in events_to_end_turn(turn, self._end or self._failure(error)):
            self._run.append(event)

    def _failure(self, error: BaseException | None) -> TurnFailed:
        match error:
            case ProviderFault() | Refused():
                return failure_of(error)
            case NotSaved():
                return TurnFailed.of(
                    "not_saved",
                    Wording(
                        "The disk accepted no writes until the memory for unsaved entries was full, "
                        "so the turn was ended. The text so far is kept. Free some disk space, then "
                        "ask again."
                    ),
                )
        logger.error("turn %s failed with an internal error", self.row.id, exc_info=error)
        return TurnFailed.of(
            "internal",
            Wording(
                "Internal error of the gateway ({problem}); the turn was ended. The text so far is "
                "kept. Ask again, and look for {id} in the gateway's log.",
                problem=type(error).__name__,
                id=self.row.id,
            ),
        )


async def entries_so_far(log: EventLog, turn: int) -> tuple[Entry, ...]:
    """Return the entries of a turn that readers can see."""
    lines: list[bytes] = []
    while True:
        span = await log.read(turn, len(lines) - 1)
        lines += span.lines
        if span.ended or not span.lines:
            return await asyncio.to_thread(_decode_entries, lines)


def _decode_entries(lines: list[bytes]) -> tuple[Entry, ...]:
    return tuple(decode_entries(lines))


async def visible_turn(log: EventLog, turn: int) -> Turn:
    """Return a turn folded from the entries that readers can see."""
    return await asyncio.to_thread(fold_entries, await entries_so_far(log, turn))


def _limit_exceeded(excess: Wording, limit_name: str) -> LimitExceeded:
    return LimitExceeded(
        "{excess} (limit {limit_name}), so the connection to the provider was closed. The text so far is "
        "kept.",
        excess=excess,
        limit_name=limit_name,
    )

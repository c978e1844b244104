"""Live turns: begun once for each request, steered by whoever owns them, and ended when the gateway stops."""

import asyncio
import hashlib
import logging
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Finish, ThinkaloudError, TurnEnded, TurnFailed
from thinkaloud.canon.requests import ThinkingLevel
from thinkaloud.context import ContextMode
from thinkaloud.server.errors import Conflict, ServiceUnavailable, TooManyRequests
from thinkaloud.server.prepare import load_context, prepare_request, request_messages, resolve_agent
from thinkaloud.server.running_turn import RunningTurn, TurnPlan, entries_so_far
from thinkaloud.server.schemas import NewTurn
from thinkaloud.store import ids, turns
from thinkaloud.store.database import NotSaved
from thinkaloud.store.finish import INTERRUPTED
from thinkaloud.store.recovery import LEASE_MS, end_waiting, renew_leases, take_over
from thinkaloud.store.rows import Session, TurnRow
from thinkaloud.store.turns import StartedTurn, TurnRequest

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_encode_json = msgspec.json.Encoder().encode

CANCELLED = TurnEnded(Finish.CANCELLED)
STOPPED = TurnFailed(
    INTERRUPTED,
    "The gateway was stopped before this turn was over. What was said until then is kept; ask again.",
)
_SAVE_TIMEOUT_S = 5.0
"""So long an ended turn may take to be kept; where the disk takes nothing, the next start does it."""


class TurnOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked of a turn beside its messages, kept for whoever goes on with it."""

    thinking: ThinkingLevel | int | None = None
    max_tokens: int | None = None
    context_mode: ContextMode | None = None


class TurnRegistry:
    """All turns that this gateway runs."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._writer_id = ids.new("gtw")
        self._running_turns: dict[int, RunningTurn] = {}
        self._session_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @property
    def running_count(self) -> int:
        """How many turns run."""
        return len(self._running_turns)

    async def start(self, session: Session, body: NewTurn, idempotency_key: str = "") -> StartedTurn:
        """Begin a turn, or find the one that this very request has begun before.

        One at a time for each session, so that what is sent to the model is what was said before it.
        """
        gateway, digest = self._gateway, hashlib.sha256(_encode_sorted(body)).digest()
        messages = request_messages(body, gateway.settings.limits)
        async with self._session_locks.setdefault(session.key, asyncio.Lock()):
            context = await gateway.database.read(
                lambda conn: (
                    turns.find_repeated(conn, session, idempotency_key, digest)
                    or load_context(conn, session, body.agent)
                )
            )
            if isinstance(context, TurnRow):
                return StartedTurn(context, new=False)
            if not gateway.ready:
                raise ServiceUnavailable("The gateway is stopping and begins no turn. Ask again in a moment.")
            agent = await resolve_agent(gateway, body, context)
            steps = (*context.steps, *messages)
            prepared_request = await prepare_request(agent, steps, len(context.steps), gateway.catalog)
            turn_request = TurnRequest(
                messages=messages,
                model=agent.model,
                agent=context.agent,
                provider=prepared_request.route.provider.name,
                prefix=prepared_request.prefix,
                idempotency_key=idempotency_key,
                request_hash=digest,
                wishes=_encode_json(TurnOptions(body.thinking, body.max_tokens, body.context_mode)).decode(),
            )
            started = await gateway.database.write(
                lambda conn: self._save_new_turn(conn, session, turn_request)
            )
            if started.new:
                self._start_running(started.turn, TurnPlan(agent, steps, prepared_request))
        return started

    async def resume(self, turn_id: str) -> None:
        """Take up a turn that was left waiting for a person; one that cannot go on is ended and says why."""
        gateway, now_ms = self._gateway, self._gateway.now_ms()
        claimed = await gateway.database.write(lambda conn: take_over(conn, turn_id, self._writer_id, now_ms))
        if claimed is None:
            return
        row, session = claimed
        try:
            plan = await self._resume_plan(row, session)
        except ThinkaloudError as error:
            logger.warning("turn %s waited for an approval and cannot go on: %s", turn_id, error)
            await end_waiting(gateway.database, row.key, now_ms=now_ms, reason=str(error))
        else:
            self._start_running(row, plan)

    async def _resume_plan(self, row: TurnRow, session: Session) -> TurnPlan:
        gateway = self._gateway
        turn_options = msgspec.json.decode(row.wishes, type=TurnOptions)
        body = NewTurn(
            model=row.model,
            agent=row.agent,
            thinking=turn_options.thinking,
            max_tokens=turn_options.max_tokens,
            context_mode=turn_options.context_mode,
        )
        context = await gateway.database.read(lambda conn: load_context(conn, session, row.agent, until=row))
        messages = await gateway.database.read(lambda conn: turns.request_messages(conn, session.owner, row))
        agent, steps = await resolve_agent(gateway, body, context), (*context.steps, *messages)
        prepared_request = await prepare_request(agent, steps, len(steps), gateway.catalog)
        return TurnPlan(agent, steps, prepared_request, await entries_so_far(gateway.log, row.key))

    async def cancel(self, turn: TurnRow) -> bool:
        """End a turn because somebody wants it to end; False where it does not run here."""
        running_turn = self._running_turns.get(turn.key)
        if running_turn is None:
            return False
        running_turn.end(CANCELLED)
        await asyncio.wait((running_turn.task,), timeout=_SAVE_TIMEOUT_S)
        return True

    def running_turn(self, turn: TurnRow) -> RunningTurn:
        """A turn that runs here."""
        live_turn = self._running_turns.get(turn.key)
        if live_turn is None:
            raise Conflict("This turn is over, or runs in another gateway.")
        return live_turn

    async def wait_until_saved(self, turn_key: int) -> None:
        """Wait until a turn that is over is kept, if it ran here."""
        if (running_turn := self._running_turns.get(turn_key)) is not None:
            await asyncio.wait((running_turn.task,))

    async def stop(self, grace_s: float) -> None:
        """Let the live turns end by themselves for a while; then end them."""
        busy_tasks = [
            running_turn.task
            for running_turn in self._running_turns.values()
            if not running_turn.awaits_approval
        ]
        if busy_tasks:
            await asyncio.wait(busy_tasks, timeout=grace_s)
        for running_turn in tuple(self._running_turns.values()):
            if running_turn.awaits_approval:
                running_turn.suspend()
            else:
                running_turn.end(STOPPED)
        if self._running_turns:
            await asyncio.wait(
                [running_turn.task for running_turn in self._running_turns.values()], timeout=_SAVE_TIMEOUT_S
            )
        for running_turn in tuple(self._running_turns.values()):
            logger.error("turn %s could not be kept; the next start does it", running_turn.row.id)
            running_turn.task.cancel()

    async def keep_leases(self) -> None:
        """Keep the lease on every live turn, as long as this gateway lives."""
        while True:
            await asyncio.sleep(LEASE_MS / 3000)
            if self._running_turns:
                try:
                    renew_lease = partial(renew_leases, writer=self._writer_id, now_ms=self._gateway.now_ms())
                    await self._gateway.database.write(renew_lease)
                except NotSaved as error:
                    logger.warning("the lease on live turns was not renewed: %s", error)

    def _save_new_turn(self, conn: Connection, session: Session, turn_request: TurnRequest) -> StartedTurn:
        now_ms = self._gateway.now_ms()
        max_turns = self._gateway.settings.limits.running_turns_per_user
        started = turns.start_turn(
            conn,
            session,
            turn_request,
            now_ms=now_ms,
            writer=self._writer_id,
            lease_until_ms=now_ms + LEASE_MS,
        )
        if started.new and turns.running_of(conn, session.owner.user) > max_turns:
            raise TooManyRequests(
                f"{max_turns} of your turns run already, and no more are begun (limit running_turns_per_user). "
                "Wait until one is over, or cancel one."
            )
        return started

    def _start_running(self, row: TurnRow, plan: TurnPlan) -> None:
        running_turn = self._running_turns[row.key] = RunningTurn(self._gateway, row, plan)
        running_turn.task.add_done_callback(lambda _: self._running_turns.pop(row.key))

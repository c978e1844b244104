"""The registry of running turns: starts, resumes, cancels and stops them.

A turn is started once per request, even if the request is repeated. Turns of one session run one at a time.
"""

import asyncio
import hashlib
import logging
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Connection

from thinkaloud.agents.run import waits_for_approval
from thinkaloud.agents.spec import Agent, assistant_ids
from thinkaloud.canon import (
    BudgetTooSmall,
    Finish,
    Refused,
    ThinkaloudError,
    ThinkingNotOffered,
    TurnEnded,
    TurnFailed,
)
from thinkaloud.canon.requests import Sampling, ThinkingLevel, ToolMessage, UserMessage
from thinkaloud.catalog.thinking import OnUnavailable
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.context import ContextMode, Step
from thinkaloud.server.errors import Conflict, ServiceUnavailable, TooManyRequests
from thinkaloud.server.prepare import (
    SessionContext,
    load_context,
    prepare_request,
    request_messages,
    resolve_agent,
    with_preferred_thinking,
)
from thinkaloud.server.running_turn import RunningTurn, TurnPlan, entries_so_far
from thinkaloud.server.schemas import NewTurn
from thinkaloud.store import ids, turns
from thinkaloud.store.archive import last_seq
from thinkaloud.store.branches import parent_of_next
from thinkaloud.store.database import NotSaved
from thinkaloud.store.finish import INTERRUPTED
from thinkaloud.store.recovery import LEASE_MS, end_abandoned, end_waiting, renew_leases, take_over
from thinkaloud.store.rows import Owner, Session, TurnRow, TurnState
from thinkaloud.store.turns import StartedTurn, TurnRequest

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger(__name__)

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_encode_json = msgspec.json.Encoder().encode

CANCELLED = TurnEnded(Finish.CANCELLED)
STOPPED = TurnFailed(
    INTERRUPTED,
    "The gateway was stopped before this turn ended. The text so far is kept. Ask again.",
)
_SHORT_CHARS = 10_000
_SAVE_TIMEOUT_S = 5.0
"""How long to wait until an ended turn is saved. If the disk accepts no writes, the next start saves it."""


class TurnOptions(Sampling, frozen=True, omit_defaults=True):
    """The options of a request, stored so that a suspended turn can be resumed with them."""

    thinking: ThinkingLevel | int | None = None
    max_tokens: int | None = None
    context_mode: ContextMode | None = None
    system: str = ""
    output_schema: dict[str, Any] | None = None
    on_thinking_unavailable: OnUnavailable = "error"


def _turn_options(body: NewTurn) -> TurnOptions:
    return TurnOptions(**{name: getattr(body, name) for name in TurnOptions.__struct_fields__})


class TurnRegistry:
    """All turns that this gateway process runs."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._writer_id = ids.new("gtw")
        self._running_turns: dict[int, RunningTurn] = {}
        self._keys_by_id: dict[str, int] = {}
        self._session_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @property
    def running_count(self) -> int:
        """The number of running turns."""
        return len(self._running_turns)

    @property
    def busy_count(self) -> int:
        """The number of running turns that do not wait for approval."""
        return sum(not running_turn.awaits_approval for running_turn in self._running_turns.values())

    async def start(
        self, session: Session, body: NewTurn, idempotency_key: str = "", client_history: bytes = b""
    ) -> StartedTurn:
        """Start a turn, or return the one that the same request started before.

        A lock per session makes sure that the conversation sent to the model is complete when the turn
        starts. `client_history` is the fingerprint of the history that a client keeps itself.
        """
        gateway, digest = self._gateway, hashlib.sha256(_encode_sorted(body)).digest()
        messages = request_messages(body, gateway.settings.limits)
        async with self._session_locks.setdefault(session.key, asyncio.Lock()):
            context = await gateway.database.read(
                lambda conn: (
                    turns.find_repeated(conn, session, idempotency_key, digest)
                    or self._load_next(conn, session, body)
                )
            )
            if isinstance(context, TurnRow):
                return StartedTurn(context, new=False)
            if gateway.log.waiting_s > gateway.settings.max_waiting_s:
                raise NotSaved("The disk does not respond. Try again when it does; see /readyz.")
            if not gateway.ready:
                raise ServiceUnavailable(
                    "The gateway is stopping and starts no new turns. Try again in a moment."
                )
            steps = (*context.steps, *messages)
            body, agent, prepared_request = await self._prepare(body, context, steps)
            turn_request = TurnRequest(
                messages=messages,
                model=agent.model,
                agent=context.agent,
                assistants=assistant_ids(agent),
                provider=prepared_request.route.provider.name,
                prefix=prepared_request.prefix,
                idempotency_key=idempotency_key,
                request_hash=digest,
                wishes=_encode_json(_turn_options(body)).decode(),
                parent=context.parent,
                client_history=client_history,
                normalized_texts=await _normalize(messages),
            )
            started = await gateway.database.write(
                lambda conn: self._save_new_turn(conn, session, turn_request)
            )
            if started.new:
                self._start_running(started.turn, session.owner, TurnPlan(agent, steps, prepared_request))
        return started

    def _load_next(self, conn: Connection, session: Session, body: NewTurn) -> SessionContext:
        """Load the context of a new turn: the conversation up to the turn that it follows."""
        parent = parent_of_next(conn, session, replaces=body.replaces, follows=body.follows)
        return load_context(conn, session, body.agent, self._gateway.preferences, parent)

    async def _prepare(
        self, body: NewTurn, context: SessionContext, steps: tuple[Step, ...]
    ) -> tuple[NewTurn, Agent, PreparedRequest]:
        """Return the request to the model, and what of the preferences it follows.

        Preferred thinking is for all models, so one that cannot think that way is asked without it.
        """
        preferred = with_preferred_thinking(body, context)
        try:
            return preferred, *await self._prepare_as_asked(preferred, context, steps)
        except (ThinkingNotOffered, BudgetTooSmall):
            if preferred == body:
                raise
        return body, *await self._prepare_as_asked(body, context, steps)

    async def _prepare_as_asked(
        self, body: NewTurn, context: SessionContext, steps: tuple[Step, ...]
    ) -> tuple[Agent, PreparedRequest]:
        agent = await resolve_agent(self._gateway, body, context)
        return await prepare_request(
            agent, steps, len(context.steps), self._gateway.catalog, body.on_thinking_unavailable
        )

    async def resume(self, turn_id: str) -> None:
        """Resume a turn that waits for approval. If it cannot be resumed, end it with the reason."""
        gateway, now_ms = self._gateway, self._gateway.now_ms()
        claimed = await gateway.database.write(lambda conn: take_over(conn, turn_id, self._writer_id, now_ms))
        if claimed is None:
            return
        row, session = claimed
        try:
            plan = await self._resume_plan(row, session)
        except ThinkaloudError as error:
            logger.warning("turn %s waits for approval and cannot be resumed: %s", turn_id, error)
            await end_waiting(gateway.database, row.key, now_ms=now_ms, reason=str(error))
        else:
            # The agent may have been changed since the turn began.
            allowed = assistant_ids(plan.agent)
            row = await gateway.database.write(lambda conn: turns.add_assistants(conn, row, allowed))
            self._start_running(row, session.owner, plan)

    async def _resume_plan(self, row: TurnRow, session: Session) -> TurnPlan:
        gateway = self._gateway
        turn_options = msgspec.json.decode(row.wishes, type=TurnOptions)
        body = NewTurn(model=row.model, agent=row.agent, **msgspec.structs.asdict(turn_options))
        context = await gateway.database.read(
            lambda conn: load_context(conn, session, row.agent, gateway.preferences, row.parent)
        )
        messages = await gateway.database.read(lambda conn: turns.request_messages(conn, session.owner, row))
        agent, steps = await resolve_agent(gateway, body, context), (*context.steps, *messages)
        agent, prepared_request = await prepare_request(
            agent, steps, len(steps), gateway.catalog, body.on_thinking_unavailable
        )
        entries = await entries_so_far(gateway.log, row.key)
        if len(entries) != 1 + await gateway.database.read(lambda conn: last_seq(conn, row.key)):
            raise Refused(
                "A newer version of Thinkaloud wrote events of this turn, which this version cannot continue."
                " Upgrade, or ask again."
            )
        return TurnPlan(agent, steps, prepared_request, entries)

    async def cancel(self, turn: TurnRow) -> bool:
        """Cancel a turn. Return False if it does not run in this process."""
        running_turn = self._running_turns.get(turn.key)
        if running_turn is None:
            return False
        running_turn.end(CANCELLED)
        await asyncio.wait((running_turn.task,), timeout=_SAVE_TIMEOUT_S)
        return True

    def running_turn(self, turn: TurnRow) -> RunningTurn:
        """Return a turn that runs in this process, or refuse."""
        live_turn = self._running_turns.get(turn.key)
        if live_turn is None:
            raise Conflict(
                "This turn has ended, or runs in another gateway process. Read the turn to see its state."
            )
        return live_turn

    def find_running(self, owner: Owner, turn_id: str) -> TurnRow | None:
        """Return the row of this owner's turn if it runs in this process. Readers of it need no database."""
        running_turn = self._running_turns.get(self._keys_by_id.get(turn_id, -1))
        return None if running_turn is None or running_turn.owner != owner else running_turn.row

    async def wait_until_saved(self, turn_key: int) -> TurnState | None:
        """Wait until an ended turn is saved; return its state. None if it does not run in this process."""
        running_turn = self._running_turns.get(turn_key)
        if running_turn is None:
            return None
        await asyncio.wait((running_turn.task,))
        return running_turn.saved_state

    async def stop(self, grace_s: float) -> None:
        """Wait for running turns to end, then end the rest. Turns that wait for approval are suspended."""
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
            logger.error("turn %s could not be saved; the next start will end it", running_turn.row.id)
            running_turn.task.cancel()

    async def keep_leases(self) -> None:
        """Renew the leases on running turns until cancelled, and end turns that nobody runs any more."""
        while True:
            await asyncio.sleep(self._gateway.settings.sweep_s)
            try:
                if self._running_turns:
                    running, now_ms = tuple(self._running_turns), self._gateway.now_ms()
                    await self._gateway.database.write(partial(renew_leases, running=running, now_ms=now_ms))
                await self._end_abandoned()
            except NotSaved as error:
                logger.warning("the leases on running turns could not be renewed: %s", error)
            except Exception:
                logger.exception("turns without a writer could not be ended; retrying")

    async def _end_abandoned(self) -> None:
        gateway = self._gateway
        recovery = await end_abandoned(
            gateway.database, now_ms=gateway.now_ms(), running=self._running_turns, waits=waits_for_approval
        )
        for turn_id in recovery.ended:
            logger.warning("turn %s had no writer any more and was ended", turn_id)
        for turn_id in recovery.waiting:
            await self.resume(turn_id)

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
                f"You already have {max_turns} running turns (limit running_turns_per_user). "
                "Wait until one ends, or cancel one."
            )
        return started

    def _start_running(self, row: TurnRow, owner: Owner, plan: TurnPlan) -> None:
        def forget(_: object) -> None:
            del self._running_turns[row.key], self._keys_by_id[row.id]

        self._keys_by_id[row.id] = row.key
        running_turn = self._running_turns[row.key] = RunningTurn(self._gateway, row, owner, plan)
        running_turn.task.add_done_callback(forget)


async def _normalize(messages: tuple[UserMessage | ToolMessage, ...]) -> dict[str, str]:
    """Normalize long messages for search before the write. Short ones take less time than the thread."""
    size = sum(len(m.text if isinstance(m, UserMessage) else m.result) for m in messages)
    return await asyncio.to_thread(turns.normalized_texts, messages) if size > _SHORT_CHARS else {}

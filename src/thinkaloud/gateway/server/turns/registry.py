"""The registry of running turns: starts, resumes, cancels and stops them.

A turn is started once per request, even if the request is repeated. Turns of one session run one at a time.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Connection

from thinkaloud.agents.loop import wait_until_done
from thinkaloud.agents.spec import Agent, agent_tree, assistant_ids
from thinkaloud.client.prepared_request import PreparedRequest
from thinkaloud.core.canon import (
    BudgetTooSmall,
    Finish,
    Refused,
    ThinkaloudError,
    ThinkingNotOffered,
    TurnEnded,
    TurnFailed,
    Wording,
    reason_of,
)
from thinkaloud.core.canon.requests import ToolMessage, TurnRequest, UserMessage, options_of
from thinkaloud.core.context import Step
from thinkaloud.gateway.server.http.errors import Conflict, TooManyRequests
from thinkaloud.gateway.server.streams.entry_feed import EntryFeed
from thinkaloud.gateway.server.streams.thought_filter import used_prompts
from thinkaloud.gateway.server.turns.first_turns import FirstTurns, OpenSession
from thinkaloud.gateway.server.turns.prepare import (
    HeldTools,
    SessionContext,
    load_context,
    prepare_request,
    read_options,
    resolve_agent,
    storable_messages,
    with_preferred_thinking,
    write_options,
)
from thinkaloud.gateway.server.turns.running_turn import RunningTurn, TurnPlan, entries_so_far
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.log.archive import last_seq
from thinkaloud.gateway.store.log.commands import CommandKind, TurnCommand
from thinkaloud.gateway.store.log.finish import INTERRUPTED
from thinkaloud.gateway.store.log.recovery import claimed_turn, end_waiting
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.queries.agents import prompts_for
from thinkaloud.gateway.store.queries.branches import parent_of_next
from thinkaloud.gateway.store.queries.sessions import NewClientSession, create_for_client
from thinkaloud.gateway.store.queries.turns import NewTurnRow, StartedTurn
from thinkaloud.gateway.store.rows import Owner, Session, SessionClient, TurnRow, TurnState

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

logger = logging.getLogger(__name__)

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode

TURN_ENDED = Wording("This turn has ended. Read the turn to see its state.")
CANCELLED = TurnEnded(Finish.CANCELLED)
STOPPED = TurnFailed.of(
    INTERRUPTED,
    Wording("The gateway was stopped before this turn ended. The text so far is kept. Ask again."),
)
_SHORT_CHARS = 10_000
_SAVE_TIMEOUT_S = 5.0
"""How long to wait until an ended turn is saved. If the disk accepts no writes, the next start saves it."""


class ClientTurn(NamedTuple):
    """What a turn of a compatible endpoint has besides its request."""

    history: bytes
    """The fingerprint of the history that the client keeps."""
    feed: EntryFeed
    """Gets the entries."""
    held: HeldTools | None = None
    """The tools to hold for the next request, if the client asks for that."""


class TurnRegistry:
    """All turns that this gateway process runs."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._running_turns: dict[int, RunningTurn] = {}
        self._keys_by_id: dict[str, int] = {}
        self._turn_counts: Counter[int] = Counter()
        """The running turns of each user in this process, and those that are being started."""
        self._session_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._first_turns = FirstTurns(gateway)

    @property
    def running_count(self) -> int:
        """The number of running turns."""
        return len(self._running_turns)

    @property
    def busy_count(self) -> int:
        """The number of running turns that do not wait for approval."""
        return sum(not running_turn.awaits_approval for running_turn in self._running_turns.values())

    async def start(
        self,
        session: Session,
        request: TurnRequest,
        idempotency_key: str = "",
        client_turn: ClientTurn | None = None,
    ) -> StartedTurn:
        """Start a turn, or return the one that the same request started before.

        A lock per session makes sure that the conversation sent to the model is complete when the turn
        starts.
        """
        gateway = self._gateway
        digest = hashlib.sha256(_encode_sorted(request)).digest() if idempotency_key else b""
        messages = storable_messages(request, gateway.settings.limits)
        async with self._session_locks.setdefault(session.key, asyncio.Lock()):
            context = await gateway.database.read(
                lambda conn: (
                    turns.find_repeated(conn, session, idempotency_key, digest)
                    or self._load_next(conn, session, request)
                )
            )
            if isinstance(context, TurnRow):
                return StartedTurn(context, new=False)
            row = NewTurnRow(
                messages=messages,
                model=request.model,
                idempotency_key=idempotency_key,
                request_hash=digest,
                client_history=client_turn.history if client_turn else b"",
            )
            return await self._start(lambda conn, key: session, context, request, row, client_turn)

    async def start_in_new_session(
        self,
        owner: Owner,
        request: TurnRequest,
        client: SessionClient,
        client_turn: ClientTurn,
    ) -> StartedTurn:
        """Create a session and start its first turn, in one commit. Nothing is left if that fails.

        Where no other process writes turns, the turn runs before that commit, which is the first of its log.
        """
        gateway = self._gateway
        messages = storable_messages(request, gateway.settings.limits)
        preferences = gateway.preferences.read_local(owner)
        if preferences is None:
            preferences = await gateway.database.read(lambda conn: gateway.preferences.read(conn, owner))
        context = SessionContext(owner, "", (), "", {}, preferences, None)
        row = NewTurnRow(
            messages=messages, model=request.model, client_history=client_turn.history, first=True
        )
        question, now_ms = turns.question_of(messages), gateway.now_ms()

        def create(conn: Connection, key: int | None) -> Session:
            new = NewClientSession(model=request.model, client=client, question=question, key=key)
            return create_for_client(conn, owner, new, now_ms)

        return await self._start(create, context, request, row, client_turn)

    async def _start(
        self,
        open_session: OpenSession,
        context: SessionContext,
        request: TurnRequest,
        row: NewTurnRow,
        client_turn: ClientTurn | None,
    ) -> StartedTurn:
        gateway = self._gateway
        gateway.refuse_new()
        steps = (*context.steps, *row.messages)
        request, agent, prepared_request = await self._prepare(request, context, steps)
        row = msgspec.structs.replace(
            row,
            model=agent.model,
            agent=context.agent,
            assistants=await self._agents_in_turn(context.owner, agent),
            provider=prepared_request.route.provider.name,
            prefix=prepared_request.prefix,
            options=write_options(request, client_turn.held if client_turn else None),
            parent=context.parent,
            normalized_texts=await _normalize(row.messages),
        )
        plan = TurnPlan(agent, steps, prepared_request, feed=client_turn.feed if client_turn else None)
        user = context.owner.user
        self._turn_counts[user] += 1
        started = None
        try:
            allowed = self._turn_counts[user] <= gateway.settings.limits.running_turns_per_user
            if row.first and self._first_turns.may_start:
                if not allowed:
                    raise self._too_many_turns()
                started, save_start = await self._first_turns.start(open_session, row)
                plan = msgspec.structs.replace(plan, save_start=save_start)
            else:
                started = await gateway.database.write_short(
                    lambda conn: self._save_new_turn(conn, open_session(conn, None), row, allowed=allowed)
                )
        finally:
            if started is None or not started.new:
                self._turn_counts[user] -= 1
        if started.new:
            self._start_running(started.turn, context.owner, plan)
        return started

    def _too_many_turns(self) -> TooManyRequests:
        return TooManyRequests(
            "You already have {running_turns_per_user} running turns (limit running_turns_per_user). "
            "Wait until one ends, or cancel one.",
            running_turns_per_user=self._gateway.settings.limits.running_turns_per_user,
        )

    def _load_next(self, conn: Connection, session: Session, request: TurnRequest) -> SessionContext:
        """Load the context of a new turn: the conversation up to the turn that it follows."""
        parent = parent_of_next(conn, session, replaces=request.replaces, follows=request.follows)
        return load_context(conn, session, request.agent, self._gateway.preferences, parent)

    async def _prepare(
        self, request: TurnRequest, context: SessionContext, steps: tuple[Step, ...]
    ) -> tuple[TurnRequest, Agent, PreparedRequest]:
        """Return the request to the model, and what of the preferences it follows.

        Preferred thinking is for all models, so one that cannot think that way is asked without it.
        """
        preferred = with_preferred_thinking(request, context)
        try:
            return preferred, *await self._prepare_as_asked(preferred, context, steps)
        except (ThinkingNotOffered, BudgetTooSmall):
            if preferred == request:
                raise
        return request, *await self._prepare_as_asked(request, context, steps)

    async def _prepare_as_asked(
        self, request: TurnRequest, context: SessionContext, steps: tuple[Step, ...]
    ) -> tuple[Agent, PreparedRequest]:
        agent = await resolve_agent(self._gateway, request, context)
        return agent, await prepare_request(agent, steps, len(context.steps), self._gateway.catalog)

    async def _agents_in_turn(self, owner: Owner, agent: Agent) -> tuple[str, ...]:
        """Return whose rules about thinking a turn follows besides those of its agent.

        Those of its assistants, and of agents whose prompts are used: by a copy, or by a model without agent.
        """
        assistants, gateway = assistant_ids(agent), self._gateway
        systems = [one.system for one in agent_tree(agent) if one.system]
        if not systems or owner.user == gateway.local_owner.user:  # the operator has no rules
            return assistants
        stored = await gateway.database.read(lambda conn: prompts_for(conn, owner.user))
        prompts = stored | {name: row.system for name, row in gateway.gateway_agents.agents.items()}
        for one in agent_tree(agent):
            prompts.pop(one.id, None)  # it takes part itself
        return (*assistants, *await asyncio.to_thread(used_prompts, systems, prompts))

    async def resume(self, turn_id: str) -> None:
        """Resume a turn that waits for approval. If it cannot be resumed, end it with the reason."""
        gateway, now_ms = self._gateway, self._gateway.now_ms()
        claimed = await gateway.database.read(lambda conn: claimed_turn(conn, turn_id, gateway.node.id))
        if claimed is None:
            return
        row, session = claimed
        try:
            plan = await self._resume_plan(row, session)
        except NotSaved:  # the database fails, and not this turn
            raise
        except (ThinkaloudError, msgspec.MsgspecError) as error:
            logger.warning("turn %s waits for approval and cannot be resumed: %s", turn_id, error)
            await end_waiting(gateway.database, row, now_ms=now_ms, reason=reason_of(error))
        else:
            # The agent may have been changed since the turn began.
            allowed = await self._agents_in_turn(session.owner, plan.agent)
            row = await gateway.database.write(lambda conn: turns.add_assistants(conn, row, allowed))
            self._turn_counts[session.owner.user] += 1
            self._start_running(row, session.owner, plan)

    async def context_report(self, row: TurnRow, session: Session) -> PreparedRequest:
        """Build the request of a turn again: its report says what was sent back, what not, and why.

        The conversation before a turn never changes, so the report is that of the request that was sent.
        """
        return (await self._prepare_stored(row, session)).first_request

    async def _resume_plan(self, row: TurnRow, session: Session) -> TurnPlan:
        plan = await self._prepare_stored(row, session)
        entries = await entries_so_far(self._gateway.log, row.key)
        if len(entries) != 1 + await self._gateway.database.read(lambda conn: last_seq(conn, row.key)):
            raise Refused(
                "A newer version of Thinkaloud wrote events of this turn, which this version cannot continue."
                " Upgrade, or ask again."
            )
        return msgspec.structs.replace(plan, entries=entries)

    async def _prepare_stored(self, row: TurnRow, session: Session) -> TurnPlan:
        gateway = self._gateway
        request = TurnRequest(**options_of(read_options(row)), model=row.model, agent=row.agent)
        context = await gateway.database.read(
            lambda conn: load_context(conn, session, row.agent, gateway.preferences, row.parent)
        )
        messages = await gateway.database.read(lambda conn: turns.request_messages(conn, session.owner, row))
        agent, steps = await resolve_agent(gateway, request, context), (*context.steps, *messages)
        prepared_request = await prepare_request(agent, steps, len(steps), gateway.catalog)
        return TurnPlan(agent, steps, prepared_request)

    async def cancel(self, turn: TurnRow) -> bool:
        """Cancel a turn. Return False if it does not run in this process."""
        if not self.runs_here(turn):
            return False
        await self._cancel(self._running_turns[turn.key])
        return True

    @staticmethod
    async def _cancel(running_turn: RunningTurn) -> None:
        running_turn.end(CANCELLED)
        await asyncio.wait((running_turn.task,), timeout=_SAVE_TIMEOUT_S)

    def runs_here(self, turn: TurnRow) -> bool:
        """Return whether a turn runs in this process."""
        return turn.key in self._running_turns

    async def run_command(self, turn_key: int, command: TurnCommand) -> None:
        """Run a command for a turn that runs in this process; refuse it if the turn has ended."""
        running_turn = self._running_turns.get(turn_key)
        if running_turn is None:
            raise Conflict(wording=TURN_ENDED)
        match command.kind:
            case CommandKind.CANCEL:
                await self._cancel(running_turn)
            case CommandKind.ANSWER_NOW:
                running_turn.answer_now()
            case CommandKind.DECIDE:
                assert command.block is not None
                running_turn.decide(command.block, granted=bool(command.granted), by=command.given_by)

    @property
    def running_epochs(self) -> dict[int, int]:
        """The keys of the turns that run in this process, with their epochs."""
        return {key: running_turn.row.epoch for key, running_turn in tuple(self._running_turns.items())}

    def give_up(self, turn_key: int) -> None:
        """Stop a turn that another gateway has taken over. Nothing more of it is stored here."""
        running_turn = self._running_turns.get(turn_key)
        if running_turn is not None:
            logger.warning("turn %s was taken over by another gateway", running_turn.row.id)
            self._gateway.log.drop(turn_key)
            running_turn.abandon()

    def find_running(self, owner: Owner, turn_id: str) -> TurnRow | None:
        """Return the row of this owner's turn if it runs in this process. Readers of it need no database."""
        running_turn = self._running_turns.get(self._keys_by_id.get(turn_id, -1))
        return None if running_turn is None or running_turn.owner != owner else running_turn.row

    async def wait_until_saved(self, turn_key: int) -> TurnState | None:
        """Wait until an ended turn is saved; return its state. None if it does not run in this process."""
        running_turn = self._running_turns.get(turn_key)
        if running_turn is None:
            return None
        await wait_until_done(running_turn.task)
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

    def _save_new_turn(
        self, conn: Connection, session: Session, new_row: NewTurnRow, *, allowed: bool
    ) -> StartedTurn:
        """Save a turn. It is `allowed` if the user does not run too many in this process."""
        now_ms, limits = self._gateway.now_ms(), self._gateway.settings.limits
        writer = self._gateway.node.id
        started = turns.start_turn(conn, session, new_row, now_ms=now_ms, writer=writer)
        if allowed and started.new and not self._gateway.database.exclusive:
            # Other processes run turns of this user too, and only the database counts all of them.
            allowed = turns.running_of(conn, session.owner.user) <= limits.running_turns_per_user
        if started.new and not allowed:
            raise self._too_many_turns()
        return started

    def _start_running(self, row: TurnRow, owner: Owner, plan: TurnPlan) -> None:
        def forget(_: object) -> None:
            del self._running_turns[row.key], self._keys_by_id[row.id]
            self._turn_counts[owner.user] -= 1

        self._keys_by_id[row.id] = row.key
        running_turn = self._running_turns[row.key] = RunningTurn(self._gateway, row, owner, plan)
        running_turn.task.add_done_callback(forget)


async def _normalize(messages: tuple[UserMessage | ToolMessage, ...]) -> dict[str, str]:
    """Normalize long messages for search before the write. Short ones take less time than the thread."""
    size = sum(len(m.text if isinstance(m, UserMessage) else m.result) for m in messages)
    return await asyncio.to_thread(turns.normalized_texts, messages) if size > _SHORT_CHARS else {}

"""Runs one turn in this process and keeps nothing of it, also where the extra [server] is not installed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from thinkaloud.agents.loop import prepare_reply
from thinkaloud.agents.run import Run, RunContext
from thinkaloud.agents.spec import Agent, apply_request, bare_model
from thinkaloud.cli.settings import user_agents
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import Entry, Finish, Refused, TurnEnded, TurnStarted
from thinkaloud.core.canon.requests import TurnRequest
from thinkaloud.core.catalog import Route
from thinkaloud.core.transcript import events_to_end_turn
from thinkaloud.surfaces.chat.backend import INSIDE, StreamItem, TurnInfo


@asynccontextmanager
async def open_unsaved(request: TurnRequest) -> AsyncIterator[tuple["UnsavedTurn", TurnInfo]]:
    """Start a turn and yield it. It is stopped at the end of the block."""
    catalog = load_catalog()
    async with _open_agent(request) as agent:
        first_request = prepare_reply(agent, request.messages, catalog=catalog)
        route = first_request.route
        run = Run(agent, request.messages, context=RunContext(catalog=catalog), first_request=first_request)
        turn = UnsavedTurn(run, route)
        try:
            yield turn, TurnInfo(id="", session="", state="running", provider=route.provider.name)
        finally:
            await turn.stop()


class UnsavedTurn:
    """One turn in memory, as a `TurnBackend`. There is only one, so the names of turns are not read."""

    address = INSIDE

    def __init__(self, run: Run, route: Route) -> None:
        self._run = run
        self._route = route
        self._entries: list[Entry] = []
        self._changed = asyncio.Event()
        self._cancelled = False
        self._run_task = asyncio.create_task(run.execute(self._append))
        self._task = asyncio.create_task(self._run_to_end())

    async def stream(self, turn: str, *, after: int = -1) -> AsyncGenerator[StreamItem, None]:
        """Yield the entries after a number until the turn has ended. Raise what kept it from starting."""
        while True:
            self._changed.clear()
            for entry in self._entries[after + 1 :]:
                after = entry.seq
                yield entry
            if self._task.done() and after + 1 == len(self._entries):
                self._task.result()
                return
            await self._changed.wait()

    async def cancel(self, turn: str) -> None:
        """Stop the turn, which ends as cancelled."""
        self._cancelled = True
        self._run_task.cancel()

    async def answer_now(self, turn: str) -> None:
        """Stop the thinking and make the model answer."""
        self._run.answer_now()

    async def approve(self, turn: str, block: int, granted: bool) -> None:
        """Approve or deny a tool call that waits for approval."""
        self._run.decide(block, granted=granted)

    async def stop(self) -> None:
        """Stop everything under way. Nobody reads the stream any more."""
        self._run_task.cancel()
        await asyncio.wait((self._task,))

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._changed.set()

    async def _run_to_end(self) -> None:
        try:
            await asyncio.wait((self._run_task,))
            if not self._cancelled:
                self._run_task.result()
            elif self._run.turn.live:
                self._end_cancelled()
        finally:
            self._changed.set()

    def _end_cancelled(self) -> None:
        run = self._run
        if run.turn.seq < 0:
            run.append(TurnStarted(self._route.provider.dialect, self._route.model_id))
        for event in events_to_end_turn(run.turn, TurnEnded(Finish.CANCELLED)):
            run.append(event)


@asynccontextmanager
async def _open_agent(request: TurnRequest) -> AsyncIterator[Agent]:
    """Open the agent with its tools, and with what the request sets."""
    if not request.agent:
        yield apply_request(bare_model(request.model), request)
        return
    from thinkaloud.agents.config import SEARCH_SESSIONS, build_agent, local_tools
    from thinkaloud.agents.toolbox import Toolbox

    file = user_agents()
    names = file.tool_names(request.agent)
    if SEARCH_SESSIONS in names:
        raise Refused(
            "The agent {agent} uses the tool {search_sessions}, which works only in the gateway. Use "
            "the agent through `thinkaloud serve`, or remove the tool from its row.",
            agent=repr(request.agent),
            search_sessions=SEARCH_SESSIONS,
        )
    async with Toolbox(local_tools(file), tuple(file.mcp.values())) as toolbox:
        tools_by_name = await asyncio.gather(*(toolbox.find([name]) for name in names))
        tools = dict(zip(names, tools_by_name, strict=True))
        yield apply_request(build_agent(file, request.agent, tools), request)

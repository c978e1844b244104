"""A gateway in memory for tests of chat surfaces: a test decides what every turn says, and when."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

import msgspec

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    Refused,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import Image, TurnRequest, UserMessage
from thinkaloud.core.transcript import fold_entries
from thinkaloud.surfaces.chat.backend import (
    BackendUnreachable,
    DisplayPreferences,
    FoundText,
    PastTurn,
    Responder,
    Restarted,
    SessionInfo,
    StreamItem,
    TurnCost,
)


def asked(prompt: str, images: tuple[Image, ...] = (), **options: Any) -> TurnRequest:
    """A request with one message."""
    return TurnRequest(messages=(UserMessage(prompt, images),), **options)


def prompt_of(request: TurnRequest) -> UserMessage:
    """The message of a request that has one."""
    (message,) = request.messages
    assert isinstance(message, UserMessage)
    return message


def thought_and_answer(thought: str, answer: str) -> list[Event]:
    """A turn with one thought and an answer."""
    return [
        TurnStarted("", "island"),
        BlockStarted(0, Kind.REASONING),
        BlockGrew(0, thought),
        BlockEnded(0),
        BlockStarted(1, Kind.TEXT),
        BlockGrew(1, answer),
        BlockEnded(1),
        TurnEnded(Finish.STOP),
    ]


class MemoryTurn:
    """A turn whose stream the test feeds."""

    def __init__(self, id: str, request: TurnRequest, key: str) -> None:
        self.id = id
        self.request = request
        self.key = key
        self.items: list[StreamItem] = []
        self.state = "running"
        self.versions: tuple[str, ...] = ()
        self._changed = asyncio.Event()

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(item for item in self.items if isinstance(item, Entry))

    def say(self, *events: Event, step_ms: int = 400) -> None:
        for event in events:
            seq = len(self.entries)
            self.add(Entry(seq, event, 1000 + seq * step_ms))

    def add(self, item: StreamItem) -> None:
        self.items.append(item)
        self._changed.set()

    def restart_with(self, events: list[Event]) -> None:
        """Send a restart, then a turn from its first entry."""
        self.add(Restarted("compacted"))
        for seq, event in enumerate(events):
            self.add(Entry(seq, event, 1000 + seq))
        self.end()

    def end(self, state: str = "done") -> None:
        self.state = state
        self._changed.set()

    def answer(self, thought: str = "Let me think about it.", answer: str = "It is **4**.") -> None:
        self.say(*thought_and_answer(thought, answer))
        self.end()

    async def stream(self, after: int) -> AsyncGenerator[StreamItem, None]:
        index = 0
        while True:
            while index < len(self.items):
                item = self.items[index]
                index += 1
                after = -1 if isinstance(item, Restarted) else after
                if not isinstance(item, Entry) or item.seq > after:
                    yield item
            if self.state != "running":
                return
            self._changed.clear()
            await self._changed.wait()


class MemoryBackend:
    """A `Backend` that holds everything in memory. `unreachable` makes every call fail."""

    def __init__(self) -> None:
        self.address = "memory"
        self.rows: dict[str, SessionInfo] = {}
        self.turns_by_session: dict[str, list[MemoryTurn]] = {}
        self.turns_by_id: dict[str, MemoryTurn] = {}
        self.older_branches: dict[str, list[MemoryTurn]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.saved = DisplayPreferences(display={"preset": "default"}, language="en-US")
        self.unreachable = ""
        self.refusal = ""
        self.places: list[FoundText] = []
        self.costs: dict[str, TurnCost] = {}
        self._ids = itertools.count(1)

    def add_session(self, title: str, exchanges: Iterable[tuple[str, str, str]] = ()) -> SessionInfo:
        """Add a session with finished turns: question, thought and answer of each."""
        info = SessionInfo(id=f"s{next(self._ids)}", title=title, model="island")
        self.rows = {info.id: info, **self.rows}
        self.turns_by_session[info.id] = []
        for prompt, thought, answer in exchanges:
            self._new_turn(info.id, asked(prompt)).answer(thought, answer)
        return info

    def last_turn(self) -> MemoryTurn:
        return list(self.turns_by_id.values())[-1]

    def _new_turn(self, session: str, request: TurnRequest, key: str = "") -> MemoryTurn:
        turn = MemoryTurn(f"t{next(self._ids)}", request, key)
        self.turns_by_id[turn.id] = turn
        self.turns_by_session[session].append(turn)
        return turn

    def _called(self, *call: Any) -> None:
        self.calls.append(call)
        if self.unreachable:
            raise BackendUnreachable(self.unreachable)
        if self.refusal:
            refusal, self.refusal = self.refusal, ""
            raise Refused(refusal)

    async def sessions(self, *, after: str = "", limit: int = 50) -> tuple[list[SessionInfo], str]:
        if self.unreachable:
            raise BackendUnreachable(self.unreachable)
        rows = list(self.rows.values())
        start = [row.id for row in rows].index(after) + 1 if after else 0
        page = rows[start : start + limit]
        return page, page[-1].id if start + limit < len(rows) else ""

    async def create_session(self, *, model: str = "", agent: str = "", title: str = "") -> SessionInfo:
        self._called("create_session", model, agent)
        info = self.add_session(title)
        self.rows[info.id] = msgspec.structs.replace(info, model=model, agent=agent)
        return self.rows[info.id]

    async def rename_session(self, session: str, title: str) -> None:
        self._called("rename_session", session, title)
        self.rows[session] = msgspec.structs.replace(self.rows[session], title=title)

    async def delete_session(self, session: str) -> None:
        self._called("delete_session", session)
        del self.rows[session]

    async def turns(self, session: str, *, branch: str = "") -> list[PastTurn]:
        if session not in self.rows:
            raise Refused(f"There is no session {session}.")
        return [
            PastTurn(
                id=turn.id,
                versions=turn.versions,
                prompt=prompt_of(turn.request).text,
                images=prompt_of(turn.request).images,
                state=turn.state,
                entries=() if turn.state == "running" else turn.entries,
            )
            for turn in self.older_branches.get(branch) or self.turns_by_session[session]
        ]

    async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
        self._called("ask", session, request)
        if request.replaces:
            turns = self.turns_by_session[session]
            index = [turn.id for turn in turns].index(request.replaces)
            replaced, before = turns[index], turns[:index]
            self.older_branches[replaced.id] = list(turns)
            self.turns_by_session[session] = before
            new = self._new_turn(session, request, key)
            versions = (*(replaced.versions or (replaced.id,)), new.id)
            for id in versions:
                self.turns_by_id[id].versions = versions
            return new.id
        return self._new_turn(session, request, key).id

    def stream(self, turn: str, *, after: int = -1) -> AsyncGenerator[StreamItem, None]:
        return self.turns_by_id[turn].stream(after)

    async def replay(self, turn: str, *, speed: float = 1.0) -> AsyncIterator[Entry]:
        for entry in self.turns_by_id[turn].entries:
            yield entry

    async def cost(self, turn: str) -> TurnCost:
        return self.costs.get(turn, TurnCost())

    async def cancel(self, turn: str) -> None:
        self._called("cancel", turn)
        memory_turn = self.turns_by_id[turn]
        shown = fold_entries(memory_turn.entries)
        if shown.live:
            open_blocks = [block.number for block in shown.blocks if block.ended_ms is None]
            memory_turn.say(*map(BlockEnded, open_blocks), TurnEnded(Finish.CANCELLED))
        memory_turn.end("cancelled")

    async def answer_now(self, turn: str) -> None:
        self._called("answer_now", turn)

    async def approve(self, turn: str, block: int, granted: bool) -> None:
        self._called("approve", turn, block, granted)

    async def search(self, words: str, *, thoughts: bool = False) -> list[FoundText]:
        self._called("search", words, thoughts)
        return self.places

    async def export(self, session: str, form: str, *, thinking: str = "details") -> str:
        self._called("export", session, form, thinking)
        return f"{form} of {session}\n"

    async def models(self) -> list[Responder]:
        return [
            Responder(id="island", name="Island", description="built in"),
            Responder(id="claude", name="Claude", ready=False, reason="ANTHROPIC_API_KEY is not set."),
            Responder(id="qwen", name="Qwen"),
        ]

    async def agents(self) -> list[Responder]:
        return [Responder(id="planner", name="Planner", description="plans, then works")]

    async def preferences(self) -> DisplayPreferences:
        self._called("preferences")
        return self.saved

    async def save_preferences(self, preferences: DisplayPreferences) -> None:
        self._called("save_preferences", preferences)
        self.saved = preferences

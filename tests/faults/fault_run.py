"""One scenario at work: a gateway process between two proxies, live turns with readers, and the measurements.

    readers ─▶ links (proxy) ─▶ gateway ─▶ upstream (proxy) ─▶ paced provider

A round starts turns, breaks something, waits until every reader has the end of its turn, and then asks the
gateway what it has stored. All of that is HTTP, so that it works with any database.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from tests.faults.checker import ReaderCopy, Violation, check, entries_received
from tests.faults.fault_proxy import FaultProxy, run_proxy
from tests.faults.fault_reader import RETRY_S, FaultReader
from tests.faults.history import History, TurnHistory, WriteHistory, append_histories
from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import Caller, GatewayProcess, bearer_headers, start_caller
from tests.gateway.paced_provider import expected
from tests.patience import PATIENCE_S

from thinkaloud.gateway.server.gateway import Settings

READERS = 2
"""Readers of each turn."""
_SIMULTANEOUS_CHECKS = 10


class GatewaySetup(msgspec.Struct, frozen=True, kw_only=True):
    """How a scenario starts its gateway."""

    options: tuple[str, ...] = ()
    settings: Settings | None = None
    program: str = "thinkaloud"
    forked: bool = False
    """Whether the process is forked from one that has imported everything, so that it starts at once."""


class Load(msgspec.Struct, frozen=True):
    """How much runs at the same time."""

    turns: int = 30
    steady: int = 10
    """Turns beside an attack, whose streams must not fall silent."""
    stalled_readers: int = 200
    requests: int = 2_000
    """Requests in a row, where their number matters."""
    kills: int = 25
    """Kills in one round, where there are many."""


class Measurements(msgspec.Struct):
    """What all rounds of a scenario have shown."""

    rounds: int = 0
    kills: int = 0
    turns: int = 0
    faults: int = 0
    entries: int = 0
    resume_ms: list[float] = []
    peak_bytes: int = 0
    silence_ms: float | None = None
    """The longest time without an entry of a stream that went on, in scenarios that leave streams alone."""
    violations: list[Violation] = []

    def add(self, earlier: "Measurements") -> None:
        """Add what an earlier run has shown."""
        for name in ("rounds", "kills", "turns", "faults", "entries", "resume_ms", "violations"):
            setattr(self, name, getattr(earlier, name) + getattr(self, name))
        self.peak_bytes = max(self.peak_bytes, earlier.peak_bytes)
        self.add_silence(earlier.silence_ms)

    def add_silence(self, silence_ms: float | None) -> None:
        """Keep the longest silence."""
        if silence_ms is not None:
            self.silence_ms = max(self.silence_ms or 0.0, silence_ms)

    def count(self, *rules: str) -> int:
        """Return the number of violations of some rules."""
        return sum(violation.rule in rules for violation in self.violations)


class LiveTurn:
    """A turn that was started, and its readers."""

    def __init__(self, turn: str, session: str, model: str, readers: Sequence[FaultReader]) -> None:
        self.id = turn
        self.session = session
        self.model = model
        self.readers = readers
        self.tasks: list[asyncio.Task[None]] = []


class FaultRun:
    """A scenario on one gateway, from its start to the check after its last round."""

    def __init__(self, caller: Caller, links: FaultProxy, upstream: FaultProxy, load: Load) -> None:
        self.caller = caller
        self.gateway = caller.gateway
        self.links = links
        self.upstream = upstream
        self.load = load
        self.dice = random.Random(0)
        self.silence_s: float | None = None
        """How long readers wait on a silent connection; None is for ever."""
        self.token = ""
        """The token of readers and requests, where the gateway needs one."""
        self.measured = Measurements()
        self.keep: Path | None = None
        """A file that gets all histories."""

    def pick_model(self, *, longest_words: int = 100) -> str:
        """Return a model with a random number of words at a random pace."""
        words = [self.dice.randrange(1, longest_words) for _ in range(2)]
        return f"r{words[0]}-c{words[1]}-ms{self.dice.choice((5, 10, 20))}"

    async def post_turn(self, session: str, model: str, key: str = "") -> str:
        """Start a turn and return its id."""
        headers = {**bearer_headers(self.token), **({"Idempotency-Key": key} if key else {})}
        path = f"{self.gateway.url}/api/sessions/{session}/turns"
        body = {"prompt": "Go on.", "model": f"paced/{model}"}
        async with self.caller.http.post(path, json=body, headers=headers) as response:
            content = await response.read()
            assert response.status in (200, 202), (response.status, content)
            return str(msgspec.json.decode(content)["id"])

    def follow(self, turn: str, session: str, model: str) -> LiveTurn:
        """Start the readers of a turn."""
        seeds = [self.dice.random() for _ in range(READERS)]
        readers = [self._reader(random.Random(seed)) for seed in seeds]
        live = LiveTurn(turn, session, model, readers)
        live.tasks = [
            asyncio.create_task(reader.follow(lambda: self.links.url, turn)) for reader in live.readers
        ]
        return live

    def _reader(self, dice: random.Random) -> FaultReader:
        return FaultReader(silence_s=self.silence_s, dice=dice, token=self.token)

    async def start_turns(self, models: Sequence[str] = ()) -> list[LiveTurn]:
        """Start turns in sessions of their own, with readers, and wait until each reader has an entry."""
        models = models or [self.pick_model() for _ in range(self.load.turns)]
        live_turns = []
        for model in models:
            session = await self.caller.create_session(self.token)
            live_turns.append(self.follow(await self.post_turn(session, model), session, model))
        await self.until_received(live_turns)
        return live_turns

    async def until_received(self, live_turns: Sequence[LiveTurn], last: int = 0) -> None:
        """Wait until every reader has this entry, or the end."""
        readers = [reader for live in live_turns for reader in live.readers]
        await until(lambda: all(reader.last >= last or reader.ended for reader in readers))

    async def kill_and_start(self) -> None:
        """Kill the gateway with SIGKILL and start it again."""
        self.note_memory()
        await self.gateway.kill()
        self.measured.kills += 1
        await self.gateway.start()

    async def finish(self, live_turns: Sequence[LiveTurn]) -> None:
        """Wait until all readers have the end, then compare what they received with what is stored."""
        tasks = [task for live in live_turns for task in live.tasks]
        _, waiting = await asyncio.wait(tasks, timeout=PATIENCE_S) if tasks else ((), ())
        for task in waiting:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=bool(waiting))
        gate = asyncio.Semaphore(_SIMULTANEOUS_CHECKS)
        self.take(await asyncio.gather(*(self._turn_history(live, gate) for live in live_turns)))
        for live in live_turns:
            for reader in live.readers:
                self.measured.resume_ms += reader.resume_ms
        self.measured.turns += len(live_turns)

    def take(self, histories: Sequence[History]) -> None:
        """Check histories and count what they show."""
        for history in histories:
            self.measured.violations += check(history)
            self.measured.entries += entries_received(history)
        if self.keep is not None:
            append_histories(self.keep, histories)

    def expect(self, holds: bool, rule: str, detail: str) -> None:
        """Note a violation of a rule about the process, unless it holds."""
        if not holds:
            self.measured.violations.append(Violation(rule, self.gateway.home.name, detail))

    def take_write(self, name: str, *, acknowledged: bool, found: int) -> None:
        """Check that one request created one thing."""
        self.take([WriteHistory(name=name, acknowledged=acknowledged, found=found)])

    def note_silence(self, live_turns: Sequence[LiveTurn]) -> None:
        """Note how long a stream that nothing was done to was silent at worst."""
        for live in live_turns:
            for reader in live.readers:
                self.measured.add_silence(reader.longest_silence_ms)

    def note_memory(self) -> None:
        """Note the most memory that the gateway has had since its start."""
        self.measured.peak_bytes = max(self.measured.peak_bytes, peak_memory_bytes(self.gateway.pid))

    async def _turn_history(self, live: LiveTurn, gate: asyncio.Semaphore) -> TurnHistory:
        """Return what was sent, received and stored of one turn. The new reader goes through no proxy."""
        new_reader = FaultReader(token=self.token)
        async with gate:
            with suppress(TimeoutError):  # a turn without an end: the rule about ends reports it
                async with asyncio.timeout(PATIENCE_S):
                    await new_reader.follow(lambda: self.gateway.url, live.id)
            body = await self.caller.call("GET", f"/api/turns/{live.id}", token=self.token)
        state, stored_thought, stored_answer = stored_text(body)
        thought, answer = expected(live.model)
        return TurnHistory(
            turn=live.id,
            sent_thought=thought,
            sent_answer=answer,
            readers=tuple(tuple(reader.observations) for reader in live.readers),
            stored=tuple(ReaderCopy(new_reader.observations).lines),
            state=state,
            stored_thought=stored_thought,
            stored_answer=stored_answer,
        )


def stored_text(body: dict[str, Any]) -> tuple[str, str, str]:
    """Return the state, the thought and the answer of a turn, from the response of the gateway."""
    answer = "".join(part["text"] for part in body["content"])
    return body["state"], body["reasoning_content"] or "", answer


async def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(RETRY_S / 2)


def peak_memory_bytes(pid: int) -> int:
    """Return the most memory that a process has had, or 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    sizes = dict(line.split(":", 1) for line in status.read_text().splitlines())
    assert "VmHWM" in sizes, f"process {pid} has ended by itself"
    return int(sizes["VmHWM"].split()[0]) * 1024


@asynccontextmanager
async def start_run(home: Path, provider: str, setup: GatewaySetup, load: Load) -> AsyncIterator[FaultRun]:
    """Start the gateway of a scenario between its proxies. At the end it must stop in order."""
    async with run_proxy(lambda: provider) as upstream:
        start = ForkedGateway if setup.forked else GatewayProcess
        gateway = start(home, upstream.url, *setup.options, settings=setup.settings, program=setup.program)
        async with run_proxy(lambda: gateway.url) as links, start_caller(gateway) as caller:
            run = FaultRun(caller, links, upstream, load)
            yield run
            run.note_memory()
            run.measured.faults += links.faults + upstream.faults
            code = await gateway.stop()
            run.expect(code == 0, "stopped", f"the gateway ended with exit code {code}")
            log = _read_log(home / "stderr.log")
            run.expect(b"Traceback" not in log, "stopped", "the log has a traceback")


def _read_log(path: Path) -> bytes:
    """Return what is in the log now. Where it is a pipe that nobody reads, that is what fits into it."""
    log = b""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as file:
        while data := file.read(65536):
            log += data
    return log

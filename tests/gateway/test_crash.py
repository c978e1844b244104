"""kill -9 at any moment under fifty live streams: received entries are kept, and no reader waits forever."""

import asyncio
import random
import shutil
import sqlite3
import statistics
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from sqlalchemy import Connection
from tests.gateway.gateway_process import Caller, GatewayProcess, start_caller
from tests.gateway.paced_provider import expected
from tests.gateway.stream_record import StreamRecord, follow
from tests.patience import PATIENCE_S

from thinkaloud.canon import BlockGrew
from thinkaloud.store import users
from thinkaloud.store.sqlite import open_database

ROUNDS = 6
STREAMS = 50
READERS = 2
USERS = 3
"""The running turns of one user."""
WHILE_LIVE = 0.8
"""The number of kills while all streams are live. The others hit while turns are being started."""
TAIL_MS = 1000
"""The bound on unsaved time in the best round."""
SEED = 20_261_115


@dataclass
class AskedTurn:
    """A requested turn, its session, and what its readers received."""

    session: str
    token: str
    model: str = ""
    turn: str = ""
    records: list[StreamRecord] = field(default_factory=list)


async def with_tokens(gateway: GatewayProcess, count: int) -> list[str]:
    """Create users and return their tokens. The first is the local user, without a token."""

    def make(conn: Connection) -> list[str]:
        added = [users.add_user(conn, f"user{number}", 0) for number in range(1, count)]
        return [users.create_token(conn, user.key, "", 0)[1] for user in added]

    async with open_database(gateway.database, guest=True) as database:
        return ["", *await database.write(make)]


async def ask(caller: Caller, asked_turn: AskedTurn) -> None:
    """Start a turn and read it with two readers, until it ends or the gateway is gone."""
    try:
        asked_turn.turn = await caller.start_turn(asked_turn.model, asked_turn.session, asked_turn.token)
        await asyncio.gather(
            *(
                follow(caller.gateway.url, asked_turn.turn, record, asked_turn.token)
                for record in asked_turn.records
            )
        )
    except (aiohttp.ClientError, ConnectionError):
        assert caller.gateway.killed, "the connection broke while the gateway was there"


async def until_all_read(asked_turns: list[AskedTurn]) -> None:
    """Wait until every reader has received an entry."""
    async with asyncio.timeout(PATIENCE_S):
        while not all(record.lines for asked_turn in asked_turns for record in asked_turn.records):
            await asyncio.sleep(0.01)


def check_file(database: Path, copies: Path) -> None:
    """Check that a copy of the files left by the kill is a valid database."""
    copies.mkdir(exist_ok=True)
    for old in copies.iterdir():
        old.unlink()
    for suffix in ("", "-wal"):
        part = database.with_name(database.name + suffix)
        if part.exists():
            shutil.copy(part, copies / part.name)
    with closing(sqlite3.connect(copies / database.name)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("PRAGMA foreign_key_check").fetchall() == []


def running(database: Path) -> int:
    """Return the number of turns in the state running."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as conn:
        return int(conn.execute("SELECT count(*) FROM turns WHERE state = 'running'").fetchone()[0])


async def check_turn(caller: Caller, asked_turn: AskedTurn, gate: asyncio.Semaphore) -> StreamRecord:
    """Check that received entries are kept byte for byte and that the turn has one end."""
    url, turn, token = caller.gateway.url, asked_turn.turn, asked_turn.token
    async with gate:
        whole = StreamRecord()
        assert (await follow(url, turn, whole, token)).complete
        state = (await caller.call("GET", f"/api/turns/{turn}", token=token))["state"]
        assert whole.state == state
        assert state in ("done", "interrupted")
        assert whole.end_count == 1
        for record in asked_turn.records:
            record.drop_unsaved()
            assert record.lines == whole.lines[: len(record.lines)], "a reader saw what is not there"
            stream = await follow(url, turn, record, token)
            assert stream.status == 204 or record.state == state
            assert record.lines == whole.lines
        thought, answer = expected(asked_turn.model)
        if state == "done":
            assert whole.text == (thought, answer)
        assert thought.startswith(whole.text[0])
        assert answer.startswith(whole.text[1])
    return whole


def tail_ms(whole: StreamRecord, killed_ms: int) -> int | None:
    """Return the time between the last saved entry and the kill."""
    if whole.state == "done":
        return None
    stamps = [entry.at_ms for entry in whole.entries if isinstance(entry.event, BlockGrew)]
    return killed_ms - stamps[-1] if stamps and stamps[-1] is not None else None


class Crashes:
    """Several kills on one home, and the measurements."""

    def __init__(self, caller: Caller, dice: random.Random, copies: Path) -> None:
        self.caller = caller
        self.dice = dice
        self.copies = copies
        self.tails_ms: list[int] = []
        self.usual_ms: list[float] = []
        self.worst_ms: list[int] = []
        self.starts_s: list[float] = []
        self.states: dict[str, int] = {}
        self.entries_seen = 0

    async def round(self, places: list[tuple[str, str]]) -> None:
        gateway, dice = self.caller.gateway, self.dice
        asked_turns = [AskedTurn(session, token) for session, token in places]
        for asked_turn in asked_turns:
            asked_turn.model = (
                f"r{dice.randrange(150)}-c{dice.randrange(1, 150)}-ms{dice.choice((10, 20, 40))}"
            )
            asked_turn.records = [StreamRecord() for _ in range(READERS)]
        asking = [asyncio.create_task(ask(self.caller, asked_turn)) for asked_turn in asked_turns]
        if dice.random() < WHILE_LIVE:
            await until_all_read(asked_turns)
        await asyncio.sleep(dice.uniform(0.0, 0.8))
        killed_ms = time.time_ns() // 1_000_000
        await gateway.kill()
        await asyncio.gather(*asking)
        await asyncio.to_thread(check_file, gateway.database, self.copies)
        await gateway.start()
        assert running(gateway.database) == 0
        gate = asyncio.Semaphore(10)
        started_turns = [asked_turn for asked_turn in asked_turns if asked_turn.turn]
        self.entries_seen += sum(
            len(record.lines) for asked_turn in started_turns for record in asked_turn.records
        )
        checks = await asyncio.gather(
            *(check_turn(self.caller, asked_turn, gate) for asked_turn in started_turns)
        )
        self._measure(checks, killed_ms)

    def _measure(self, checks: list[StreamRecord], killed_ms: int) -> None:
        self.starts_s.append(self.caller.gateway.start_duration_s)
        tails = [tail for whole in checks if (tail := tail_ms(whole, killed_ms)) is not None]
        self.tails_ms += tails
        self.usual_ms += [statistics.median(tails)] if tails else []
        self.worst_ms += [max(tails)] if tails else []
        for whole in checks:
            self.states[whole.state] = self.states.get(whole.state, 0) + 1

    def __str__(self) -> str:
        return (
            f"{sum(self.states.values())} turns {self.states}, {self.entries_seen} entries seen; "
            "tail at the kill: "
            f"median {statistics.median(self.tails_ms)} ms, worst {max(self.worst_ms)} ms, median of the "
            f"rounds' worst {statistics.median(self.worst_ms)} ms; start: "
            f"median {statistics.median(self.starts_s):.2f} s, worst {max(self.starts_s):.2f} s"
        )


def test_kill_at_any_moment_loses_no_received_entry(tmp_path: Path, provider: str) -> None:
    """Six kills on one home; its sessions continue after each."""

    async def story() -> None:
        gateway = GatewayProcess(tmp_path / "home", provider)
        tokens = await with_tokens(gateway, USERS)
        async with start_caller(gateway) as caller:
            places = [
                (await caller.create_session(token), token)
                for token in (tokens[number % USERS] for number in range(STREAMS))
            ]
            crashes = Crashes(caller, random.Random(SEED), tmp_path / "copies")
            for number in range(ROUNDS):
                try:
                    await crashes.round(places)
                except BaseException:
                    print(f"in round {number} of seed {SEED}")
                    raise
            assert await gateway.stop() == 0
        check_file(gateway.database, tmp_path / "copies")
        print(crashes)
        assert crashes.entries_seen > ROUNDS * STREAMS * READERS, (
            "hardly anything was seen, so nothing was tried"
        )
        assert crashes.states.keys() == {"done", "interrupted"}
        # Other tests share this machine: how long things take at worst is only printed.
        assert min(crashes.usual_ms) < TAIL_MS
        assert "Traceback" not in gateway.errors

    asyncio.run(story())

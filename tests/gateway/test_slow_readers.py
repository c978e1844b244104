"""Stalled readers use no memory, are disconnected in time, and delay no other reader."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import Caller, start_caller
from tests.gateway.paced_provider import START_S, expected
from tests.gateway.stalled_reader import MIB, live_readers, stalled_readers
from tests.gateway.stream_record import StreamRecord, follow

from thinkaloud.gateway.server.gateway import Settings

LARGE = "r0-c2000-ms0-b1000"
"""Two MB in many entries, more than the socket buffers hold."""
ONE_ENTRY = "r0-c1-ms0-b2000000"
"""The same as one word."""
GROWING = "r0-c4000-ms5-b500"
"""The same, running for longer than the send timeout."""
SCATTERED = "r0-c2000-ms1-b1000"
"""The same, with readers at different positions."""
ORDINARY = "r150-c150-ms10"
STUCK = 200
READERS_PER_TURN = 100
SEND_TIMEOUT_S = 2.0
MOST_GROWTH_BYTES = 80 * MIB

PROC = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not PROC.exists(), reason="memory and sockets of a process are read in /proc")


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sockets(pid: int) -> int:
    """Return the number of open sockets of a process."""
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += os.readlink(descriptor).startswith("socket:")
        except FileNotFoundError:
            count += 0  # closed while we looked
    return count


async def read_to_the_end(caller: Caller, model: str) -> str:
    """Start a turn and read it to its end."""
    turn, record = await caller.start_turn(model), StreamRecord()
    while not record.state:  # on a busy machine this reader too may be given up, and comes back
        await follow(caller.gateway.url, turn, record)
    assert record.text == expected(model)
    return turn


async def first_half(caller: Caller, turn: str) -> list[int]:
    """Return positions spread over the first half of a finished turn.

    A busy gateway takes several chunks into one entry, so the number of entries is not known before.
    """
    record = StreamRecord()
    while not record.state:
        await follow(caller.gateway.url, turn, record)
    return [record.last * number // (2 * READERS_PER_TURN) - 1 for number in range(READERS_PER_TURN)]


class Memory:
    """The peak growth of a process's memory."""

    grown_bytes = 0

    @classmethod
    @asynccontextmanager
    async def watched(cls, pid: int) -> AsyncIterator["Memory"]:
        memory, bytes_before = cls(), resident_bytes(pid)

        async def watch() -> None:
            while True:
                memory.grown_bytes = max(memory.grown_bytes, resident_bytes(pid) - bytes_before)
                await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        try:
            yield memory
        finally:
            watching.cancel()


async def until_given_up(caller: Caller, sockets_before: int) -> None:
    """Wait until all stalled readers are disconnected and their sockets closed."""
    async with asyncio.timeout(SEND_TIMEOUT_S + START_S):
        while await live_readers(caller) > 0 or sockets(caller.gateway.pid) > sockets_before + STUCK // 10:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "model",
    [LARGE, ONE_ENTRY, GROWING, SCATTERED],
    ids=["many entries", "one entry", "live", "places of their own"],
)
def test_two_hundred_stalled_readers_use_little_memory_and_are_disconnected(
    tmp_path: Path, provider: str, model: str
) -> None:
    """S17."""

    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider, settings=Settings(send_timeout_s=SEND_TIMEOUT_S))
        async with start_caller(gateway) as caller:
            turns = [await read_to_the_end(caller, LARGE) for _ in range(STUCK // READERS_PER_TURN)]
            if model in (ONE_ENTRY, SCATTERED):
                turns = [await read_to_the_end(caller, model) for _ in turns]
            elif model == GROWING:
                turns = [await caller.start_turn(model) for _ in turns]
            positions = [-1] * READERS_PER_TURN
            if model == SCATTERED:
                positions = min([await first_half(caller, turn) for turn in turns])
            sockets_before, started_s = sockets(gateway.pid), time.monotonic()
            async with (
                Memory.watched(gateway.pid) as memory,
                stalled_readers(gateway.url, turns, positions) as readers,
            ):
                await read_to_the_end(caller, ORDINARY)
                await until_given_up(caller, sockets_before)
                took_s = time.monotonic() - started_s
                assert not any(reader.had_all() for reader in readers), "they were not stuck"
            grown = memory.grown_bytes / MIB
            print(f"{STUCK} stuck readers of {model}: {grown:+.1f} MiB, all given up within {took_s:.1f} s")
            assert memory.grown_bytes < MOST_GROWTH_BYTES
            assert "Traceback" not in gateway.errors

    asyncio.run(story())


def test_stalled_readers_do_not_delay_stop(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider, settings=Settings(send_timeout_s=10 * START_S))
        async with start_caller(gateway) as caller:
            turn = await read_to_the_end(caller, LARGE)
            async with stalled_readers(gateway.url, [turn], [-1] * 20):
                assert await gateway.send(signal.SIGTERM).wait() == 0
            assert "Traceback" not in gateway.errors

    asyncio.run(story())

"""Readers that stop reading: they cost no memory, are given up in time, and hold nobody back."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.gateway.gateway_process import Caller, GatewayProcess, calling
from tests.gateway.providing import expected
from tests.gateway.reading import Tape, follow

from thinkaloud.server.gateway import Settings

MIB = 1024 * 1024
LARGE = "r0-c4000-ms0-b500"
"""Six MB of stream: more than two sockets hold between them."""
ORDINARY = "r150-c150-ms10"
TURNS = 4
STUCK = 200
SEND_TIMEOUT_S = 2.0
MOST_GROWTH_BYTES = 50 * MIB

PROC = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not PROC.exists(), reason="memory and sockets of a process are read in /proc")


def resident_bytes(pid: int) -> int:
    """How much memory a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sockets(pid: int) -> int:
    """How many sockets a process has open."""
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += os.readlink(descriptor).startswith("socket:")
        except FileNotFoundError:
            count += 0  # closed while we looked
    return count


@contextmanager
def stuck(url: str, turns: list[str], count: int) -> Iterator[None]:
    """So many readers that ask for a stream and take nothing of it."""
    place = urlsplit(url)
    held: list[socket.socket] = []
    try:
        for number in range(count):
            one = socket.socket()
            held.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((place.hostname, place.port))
            turn = turns[number % len(turns)]
            one.sendall(f"GET /api/turns/{turn}/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        yield
    finally:
        for one in held:
            one.close()


async def large_turns(caller: Caller, count: int) -> list[str]:
    """Turns with much to read, begun and read to their end."""
    turns = [await caller.begin(LARGE) for _ in range(count)]
    for tape, turn in [(Tape(), turn) for turn in turns]:
        await follow(caller.gateway.url, turn, tape)
        assert tape.text == expected(LARGE)
    return turns


async def live_readers(caller: Caller) -> int:
    async with caller.http.get(f"{caller.gateway.url}/metrics") as response:
        told = dict(line.rsplit(" ", 1) for line in (await response.text()).splitlines() if line[0] != "#")
    return int(told["thinkaloud_readers_live"])


async def until_given_up(caller: Caller, before: int) -> int:
    """Until nobody is read for and their sockets are closed; the most memory that was seen meanwhile."""
    pid, most = caller.gateway.pid, 0
    async with asyncio.timeout(SEND_TIMEOUT_S + 20):
        while await live_readers(caller) > 0 or sockets(pid) > before:
            most = max(most, resident_bytes(pid))
            await asyncio.sleep(0.05)
    return most


def test_two_hundred_readers_that_take_nothing_cost_little_and_are_given_up(
    tmp_path: Path, provider: str
) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider, settings=Settings(send_timeout_s=SEND_TIMEOUT_S))
        async with calling(gateway) as caller:
            await large_turns(caller, TURNS)
            before, rss_before = sockets(gateway.pid), resident_bytes(gateway.pid)
            turns = [await caller.begin(LARGE) for _ in range(TURNS)]
            begun = time.monotonic()
            with stuck(gateway.url, turns, STUCK):
                turn, tape = await caller.begin(ORDINARY), Tape()
                ordinary = asyncio.create_task(follow(gateway.url, turn, tape))
                for large in turns:
                    whole = Tape()
                    await follow(gateway.url, large, whole)
                    assert whole.text == expected(LARGE)
                assert await live_readers(caller) >= STUCK, "they are there, and take nothing"
                await ordinary
                assert tape.text == expected(ORDINARY)
                most = await until_given_up(caller, before)
                took_s = time.monotonic() - begun
            grown = max(most, resident_bytes(gateway.pid)) - rss_before
            print(f"{STUCK} stuck readers: {grown / MIB:+.1f} MiB; all given up {took_s:.1f} s after they came")
            assert grown < MOST_GROWTH_BYTES
            assert "Traceback" not in gateway.errors

    asyncio.run(story())


def test_readers_that_take_nothing_do_not_keep_it_from_stopping(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            turns = await large_turns(caller, 1)
            with stuck(gateway.url, turns, 20):
                async with asyncio.timeout(10):
                    while await live_readers(caller) < 20:
                        await asyncio.sleep(0.02)
                begun = time.monotonic()
                assert await gateway.send(signal.SIGTERM).wait() == 0
                took_s = time.monotonic() - begun
            print(f"stopped in {took_s:.2f} s with 20 stuck readers")
            assert took_s < 8
            assert "Traceback" not in gateway.errors

    asyncio.run(story())

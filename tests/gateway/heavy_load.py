"""A load that must not silence streams: the largest import, ten exports and a search beside live turns."""

import asyncio
import io
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import aiohttp
import msgspec
from tests.gateway.gateway_process import GatewayProcess, start_caller
from tests.gateway.stream_record import StreamRecord, open_stream

STEADY = "r90000-c1-ms50"
IDLE_S = 4.0
"""How long streams are watched before the load begins."""


class LoadResult(NamedTuple):
    """How long the load took, and the longest time in which one of the streams sent nothing.

    `idle_silence_s` is the same before the load. On a busy machine it is long too.
    """

    seconds: float
    silence_s: float
    idle_silence_s: float

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s of load; a stream was silent for {self.silence_s * 1000:.0f} ms at worst, "
            f"without load for {self.idle_silence_s * 1000:.0f} ms"
        )


class HeavyLoad(NamedTuple):
    """What a gateway has to do at once. By default it is the most that the limits allow."""

    streams: int = 50
    blocks: int = 10_000
    """Of each of the two turns of an imported file."""
    exports: int = 10


def large_import(block_count: int) -> bytes:
    """Return a file of two turns with many blocks, with words of one character."""
    blocks: list[dict[str, object]] = []
    for block in range(block_count):
        blocks += (
            {"type": "block.started", "block": block, "kind": ("reasoning", "text")[block % 2]},
            {"type": "block.grew", "block": block, "text": "思考" * 45},
            {"type": "block.ended", "block": block},
        )
    events = [{"type": "turn.started"}, *blocks, {"type": "turn.ended"}]
    entries = [{"seq": seq, "event": event} for seq, event in enumerate(events)]
    exchange = {"asked": [{"role": "user", "text": "Again?"}], "entries": entries}
    record = {"thinkaloud": 1, "title": "Large", "created_ms": 1, "exchanges": [exchange, exchange]}
    return msgspec.json.encode(record)


def put_under_load(url: str, load: HeavyLoad) -> float:
    """Put a gateway under load. Return how many seconds it took."""
    data = large_import(load.blocks)
    assert len(data) < 10 * 2**20, "a larger body is refused"
    begun_s = time.monotonic()
    asyncio.run(_send_load(url, data, load.exports))
    return time.monotonic() - begun_s


async def _send_load(url: str, data: bytes, exports: int) -> None:
    """Import a file, then import it again beside exports and a search, and delete it."""
    async with aiohttp.ClientSession() as http:
        await _send_requests(http, url, data, exports)


async def _send_requests(http: aiohttp.ClientSession, url: str, data: bytes, exports: int) -> None:
    async def call(method: str, path: str, data: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json"} if data else {}
        async with http.request(
            method, url + path, data=data and io.BytesIO(data), headers=headers
        ) as response:
            assert response.status < 300, await response.text()
            return await response.read()

    session = msgspec.json.decode(await call("POST", "/api/import", data))["id"]
    await asyncio.gather(
        call("POST", "/api/import", data),
        call("GET", "/api/search?q=%E6%80%9D%E8%80%83&scope=thoughts"),
        *(call("GET", f"/api/sessions/{session}/export?format=json") for _ in range(exports)),
    )
    await call("DELETE", f"/api/sessions/{session}")


class Silence:
    """The longest time without an event of any stream, since the last reset."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    def take(self) -> float:
        """Return the longest silence and start anew."""
        longest_s, self.longest_s = self.longest_s, 0.0
        return longest_s


async def watch_stream(url: str, turn: str, silence: Silence, stop: asyncio.Event) -> None:
    """Read a stream until told to stop, and note its silences."""
    async with open_stream(url, turn, StreamRecord()) as stream:
        before_s = time.monotonic()
        while not stop.is_set():
            assert await stream.read()
            now_s = time.monotonic()
            silence.longest_s, before_s = max(silence.longest_s, now_s - before_s), now_s


async def measure_silence(gateway: GatewayProcess, load: HeavyLoad) -> LoadResult:
    """Put a gateway with live streams under load. Return how long a stream was silent at worst."""
    loop = asyncio.get_running_loop()
    # The load comes from a process of its own: this one must notice every event when it arrives.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        await loop.run_in_executor(processes, int)  # the process is started before anything is measured
        async with start_caller(gateway) as caller:
            stop, silence = asyncio.Event(), Silence()
            turns = [await caller.start_turn(STEADY) for _ in range(load.streams)]
            watchers = [asyncio.create_task(watch_stream(gateway.url, turn, silence, stop)) for turn in turns]
            await asyncio.sleep(IDLE_S / 2)  # until all streams are open
            silence.take()
            await asyncio.sleep(IDLE_S)
            idle_silence_s = silence.take()
            seconds = await loop.run_in_executor(processes, put_under_load, gateway.url, load)
            stop.set()
            await asyncio.gather(*watchers)
            return LoadResult(seconds, silence.take(), idle_silence_s)

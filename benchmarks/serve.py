"""The whole path over HTTP: from a provider's chunk, through the gateway and its disk, to a reader.

Provider, gateway and readers are three processes. For comparison, a proxy copies the same bytes and stores
nothing: its cost is that of the two connections.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp

from benchmarks.ask import WORDS, frames
from benchmarks.report import Goal, Section, WrongAnswer, table

TITLE = "Serving live turns over HTTP"
CHUNKS_PER_SECOND = 20
"""Chunks per second of one stream; most models are slower."""
TURN_STARTS_PER_SECOND = 40
"""Turns that are started per second."""
MAX_P99_MS = 100
RESPONSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CATALOG = """
[providers.bench]
dialect = "openai_chat"
base_url = "http://127.0.0.1:{port}/v1"
auth = "none"
local = true
replay = "none"
fact = {{ as_of = "2026-01-01", source = "this benchmark" }}
"""


class GatewayResult(NamedTuple):
    """The result of one run; lags are from the gateway's stamp on an entry to its arrival, sorted."""

    cores: float
    first_ms: list[float]
    lags_ms: list[float]


def percentile(values: list[float], share: float) -> float:
    return values[int(len(values) * share)]


async def serve_provider() -> None:
    """Serve a provider on a free port; the model's name is the number of chunks to send."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            writer.write(RESPONSE_HEAD)
            started = time.perf_counter()
            for number, frame in enumerate(frames(int(body["model"]))):
                await asyncio.sleep(max(0.0, started + number / CHUNKS_PER_SECOND - time.perf_counter()))
                writer.write(frame)
            await writer.drain()

    async def answer_until_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer_until_closed, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def serve_proxy(port: int) -> None:
    """Serve a proxy on a free port that copies bytes in both directions."""

    async def copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def copy_both_ways(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy_stream(reader, upstream[1]), copy_stream(upstream[0], writer))

    server = await asyncio.start_server(copy_both_ways, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running_process(*command: str, env: dict[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """Start a process that prints its address in its first line; yields its id and that line."""
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | (env or {}),
    ) as running:
        try:
            assert running.stdout is not None
            yield running.pid, running.stdout.readline().strip()
        finally:
            running.kill()


def processor_s(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def follow_turn(web: aiohttp.ClientSession, count: int) -> tuple[float, list[float]]:
    """Run one turn; returns the time to the first thought and the lag of each entry."""
    async with web.post("/api/sessions", json={"model": f"bench/{count}"}) as session_response:
        session = (await session_response.json())["id"]
    started = time.time()
    async with web.post(f"/api/sessions/{session}/turns", json={"prompt": "Go."}) as turn_response:
        turn = (await turn_response.json())["id"]
    first_ms, lags, texts = 0.0, [], []
    async with web.get(f"/api/turns/{turn}/events") as stream:
        async for line in stream.content:
            if not line.startswith(b'data: {"seq"'):
                continue
            now, entry = time.time(), json.loads(line[6:])
            if entry["event"]["type"] == "block.grew":
                first_ms = first_ms or (now - started) * 1000
                lags.append(now * 1000 - entry["at_ms"])
                texts.append(entry["event"]["text"])
    if "".join(texts) != "".join(WORDS[number % len(WORDS)] for number in range(count)):
        raise WrongAnswer(f"turn {turn} says something else")
    return first_ms, lags


async def measure_gateway(url: str, pid: int, streams: int, seconds: float) -> GatewayResult:
    async def follow_later(number: int, web: aiohttp.ClientSession) -> tuple[float, list[float]]:
        await asyncio.sleep(number / TURN_STARTS_PER_SECOND)
        return await follow_turn(web, int(CHUNKS_PER_SECOND * seconds))

    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as web:
        await follow_turn(web, 2)
        processor_before, started = processor_s(pid), time.perf_counter()
        turns = await asyncio.gather(*(follow_later(number, web) for number in range(streams)))
        cores = (processor_s(pid) - processor_before) / (time.perf_counter() - started)
    first_ms = sorted(first for first, _ in turns)
    return GatewayResult(cores, first_ms, sorted(lag for _, lags in turns for lag in lags))


async def measure_proxy(port: int, pid: int, streams: int, seconds: float) -> float:
    """CPU cores needed to copy the same streams."""

    async def read_stream(web: aiohttp.ClientSession) -> None:
        async with web.post("/", json={"model": str(int(CHUNKS_PER_SECOND * seconds))}) as stream:
            async for _ in stream.content.iter_any():
                pass

    origin = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession(origin, connector=aiohttp.TCPConnector(limit=0)) as web:
        processor_before, started = processor_s(pid), time.perf_counter()
        await asyncio.gather(*(read_stream(web) for _ in range(streams)))
        return (processor_s(pid) - processor_before) / (time.perf_counter() - started)


def measure(streams: int, seconds: float) -> Section:
    """Measure and return the section for the report."""
    if not Path("/proc/self/stat").exists():
        return Section(TITLE, "The processor time of another process cannot be read here.")
    with running_process("-m", "benchmarks.serve", "provide") as (_, port):
        with running_process("-m", "benchmarks.serve", "copy", port) as (pid, copy_port):
            proxy_cores = asyncio.run(measure_proxy(int(copy_port), pid, streams, seconds))
        with tempfile.TemporaryDirectory() as home:
            (Path(home) / "catalog.toml").write_text(CATALOG.format(port=port))
            serve = ("-m", "thinkaloud", "serve", "--port", "0", "--log-format", "json")
            with running_process(*serve, env={"THINKALOUD_HOME": home}) as (pid, url):
                result = asyncio.run(measure_gateway(url, pid, streams, seconds))
    return _section(result, proxy_cores, streams)


def _section(result: GatewayResult, proxy_cores: float, streams: int) -> Section:
    head = (
        f"{streams} turns × {CHUNKS_PER_SECOND} chunks/s",
        "cores",
        "first thought, p50 ms",
        "p50, ms",
        "p99, ms",
        "most, ms",
    )
    lags = result.lags_ms
    rows = [
        (
            "the gateway: asked, kept, streamed",
            f"{result.cores:.2f}",
            f"{percentile(result.first_ms, 0.5):.0f}",
            *(f"{lag:.0f}" for lag in (percentile(lags, 0.5), percentile(lags, 0.99), lags[-1])),
        ),
        ("a proxy that copies bytes", f"{proxy_cores:.2f}", "–", "–", "–", "–"),
    ]
    times = f"{result.cores / proxy_cores:.1f}" if proxy_cores else "?"  # too short a run to be counted
    note = f"The gateway costs {times} times the proxy. {TURN_STARTS_PER_SECOND} turns a second are begun."
    p99_ms = percentile(lags, 0.99)
    goal = Goal(
        f"{streams} turns × {CHUNKS_PER_SECOND} chunks/s over HTTP, from stamp to reader: "
        f"p99 ≤ {MAX_P99_MS} ms",
        f"{p99_ms:.0f} ms at {result.cores:.2f} core",
        p99_ms <= MAX_P99_MS,
    )
    return Section(TITLE, f"{table(head, rows)}\n\n{note}", (goal,))


if __name__ == "__main__":
    asyncio.run(serve_provider() if sys.argv[1] == "provide" else serve_proxy(int(sys.argv[2])))

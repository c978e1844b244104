"""CPU time per chunk of a streamed answer: our client, and httpx with json.loads.

Both send requests to the same local server, which runs in a process of its own, and both must return the
same text. CPU time is measured, not wall time. Rounds alternate, and the lowest value counts. "Paced" sends
each chunk by itself, as models do; "burst" sends all chunks as fast as they are read.
"""

import asyncio
import gc
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import NamedTuple

import aiohttp
import msgspec

from benchmarks.report import Section
from thinkaloud.client import Client, Options, PreparedRequest, stream
from thinkaloud.core.canon import BlockGrew, Kind
from thinkaloud.core.canon.events import BlockStarted
from thinkaloud.core.canon.requests import Request, UserMessage
from thinkaloud.core.catalog.rows import (
    AuthScheme,
    Model,
    Provider,
    ReplayForm,
    ReplayRow,
    Route,
    RowSource,
    ThinkingSupport,
)

TITLE = "Asking: one chunk of an answer"
CHUNK_INTERVAL_S = 0.0004
WORDS = ["The ", "quick ", "brown ", "fox ", "jumps "]
FACT = RowSource(as_of="2026-01-01", source="this benchmark")

ThoughtAndAnswer = tuple[str, str]
Ask = Callable[[str, int], Awaitable[ThoughtAndAnswer]]


class ChunkCost(NamedTuple):
    """Microseconds of CPU time per chunk; `bytes_only` is the cost of reading the bytes alone."""

    thinkaloud: float
    httpx: float
    bytes_only: float


def frames(count: int) -> list[bytes]:
    """A chat completion, half of it reasoning; every delta is its own HTTP chunk."""
    chunks = []
    for number in range(count):
        name = "reasoning_content" if number < count // 2 else "content"
        delta = {"role": "assistant", name: WORDS[number % len(WORDS)]}
        chunks.append({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
    lines = [json.dumps({**common, **chunk}) for chunk in chunks] + ["[DONE]"]
    events = [f"data: {line}\n\n".encode() for line in lines]
    return [b"%x\r\n%s\r\n" % (len(event), event) for event in events] + [b"0\r\n\r\n"]


def answer(connection: socket.socket) -> None:
    """Answer requests for /burst/COUNT and /paced/COUNT until the client disconnects."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connection, connection.makefile("rb") as lines:
        while line := lines.readline():
            _, pace, count, *_ = line.split()[1].decode().split("/")
            length = 0
            while (header := lines.readline()) not in (b"\r\n", b""):
                name, _, value = header.lower().partition(b":")
                length = int(value) if name == b"content-length" else length
            lines.read(length)
            connection.sendall(head)
            if pace == "burst":
                connection.sendall(b"".join(frames(int(count))))
                continue
            for frame in frames(int(count)):
                connection.sendall(frame)
                time.sleep(CHUNK_INTERVAL_S)


def serve() -> None:
    """Serve on a free local port and print it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


def expected_texts(count: int) -> ThoughtAndAnswer:
    words = [WORDS[number % len(WORDS)] for number in range(count)]
    return "".join(words[: count // 2]), "".join(words[count // 2 :])


@asynccontextmanager
async def thinkaloud_client(port: int) -> AsyncIterator[Ask]:
    """Our client: bytes, frames and events, with all limits and timeouts."""
    base_url = f"http://127.0.0.1:{port}"
    provider = Provider(
        name="bench", dialect="openai_chat", base_url=base_url, auth=AuthScheme.NONE, local=True, fact=FACT
    )
    route = Route(
        provider=provider,
        model=Model(id="m-1", thinking=ThinkingSupport.ALWAYS, fact=FACT),
        model_id="m-1",
        replay=ReplayRow(name="none", form=ReplayForm.NONE),
    )
    request = Request(model="m-1", messages=(UserMessage("Go."),))

    async with Client() as client:

        async def ask(pace: str, count: int) -> ThoughtAndAnswer:
            there = msgspec.structs.replace(provider, base_url=f"{base_url}/{pace}/{count}")
            prepared = PreparedRequest(msgspec.structs.replace(route, provider=there), request)
            kinds: dict[int, Kind] = {}
            texts: dict[Kind, list[str]] = {kind: [] for kind in Kind}
            async for event in stream(prepared, options=Options(client=client)):
                if type(event) is BlockGrew:
                    texts[kinds[event.block]].append(event.text)
                elif type(event) is BlockStarted:
                    kinds[event.block] = event.kind
            return "".join(texts[Kind.REASONING]), "".join(texts[Kind.TEXT])

        yield ask


@asynccontextmanager
async def httpx_client(port: int) -> AsyncIterator[Ask]:
    """httpx, lines and json.loads: a simple script without limits or blocks."""
    import httpx

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:

        async def ask(pace: str, count: int) -> ThoughtAndAnswer:
            thought: list[str] = []
            text: list[str] = []
            async with client.stream("POST", f"/{pace}/{count}", content=b"{}") as response:
                async for line in response.aiter_lines():
                    if not line.startswith("data: ") or line == "data: [DONE]":
                        continue
                    delta = json.loads(line[6:])["choices"][0]["delta"]
                    if text_delta := delta.get("reasoning_content"):
                        thought.append(text_delta)
                    elif text_delta := delta.get("content"):
                        text.append(text_delta)
            return "".join(thought), "".join(text)

        yield ask


@asynccontextmanager
async def bytes_only_client(port: int) -> AsyncIterator[Ask]:
    """aiohttp alone: the bytes are read and discarded."""
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:

        async def ask(pace: str, count: int) -> ThoughtAndAnswer:
            async with session.post(f"/{pace}/{count}", data=b"{}") as response:
                while await response.content.readany():
                    pass
            return expected_texts(count)

        yield ask


async def microseconds_per_chunk(ask: Ask, pace: str, count: int) -> float:
    """Microseconds per chunk of one answer, which must be correct."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        texts = await ask(pace, count)
        seconds = time.process_time() - started
    finally:
        gc.enable()
    if texts != expected_texts(count):
        raise SystemExit(f"a wrong answer, so its time means nothing: {str(texts)[:80]}")
    return seconds / count * 1e6


async def race(port: int, count: int, rounds: int) -> dict[str, ChunkCost]:
    async with (
        thinkaloud_client(port) as ask_thinkaloud,
        httpx_client(port) as ask_httpx,
        bytes_only_client(port) as ask_bytes_only,
    ):
        clients = (ask_thinkaloud, ask_httpx, ask_bytes_only)
        costs = {}
        for pace in ("paced", "burst"):
            for ask in clients:
                await microseconds_per_chunk(ask, pace, 10)
            rounds_us = [
                [await microseconds_per_chunk(ask, pace, count) for ask in clients] for _ in range(rounds)
            ]
            costs[pace] = ChunkCost(*map(min, zip(*rounds_us, strict=True)))
        return costs


def measure(count: int, rounds: int) -> dict[str, ChunkCost]:
    """Measure the cost of a chunk for both, paced and in a burst."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.ask"], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            return asyncio.run(race(port, count, rounds))
        finally:
            server.kill()


def cost_table(costs: dict[str, ChunkCost]) -> str:
    """The result as a Markdown table."""
    rows = ["| µs of processor per chunk | Thinkaloud | httpx + json | ratio | bytes alone (aiohttp) |"]
    rows += ["| --- | ---: | ---: | ---: | ---: |"]
    rows += [
        f"| {pace} | {cost.thinkaloud:.1f} | {cost.httpx:.1f} | {cost.httpx / cost.thinkaloud:.1f} "
        f"| {cost.bytes_only:.1f} |"
        for pace, cost in costs.items()
    ]
    return "\n".join(rows)


def section(count: int, rounds: int) -> Section:
    """The answer, for the report."""
    if find_spec("httpx") is None:
        return Section(TITLE, "httpx is not installed here, so there is nothing to measure beside.")
    return Section(TITLE, cost_table(measure(count, rounds)))


if __name__ == "__main__":
    serve()

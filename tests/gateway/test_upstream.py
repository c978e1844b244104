"""Provider failures as readers see them: received text is kept, and the turn has one end."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.client.upstream import (
    CHUNKED,
    STORY,
    STREAM,
    RequestHandler,
    UpstreamRequest,
    chat_delta,
    http_chunk,
    http_response,
    serve_upstream,
)
from tests.gateway.stream_record import StreamRecord, follow
from tests.patience import PATIENCE_S
from tests.server.caller import Caller, quick_settings, start_gateway

from thinkaloud.client import Client, RetryPolicy, Timeouts
from thinkaloud.core.canon import TurnStarted
from thinkaloud.core.transcript import BlockStatus, Ending
from thinkaloud.simulators.server import GARBAGE_BYTES

ROW = """
[providers.acme]
dialect = "openai_chat"
base_url = "{url}"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
BODY = b"".join(STORY)
SAID = [("Two", ""), (" and two → ?", ""), ("", "Fo"), ("", "ur."), ("", ""), ("", "")]
"""What each event adds to reasoning and answer. The fifth ends the response."""
RETRIES = RetryPolicy(max_retries=2, first_wait_s=0.01)


@asynccontextmanager
async def asking(
    folder: Path, *acts: RequestHandler, idle_s: float = PATIENCE_S, **settings: Any
) -> AsyncIterator[tuple[Caller, list[UpstreamRequest]]]:
    """Start a gateway in front of a provider with this behaviour."""
    client = Client(retries=RETRIES, timeouts=Timeouts(idle_s=idle_s))
    async with serve_upstream(*acts) as upstream:
        rows = ROW.format(url=upstream.base_url)
        async with start_gateway(
            folder, settings=quick_settings(**settings), client=client, extra=rows
        ) as caller:
            yield caller, upstream.requests


async def start_turn(caller: Caller) -> str:
    return await caller.start_turn(await caller.create_session(), model="acme/m-1")


async def read_turn(caller: Caller) -> StreamRecord:
    """Start a turn and read it to its end."""
    record = StreamRecord()
    await follow(caller.url, await start_turn(caller), record)
    return record


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(0.002)


def check_end(record: StreamRecord, state: str, cause: str) -> None:
    """Check the outcome: one end, which is the last entry, and no open block."""
    turn = record.turn
    assert (record.state, record.end_count) == (state, 1)
    assert record.events == [("end", {"state": state})]
    assert turn.outcome is not None
    assert turn.outcome.cause == cause
    assert (turn.outcome.ending is Ending.ANSWERED) == (state == "done")
    assert all(block.status is not BlockStatus.RUNNING for block in turn.blocks)
    assert [type(entry.event) for entry in record.entries].count(TurnStarted) == 1


def said_within(size: int) -> tuple[int, tuple[str, str]]:
    """Return the number of events in these bytes, and their text.

    An event counts without its blank line if a piece ends with its data: so do pieces that are lines.
    """
    whole, rest = BODY[:size].count(b"\n\n"), BODY[:size].rpartition(b"\n\n")[2].strip()
    whole += bool(rest) and rest == STORY[whole].strip()
    return whole, said_by(whole)


def said_by(events: int) -> tuple[str, str]:
    thought, text = zip(*SAID[:events], strict=True) if events else ((), ())
    return "".join(thought), "".join(text)


def cuts() -> list[int]:
    """Return every boundary between events, and some positions inside each."""
    places, at = [0], 0
    for event in STORY:
        places += [at + 1, at + len(event) // 2, at + len(event) - 2, at + len(event)]
        at += len(event)
    return places


class Cutting:
    """A provider that sends some bytes and resets the connection once the reader has them."""

    def __init__(self) -> None:
        self.size = 0
        self.go_on = asyncio.Event()

    async def act(self, request: UpstreamRequest) -> None:
        await request.send(CHUNKED + b"%x\r\n" % len(BODY) + BODY[: self.size])
        await self.go_on.wait()
        request.reset()

    async def cut(
        self, caller: Caller, requests: list[UpstreamRequest], size: int
    ) -> tuple[StreamRecord, int]:
        """Return what a reader received of a turn cut there, and the number of requests."""
        requests_before, record = len(requests), StreamRecord()
        self.size = size
        self.go_on.clear()
        reading = asyncio.create_task(follow(caller.url, await start_turn(caller), record))
        await until(lambda: record.text == said_within(size)[1] and len(requests) > requests_before)
        self.go_on.set()
        await reading
        return record, len(requests) - requests_before


def test_provider_connection_reset_keeps_received_text(tmp_path: Path) -> None:
    """No retry after a visible entry; a turn whose final event arrived is done."""

    async def story() -> None:
        provider = Cutting()
        async with asking(tmp_path, provider.act) as (caller, requests):
            for size in cuts():
                record, request_count = await provider.cut(caller, requests, size)
                whole, text = said_within(size)
                assert record.text == text, f"after {size} bytes"
                if whole >= 5:
                    check_end(record, "done", "stop")
                elif whole:
                    check_end(record, "failed", "cut_off")
                else:
                    assert (record.state, record.end_count) == ("failed", 1)
                if whole or size == 0:
                    assert request_count == (1 if whole else 1 + RETRIES.max_retries), f"after {size} bytes"

    asyncio.run(story())


def test_silent_provider_times_out_with_heartbeats_meanwhile(tmp_path: Path) -> None:
    disconnected = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:2])
        await request.wait_closed()
        disconnected.set()

    async def story() -> None:
        async with asking(tmp_path, act, idle_s=2.0, heartbeat_s=0.1) as (caller, requests):
            begun_s = time.monotonic()
            record = await read_turn(caller)
            took_s = time.monotonic() - begun_s
            check_end(record, "failed", "stalled")
            assert record.text == ("Two and two → ?", "")
            assert record.comments >= 3
            assert took_s > 2.0
            await asyncio.wait_for(disconnected.wait(), PATIENCE_S)
            assert len(requests) == 1

    asyncio.run(story())


UNFINISHED: dict[str, tuple[bytes, ...]] = {
    "at the end of the connection": (STREAM, *STORY[:4]),
    "in chunks, with a proper last one": (CHUNKED, *map(http_chunk, STORY[:4]), b"0\r\n\r\n"),
    "in chunks, without a last one": (CHUNKED, *map(http_chunk, STORY[:4])),
    "of a known length": (STREAM[:-2] + b"Content-Length: 5000\r\n\r\n", *STORY[:4]),
}


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_response_without_final_event_is_a_failure(tmp_path: Path, sent: tuple[bytes, ...]) -> None:
    async def act(request: UpstreamRequest) -> None:
        await request.send(*sent)

    async def story() -> None:
        async with asking(tmp_path, act) as (caller, requests):
            record = await read_turn(caller)
            check_end(record, "failed", "cut_off")
            assert record.text == ("Two and two → ?", "Four.")
            assert len(requests) == 1

    asyncio.run(story())


@pytest.mark.parametrize("status", ["429 Too Many Requests", "529 Overloaded", "500 Internal Server Error"])
def test_retry_before_the_first_event_is_invisible(tmp_path: Path, status: str) -> None:
    moments: list[float] = []

    async def refuse(request: UpstreamRequest) -> None:
        moments.append(time.monotonic())
        await request.send(http_response(status, b'{"error":{"message":"not now"}}', Retry_After="1"))

    async def say(request: UpstreamRequest) -> None:
        moments.append(time.monotonic())
        await request.send(STREAM, *STORY)

    async def story() -> None:
        async with asking(tmp_path, refuse, say, heartbeat_s=0.2) as (caller, requests):
            record = await read_turn(caller)
            check_end(record, "done", "stop")
            assert record.text == ("Two and two → ?", "Four.")
            assert record.comments >= 2, "the wait has its signs of life"
            assert len(requests) == 2
            assert moments[1] - moments[0] >= 1, "the retry waits for Retry-After"

    asyncio.run(story())


def test_retry_stops_after_three_attempts(tmp_path: Path) -> None:
    async def refuse(request: UpstreamRequest) -> None:
        await request.send(
            http_response("503 Service Unavailable", b'{"error":{"code":"busy","message":"no"}}')
        )

    async def story() -> None:
        async with asking(tmp_path, refuse) as (caller, requests):
            record = await read_turn(caller)
            check_end(record, "failed", "busy")
            assert record.text == ("", "")
            assert len(requests) == 1 + RETRIES.max_retries

    asyncio.run(story())


def test_malformed_data_ends_the_turn_and_keeps_the_text(tmp_path: Path) -> None:
    async def act(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:3], GARBAGE_BYTES)

    async def story() -> None:
        async with asking(tmp_path, act) as (caller, requests):
            record = await read_turn(caller)
            assert (record.state, record.end_count) == ("failed", 1)
            assert record.text == ("Two and two → ?", "Fo")
            assert len(requests) == 1

    asyncio.run(story())


async def _think(request: UpstreamRequest) -> None:
    while True:
        await request.send(chat_delta(reasoning_content="and again, " * 10))


async def _answer(request: UpstreamRequest) -> None:
    while True:
        await request.send(chat_delta(content="and again, " * 10))


async def _one_line(request: UpstreamRequest) -> None:
    await request.send(b"data: ")
    while True:
        await request.send(b"x" * 65536)


Endless = tuple[Callable[[UpstreamRequest], Awaitable[None]], dict[str, int], str]
MOST_CHARS = 50_000
ENDLESS: dict[str, Endless] = {
    "thought": (_think, {"reasoning_chars_per_block": MOST_CHARS}, "reasoning_chars_per_block"),
    "answer": (_answer, {"text_chars_per_turn": MOST_CHARS}, "text_chars_per_turn"),
    "line": (_one_line, {}, ""),
}


@pytest.mark.parametrize(("talk", "limits", "named"), ENDLESS.values(), ids=ENDLESS.keys())
def test_endless_response_is_ended_by_a_limit(
    tmp_path: Path, talk: RequestHandler, limits: dict[str, int], named: str
) -> None:
    """R046: the limit is named, the text is kept, and the provider connection is closed."""
    disconnected = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await request.send(STREAM, STORY[0])
        try:
            await talk(request)
        except ConnectionError:
            disconnected.set()

    async def story() -> None:
        async with asking(tmp_path, act, **limits) as (caller, requests):
            record = await read_turn(caller)
            assert (record.state, record.end_count) == ("failed", 1)
            await asyncio.wait_for(disconnected.wait(), PATIENCE_S)
            assert len(requests) == 1
            outcome = record.turn.outcome
            assert outcome is not None
            assert named in outcome.message
            thought, text = record.text
            assert thought.startswith("Two")
            if limits:
                assert MOST_CHARS <= max(len(thought), len(text)) < 2 * MOST_CHARS + 300_000

    asyncio.run(story())

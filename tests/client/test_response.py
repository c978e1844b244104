"""Faults after a stream has begun: they end the turn as an event, and the text received so far is kept."""

import asyncio
import contextlib
import gc
import gzip
import itertools
import json
import time
import tracemalloc
import zlib
from collections import Counter

import pytest
from tests.client.upstream import (
    CHUNKED,
    REQUEST,
    STORY,
    STREAM,
    RequestHandler,
    Upstream,
    UpstreamRequest,
    chat_delta,
    http_chunk,
    http_response,
    make_client,
    prepared,
    run,
    serve_upstream,
    write_request,
)
from tests.patience import PATIENCE_S

from thinkaloud.client import Client, Options, SizeLimits, Timeouts, send, stream
from thinkaloud.client.api import EventBatch, EventStream, ResponseReader, open_events
from thinkaloud.core.canon import BlockGrew, Event, TurnFailed
from thinkaloud.core.transcript import BlockStatus, Ending, Turn, fold
from thinkaloud.core.wire import DEFAULT_LIMITS, WireLimits
from thinkaloud.core.wire.frames import MIB

ENTIRE = b"".join(STORY)
GZIPPED = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
BOUNDARIES = list(itertools.accumulate(map(len, STORY)))
CALLS = 300
IDLE_S = 3.0
"""Longer than a busy machine lets a server of these tests wait for its turn."""


async def events_of(
    upstream: Upstream, http_client: Client, limits: WireLimits = DEFAULT_LIMITS
) -> list[Event]:
    batches = send(prepared(upstream.route()), client=http_client, limits=limits)
    return [event async for batch in batches for event in batch.events]


def read_turn(
    act: RequestHandler, http_client: Client | None = None, limits: WireLimits = DEFAULT_LIMITS
) -> Turn:
    async def scenario() -> list[Event]:
        async with serve_upstream(act) as upstream, http_client or make_client() as opened:
            return await events_of(upstream, opened, limits)

    return fold(run(scenario()))


def failure_code(turn: Turn) -> str:
    assert turn.outcome is not None
    return turn.outcome.cause


def text_until(upto: int) -> str:
    """Return the text of a stream cut after this many bytes, thoughts and answer together."""
    whole = [place for place in BOUNDARIES if place <= upto]
    return "".join(["Two", " and two → ?", "Fo", "ur."][: len(whole)])


@pytest.mark.parametrize("how", ["reset", "close in a chunk"])
@pytest.mark.parametrize(
    "upto", sorted({*BOUNDARIES[:-2], *(place - 9 for place in BOUNDARIES[:-1]), 1, BOUNDARIES[1] - 18})
)
def test_a_lost_connection_keeps_the_text_received(upto: int, how: str) -> None:
    read = asyncio.Event()

    async def breaks(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(ENTIRE[:upto]))
        await asyncio.wait_for(
            read.wait(), PATIENCE_S
        )  # a reset discards what the other side has not read yet
        if how == "reset":
            request.reset()
        else:
            await request.send(b"40\r\n")

    async def scenario() -> list[Event]:
        async with serve_upstream(breaks) as upstream, make_client() as http_client:
            reply = await http_client.send(upstream.provider(), write_request(upstream.route(), REQUEST))
            events: list[Event] = []

            def take(batch: EventBatch) -> None:
                events.extend(batch.events)

            delivery = asyncio.create_task(EventStream(reply, ResponseReader(upstream.route())).deliver(take))
            await asyncio.sleep(0)
            read.set()
            await delivery
            assert len(upstream.requests) == 1, "asked again although something was visible"
            return events

    turn = fold(run(scenario()))
    assert turn.reasoning + turn.answer == text_until(upto)
    assert turn.outcome is not None
    assert (turn.outcome.ending, turn.outcome.cause) == (Ending.CUT_OFF, "cut_off")
    assert "acme was lost" in turn.outcome.message
    assert not turn.blocks or turn.blocks[-1].status is BlockStatus.INTERRUPTED


def test_a_break_after_the_last_event_is_no_failure() -> None:
    async def breaks(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(b"".join(STORY[:-1])), b"40\r\nhalf")

    turn = read_turn(breaks)
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.ANSWERED


def test_a_slow_reader_loses_nothing_when_the_connection_breaks() -> None:
    async def breaks(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, *map(http_chunk, STORY[:4]), pause_s=0.01)
        await request.send(b"40\r\nhalf")

    async def scenario() -> list[Event]:
        async with serve_upstream(breaks) as upstream, make_client() as http_client:
            events = []
            async for event in stream(prepared(upstream.route()), options=Options(client=http_client)):
                events.append(event)
                await asyncio.sleep(0.1)
            return events

    turn = fold(run(scenario()))
    assert (turn.reasoning, turn.answer, failure_code(turn)) == ("Two and two → ?", "Four.", "cut_off")


@pytest.mark.parametrize("head", [STREAM, CHUNKED + b"400\r\n"], ids=["until the end", "chunked"])
def test_idle_timeout_ends_the_turn(head: bytes) -> None:
    async def stalls(request: UpstreamRequest) -> None:
        await request.send(head, *STORY[:3])
        await request.wait_closed()

    start = time.monotonic()
    turn = read_turn(stalls, make_client(timeouts=Timeouts(idle_s=1.0)))
    assert time.monotonic() - start >= 1.0
    assert (turn.reasoning, turn.answer, failure_code(turn)) == ("Two and two → ?", "Fo", "stalled")


def test_comments_alone_do_not_keep_a_turn_alive() -> None:
    async def drips(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:3])
        with contextlib.suppress(ConnectionError):
            while True:
                await request.send(b": still here\n\n", pause_s=0.02)

    turn = read_turn(drips, make_client(timeouts=Timeouts(progress_s=0.5)))
    assert (turn.reasoning, turn.answer, failure_code(turn)) == ("Two and two → ?", "Fo", "stalled")
    assert turn.outcome is not None
    assert "--progress-timeout" in turn.outcome.message


def test_a_steady_stream_may_take_longer_than_the_idle_timeout() -> None:
    async def steady(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY, pause_s=IDLE_S / 4)

    assert read_turn(steady, make_client(timeouts=Timeouts(idle_s=IDLE_S))).answer == "Four."


def test_a_slow_reader_does_not_trigger_the_idle_timeout() -> None:
    async def steady(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY, pause_s=0.02)

    async def scenario() -> list[Event]:
        async with (
            serve_upstream(steady) as upstream,
            make_client(timeouts=Timeouts(idle_s=IDLE_S)) as http_client,
        ):
            events = []
            async for event in stream(prepared(upstream.route()), options=Options(client=http_client)):
                events.append(event)
                await asyncio.sleep(1.2 * IDLE_S if len(events) == 2 else 0)
            return events

    assert fold(run(scenario())).answer == "Four."


def test_an_end_without_the_last_event_is_cut_off() -> None:
    async def ends(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:3])

    assert failure_code(read_turn(ends)) == "cut_off"


@pytest.mark.parametrize("size", [1, 7, MIB])
def test_chunking_does_not_change_the_events(size: int) -> None:
    async def sliced(request: UpstreamRequest) -> None:
        pieces = (ENTIRE[at : at + size] for at in range(0, len(ENTIRE), size))
        await request.send(CHUNKED, *map(http_chunk, pieces), b"0\r\n\r\n", pause_s=0.0001)

    turn = read_turn(sliced)
    assert (turn.reasoning, turn.answer) == ("Two and two → ?", "Four.")


def test_bursts_of_a_megabyte_arrive_complete() -> None:
    burst = b"".join(itertools.repeat(chat_delta(content="x" * 1000), 1000))

    async def bursts(request: UpstreamRequest) -> None:
        await request.send(
            CHUNKED, http_chunk(STORY[0]), *[http_chunk(burst)] * 4, *map(http_chunk, STORY[4:]), b"0\r\n\r\n"
        )

    turn = read_turn(bursts)
    assert len(turn.answer) == 4_000_000
    assert failure_code(turn) == "stop"


def test_a_compressed_stream_is_read() -> None:
    data = gzip.compress(ENTIRE)

    async def gzipped(request: UpstreamRequest) -> None:
        await request.send(GZIPPED, *(data[at : at + 5] for at in range(0, len(data), 5)), pause_s=0.001)

    assert read_turn(gzipped).answer == "Four."


def test_a_compression_bomb_is_refused_and_the_text_before_it_is_kept() -> None:
    """S16."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(STORY[0]) + b"".join(packer.compress(bytes(MIB)) for _ in range(200))

    async def explodes(request: UpstreamRequest) -> None:
        await request.send(GZIPPED + bomb + packer.flush())

    turn = read_turn(explodes)
    assert (turn.reasoning, failure_code(turn)) == ("Two", "limit_exceeded")
    assert turn.outcome is not None
    assert "expands" in turn.outcome.message


def test_an_endless_line_is_refused() -> None:
    async def endless(request: UpstreamRequest) -> None:
        await request.send(STREAM, STORY[0], *[b"data: " + b"x" * MIB] * 8)
        await request.wait_closed()

    turn = read_turn(endless, limits=WireLimits(line_bytes=4 * MIB))
    assert (turn.reasoning, failure_code(turn)) == ("Two", "limit_exceeded")


def test_a_body_over_its_size_limit_is_refused() -> None:
    async def long(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:4], *[b": keep alive\n\n"] * 1000)

    turn = read_turn(long, Client(limits=SizeLimits(body_bytes=2000), environment=make_client()._environment))
    assert (turn.answer, failure_code(turn)) == ("Four.", "limit_exceeded")


def peak_memory(act: RequestHandler) -> tuple[int, list[Event]]:
    """Return the peak of Python's memory in bytes, and the events without their text."""

    async def scenario() -> list[Event]:
        async with serve_upstream(act) as upstream, make_client() as http_client:
            answer_events = stream(prepared(upstream.route()), options=Options(client=http_client))
            return [event async for event in answer_events if not isinstance(event, BlockGrew)]

    gc.collect()
    tracemalloc.start()
    try:
        events = run(scenario())
        return tracemalloc.get_traced_memory()[1], events
    finally:
        tracemalloc.stop()


def test_a_hundred_megabytes_of_thought_are_stopped_in_bounded_memory() -> None:
    frame = chat_delta(reasoning_content="y" * 100_000)

    async def floods(request: UpstreamRequest) -> None:
        await request.send(STREAM, *[frame] * 1000)

    peak, events = peak_memory(floods)
    assert peak < 50 * MIB
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "limit_exceeded"


def test_a_hundred_megabytes_of_nothing_are_read_in_bounded_memory() -> None:
    async def murmurs(request: UpstreamRequest) -> None:
        comments = (b":" + b" still here" * 100 + b"\n\n") * 100
        await request.send(STREAM, STORY[0], *[comments] * 1000, *STORY[1:])

    peak, events = peak_memory(murmurs)
    assert peak < 10 * MIB
    assert not isinstance(events[-1], TurnFailed)


def test_backpressure_reaches_the_sender() -> None:
    sent = 0

    async def floods(request: UpstreamRequest) -> None:
        nonlocal sent
        await request.send(STREAM, *STORY[:1])
        for _ in range(1000):
            await request.send(chat_delta(content="z" * 100_000))
            sent += 100_000

    async def scenario() -> int:
        async with serve_upstream(floods) as upstream, make_client() as http_client:
            answer_events = stream(prepared(upstream.route()), options=Options(client=http_client))
            await anext(answer_events)
            await asyncio.sleep(0.5)
            await answer_events.aclose()
            return sent

    assert run(scenario()) < 20 * MIB


@pytest.mark.parametrize("when", ["before the head", "before the first byte", "in the stream"])
def test_cancelling_drops_the_connection(when: str) -> None:
    reached = asyncio.Event()
    gone = asyncio.Event()

    async def waits(request: UpstreamRequest) -> None:
        if when != "before the head":
            await request.send(CHUNKED)
        if when == "in the stream":
            await request.send(http_chunk(STORY[0]))
        reached.set()
        await request.wait_closed()
        gone.set()

    async def scenario() -> None:
        async with serve_upstream(waits) as upstream, make_client() as http_client:
            task = asyncio.create_task(events_of(upstream, http_client))
            await reached.wait()
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(gone.wait(), PATIENCE_S)

    run(scenario())


def test_cancelling_drops_a_request_that_the_server_does_not_read() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        accepted = loop.create_future()
        lost = loop.create_future()

        class Deaf(asyncio.Protocol):
            """Accepts a connection, and reads nothing until asked to."""

            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                assert isinstance(transport, asyncio.Transport)
                transport.pause_reading()
                accepted.set_result(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                lost.set_result(None)

        server = await loop.create_server(Deaf, "127.0.0.1", 0)
        upstream = Upstream(server.sockets[0].getsockname()[1])
        large = type(write_request(upstream.route(), REQUEST))(body=bytes(64 * MIB))
        async with make_client() as http_client:
            task = asyncio.create_task(http_client.read_all(upstream.provider(), large))
            transport = await accepted
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            transport.resume_reading()
            await asyncio.wait_for(lost, PATIENCE_S)
            server.close()

    run(scenario())


def test_fast_provider_leaves_the_event_loop_to_others() -> None:
    """Much that arrives at once is read in slices, and other tasks run between two of them."""
    deltas = b"".join(chat_delta(content=f" {number}") for number in range(3_000))

    async def flood(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(deltas), *map(http_chunk, STORY[-2:]), b"0\r\n\r\n")

    async def scenario() -> list[tuple[int, int]]:
        rounds = 0

        async def count_rounds() -> None:
            nonlocal rounds
            while True:
                rounds += 1
                await asyncio.sleep(0)

        async with serve_upstream(flood) as upstream, make_client() as client:
            counting = asyncio.create_task(count_rounds())
            seen = []
            async for batch in send(prepared(upstream.route()), client=client):
                seen.append((rounds, len(batch.events)))
            counting.cancel()
            return seen

    seen = run(scenario())
    batches_by_round = Counter(round_number for round_number, _ in seen)
    assert max(batches_by_round.values()) <= 2, "the end of one read, and the beginning of the next"
    assert max(count for _, count in seen) < 500, "of 3,000 events"


def test_long_delta_becomes_several_events() -> None:
    text = "é" * 100_000

    async def one_delta(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(chat_delta(content=text)), *map(http_chunk, STORY[-2:]))

    async def scenario() -> list[Event]:
        async with serve_upstream(one_delta) as upstream, make_client() as client:
            return await events_of(upstream, client)

    texts = [event.text for event in run(scenario()) if isinstance(event, BlockGrew)]
    assert "".join(texts) == text
    assert max(map(len, texts)) <= 32 * 1024


def test_response_of_many_blocks_leaves_the_event_loop_to_others() -> None:
    """One frame can hold more events than may be stored at once."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for number in range(CALLS)
    ]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "tool_calls": calls},
        "finish_reason": "tool_calls",
    }
    whole = json.dumps({"model": "m", "choices": [choice]}).encode()

    async def answer(request: UpstreamRequest) -> None:
        await request.send(http_response("200 OK", whole, Content_Type="application/json"))

    async def scenario() -> tuple[list[int], list[Event]]:
        rounds = 0

        async def count_rounds() -> None:
            nonlocal rounds
            while True:
                rounds += 1
                await asyncio.sleep(0)

        rounds_of_batches: list[int] = []
        events: list[Event] = []

        def take(batch: EventBatch) -> None:
            rounds_of_batches.append(rounds)
            events.extend(batch.events)

        async with serve_upstream(answer) as upstream, make_client() as client:
            counting = asyncio.create_task(count_rounds())
            async with open_events(prepared(upstream.route()), client=client) as stream:
                await stream.deliver(take)
            counting.cancel()
        return rounds_of_batches, events

    rounds_of_batches, events = run(scenario())
    assert len(fold(events).blocks) == CALLS
    assert len(rounds_of_batches) == len(set(rounds_of_batches)) > 3 * CALLS / 150

"""What providers do to a stream that has begun: it ends as an event, and what was said stands."""

import asyncio
import gc
import gzip
import itertools
import time
import tracemalloc
import zlib

import pytest
from tests.client.upstream import (
    CHUNKED,
    REQUEST,
    STORY,
    STREAM,
    Act,
    Seen,
    Upstream,
    chunk,
    client,
    delta,
    run,
    serving,
    write,
)
from tests.patience import PATIENCE_S

from thinkaloud.canon import BlockGrew, Event, TurnFailed
from thinkaloud.client import Caps, Client, Timeouts, asking, stream
from thinkaloud.client.inflate import MIB
from thinkaloud.transcript import Ending, Status, Turn, fold
from thinkaloud.wire import Limits

ENTIRE = b"".join(STORY)
GZIPPED = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
BOUNDARIES = list(itertools.accumulate(map(len, STORY)))


async def events_of(upstream: Upstream, own: Client, **options: Limits) -> list[Event]:
    told = stream(REQUEST, upstream.route(), client=own, write=write, **options)
    return [event async for event in told]


def heard(act: Act, own: Client | None = None, **options: Limits) -> Turn:
    async def story() -> list[Event]:
        async with serving(act) as upstream, own or client() as opened:
            return await events_of(upstream, opened, **options)

    return fold(run(story()))


def code(turn: Turn) -> str:
    assert turn.outcome is not None
    return turn.outcome.cause


def said(upto: int) -> str:
    """What a story cut after so many bytes has said, thought and answer in one."""
    whole = [place for place in BOUNDARIES if place <= upto]
    return "".join(["Two", " and two → ?", "Fo", "ur."][: len(whole)])


@pytest.mark.parametrize("how", ["reset", "close in a chunk"])
@pytest.mark.parametrize(
    "upto", sorted({*BOUNDARIES[:-2], *(place - 9 for place in BOUNDARIES[:-1]), 1, BOUNDARIES[1] - 18})
)
def test_a_connection_that_breaks_keeps_what_was_said(upto: int, how: str) -> None:
    read = asyncio.Event()

    async def breaks(seen: Seen) -> None:
        await seen.send(CHUNKED, chunk(ENTIRE[:upto]))
        await asyncio.wait_for(
            read.wait(), PATIENCE_S
        )  # a reset throws away what the other side has not read yet
        if how == "reset":
            seen.reset()
        else:
            await seen.send(b"40\r\n")

    async def story() -> list[Event]:
        async with serving(breaks) as upstream, client() as own:
            reply = await own.send(upstream.provider(), write(upstream.route(), REQUEST))
            answering = asking.Answering(upstream.route())
            events = await answering.next(reply)
            read.set()
            while not answering.over:
                events += await answering.next(reply)
            assert len(upstream.seen) == 1, "asked again although something was visible"
            return events

    turn = fold(run(story()))
    assert turn.reasoning + turn.answer == said(upto)
    assert turn.outcome is not None
    assert (turn.outcome.ending, turn.outcome.cause) == (Ending.CUT_OFF, "cut_off")
    assert "acme broke" in turn.outcome.message
    assert not turn.blocks or turn.blocks[-1].status is Status.INTERRUPTED


def test_a_break_after_the_last_word_is_no_failure() -> None:
    async def breaks(seen: Seen) -> None:
        await seen.send(CHUNKED, chunk(b"".join(STORY[:-1])), b"40\r\nhalf")

    turn = heard(breaks)
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.ANSWERED


def test_a_slow_reader_loses_nothing_when_the_connection_breaks() -> None:
    async def breaks(seen: Seen) -> None:
        await seen.send(CHUNKED, *map(chunk, STORY[:4]), pause_s=0.01)
        await seen.send(b"40\r\nhalf")

    async def story() -> list[Event]:
        async with serving(breaks) as upstream, client() as own:
            events = []
            async for event in stream(REQUEST, upstream.route(), client=own, write=write):
                events.append(event)
                await asyncio.sleep(0.1)
            return events

    turn = fold(run(story()))
    assert (turn.reasoning, turn.answer, code(turn)) == ("Two and two → ?", "Four.", "cut_off")


@pytest.mark.parametrize("head", [STREAM, CHUNKED + b"400\r\n"], ids=["until the end", "chunked"])
def test_silence_ends_the_turn_at_the_idle_timeout(head: bytes) -> None:
    async def stalls(seen: Seen) -> None:
        await seen.send(head, *STORY[:3])
        await seen.gone()

    start = time.monotonic()
    turn = heard(stalls, client(timeouts=Timeouts(idle_s=1.0)))
    assert time.monotonic() - start >= 1.0
    assert (turn.reasoning, turn.answer, code(turn)) == ("Two and two → ?", "Fo", "stalled")


def test_a_steady_stream_may_take_longer_than_the_idle_timeout() -> None:
    async def steady(seen: Seen) -> None:
        await seen.send(STREAM, *STORY, pause_s=0.25)

    assert heard(steady, client(timeouts=Timeouts(idle_s=1.0))).answer == "Four."


def test_a_reader_that_takes_its_time_is_not_a_silent_provider() -> None:
    async def steady(seen: Seen) -> None:
        await seen.send(STREAM, *STORY, pause_s=0.02)

    async def story() -> list[Event]:
        async with serving(steady) as upstream, client(timeouts=Timeouts(idle_s=1.0)) as own:
            events = []
            async for event in stream(REQUEST, upstream.route(), client=own, write=write):
                events.append(event)
                await asyncio.sleep(1.2 if len(events) == 2 else 0)
            return events

    assert fold(run(story())).answer == "Four."


def test_an_end_without_the_last_word_is_cut_off() -> None:
    async def ends(seen: Seen) -> None:
        await seen.send(STREAM, *STORY[:3])

    assert code(heard(ends)) == "cut_off"


@pytest.mark.parametrize("size", [1, 7, MIB])
def test_any_slicing_tells_the_same_story(size: int) -> None:
    async def sliced(seen: Seen) -> None:
        pieces = (ENTIRE[at : at + size] for at in range(0, len(ENTIRE), size))
        await seen.send(CHUNKED, *map(chunk, pieces), b"0\r\n\r\n", pause_s=0.0001)

    turn = heard(sliced)
    assert (turn.reasoning, turn.answer) == ("Two and two → ?", "Four.")


def test_bursts_of_a_megabyte_arrive_whole() -> None:
    burst = b"".join(itertools.repeat(delta(content="x" * 1000), 1000))

    async def bursts(seen: Seen) -> None:
        await seen.send(CHUNKED, chunk(STORY[0]), *[chunk(burst)] * 4, *map(chunk, STORY[4:]), b"0\r\n\r\n")

    turn = heard(bursts)
    assert len(turn.answer) == 4_000_000
    assert code(turn) == "stop"


def test_a_stream_that_is_compressed_unasked_is_read() -> None:
    data = gzip.compress(ENTIRE)

    async def gzipped(seen: Seen) -> None:
        await seen.send(GZIPPED, *(data[at : at + 5] for at in range(0, len(data), 5)), pause_s=0.001)

    assert heard(gzipped).answer == "Four."


def test_a_bomb_is_refused_and_what_was_said_before_stands() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(STORY[0]) + b"".join(packer.compress(bytes(MIB)) for _ in range(200))

    async def explodes(seen: Seen) -> None:
        await seen.send(GZIPPED + bomb + packer.flush())

    turn = heard(explodes)
    assert (turn.reasoning, code(turn)) == ("Two", "limit_exceeded")
    assert turn.outcome is not None
    assert "unpacks" in turn.outcome.message


def test_a_line_without_an_end_is_refused() -> None:
    async def endless(seen: Seen) -> None:
        await seen.send(STREAM, STORY[0], *[b"data: " + b"x" * MIB] * 8)
        await seen.gone()

    turn = heard(endless, limits=Limits(line=4 * MIB))
    assert (turn.reasoning, code(turn)) == ("Two", "limit_exceeded")


def test_a_body_over_its_cap_is_refused() -> None:
    async def long(seen: Seen) -> None:
        await seen.send(STREAM, *STORY[:4], *[b": keep alive\n\n"] * 1000)

    turn = heard(long, Client(caps=Caps(body=2000), shell=client()._shell))
    assert (turn.answer, code(turn)) == ("Four.", "limit_exceeded")


def grown(act: Act) -> tuple[int, list[Event]]:
    """By how many bytes Python's memory peaked, and the events but for their text."""

    async def story() -> list[Event]:
        async with serving(act) as upstream, client() as own:
            told = stream(REQUEST, upstream.route(), client=own, write=write)
            return [event async for event in told if not isinstance(event, BlockGrew)]

    gc.collect()
    tracemalloc.start()
    try:
        events = run(story())
        return tracemalloc.get_traced_memory()[1], events
    finally:
        tracemalloc.stop()


def test_a_hundred_megabytes_of_thought_are_stopped_in_bounded_memory() -> None:
    frame = delta(reasoning_content="y" * 100_000)

    async def floods(seen: Seen) -> None:
        await seen.send(STREAM, *[frame] * 1000)

    peak, events = grown(floods)
    assert peak < 50 * MIB
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "limit_exceeded"


def test_a_hundred_megabytes_of_nothing_are_read_in_bounded_memory() -> None:
    async def murmurs(seen: Seen) -> None:
        comments = (b":" + b" still here" * 100 + b"\n\n") * 100
        await seen.send(STREAM, STORY[0], *[comments] * 1000, *STORY[1:])

    peak, events = grown(murmurs)
    assert peak < 10 * MIB
    assert not isinstance(events[-1], TurnFailed)


def test_a_reader_that_stops_reading_holds_the_sender_up() -> None:
    sent = 0

    async def floods(seen: Seen) -> None:
        nonlocal sent
        await seen.send(STREAM, *STORY[:1])
        for _ in range(1000):
            await seen.send(delta(content="z" * 100_000))
            sent += 100_000

    async def story() -> int:
        async with serving(floods) as upstream, client() as own:
            told = stream(REQUEST, upstream.route(), client=own, write=write)
            await anext(told)
            await asyncio.sleep(0.5)
            await told.aclose()
            return sent

    assert run(story()) < 20 * MIB


@pytest.mark.parametrize("when", ["before the head", "before the first byte", "in the stream"])
def test_cancelling_drops_the_connection(when: str) -> None:
    reached = asyncio.Event()
    gone = asyncio.Event()

    async def waits(seen: Seen) -> None:
        if when != "before the head":
            await seen.send(CHUNKED)
        if when == "in the stream":
            await seen.send(chunk(STORY[0]))
        reached.set()
        await seen.gone()
        gone.set()

    async def story() -> None:
        async with serving(waits) as upstream, client() as own:
            task = asyncio.create_task(events_of(upstream, own))
            await reached.wait()
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(gone.wait(), PATIENCE_S)

    run(story())


def test_cancelling_drops_a_request_that_nobody_takes() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        accepted = loop.create_future()
        lost = loop.create_future()

        class Deaf(asyncio.Protocol):
            """Accepts, and reads nothing until it is asked to."""

            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                assert isinstance(transport, asyncio.Transport)
                transport.pause_reading()
                accepted.set_result(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                lost.set_result(None)

        server = await loop.create_server(Deaf, "127.0.0.1", 0)
        upstream = Upstream(server.sockets[0].getsockname()[1])
        large = type(write(upstream.route(), REQUEST))(body=bytes(64 * MIB))
        async with client() as own:
            task = asyncio.create_task(own.whole(upstream.provider(), large))
            transport = await accepted
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            transport.resume_reading()
            await asyncio.wait_for(lost, PATIENCE_S)
            server.close()

    run(story())

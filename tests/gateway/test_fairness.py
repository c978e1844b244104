"""Fairness: saving a very long answer does not delay another live stream."""

import asyncio
import time
from pathlib import Path

from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import start_caller
from tests.gateway.heavy_load import HeavyLoad, measure_silence
from tests.gateway.paced_provider import expected
from tests.gateway.stream_record import StreamConnection, StreamRecord, follow, open_stream

LONG = "r0-c1000-ms0-b1000zh"
"""A million characters, each a word for the search index."""
ORDINARY = "r9000-c1-ms10"
MOST_OF_IT = 2 / 3
"""A blocked stream would wait for nearly the whole duration of the save."""
LOAD = HeavyLoad(streams=20, blocks=2_500, exports=4)
"""A quarter of what `benchmarks.silence` measures."""
TRIES = 5
"""Another program on the machine may also delay the reader."""


def test_saving_a_long_answer_does_not_block_other_streams(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = ForkedGateway(tmp_path, provider)
        async with start_caller(gateway) as caller:
            neighbour, near = await caller.start_turn(ORDINARY), StreamRecord()
            async with open_stream(gateway.url, neighbour, near) as stream:
                while near.last < 5:
                    assert await stream.read()
                shares = []
                for _ in range(TRIES):
                    long = StreamRecord()
                    keeping = asyncio.create_task(follow(gateway.url, await caller.start_turn(LONG), long))
                    shares.append(await longest_wait(stream, keeping))
                    await keeping
                    assert (long.text, long.state) == (expected(LONG), "done")
                    if shares[-1] < MOST_OF_IT:
                        return
            raise AssertionError(f"a neighbour waited for {min(shares):.0%} of the time, at best of {TRIES}")

    asyncio.run(story())


async def longest_wait(stream: StreamConnection, other: asyncio.Task[StreamConnection]) -> float:
    """Return the longest gap between two events, as a share of the other turn's duration."""
    gap_s, begun_s = 0.0, time.monotonic()
    before_s = begun_s
    while not other.done():
        assert await stream.read()
        now_s = time.monotonic()
        gap_s, before_s = max(gap_s, now_s - before_s), now_s
    took_s = before_s - begun_s
    print(f"kept within {took_s:.1f} s; a neighbour's next word took {gap_s * 1000:.0f} ms at worst")
    return gap_s / took_s


def test_large_import_exports_and_search_do_not_silence_streams(tmp_path: Path, provider: str) -> None:
    """Before, the import alone silenced every stream for minutes."""

    async def story() -> None:
        shares = []
        for attempt in range(TRIES):
            result = await measure_silence(ForkedGateway(tmp_path / str(attempt), provider), LOAD)
            print(result)
            shares.append(result.silence_s / result.seconds)
            if shares[-1] < MOST_OF_IT:
                return
        raise AssertionError(f"a stream was silent for {min(shares):.0%} of the load, at best of {TRIES}")

    asyncio.run(story())

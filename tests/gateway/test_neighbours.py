"""A turn of one is no burden to others: the longest answer is kept without holding up a live stream."""

import asyncio
import time
from pathlib import Path

from tests.gateway.gateway_process import GatewayProcess, calling
from tests.gateway.providing import expected
from tests.gateway.reading import Tape, follow, streaming

LONG = "r0-c1000-ms0-b1000zh"
"""A million signs, each of which is a word to search for."""
ORDINARY = "r9000-c1-ms10"
LONGEST_GAP_S = 1.0
"""A word is due every 10 ms, and is seen within 50 more; the rest is for other tests on this machine."""


def test_a_long_answer_is_kept_without_holding_up_a_neighbour(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = GatewayProcess(tmp_path, provider)
        async with calling(gateway) as caller:
            neighbour, near, long = await caller.begin(ORDINARY), Tape(), Tape()
            async with streaming(gateway.url, neighbour, near) as stream:
                while near.last < 5:
                    assert await stream.read()
                keeping = asyncio.create_task(follow(gateway.url, await caller.begin(LONG), long))
                gap_s, before_s = 0.0, time.monotonic()
                while not keeping.done():
                    assert await stream.read()
                    now_s = time.monotonic()
                    gap_s, before_s = max(gap_s, now_s - before_s), now_s
            await keeping
            assert (long.text, long.state) == (expected(LONG), "done")
            print(f"the longest wait for a neighbour's next word was {gap_s * 1000:.0f} ms")
            assert gap_s < LONGEST_GAP_S

    asyncio.run(story())

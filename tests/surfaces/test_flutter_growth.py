"""The cost of a delta does not depend on the length of the thought."""

import asyncio

from benchmarks.flutter import OURS, PEER, DeltaCost, delta_cost

DELTAS = 120


def cost(contender: str, size: int) -> DeltaCost:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(delta_cost(contender, size, DELTAS))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def test_delta_costs_the_same_in_a_short_and_in_a_long_thought() -> None:
    """From 1 KB to 1 MB: the same bytes to the client, and about the same time; one `Text` sends it all."""
    short, long = cost(OURS, 1_000), cost(OURS, 1_000_000)
    assert long.sent_bytes < 2 * short.sent_bytes
    assert long.sent_bytes < 4_000
    assert cost(PEER, 200_000).sent_bytes > 200_000
    ratio = long.seconds / short.seconds
    for _ in range(4):
        if ratio < 4:
            break
        ratio = min(ratio, cost(OURS, 1_000_000).seconds / cost(OURS, 1_000).seconds)
    assert ratio < 4

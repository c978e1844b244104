"""The feed from a running turn to the response of a compatible endpoint."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.server.caller import ANSWER, SCRIPT, THOUGHT, start_gateway

from thinkaloud.canon import BlockGrew, Entry
from thinkaloud.server import entry_feed
from thinkaloud.server.entry_feed import EntryFeed


def test_feed_returns_entries_in_order_and_none_after_its_time() -> None:
    async def scenario() -> None:
        feed = EntryFeed()
        entries = [Entry(number, BlockGrew(0, "a")) for number in range(3)]
        assert (await feed.take(0.01)).entries == []
        feed.append(entries[0])
        feed.append(entries[1])
        assert (await feed.take(10)).entries == entries[:2]
        waiting = asyncio.create_task(feed.take(10))
        await asyncio.sleep(0)
        feed.append(entries[2])
        assert (await waiting).entries == entries[2:]
        feed.close()
        assert (await feed.take(10)).entries == []
        feed.append(entries[0])
        assert not feed.waiting

    asyncio.run(scenario())


@pytest.mark.parametrize("stream", [True, False])
def test_response_that_falls_behind_goes_on_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(entry_feed, "MAX_WAITING_ENTRIES", 1)

    async def scenario() -> str:
        async with start_gateway(tmp_path, script=SCRIPT) as caller:
            body = {
                "model": caller.model,
                "stream": stream,
                "messages": [{"role": "user", "content": "17 * 3 - 9?"}],
            }
            async with caller.http.post(f"{caller.url}/v1/chat/completions", json=body) as response:
                assert response.status == 200
                return await response.text()

    text = asyncio.run(scenario())
    if stream:
        events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        deltas = [json.loads(event)["choices"][0]["delta"] for event in events]
    else:
        deltas = [json.loads(text)["choices"][0]["message"]]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == THOUGHT
    assert "".join(delta.get("content") or "" for delta in deltas) == ANSWER

"""The feed from a running turn to the response of a compatible endpoint."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S
from tests.server.caller import ANSWER, SCRIPT, THOUGHT, start_gateway, wait_until

from thinkaloud.core.canon import BlockGrew, Entry
from thinkaloud.gateway.server.streams import entry_feed
from thinkaloud.gateway.server.streams.entry_feed import EntryFeed
from thinkaloud.gateway.store.log.live import LogSpan
from thinkaloud.gateway.store.rows import TurnState


def test_feed_returns_entries_in_order_and_none_after_its_time() -> None:
    async def scenario() -> None:
        feed = EntryFeed()
        entries = [Entry(number, BlockGrew(0, "a")) for number in range(3)]
        await feed.wait(0.01)
        assert feed.take().entries == []
        feed.append(entries[0])
        feed.append(entries[1])
        await feed.wait(10)
        assert feed.take().entries == entries[:2]
        waiting = asyncio.create_task(feed.wait(10))
        await asyncio.sleep(0)
        feed.append(entries[2])
        await waiting
        assert feed.take().entries == entries[2:]
        assert not await feed.wait_until_finished(0.01)
        feed.finish(TurnState.DONE)
        assert await feed.wait_until_finished()
        await feed.wait(10)
        feed.append(entries[0])
        assert not feed.waiting
        assert (feed.saved, feed.lost) == (True, False)

    asyncio.run(scenario())


def test_feed_of_a_lost_turn_gives_away_nothing_more() -> None:
    async def scenario() -> None:
        feed = EntryFeed("openai_chat")
        feed.append(Entry(0, BlockGrew(0, "a")))
        feed.append_bytes(b"data: {}", ended=False)
        feed.finish(None)
        feed.finish(TurnState.DONE)  # the first call counts
        assert (feed.saved, feed.lost, feed.waiting) == (False, True, False)
        assert feed.take().data == b""

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


@pytest.mark.parametrize("stream", [True, False])
def test_response_that_falls_behind_fails_when_its_session_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(entry_feed, "MAX_WAITING_ENTRIES", 1)

    async def scenario() -> None:
        async with start_gateway(tmp_path, script=SCRIPT) as caller:
            read = caller.gateway.log.read

            async def read_after_deletion(turn: int, after: int = -1) -> LogSpan:
                await wait_until(lambda: not caller.gateway.turns.running_epochs)
                for session in (await caller.call("GET", "/api/sessions"))["items"]:
                    await caller.call("DELETE", f"/api/sessions/{session['id']}", status=204)
                return await read(turn, after)

            monkeypatch.setattr(caller.gateway.log, "read", read_after_deletion)
            body = {
                "model": caller.model,
                "stream": stream,
                "messages": [{"role": "user", "content": "17 * 3 - 9?"}],
            }
            async with (
                asyncio.timeout(PATIENCE_S),
                caller.http.post(f"{caller.url}/v1/chat/completions", json=body) as response,
            ):
                assert "Ask again" in await response.text()

    asyncio.run(scenario())

"""What a client of a compatible endpoint is told is what is stored: the end follows the commit of the end."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.client.upstream import CHUNKED, STORY, UpstreamRequest, http_chunk, serve_upstream, sse_event
from tests.patience import PATIENCE_S
from tests.server.caller import Caller, quick_settings, start_gateway, wait_until
from tests.server.test_byte_relay import BODIES, PATHS, ROW, only_turn


def events(*bodies: dict[str, Any]) -> bytes:
    return b"".join(sse_event(json.dumps(body, separators=(",", ":"))) for body in bodies)


ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
PART = {"type": "output_text", "text": "Four.", "annotations": []}
DONE_ITEM = ITEM | {"status": "completed", "content": [PART]}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
PROVIDER_BYTES: dict[str, tuple[bytes, bytes]] = {
    "openai_chat": (b"".join(STORY[:4]), b"".join(STORY[4:])),
    "anthropic_messages": (
        events(
            {"type": "message_start", "message": {"id": "m", "role": "assistant", "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Four."}},
            {"type": "content_block_stop", "index": 0},
        ),
        events(
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
            {"type": "message_stop"},
        ),
    ),
    "openai_responses": (
        events(
            {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
            {"type": "response.output_text.delta", **PLACE, "delta": "Four."},
            {"type": "response.output_text.done", **PLACE, "text": "Four."},
            {"type": "response.output_item.done", "output_index": 0, "item": DONE_ITEM},
        ),
        events(
            {
                "type": "response.completed",
                "response": {"id": "r", "status": "completed", "output": [DONE_ITEM]},
            }
        ),
    ),
    "ollama": (
        b'{"model":"m-1","message":{"role":"assistant","content":"Four."},"done":false}\n',
        b'{"model":"m-1","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n',
    ),
}
"""A response of each dialect: up to the last text, and the end."""
END_MARKS = {
    "openai_chat": (b'"finish_reason":"', b"[DONE]"),
    "anthropic_messages": (b'"stop_reason":"', b"message_stop"),
    "openai_responses": (b"response.completed",),
    "ollama": (b'"done":true',),
}
ERROR_MARKS = {
    "openai_chat": b'data: {"error":{',
    "anthropic_messages": b"event: error\n",
    "openai_responses": b"event: response.failed\n",
    "ollama": b'{"error":"',
}
OTHER_PROVIDER = {"openai_chat": "anthropic_messages"}
"""The dialect of a provider whose bytes have to be rewritten; for other clients it is `openai_chat`."""
CASES = [
    pytest.param(client, provider, id=f"{client}-{'relayed' if client == provider else 'rewritten'}")
    for client in PATHS
    for provider in (client, OTHER_PROVIDER.get(client, "openai_chat"))
]


@dataclass
class Response:
    """What a client has received so far."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""

    async def read(self, caller: Caller, client: str, *, stream: bool) -> None:
        body = {"model": "acme/m-1", "stream": stream, **BODIES[client]}
        if not stream:
            body.pop("stream_options", None)
        async with caller.http.post(caller.url + PATHS[client], json=body) as response:
            self.status, self.headers = response.status, dict(response.headers)
            async for chunk in response.content.iter_any():
                self.data += chunk


def ended_in_memory(caller: Caller) -> bool:
    running = caller.gateway.turns._running_turns.values()
    return bool(running) and not any(running_turn._run.turn.live for running_turn in running)


@asynccontextmanager
async def end_held_back(
    folder: Path, client: str, provider: str, response: Response, *, stream: bool = True
) -> AsyncIterator[tuple[Caller, asyncio.Task[None], sqlite3.Connection]]:
    """A turn that has ended at the gateway while its end cannot be committed: the database is locked."""
    text, end = PROVIDER_BYTES[provider]
    locked = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(text))
        await asyncio.wait_for(locked.wait(), PATIENCE_S)
        await request.send(http_chunk(end), http_chunk(b""))

    async with serve_upstream(act) as upstream:
        row = ROW.format(dialect=provider, url=upstream.base_url)
        async with start_gateway(folder, extra=row, settings=quick_settings(heartbeat_s=0.2)) as caller:
            reading = asyncio.create_task(response.read(caller, client, stream=stream))
            while not (await caller.call("GET", "/api/sessions"))["items"]:
                await asyncio.sleep(0.02)
            turn = (await only_turn(caller))["id"]
            while "Four." not in json.dumps(await caller.call("GET", f"/api/turns/{turn}")):
                await asyncio.sleep(0.02)
            database = caller.database.path
            with closing(sqlite3.connect(database, timeout=PATIENCE_S, isolation_level=None)) as lock:
                lock.execute("BEGIN IMMEDIATE")
                locked.set()
                await wait_until(lambda: ended_in_memory(caller))
                yield caller, reading, lock


async def two_keep_alives(response: Response) -> None:
    for _ in range(2):
        size = len(response.data)
        await wait_until(lambda size=size: len(response.data) > size)


@pytest.mark.parametrize(("client", "provider"), CASES)
@pytest.mark.parametrize("lost", [False, True], ids=["stored", "lost"])
def test_end_of_a_stream_follows_the_commit_of_the_end(
    tmp_path: Path, client: str, provider: str, lost: bool
) -> None:
    async def scenario() -> None:
        response = Response()
        async with end_held_back(tmp_path, client, provider, response) as (_, reading, lock):
            await two_keep_alives(response)
            assert b"Fo" in response.data
            assert not any(mark in response.data for mark in END_MARKS[client]), response.data
            if lost:
                lock.execute("UPDATE turns SET epoch = epoch + 1, state = 'interrupted', ended_ms = 1")
            lock.execute("COMMIT")
            await asyncio.wait_for(reading, PATIENCE_S)
            stored = lock.execute("SELECT state FROM turns").fetchall()
            assert stored == [("interrupted" if lost else "done",)]
        ends = [mark in response.data for mark in END_MARKS[client]]
        assert ends == [not lost] * len(ends)
        assert (ERROR_MARKS[client] in response.data) == lost
        if lost:
            assert b"Ask again" in response.data

    asyncio.run(scenario())


@pytest.mark.parametrize("client", PATHS)
@pytest.mark.parametrize("lost", [False, True], ids=["stored", "lost"])
def test_whole_response_follows_the_commit_of_the_end(tmp_path: Path, client: str, lost: bool) -> None:
    async def scenario() -> None:
        response = Response()
        held_back = end_held_back(tmp_path, client, "openai_chat", response, stream=False)
        async with held_back as (_, reading, lock):
            assert (response.status, reading.done()) == (0, False)
            if lost:
                lock.execute("UPDATE turns SET epoch = epoch + 1, state = 'interrupted', ended_ms = 1")
            lock.execute("COMMIT")
            await asyncio.wait_for(reading, PATIENCE_S)
        assert response.status == (502 if lost else 200)
        assert (b"Four." in response.data) != lost
        if lost:
            assert response.headers["x-should-retry"] == "true"
            assert "Ask again" in json.dumps(json.loads(response.data)["error"])

    asyncio.run(scenario())


@pytest.mark.parametrize("client", PATHS)
def test_whole_response_that_cannot_be_stored_is_unavailable(tmp_path: Path, client: str) -> None:
    async def scenario() -> None:
        response = Response()
        held_back = end_held_back(tmp_path, client, "openai_chat", response, stream=False)
        async with held_back as (_, reading, lock):
            await asyncio.wait_for(reading, PATIENCE_S)
            lock.execute("COMMIT")
        assert response.status == 503
        assert "readyz" in json.dumps(json.loads(response.data)["error"])

    asyncio.run(scenario())

"""A provider's stream reaches a client of the same dialect byte for byte, and is recorded all the same."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.client.upstream import (
    CHUNKED,
    STORY,
    UpstreamRequest,
    chat_delta,
    http_chunk,
    serve_upstream,
    sse_event,
)
from tests.dialects.recordings import RECORDINGS, Recording
from tests.patience import PATIENCE_S
from tests.server.caller import Caller, quick_settings, start_gateway

from thinkaloud.core.transcript.turn import SEPARATOR
from thinkaloud.gateway.server.streams import entry_feed

ROW = """
[providers.acme]
dialect = "{dialect}"
base_url = "{url}"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
QUESTION = {"role": "user", "content": "2 + 2?"}
CHAT = "/v1/chat/completions"
PATHS = {
    "openai_chat": CHAT,
    "anthropic_messages": "/v1/messages",
    "openai_responses": "/v1/responses",
    "ollama": "/api/chat",
}
USAGE = {"stream_options": {"include_usage": True}}
BODIES: dict[str, dict[str, Any]] = {
    "openai_chat": {"messages": [QUESTION], **USAGE},
    "anthropic_messages": {"messages": [QUESTION], "max_tokens": 1000},
    "openai_responses": {"input": "2 + 2?", "store": False},
    "ollama": {"messages": [QUESTION]},
}


async def post(caller: Caller, path: str, body: dict[str, Any], **headers: str) -> bytes:
    request = {"model": "acme/m-1", "stream": True, **body}
    async with caller.http.post(caller.url + path, json=request, headers=headers) as response:
        assert response.status == 200, await response.text()
        return await response.read()


def answer_of(turn: Any) -> str:
    return "".join(part["text"] for part in turn["content"] if part["type"] == "text")


async def only_turn(caller: Caller) -> Any:
    (session,) = (await caller.call("GET", "/api/sessions"))["items"]
    turns = (await caller.call("GET", f"/api/sessions/{session['id']}"))["turns"]
    return await caller.call("GET", f"/api/turns/{turns[-1]['id']}")


def run_chat(
    folder: Path, chunks: list[bytes], body: dict[str, Any] | None = None, **headers: str
) -> tuple[bytes, Any]:
    """Return what a chat client gets of these bytes of a provider, and the turn that was recorded."""

    async def act(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, *map(http_chunk, chunks), http_chunk(b""), pause_s=0.01)

    async def scenario() -> tuple[bytes, Any]:
        async with serve_upstream(act) as upstream:
            row = ROW.format(dialect="openai_chat", url=upstream.base_url)
            async with start_gateway(folder, extra=row) as caller:
                data = await post(caller, CHAT, {"messages": [QUESTION], **USAGE, **(body or {})}, **headers)
                return data, await only_turn(caller)

    return asyncio.run(scenario())


THOUGHTS_BY_LATER_TAGS = (
    "openai_chat/details_after_a_lone_closing_tag",
    "openai_chat/details_after_two_lone_closing_tags",
)
"""Their closing tags turn text into a thought, and details follow, so they are written anew without the tags.
No client can be told then that the text it has was a thought."""


def own_recordings() -> list[Recording]:
    found = [recording for recording in RECORDINGS.values() if recording.dialect in PATHS]
    answered = [recording for recording in found if recording.story["outcome"]["ending"] == "answered"]
    return [recording for recording in answered if recording.name not in THOUGHTS_BY_LATER_TAGS]


@pytest.mark.parametrize("dialect", PATHS)
def test_recorded_streams_arrive_unchanged_and_are_recorded(tmp_path: Path, dialect: str) -> None:
    recordings = [recording for recording in own_recordings() if recording.dialect == dialect]
    served = iter(recordings)

    async def act(request: UpstreamRequest) -> None:
        chunks = next(served).in_chunks(777)
        await request.send(CHUNKED, *map(http_chunk, chunks), http_chunk(b""))

    async def scenario() -> int:
        unchanged = 0
        async with serve_upstream(act) as upstream:
            row = ROW.format(dialect=dialect, url=upstream.base_url)
            async with start_gateway(tmp_path, extra=row) as caller:
                for number, recording in enumerate(recordings):
                    body = json.loads(json.dumps(BODIES[dialect]).replace("2 + 2?", f"{number} + 2?"))
                    data = await post(caller, PATHS[dialect], body)
                    unchanged += data == recording.body
                    read = Recording(recording.name, dialect, data, {}).turn(dialect=dialect)
                    expected = recording.turn(dialect=dialect)
                    # A stream that is written anew has a blank line between two thoughts.
                    thoughts = [turn.reasoning.replace(SEPARATOR, "") for turn in (read, expected)]
                    assert thoughts[0] == thoughts[1]
                    assert read.answer == expected.answer
                    newest = (await caller.call("GET", "/api/sessions"))["items"][0]
                    (turn,) = (await caller.call("GET", f"/api/sessions/{newest['id']}"))["turns"]
                    stored = (await caller.read_stream(turn["id"])).turn
                    assert (stored.reasoning, stored.answer) == (expected.reasoning, expected.answer)
        return unchanged

    assert recordings
    assert asyncio.run(scenario()) > 0


def test_chat_stream_arrives_byte_for_byte(tmp_path: Path) -> None:
    noise = [b": a comment\n\n", b'data: {"choices": [], "x_new_field": [1, 2]}\n\n']
    chunks = [*noise, *STORY]
    data, turn = run_chat(tmp_path, chunks)
    assert data == b"".join(chunks)
    assert (turn["reasoning_content"], answer_of(turn)) == ("Two and two → ?", "Four.")


@pytest.mark.parametrize("dialect", PATHS)
def test_each_chunk_is_sent_before_the_next_one_comes(tmp_path: Path, dialect: str) -> None:
    """Of a provider that speaks the client's dialect, and of one that does not."""
    seen = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(STORY[0]))
        await asyncio.wait_for(seen.wait(), PATIENCE_S)
        await request.send(http_chunk(b"".join(STORY[1:])), http_chunk(b""))

    async def scenario() -> bytes:
        data = b""
        async with serve_upstream(act) as upstream:
            row = ROW.format(dialect="openai_chat", url=upstream.base_url)
            settings = quick_settings(heartbeat_s=10 * PATIENCE_S)  # no keep-alive helps
            async with start_gateway(tmp_path, extra=row, settings=settings) as caller:
                body = {"model": "acme/m-1", "stream": True, **BODIES[dialect]}
                async with caller.http.post(caller.url + PATHS[dialect], json=body) as response:
                    async for chunk in response.content.iter_any():
                        data += chunk
                        if b"Two" in data:
                            seen.set()
        return data

    assert b"and two" in asyncio.run(scenario())


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({"stream_options": None}, {}),
        ({}, {"x-thinkaloud-reasoning-fields": "reasoning"}),
    ],
)
def test_client_that_asks_for_another_form_gets_it(
    tmp_path: Path, body: dict[str, Any], headers: dict[str, str]
) -> None:
    usage = sse_event('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}')
    data, _ = run_chat(tmp_path, [*STORY[:-1], usage, STORY[-1]], body, **headers)
    if headers:
        assert b'"reasoning":"Two"' in data
        assert b"reasoning_content" not in data
    else:
        assert data == b"".join(STORY)


def test_thought_in_another_field_is_written_as_clients_know_it(tmp_path: Path) -> None:
    chunks = [chat_delta(role="assistant"), chat_delta(reasoning="Two"), *STORY[2:]]
    data, turn = run_chat(tmp_path, chunks)
    assert b'"reasoning_content":"Two"' in data
    assert b'"reasoning"' not in data
    ids = {json.loads(line[6:])["id"] for line in data.splitlines() if line.startswith(b"data: {")}
    assert len(ids) == 1
    assert turn["reasoning_content"] == "Two"


def test_failure_of_the_provider_is_told_without_its_bytes(tmp_path: Path) -> None:
    """An error in mid-stream may quote a key, so it is always written anew."""
    error = sse_event('{"error":{"message":"sk-canary-1 is no key","code":"bad_key"}}')
    data, turn = run_chat(tmp_path, [*STORY[:2], error])
    assert data.startswith(b"".join(STORY[:2]))
    rest = data.removeprefix(b"".join(STORY[:2]))
    assert rest.startswith(b'data: {"error":')
    assert error not in data
    assert turn["state"] == "failed"


def test_stream_that_is_cut_within_a_frame_ends_with_an_error(tmp_path: Path) -> None:
    async def act(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(STORY[0]), http_chunk(STORY[1][:20]), pause_s=0.05)
        request.reset()

    async def scenario() -> bytes:
        async with serve_upstream(act) as upstream:
            row = ROW.format(dialect="openai_chat", url=upstream.base_url)
            async with start_gateway(tmp_path, extra=row) as caller:
                return await post(caller, CHAT, {"messages": [QUESTION], **USAGE})

    data = asyncio.run(scenario())
    assert data.startswith(STORY[0])
    assert data.removeprefix(STORY[0]).startswith(b'data: {"error":')


def test_cancelled_turn_is_an_error_after_the_bytes_so_far(tmp_path: Path) -> None:
    cancelled = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, http_chunk(STORY[0]))
        await asyncio.wait_for(cancelled.wait(), PATIENCE_S)

    async def scenario() -> bytes:
        async with serve_upstream(act) as upstream:
            row = ROW.format(dialect="openai_chat", url=upstream.base_url)
            async with start_gateway(tmp_path, extra=row) as caller:
                reply = asyncio.create_task(post(caller, CHAT, {"messages": [QUESTION], **USAGE}))
                while not (sessions := (await caller.call("GET", "/api/sessions"))["items"]):
                    await asyncio.sleep(0.02)
                (turn,) = (await caller.call("GET", f"/api/sessions/{sessions[0]['id']}"))["turns"]
                await caller.wait_for_reasoning(turn["id"], "Two")
                await caller.call("POST", f"/api/turns/{turn['id']}/cancel", status=202)
                cancelled.set()
                return await reply

    data = asyncio.run(scenario())
    assert data.startswith(STORY[0])
    assert json.loads(data.removeprefix(STORY[0] + b"data: "))["error"]["code"] == "cancelled"


def test_slow_client_gets_the_rest_from_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_feed, "MAX_WAITING_BYTES", 1)
    data, turn = run_chat(tmp_path, [b"".join(STORY[:4]), *STORY[4:]])
    deltas = [
        json.loads(line[6:])["choices"][0]["delta"]
        for line in data.splitlines()
        if line.startswith(b'data: {"') and b'"choices":[]' not in line
    ]
    assert "".join(delta.get("content") or "" for delta in deltas) == answer_of(turn) == "Four."
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == turn["reasoning_content"]


def test_silent_provider_is_bridged_without_a_second_beginning(tmp_path: Path) -> None:
    """Keep-alives go between whole frames; if they come first, the response is written from its beginning."""
    recording = next(one for one in own_recordings() if one.dialect == "anthropic_messages")
    frames = [frame + b"\n\n" for frame in recording.body.split(b"\n\n") if frame]

    async def act(request: UpstreamRequest) -> None:
        silence_first = len(upstream_requests) > 0
        upstream_requests.append(request)
        await request.send(CHUNKED)
        if silence_first:
            await asyncio.sleep(6)
        await request.send(http_chunk(b"".join(frames[:3])))
        if not silence_first:
            await asyncio.sleep(0.5)
        await request.send(http_chunk(b"".join(frames[3:])), http_chunk(b""))

    upstream_requests: list[UpstreamRequest] = []

    async def scenario() -> list[bytes]:
        async with serve_upstream(act) as upstream:
            row = ROW.format(dialect="anthropic_messages", url=upstream.base_url)
            settings = quick_settings(heartbeat_s=0.2)
            async with start_gateway(tmp_path, extra=row, settings=settings) as caller:
                path, body = PATHS["anthropic_messages"], BODIES["anthropic_messages"]
                return [await post(caller, path, body), await post(caller, path, body)]

    for data in asyncio.run(scenario()):
        assert data.count(b'"message_start"') == 1
        assert b'"ping"' in data
        read = Recording(recording.name, recording.dialect, data, {}).turn(dialect=recording.dialect)
        assert read.answer == recording.turn().answer

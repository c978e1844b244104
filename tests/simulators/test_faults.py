"""Faults happen on the wire as scripted; then the answer is given."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from tests.simulators.rule_cases import KEY_HEADERS, HttpReply, Json, post_json, request_once, with_simulator

from thinkaloud.simulators import APIS, FAULT_KINDS, SIMULATOR_NAMES, ApiError, Simulator, server

PATH = "/v1/messages"
BODY: Json = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hi"}],
}
STREAM = BODY | {"stream": True}
TEXT = "One two three four."


def turn(kind: str, **fields: Any) -> list[Json]:
    return [{"text": TEXT, "fault": {"kind": kind, **fields}}]


def request_times(count: int, body: Json, script: list[Json]) -> list[HttpReply]:
    async def scenario(server: Simulator) -> list[HttpReply]:
        return [await post_json(server, PATH, body) for _ in range(count)]

    return with_simulator("anthropic", scenario, script=script)


def test_status_fault_is_followed_by_the_answer() -> None:
    first, second, third = request_times(3, BODY, turn("status", status=429, retry_after=1.5, times=2))
    assert [first.status, second.status, third.status] == [429, 429, 200]
    assert first.headers["retry-after"] == "1.5"
    assert first.json["error"]["type"] == "rate_limit_error"
    assert third.json["content"][0]["text"] == TEXT


@pytest.mark.parametrize("name", SIMULATOR_NAMES)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_every_provider_has_its_own_error_format(name: str, status: int) -> None:
    body = APIS[name].error_body(ApiError(status, "Overloaded"))
    assert {"error", "message"} & set(body)


async def raw_response(server: Simulator, body: Json) -> tuple[bytes, bool]:
    """Return all bytes until the end, and whether the connection was reset."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    sent = json.dumps(body).encode()
    lines = [f"POST {PATH} HTTP/1.1", "host: localhost", "connection: close", f"content-length: {len(sent)}"]
    lines += [f"{name}: {value}" for name, value in KEY_HEADERS.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + sent)
    received = b""
    try:
        while piece := await reader.read(65536):
            received += piece
    except ConnectionResetError:
        return received, True
    finally:
        writer.close()
    return received, False


@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize("inside", [0, 9])
def test_cut_resets_after_that_many_events_and_bytes(after: int, inside: int) -> None:
    async def scenario(server: Simulator) -> tuple[bytes, bool]:
        return await raw_response(server, STREAM)

    body, was_reset = with_simulator(
        "anthropic", scenario, script=turn("cut", after_events=after, inside_bytes=inside)
    )
    assert was_reset
    assert body.count(b"\n\n") == after
    assert body.count(b"event: ") == after + bool(inside)


def test_a_whole_response_can_be_cut_too() -> None:
    async def scenario(server: Simulator) -> tuple[bytes, bool]:
        return await raw_response(server, BODY)

    body, was_reset = with_simulator("anthropic", scenario, script=turn("cut", inside_bytes=20))
    assert was_reset
    assert b'{"id":"msg_' in body
    assert TEXT.encode() not in body


def test_a_cut_answer_is_given_again() -> None:
    async def scenario(server: Simulator) -> str:
        with pytest.raises(aiohttp.ClientError):
            await post_json(server, PATH, STREAM)
        again: str = (await post_json(server, PATH, BODY)).json["content"][0]["text"]
        return again

    assert with_simulator("anthropic", scenario, script=turn("cut", after_events=2)) == TEXT


def test_overload_after_some_events_is_an_error_event() -> None:
    stream = request_once("anthropic", PATH, STREAM, script=turn("overload", after_events=3)).body.decode()
    names = [line for line in stream.splitlines() if line.startswith("event: ")]
    assert names[-1] == "event: error"
    assert len(names) == 4
    assert "overloaded_error" in stream
    assert "message_stop" not in stream


def test_overload_of_a_whole_response_is_a_status() -> None:
    first, second = request_times(2, BODY, turn("overload", after_events=3))
    assert [first.status, second.status] == [529, 200]


def test_a_stalled_answer_continues() -> None:
    begun = time.monotonic()
    stream = request_once("anthropic", PATH, STREAM, script=turn("stall", after_events=2, seconds=0.3)).body
    assert time.monotonic() - begun >= 0.3
    assert b"message_stop" in stream


def test_a_stall_that_the_client_leaves_can_be_repeated() -> None:
    async def scenario(server: Simulator) -> str:
        leaving = asyncio.create_task(post_json(server, PATH, STREAM))
        while not server.requests:
            await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.wait([leaving])
        again: str = (await post_json(server, PATH, BODY)).json["content"][0]["text"]
        return again

    begun = time.monotonic()
    assert with_simulator("anthropic", scenario, script=turn("stall", seconds=300, again=True)) == TEXT
    assert time.monotonic() - begun < 300


@pytest.mark.parametrize(
    ("name", "mark"), [("anthropic", b"event: ping"), ("openrouter", b": OPENROUTER PROCESSING")]
)
def test_comments_come_between_events(name: str, mark: bytes) -> None:
    path = PATH if name == "anthropic" else "/api/v1/chat/completions"
    body = STREAM | {"model": "claude-sonnet-4-5" if name == "anthropic" else "openai/gpt-4o"}
    plain = request_once(name, path, body, script=[{"text": TEXT}]).body
    stream = request_once(name, path, body, script=turn("comments")).body
    events = plain.count(b"data: ")
    assert stream.count(mark) == plain.count(mark) + events


def test_slow_bytes_are_the_same_bytes() -> None:
    plain = request_once("anthropic", PATH, STREAM, script=[{"text": TEXT}]).body
    assert request_once("anthropic", PATH, STREAM, script=turn("slow")).body == plain


def test_garbage_comes_after_that_many_events() -> None:
    stream = request_once("anthropic", PATH, STREAM, script=turn("garbage", after_events=2)).body
    assert stream.endswith(server.GARBAGE_BYTES)
    assert stream.count(b"event: ") == 2


def test_gzip_bomb_is_small_on_the_wire() -> None:
    async def scenario(server: Simulator) -> tuple[bytes, bool]:
        return await raw_response(server, STREAM)

    body, _ = with_simulator("anthropic", scenario, script=turn("gzip_bomb", size=16 * 1024 * 1024))
    assert len(body) < 64 * 1024
    assert b"gzip" in body[:1000].lower()


def test_endless_line_has_its_size() -> None:
    stream = request_once("anthropic", PATH, STREAM, script=turn("endless_line", size=1024 * 1024)).body
    assert len(stream) == 1024 * 1024 + len(b"data: ")
    assert b"\n" not in stream


def test_endless_line_ends_when_the_client_leaves() -> None:
    async def scenario(server: Simulator) -> int:
        async with (
            aiohttp.ClientSession() as session,
            session.post(server.url + PATH, json=STREAM, headers=KEY_HEADERS) as response,
        ):
            await response.content.read(100_000)
        return (await post_json(server, PATH, BODY)).status

    assert with_simulator("anthropic", scenario, script=turn("endless_line", size=1 << 40)) == 200


def test_html_and_empty_faults() -> None:
    page, answer = request_times(2, BODY, turn("html", status=502))
    assert (page.status, page.body) == (502, server.HTML_BODY)
    assert answer.status == 200
    nothing = request_once("anthropic", PATH, BODY, script=turn("empty"))
    assert (nothing.status, nothing.body) == (200, b"")


def test_every_fault_works_for_whole_responses_too() -> None:
    for kind in FAULT_KINDS:
        script = turn(kind, size=1 << 16)

        async def scenario(server: Simulator) -> str:
            with suppress(aiohttp.ClientError):
                await post_json(server, PATH, BODY)
            again: str = (await post_json(server, PATH, BODY)).json["content"][0]["text"]
            return again

        assert with_simulator("anthropic", scenario, script=script), kind


def test_delay_ms_slows_a_turn() -> None:
    begun = time.monotonic()
    request_once("anthropic", PATH, STREAM, script=[{"text": TEXT, "delay_ms": 30}])
    assert time.monotonic() - begun >= 0.2

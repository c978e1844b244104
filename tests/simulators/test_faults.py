"""Faults happen as scripted, on the wire and not only in the server's mind; then the answer comes."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from tests.simulators.talking import KEY, Json, Told, post, told, with_server

from thinkaloud.simulators import APIS, FAULTS, NAMES, Refusal, Simulator, faults

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


def asked_times(count: int, body: Json, script: list[Json]) -> list[Told]:
    async def talk(server: Simulator) -> list[Told]:
        return [await post(server, PATH, body) for _ in range(count)]

    return with_server("anthropic", talk, script=script)


def test_refused_for_now_then_answered() -> None:
    first, second, third = asked_times(3, BODY, turn("status", status=429, retry_after=1.5, times=2))
    assert [first.status, second.status, third.status] == [429, 429, 200]
    assert first.headers["retry-after"] == "1.5"
    assert first.json["error"]["type"] == "rate_limit_error"
    assert third.json["content"][0]["text"] == TEXT


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_every_provider_has_its_own_words_for_trouble(name: str, status: int) -> None:
    assert "error" in APIS[name].error(Refusal(status, "Overloaded"))


async def raw(server: Simulator, body: Json) -> tuple[bytes, bool]:
    """All bytes until the end, and whether it ended in a reset."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    sent = json.dumps(body).encode()
    lines = [f"POST {PATH} HTTP/1.1", "host: localhost", "connection: close", f"content-length: {len(sent)}"]
    lines += [f"{name}: {value}" for name, value in KEY.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + sent)
    found = b""
    try:
        while piece := await reader.read(65536):
            found += piece
    except ConnectionResetError:
        return found, True
    finally:
        writer.close()
    return found, False


@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize("inside", [0, 9])
def test_a_cut_is_a_reset_after_that_many_events_and_bytes(after: int, inside: int) -> None:
    async def talk(server: Simulator) -> tuple[bytes, bool]:
        return await raw(server, STREAM)

    found, was_reset = with_server(
        "anthropic", talk, script=turn("cut", after_events=after, inside_bytes=inside)
    )
    assert was_reset
    assert found.count(b"\n\n") == after
    assert found.count(b"event: ") == after + bool(inside)


def test_a_whole_answer_can_be_cut_too() -> None:
    async def talk(server: Simulator) -> tuple[bytes, bool]:
        return await raw(server, BODY)

    found, was_reset = with_server("anthropic", talk, script=turn("cut", inside_bytes=20))
    assert was_reset
    assert b'{"id":"msg_' in found
    assert TEXT.encode() not in found


def test_a_cut_answer_is_given_again() -> None:
    async def talk(server: Simulator) -> str:
        with pytest.raises(aiohttp.ClientError):
            await post(server, PATH, STREAM)
        again: str = (await post(server, PATH, BODY)).json["content"][0]["text"]
        return again

    assert with_server("anthropic", talk, script=turn("cut", after_events=2)) == TEXT


def test_overload_after_some_events_is_an_event_of_its_own() -> None:
    stream = told("anthropic", PATH, STREAM, script=turn("overload", after_events=3)).body.decode()
    names = [line for line in stream.splitlines() if line.startswith("event: ")]
    assert names[-1] == "event: error"
    assert len(names) == 4
    assert "overloaded_error" in stream
    assert "message_stop" not in stream


def test_overload_of_a_whole_answer_is_a_status() -> None:
    first, second = asked_times(2, BODY, turn("overload", after_events=3))
    assert [first.status, second.status] == [529, 200]


def test_a_stall_lasts_and_then_the_answer_goes_on() -> None:
    begun = time.monotonic()
    stream = told("anthropic", PATH, STREAM, script=turn("stall", after_events=2, seconds=0.3)).body
    assert time.monotonic() - begun >= 0.3
    assert b"message_stop" in stream


def test_a_client_that_leaves_a_stall_gets_the_turn_again_when_scripted_so() -> None:
    async def talk(server: Simulator) -> str:
        leaving = asyncio.create_task(post(server, PATH, STREAM))
        while not server.requests:
            await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.wait([leaving])
        again: str = (await post(server, PATH, BODY)).json["content"][0]["text"]
        return again

    begun = time.monotonic()
    assert with_server("anthropic", talk, script=turn("stall", seconds=300, again=True)) == TEXT
    assert time.monotonic() - begun < 300


@pytest.mark.parametrize(
    ("name", "mark"), [("anthropic", b"event: ping"), ("openrouter", b": OPENROUTER PROCESSING")]
)
def test_keep_alives_stand_between_events(name: str, mark: bytes) -> None:
    path = PATH if name == "anthropic" else "/api/v1/chat/completions"
    body = STREAM | {"model": "claude-sonnet-4-5" if name == "anthropic" else "openai/gpt-4o"}
    plain = told(name, path, body, script=[{"text": TEXT}]).body
    stream = told(name, path, body, script=turn("comments")).body
    events = plain.count(b"data: ")
    assert stream.count(mark) == plain.count(mark) + events


def test_slow_bytes_are_the_same_bytes() -> None:
    plain = told("anthropic", PATH, STREAM, script=[{"text": TEXT}]).body
    assert told("anthropic", PATH, STREAM, script=turn("slow")).body == plain


def test_garbage_comes_after_that_many_events() -> None:
    stream = told("anthropic", PATH, STREAM, script=turn("garbage", after_events=2)).body
    assert stream.endswith(faults.GARBAGE)
    assert stream.count(b"event: ") == 2


def test_a_bomb_is_small_on_the_wire() -> None:
    async def talk(server: Simulator) -> tuple[bytes, bool]:
        return await raw(server, STREAM)

    found, _ = with_server("anthropic", talk, script=turn("gzip_bomb", size=16 * 1024 * 1024))
    assert len(found) < 64 * 1024
    assert b"gzip" in found[:1000].lower()


def test_a_line_without_end_has_its_size() -> None:
    stream = told("anthropic", PATH, STREAM, script=turn("endless_line", size=1024 * 1024)).body
    assert len(stream) == 1024 * 1024 + len(b"data: ")
    assert b"\n" not in stream


def test_a_client_that_leaves_an_endless_line_ends_it() -> None:
    async def talk(server: Simulator) -> int:
        async with (
            aiohttp.ClientSession() as session,
            session.post(server.url + PATH, json=STREAM, headers=KEY) as response,
        ):
            await response.content.read(100_000)
        return (await post(server, PATH, BODY)).status

    assert with_server("anthropic", talk, script=turn("endless_line", size=1 << 40)) == 200


def test_pages_and_nothing_at_all() -> None:
    page, answer = asked_times(2, BODY, turn("html", status=502))
    assert (page.status, page.body) == (502, faults.HTML)
    assert answer.status == 200
    nothing = told("anthropic", PATH, BODY, script=turn("empty"))
    assert (nothing.status, nothing.body) == (200, b"")


def test_every_fault_works_for_whole_answers_too() -> None:
    for kind in FAULTS:
        script = turn(kind, size=1 << 16)

        async def talk(server: Simulator) -> str:
            with suppress(aiohttp.ClientError):
                await post(server, PATH, BODY)
            again: str = (await post(server, PATH, BODY)).json["content"][0]["text"]
            return again

        assert with_server("anthropic", talk, script=script), kind


def test_a_turn_takes_its_time() -> None:
    begun = time.monotonic()
    told("anthropic", PATH, STREAM, script=[{"text": TEXT, "delay_ms": 30}])
    assert time.monotonic() - begun >= 0.2

"""Connections are kept, bounded in number, and never mix two responses."""

import asyncio
import socket

import pytest
from tests.client.upstream import (
    UpstreamRequest,
    WrittenRequest,
    http_response,
    make_client,
    run,
    serve_upstream,
)

from thinkaloud.client import connection, http
from thinkaloud.client.errors import Unreachable


async def answer_by_number(request: UpstreamRequest) -> None:
    await request.send(http_response("200 OK", b"a body for " + request.body))


def test_unread_body_is_not_mixed_with_the_next_response_on_its_connection() -> None:
    """A response that is complete frees its connection at once, also if its reader is slow."""

    async def scenario() -> tuple[list[bytes], list[int]]:
        async with serve_upstream(answer_by_number, keep=True) as upstream, make_client() as http_client:
            provider = upstream.provider()
            responses = [
                await http_client.send(provider, WrittenRequest(body=b"%d" % number)) for number in range(4)
            ]
            bodies = [b"".join([chunk async for chunk in response]) for response in reversed(responses)]
            for response in responses:
                response.close()
            last = await http_client.read_all(provider, WrittenRequest(body=b"5"))
            return [*bodies, last], [request.connection for request in upstream.requests]

    bodies, connections = run(scenario())
    assert bodies == [b"a body for %d" % number for number in (3, 2, 1, 0, 5)]
    assert connections == [1, 1, 1, 1, 1]


def test_informational_responses_are_skipped() -> None:
    async def early_hints(request: UpstreamRequest) -> None:
        await request.send(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", http_response("200 OK", b"real")
        )

    async def scenario() -> bytes:
        async with serve_upstream(early_hints, keep=True) as upstream, make_client() as http_client:
            return await http_client.read_all(upstream.provider(), WrittenRequest())

    assert run(scenario()) == b"real"


def test_connection_with_unasked_bytes_is_not_used_again() -> None:
    async def two_answers(request: UpstreamRequest) -> None:
        await request.send(http_response("200 OK", b"one"))
        await asyncio.sleep(0.05)
        await request.send(http_response("200 OK", b"of somebody else"))

    async def scenario() -> tuple[bytes, bytes, list[int]]:
        async with serve_upstream(two_answers, answer_by_number, keep=True) as upstream:
            async with make_client() as http_client:
                first = await http_client.read_all(upstream.provider(), WrittenRequest())
                await asyncio.sleep(0.2)
                second = await http_client.read_all(upstream.provider(), WrittenRequest(body=b"2"))
            return first, second, [request.connection for request in upstream.requests]

    assert run(scenario()) == (b"one", b"a body for 2", [1, 2])


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"]
)
def test_what_is_not_http_is_reported(answer: bytes) -> None:
    async def other_protocol(request: UpstreamRequest) -> None:
        await request.send(answer)
        await request.wait_closed()

    async def scenario() -> None:
        async with serve_upstream(other_protocol) as upstream, make_client() as http_client:
            with pytest.raises(Unreachable, match="the response is not valid HTTP"):
                await http_client.read_all(upstream.provider(), WrittenRequest())

    run(scenario())


def test_large_body_waits_for_its_reader() -> None:
    body = bytes(range(256)) * 20_000

    async def large(request: UpstreamRequest) -> None:
        await request.send(http_response("200 OK", body))

    async def scenario() -> tuple[int, bytes]:
        async with serve_upstream(large) as upstream, make_client() as http_client:
            response = await http_client.send(upstream.provider(), WrittenRequest())
            await asyncio.sleep(0.2)
            first = await response.read()
            return len(first), first + b"".join([chunk async for chunk in response])

    first_bytes, received = run(scenario())
    assert received == body
    assert first_bytes < len(body) / 2


def test_next_address_of_a_host_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens at the first address, as where IPv6 is not routed."""

    async def scenario() -> bytes:
        async with serve_upstream(answer_by_number) as upstream, make_client() as http_client:
            addresses = [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, upstream.port))
                for host in ("127.0.0.9", "127.0.0.1")
            ]

            async def both(*args: object, **options: object) -> object:
                return addresses

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", both)
            return await http_client.read_all(upstream.provider(), WrittenRequest(body=b"1"))

    assert run(scenario()) == b"a body for 1"


def test_request_beyond_the_most_connections_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_CONNECTIONS", 1)
    first_is_read = asyncio.Event()

    async def held_back(request: UpstreamRequest) -> None:
        await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
        await first_is_read.wait()
        await request.send(b"b")

    async def scenario() -> tuple[bytes, bytes, int]:
        async with serve_upstream(held_back, answer_by_number) as upstream, make_client() as http_client:
            first = await http_client.send(upstream.provider(), WrittenRequest())
            second = asyncio.create_task(http_client.read_all(upstream.provider(), WrittenRequest(body=b"2")))
            await asyncio.sleep(0)
            begun = len(upstream.requests)
            first_is_read.set()
            body = b"".join([chunk async for chunk in first])
            return body, await second, begun

    assert run(scenario()) == (b"ab", b"a body for 2", 1)


def test_idle_connection_makes_room_for_another_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_CONNECTIONS", 1)

    async def scenario() -> list[bytes]:
        async with (
            serve_upstream(answer_by_number, keep=True) as one,
            serve_upstream(answer_by_number, keep=True) as other,
            make_client() as http_client,
        ):
            requests = enumerate((one, other, one))
            return [
                await http_client.read_all(upstream.provider(), WrittenRequest(body=b"%d" % number))
                for number, upstream in requests
            ]

    assert run(scenario()) == [b"a body for 0", b"a body for 1", b"a body for 2"]


def test_cancelled_reading_of_an_error_body_drops_its_connection() -> None:
    async def slow_error(request: UpstreamRequest) -> None:
        await request.send(b"HTTP/1.1 400 No\r\nContent-Length: 100\r\n\r\nslow")
        await request.wait_closed()
        closed.set()

    closed = asyncio.Event()

    async def scenario() -> None:
        async with serve_upstream(slow_error) as upstream, make_client() as http_client:
            asking = asyncio.create_task(http_client.read_all(upstream.provider(), WrittenRequest()))
            while not upstream.requests:
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)
            asking.cancel()
            await closed.wait()

    run(scenario())


def test_addresses_that_fail_for_different_reasons_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*args: object, **options: object) -> object:
        raise OSError("Multiple exceptions: [Errno 101] network is unreachable, [Errno 111] refused")

    monkeypatch.setattr(connection, "start_connection", refuse)

    async def scenario() -> None:
        async with serve_upstream(answer_by_number) as upstream, make_client() as http_client:
            with pytest.raises(Unreachable, match="none of its addresses accepts connections"):
                await http_client.read_all(upstream.provider(), WrittenRequest())

    run(scenario())

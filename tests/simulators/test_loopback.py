"""The server behind the simulators and the built-in model closes what it opened."""

import asyncio
import gc
import socket
import warnings
from collections.abc import AsyncGenerator

import pytest
from tests.patience import PATIENCE_S

from thinkaloud.loopback import HOST, ServerRequest, ServerResponse, listen

CHUNK = b"x" * 1_000_000


def test_connection_of_a_client_that_does_not_read_is_closed_with_the_server() -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        while True:
            yield CHUNK

    async def send_for_ever(request: ServerRequest) -> ServerResponse:
        return ServerResponse(body=chunks())

    async def story() -> socket.socket:
        async with listen(send_for_ever, max_body_bytes=1_000) as port:
            client = socket.create_connection((HOST, port))
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.to_thread(client.recv, 1)
            return client

    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        with asyncio.run(story()):
            gc.collect()
    assert not [str(one.message) for one in recorded if "unclosed transport" in str(one.message)]


@pytest.mark.parametrize("passes", range(5))
def test_connection_that_is_accepted_last_is_closed_with_the_server(passes: int) -> None:
    """Also one that the event loop has accepted, and told nobody of."""

    async def never(_: ServerRequest) -> ServerResponse:
        raise AssertionError("nobody asks")

    async def story() -> socket.socket:
        async with listen(never, max_body_bytes=1_000) as port:
            client = socket.create_connection((HOST, port))
            for _ in range(passes):
                await asyncio.sleep(0)
            return client

    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        with asyncio.run(story()):
            gc.collect()
    assert not [str(one.message) for one in recorded if "unclosed transport" in str(one.message)]


def test_connection_that_a_client_keeps_does_not_keep_the_server() -> None:
    """As every HTTP client does between two requests. Since Python 3.12, asyncio waits for such a client."""

    async def respond(_: ServerRequest) -> ServerResponse:
        return ServerResponse(body=b"done")

    async def story() -> tuple[bytes, bytes]:
        async with listen(respond, max_body_bytes=1_000) as port:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            response = await reader.readuntil(b"done")
        rest = await reader.read()
        writer.close()
        return response, rest

    response, rest = asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    assert b"200 OK" in response
    assert rest == b"", "the server has closed the connection"


async def echo(request: ServerRequest) -> ServerResponse:
    if request.path == "/fault":
        raise RuntimeError("planted")
    if request.path == "/stream":
        return ServerResponse(body=pieces(b"one ", b"", b"two"))
    text = f"{request.method} {request.path} {request.query} {len(request.body)} {request.truncated};"
    return ServerResponse(body=text.encode())


async def pieces(*parts: bytes) -> AsyncGenerator[bytes, None]:
    for part in parts:
        yield part


def exchange(*sent: bytes, until: bytes = b"") -> bytes:
    """Return what the server answers to these bytes, up to `until` or to the end of the connection."""

    async def story() -> bytes:
        async with listen(echo, max_body_bytes=10) as port:
            reader, writer = await asyncio.open_connection(HOST, port)
            for data in sent:
                writer.write(data)
                await asyncio.sleep(0)
            answer = await (reader.readuntil(until) if until else reader.read())
            writer.close()
            return answer

    return asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


@pytest.mark.parametrize("cut", range(0, 100, 9))
def test_requests_of_one_connection_are_answered_in_their_order(cut: int) -> None:
    requests = (
        b"GET /a%20b?x=1&y= HTTP/1.1\r\n\r\n"
        b"POST /c HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc"
        b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\n"
    )
    answer = exchange(requests[:cut], requests[cut:])
    bodies = [part.rpartition(b"\r\n\r\n")[2] for part in answer.split(b";")[:-1]]
    assert bodies == [
        b"GET /a b {'x': '1', 'y': ''} 0 False",
        b"POST /c {} 3 False",
        b"GET /last {} 0 False",
    ]


def test_client_that_waits_to_send_its_body_is_told_to_go_on() -> None:
    head = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    assert exchange(head, b"ab", until=b"2 False;").startswith(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"
    )


def test_body_that_is_too_large_is_discarded() -> None:
    assert b" 0 True;" in exchange(b"POST / HTTP/1.0\r\ncontent-length: 40\r\n\r\n" + b"x" * 40)


def test_head_has_no_body() -> None:
    assert exchange(b"HEAD / HTTP/1.1\r\nconnection: close\r\n\r\n").endswith(b"\r\n\r\n")


def test_stream_has_chunks_where_the_client_knows_them() -> None:
    newer = exchange(b"GET /stream HTTP/1.1\r\nconnection: close\r\n\r\n")
    assert newer.endswith(b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")
    assert exchange(b"GET /stream HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\none two")


def test_garbage_and_a_fault_of_the_handler_are_answered() -> None:
    assert exchange(b"\x00\x01garbage\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert exchange(b"GET / HTTP/1.1\r\nx: " + b"y" * 300_000 + b"\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert exchange(b"GET /fault HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 500 ")


def test_stream_is_closed_when_its_client_disconnects() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0.001)
        finally:
            closed.set()

    async def respond(_: ServerRequest) -> ServerResponse:
        return ServerResponse(body=endless())

    async def story() -> None:
        async with listen(respond, max_body_bytes=1_000) as port:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await reader.readuntil(b"x")
            writer.close()
            await closed.wait()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))

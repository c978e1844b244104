"""The server behind the simulators and the built-in model closes what it opened."""

import asyncio
import gc
import socket
import warnings

import pytest
from aiohttp import web
from tests.patience import PATIENCE_S

from thinkaloud.loopback import HOST, listen

CHUNK = b"x" * 1_000_000


def test_connection_of_a_client_that_does_not_read_is_closed_with_the_server() -> None:
    async def send_for_ever(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(CHUNK)

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

    async def never(_: web.Request) -> web.StreamResponse:
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

    async def respond(_: web.Request) -> web.StreamResponse:
        return web.Response(text="done")

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

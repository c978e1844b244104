"""The fault proxy breaks a connection as it is told, at the byte that it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from tests.client.upstream import CHUNKED, http_chunk
from tests.faults.fault_proxy import FaultKind, LinkFault, run_proxy
from tests.patience import PATIENCE_S

RESPONSE = CHUNKED + http_chunk("data: pensée\n\n".encode()) + b"0\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: proxy\r\n\r\n"


@asynccontextmanager
async def start_target() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serve the response on a port. Yield its address and the requests."""
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(RESPONSE)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests


async def request_through(fault: LinkFault, most_bytes: int = 1 << 20) -> tuple[bytes, str, list[bytes]]:
    """Return what a client gets through a proxy with a fault, how it ends, and the requests."""
    async with start_target() as (target, requests), run_proxy(lambda: target) as proxy:
        proxy.next_fault = lambda: fault
        address = urlsplit(proxy.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(REQUEST)
        data, end = b"", "closed"
        try:
            while len(data) < most_bytes and (piece := await asyncio.wait_for(reader.read(7), PATIENCE_S)):
                data += piece
            end = "open" if len(data) >= most_bytes else end
        except ConnectionResetError:
            end = "reset"
        assert proxy.faults == (fault.kind is not FaultKind.NONE)
        writer.transport.abort()
    return data, end, [*requests, urlsplit(target).netloc.encode()]


@pytest.mark.parametrize("kind", [FaultKind.NONE, FaultKind.SLICE])
def test_proxy_forwards_all_bytes_and_names_the_target_as_host(kind: FaultKind) -> None:
    data, end, (request, target) = asyncio.run(request_through(LinkFault(kind, 3)))
    assert (data, end) == (RESPONSE, "closed")
    assert request == REQUEST.replace(b"proxy", target)


@pytest.mark.parametrize("size", [1, len(CHUNKED), len(RESPONSE) - 12, len(RESPONSE) - 1])
def test_proxy_cuts_the_response_at_a_byte(size: int) -> None:
    data, end, _ = asyncio.run(request_through(LinkFault(FaultKind.CLOSE, size)))
    assert (data, end) == (RESPONSE[:size], "closed")
    data, end, _ = asyncio.run(request_through(LinkFault(FaultKind.RESET, size)))
    assert RESPONSE[:size].startswith(data), "a reset may overtake bytes, and adds none"
    assert end == "reset"
    data, end, _ = asyncio.run(request_through(LinkFault(FaultKind.STALL, size), most_bytes=size))
    assert (data, end) == (RESPONSE[:size], "open")


def test_proxy_floods_with_a_line_without_an_end() -> None:
    data, end, _ = asyncio.run(request_through(LinkFault(FaultKind.FLOOD, 1), most_bytes=100_000))
    assert end == "open"
    assert data.startswith(RESPONSE + b"6\r\ndata: \r\n")
    assert data.endswith(b"xxxxxxx")


def test_proxy_refuses_without_asking_the_target() -> None:
    data, _, requests = asyncio.run(request_through(LinkFault(FaultKind.REFUSE)))
    assert data.startswith(b"HTTP/1.1 529 Overloaded\r\n")
    assert len(requests) == 1, "only the address of the target, no request"


def test_proxy_replaces_a_response() -> None:
    parts = (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 3, b"\r\n")
    data, end, requests = asyncio.run(request_through(LinkFault(FaultKind.REPLACE, response=parts)))
    assert (data, end) == (b"".join(parts), "closed")
    assert len(requests) == 1, "only the address of the target, no request"


def test_proxy_resets_the_client_if_the_target_is_gone() -> None:
    async def story() -> None:
        async with run_proxy(lambda: "http://127.0.0.1:1") as proxy:
            address = urlsplit(proxy.url)
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(REQUEST)
            with pytest.raises(ConnectionResetError):
                await asyncio.wait_for(reader.read(), PATIENCE_S)
            writer.transport.abort()

    asyncio.run(story())

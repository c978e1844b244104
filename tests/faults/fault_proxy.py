"""A TCP proxy that breaks connections as it is told: between readers and gateway, or gateway and provider.

For each connection it asks which fault to apply. Faults count the bytes of the response, headers included, so
that they hit inside an event, inside a character, or between CR and LF.
"""

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

_READ_BYTES = 65536
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_SLICE_PAUSE_S = 0.001
_OVERLOADED = b"HTTP/1.1 529 Overloaded\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class FaultKind(StrEnum):
    """What happens to a connection."""

    NONE = "none"
    RESET = "reset"
    """A TCP reset after some bytes."""
    CLOSE = "close"
    """A proper end of the connection after some bytes: the response is truncated."""
    STALL = "stall"
    """Nothing is forwarded any more after some bytes, in both directions, and nothing is closed."""
    SLICE = "slice"
    """All bytes arrive, a few at a time."""
    FLOOD = "flood"
    """After some bytes, a line without an end."""
    REFUSE = "refuse"
    """The other side is not asked: the response is `529 Overloaded`."""
    REPLACE = "replace"
    """The other side is not asked: the response is that of the fault."""


class LinkFault(NamedTuple):
    """A fault of one connection: after how many bytes it happens, or how large a slice is."""

    kind: FaultKind = FaultKind.NONE
    size_bytes: int = 0
    response: tuple[bytes, ...] = ()
    """The parts of a response that replaces that of the other side."""


NextFault = Callable[[], LinkFault]


def no_fault() -> LinkFault:
    """Return no fault, for a proxy that only forwards."""
    return LinkFault()


class FaultProxy:
    """The address of a running proxy, where it forwards to, and how it chooses faults."""

    def __init__(self, target: Callable[[], str]) -> None:
        self.url = ""
        self.next_fault: NextFault = no_fault
        self.faults = 0
        """How many connections had a fault."""
        self._target = target

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        fault = self.next_fault()
        self.faults += fault.kind is not FaultKind.NONE
        try:
            if fault.kind in (FaultKind.REFUSE, FaultKind.REPLACE):
                await _answer(reader, writer, fault.response or (_OVERLOADED,))
                return
            address = urlsplit(self._target())
            connection = await asyncio.open_connection(address.hostname, address.port)
            try:
                await _send_head(reader, connection[1], address.netloc)
                await _forward(fault, (reader, writer), connection)
            finally:  # also of a client that is killed before it has sent its request
                connection[1].transport.abort()
        except (OSError, asyncio.IncompleteReadError):
            _reset(writer)  # one of the sides is gone
        finally:
            writer.transport.abort()


@asynccontextmanager
async def run_proxy(target: Callable[[], str]) -> AsyncIterator[FaultProxy]:
    """Run a proxy. `target` is asked for each connection, because a restarted gateway has a new port."""
    proxy = FaultProxy(target)
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(proxy.handle(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, backlog=1024)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _send_head(reader: asyncio.StreamReader, target: asyncio.StreamWriter, host: str) -> None:
    """Send the headers of the request, with the target as the host, as every HTTP proxy does."""
    head = await reader.readuntil(b"\r\n\r\n")
    target.write(re.sub(rb"(?im)^host:[^\r]*", b"Host: " + host.encode(), head, count=1))


async def _forward(fault: LinkFault, client: Connection, target: Connection) -> None:
    """Forward both directions until one of them ends. The fault applies to the response."""
    (client_reader, client_writer), (target_reader, target_writer) = client, target

    async def send_to_client(data: bytes) -> None:
        client_writer.write(data)
        await client_writer.drain()

    async def requests() -> None:
        while data := await client_reader.read(_READ_BYTES):
            target_writer.write(data)
            await target_writer.drain()

    request_task = asyncio.create_task(requests())
    response_task = asyncio.create_task(_respond(fault, target_reader, send_to_client))
    try:
        await asyncio.wait((request_task, response_task), return_when=asyncio.FIRST_COMPLETED)
        broken = response_task.done() and not response_task.cancelled() and response_task.exception()
        if broken or (response_task.done() and fault.kind is FaultKind.RESET):
            _reset(client_writer)
        elif response_task.done() and fault.kind is FaultKind.STALL:
            request_task.cancel()
            await asyncio.wait((request_task,))
            await client_reader.read()  # until the client gives up
        elif response_task.done():
            client_writer.write_eof()
            await _drain(client_writer)
    finally:
        for task in (request_task, response_task):
            task.cancel()
        await asyncio.gather(request_task, response_task, return_exceptions=True)


async def _respond(
    fault: LinkFault, target: asyncio.StreamReader, send: Callable[[bytes], Awaitable[None]]
) -> None:
    """Send the response as the fault wants it."""
    bytes_left = fault.size_bytes
    while data := await target.read(_READ_BYTES):
        match fault.kind:
            case FaultKind.NONE:
                await send(data)
            case FaultKind.SLICE:
                for offset in range(0, len(data), fault.size_bytes):
                    await send(data[offset : offset + fault.size_bytes])
                    await asyncio.sleep(_SLICE_PAUSE_S)
            case FaultKind.FLOOD:
                await send(data)
                bytes_left -= len(data)
                if bytes_left <= 0 and data.endswith(b"\r\n"):  # between two chunks of the transfer encoding
                    await _flood(send)
            case _:
                await send(data[:bytes_left])
                bytes_left -= len(data)
                if bytes_left <= 0:
                    return


async def _flood(send: Callable[[bytes], Awaitable[None]]) -> None:
    """Send a line without an end, until nobody takes it."""
    await send(b"6\r\ndata: \r\n")
    while True:
        await send(b"%x\r\n%b\r\n" % (_READ_BYTES, b"x" * _READ_BYTES))


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, parts: tuple[bytes, ...]
) -> None:
    """Send a response of our own, as fast as it is taken."""
    await reader.readuntil(b"\r\n\r\n")
    for part in parts:
        writer.write(part)
        await writer.drain()
    writer.write_eof()
    await _drain(writer)
    with suppress(ConnectionError):
        await reader.read()


async def _drain(writer: asyncio.StreamWriter) -> None:
    """Wait until all bytes were taken, unless the other side is gone."""
    with suppress(ConnectionError):
        await writer.drain()
        while writer.transport.get_write_buffer_size():
            await asyncio.sleep(0.001)


def _reset(writer: asyncio.StreamWriter) -> None:
    if writer.transport.is_closing():
        return  # the other side was quicker
    raw_socket: socket.socket = writer.get_extra_info("socket")
    raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()

"""Clients that request a stream and read nothing, and the count of readers that the gateway gives."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from tests.gateway.gateway_process import Caller
from tests.patience import PATIENCE_S

MIB = 1024 * 1024


class StalledReader:
    """A client that requests a stream and reads nothing."""

    def __init__(self, url: str, turn: str, after: int) -> None:
        url_parts = urlsplit(url)
        self._socket = socket.socket()
        # Small windows and small segments: what the kernel holds for us is small too.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        self._socket.connect((url_parts.hostname, url_parts.port))
        head = f"GET /api/turns/{turn}/events?after={after} HTTP/1.1\r\nHost: {url_parts.netloc}\r\n\r\n"
        self._socket.sendall(head.encode())

    @property
    def answered(self) -> bool:
        """Whether the response has started; it may have been given up since."""
        try:
            status_line = self._socket.recv(15, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
        assert status_line in (b"HTTP/1.1 200 OK"[: len(status_line)], b""), status_line
        return status_line in (b"HTTP/1.1 200 OK", b"")  # nothing more comes after a reset that was seen

    def had_all(self) -> bool:
        """Read the stream now, and return whether it was complete."""
        self._socket.settimeout(PATIENCE_S)
        data, end = b"", b""
        with suppress(ConnectionError):
            while data := self._socket.recv(MIB):
                end = (end + data)[-200:]
        return b"event: end" in end

    def close(self) -> None:
        self._socket.close()


@asynccontextmanager
async def stalled_readers(
    url: str, turns: list[str], positions: Sequence[int]
) -> AsyncIterator[list[StalledReader]]:
    """Open a stalled reader at each position of each turn, and wait for the responses."""
    readers: list[StalledReader] = []
    try:
        readers += (StalledReader(url, turn, after) for turn in turns for after in positions)
        async with asyncio.timeout(PATIENCE_S):
            while not all(reader.answered for reader in readers):
                await asyncio.sleep(0.02)
        yield readers
    finally:
        for reader in readers:
            reader.close()


async def live_readers(caller: Caller) -> int:
    async with caller.http.get(f"{caller.gateway.url}/metrics") as response:
        metrics = dict(line.rsplit(" ", 1) for line in (await response.text()).splitlines() if line[0] != "#")
    return int(float(metrics["thinkaloud_readers_live"]))

"""A TCP proxy between gateways and PostgreSQL that cuts, silences and delays connections as it is told.

It reads the name that a gateway gives each of its connections, so that a fault can hit one kind alone:
`append`, `listen`, `lease` or `pool`.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_READ_BYTES = 65536
_NAME = b"application_name\x00thinkaloud "
_COMMITTED = b"COMMIT\x00"
KINDS = ("append", "listen", "lease", "pool")


class DatabaseProxy:
    """The address of a running proxy, and the faults of its connections."""

    def __init__(self, target: Path) -> None:
        self.port = 0
        self.faults = 0
        """How many connections had a fault."""
        self.delay_s = 0.0
        self.losing_commits: dict[str, bytes] = {}
        """By kind of connection: the next COMMIT after this statement is carried out and not acknowledged."""
        self._statements: dict[asyncio.StreamReader, bytes] = {}
        self._target = target
        self._silent: set[str] = set()
        self._connections: dict[asyncio.StreamWriter, str] = {}

    def silence(self, kinds: Collection[str] = KINDS) -> None:
        """Forward nothing any more on these connections, and close nothing: a network that was cut."""
        self._silent = set(kinds)
        self.faults += sum(kind in kinds for kind in self._connections.values())

    def speak(self) -> None:
        """Forward again what was held back."""
        self._silent = set()

    def reset(self, kinds: Collection[str] = KINDS) -> None:
        """Reset these connections now. A commit whose answer is under way is not acknowledged."""
        for writer, kind in tuple(self._connections.items()):
            if kind in kinds and not writer.transport.is_closing():
                self.faults += 1
                raw_socket: socket.socket = writer.get_extra_info("socket")
                raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                writer.transport.abort()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        kind = ""
        try:
            first = await reader.read(_READ_BYTES)
            if _NAME in first:
                kind = first.split(_NAME)[1].split(b"\x00")[0].decode()
            self._connections[writer] = kind
            await self._until_speaking(kind)
            target_reader, target_writer = await asyncio.open_unix_connection(str(self._target))
            target_writer.write(first)
            try:
                forwards = (
                    asyncio.create_task(self._forward(kind, reader, target_writer, target_reader)),
                    asyncio.create_task(self._forward(kind, target_reader, writer)),
                )
                await asyncio.wait(forwards, return_when=asyncio.FIRST_COMPLETED)
                for task in forwards:
                    task.cancel()
                await asyncio.gather(*forwards, return_exceptions=True)
            finally:
                target_writer.transport.abort()
        except OSError:
            pass  # one of the sides is gone; the other one learns it here
        finally:
            self._connections.pop(writer, None)
            writer.transport.abort()

    async def _forward(
        self,
        kind: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: asyncio.StreamReader | None = None,
    ) -> None:
        """Forward what comes from the gateway, whose `answers` are another stream, or those answers."""
        while data := await reader.read(_READ_BYTES):
            if answers is not None and self.losing_commits:
                self._statements[answers] = self._statements.get(answers, b"") + data
            elif _COMMITTED in data and self._loses(kind, self._statements.pop(reader, b"")):
                self.faults += 1
                return
            await self._until_speaking(kind)
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            writer.write(data)
            await writer.drain()

    def _loses(self, kind: str, statements: bytes) -> bool:
        """Return whether to lose the acknowledgement of these statements."""
        lost = kind in self.losing_commits and self.losing_commits[kind] in statements
        if lost:
            del self.losing_commits[kind]
        return lost

    async def _until_speaking(self, kind: str) -> None:
        while kind in self._silent:
            await asyncio.sleep(0.02)


@asynccontextmanager
async def run_database_proxy(target: Path) -> AsyncIterator[DatabaseProxy]:
    """Run a proxy in front of the socket of a server."""
    proxy = DatabaseProxy(target)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(proxy.handle(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, backlog=1024)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)

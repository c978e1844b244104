"""A TCP proxy that cuts every connection after a number of bytes of the response."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class CuttingProxy:
    """Forwards to a server under that server's name, up to `cut_after` bytes of each response."""

    def __init__(self, target: str, cut_after: int) -> None:
        self._target = urlsplit(target)
        self._cut_after = cut_after
        self.tasks: list[asyncio.Task[None]] = []
        self.cuts = 0
        self.url = ""

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.append(asyncio.create_task(self._forward(reader, writer)))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            own_name = self.url.removeprefix("http://").encode()
            up_writer.write(request.replace(own_name, self._target.netloc.encode()))
            left = self._cut_after
            while left and (data := await up_reader.read(left)):
                left -= len(data)
                writer.write(data)
                await writer.drain()
            self.cuts += not left
        finally:
            for stream in (writer, up_writer):
                stream.close()
                with suppress(ConnectionError):
                    await stream.wait_closed()


@asynccontextmanager
async def cutting_proxy(target: str, cut_after: int) -> AsyncIterator[CuttingProxy]:
    """Run a proxy in front of a server until the block ends."""
    proxy = CuttingProxy(target, cut_after)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.url = f"http://localhost:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        for task in proxy.tasks:
            task.cancel()
        await asyncio.gather(*proxy.tasks, return_exceptions=True)

"""A TCP proxy that cuts every connection after a number of bytes of the response."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class CuttingProxy:
    """Forwards to a server under that server's name, up to `cut_after` bytes of each response."""

    def __init__(self, target: str, cut_after: int | None) -> None:
        self._target = urlsplit(target)
        self.cut_after = cut_after
        self.cuts = 0
        self.url = ""

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        request = await reader.read(65536)
        up_writer.write(
            request.replace(self.url.removeprefix("http://").encode(), self._target.netloc.encode())
        )
        upstream = asyncio.create_task(_copy(reader, up_writer, None))
        try:
            if await _copy(up_reader, writer, self.cut_after):
                self.cuts += 1
        finally:
            upstream.cancel()
            writer.transport.abort()
            up_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> bool:
    """Copy up to a number of bytes. Return whether the limit was reached."""
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            if limit is not None:
                data, limit = data[:limit], limit - len(data)
            writer.write(data)
            await writer.drain()
            if limit is not None and limit <= 0:
                await asyncio.sleep(0.01)  # let the bytes leave before the connection is aborted
                return True
    return False


@asynccontextmanager
async def cutting_proxy(target: str, cut_after: int | None = None) -> AsyncIterator[CuttingProxy]:
    """Run a proxy in front of a server until the block ends."""
    proxy = CuttingProxy(target, cut_after)
    server = await asyncio.start_server(proxy._forward, "127.0.0.1", 0)
    proxy.url = f"http://localhost:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()

"""`thinkaloud serve` with settings that its command has no option for: they come as JSON in the arguments."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from thinkaloud.app.settings import database_path, user_catalog
from thinkaloud.server import logs
from thinkaloud.server.gateway import Gateway, Settings
from thinkaloud.server.serving import HERE, serve
from thinkaloud.store.sqlite import opened


def main(told: str) -> int:
    """Serve until stopped."""
    settings = msgspec.json.decode(told, type=Settings)
    logs.set_up()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Gateway]:
        async with (
            opened(database_path()) as database,
            Gateway(database, user_catalog(), settings=settings) as gateway,
        ):
            yield gateway

    return 0 if serve(opening, HERE, lambda place: print(place.url, flush=True)) else 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

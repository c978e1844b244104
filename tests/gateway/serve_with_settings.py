"""`thinkaloud serve` with settings that have no command-line option, as JSON in the arguments."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from thinkaloud.cli.settings import database_path
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.server import logs
from thinkaloud.server.gateway import Gateway, Settings
from thinkaloud.server.run import LOCAL_ONLY, serve
from thinkaloud.store.sqlite import open_database


def main(settings_json: str) -> int:
    """Serve until stopped."""
    settings = msgspec.json.decode(settings_json, type=Settings)
    logs.set_up()

    @asynccontextmanager
    async def open_gateway() -> AsyncIterator[Gateway]:
        async with (
            open_database(database_path()) as database,
            Gateway(database, load_catalog(), settings=settings) as gateway,
        ):
            yield gateway

    return 0 if serve(open_gateway, LOCAL_ONLY, lambda server: print(server.url, flush=True)) else 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

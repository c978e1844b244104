"""`thinkaloud serve` with settings that have no command-line option, as JSON in the arguments."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from thinkaloud.cli.database import database_url, open_home_database
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.gateway.server import logs
from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.server.run import LOCAL_ONLY, serve


def main(settings_json: str) -> int:
    """Serve until stopped."""
    settings = msgspec.json.decode(settings_json, type=Settings)
    logs.set_up()

    @asynccontextmanager
    async def open_gateway() -> AsyncIterator[Gateway]:
        async with (
            open_home_database(database_url()) as database,
            Gateway(database, load_catalog(), settings=settings) as gateway,
        ):
            yield gateway

    return 0 if serve(open_gateway, LOCAL_ONLY, lambda server: print(server.url, flush=True)) else 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

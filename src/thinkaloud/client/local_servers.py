"""Finds the model servers that run on this machine, at the addresses of the catalog."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from thinkaloud.core.catalog import Catalog, Provider

_CONNECT_TIMEOUT_S = 1.0


def local_providers(catalog: Catalog) -> list[Provider]:
    """Return the rows of servers that run on this machine and have an address."""
    return [row for row in catalog.providers.values() if row.local and row.base_url]


async def connect_all(providers: Sequence[Provider]) -> list[bool]:
    """Return for each provider whether something accepts connections at its address."""
    return await asyncio.gather(*(_connects(provider) for provider in providers))


async def _connects(provider: Provider) -> bool:
    url = urlsplit(provider.base_url)
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(url.hostname, port), _CONNECT_TIMEOUT_S)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True

"""Finds the real models that could be asked from this machine, for the built-in model to name them.

A server is named only if it lists its models: another program may use its port. Of a key only its source is
reported.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

from thinkaloud.builtin import Connections, LocalServer, ProviderKey
from thinkaloud.client.http import Client
from thinkaloud.client.key_store import key_source
from thinkaloud.core.canon import ThinkaloudError
from thinkaloud.core.catalog import Catalog, Provider, list_models, read_reported_models

logger = logging.getLogger(__name__)

_LIST_TIMEOUT_S = 2.0
_CONNECT_TIMEOUT_S = 1.0


def find_connections(catalog: Catalog) -> Connections:
    """Return the servers that list models, and the providers that have a key."""
    return Connections(asyncio.run(_find_servers(catalog)), tuple(_find_keys(catalog)))


async def _find_servers(catalog: Catalog) -> tuple[LocalServer, ...]:
    by_port: dict[int | None, Provider] = {}
    for provider in local_providers(catalog):
        if provider.models_path:
            by_port.setdefault(urlsplit(provider.base_url).port, provider)  # Ollama has two rows
    providers = list(by_port.values())
    answers = await connect_all(providers)
    async with Client() as client:
        servers = await asyncio.gather(
            *(
                _read_server(client, provider)
                for provider, answered in zip(providers, answers, strict=True)
                if answered
            )
        )
    return tuple(server for server in servers if server is not None)


async def _read_server(client: Client, provider: Provider) -> LocalServer | None:
    try:
        async with asyncio.timeout(_LIST_TIMEOUT_S):
            body = await client.fetch(provider, provider.models_path)
        models = tuple(model.id for model in read_reported_models(body))
    except (ThinkaloudError, TimeoutError) as error:
        logger.info("%s lists no models, so it is not offered: %s", provider.base_url, type(error).__name__)
        return None
    return LocalServer(provider.name, provider.base_url, models)


def _find_keys(catalog: Catalog) -> Iterator[ProviderKey]:
    for provider in catalog.providers.values():
        source = key_source(provider) if provider.key and not provider.local else ""
        model = _model_at(catalog, provider) if source else ""
        if model:
            yield ProviderKey(provider.name, source, f"{provider.name}/{model}")


def _model_at(catalog: Catalog, provider: Provider) -> str:
    """Return a model to suggest: one that thinks, is asked at this provider first, and will not retire."""
    today = datetime.now(UTC).date().isoformat()
    models = [
        row
        for row in list_models(catalog, today=today, thinking=True)
        if provider.name in row.providers and not row.family
    ]
    models.sort(key=lambda row: (row.with_thinking[0] != provider.name, provider.name in row.retires))
    return models[0].id if models else ""


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

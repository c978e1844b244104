"""The model that comes with Thinkaloud, listening on this machine for as long as somebody asks it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from thinkaloud.catalog import Catalog

PROVIDER = "builtin"
NAME = "builtin/solver"


def meant_by(model: str) -> bool:
    """Whether a name means the built-in model."""
    return model.removeprefix(f"{PROVIDER}/") == NAME.removeprefix(f"{PROVIDER}/")


@asynccontextmanager
async def reachable(catalog: Catalog) -> AsyncIterator[Catalog]:
    """The catalog, in which the built-in model has an address that answers."""
    from thinkaloud.builtin import running

    async with running() as server:
        yield catalog.with_address(PROVIDER, server.base_url)

"""The model that comes with Thinkaloud, listening on this machine for as long as somebody asks it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from thinkaloud.catalog import Catalog

BUILTIN_PROVIDER = "builtin"
BUILTIN_MODEL = "builtin/solver"


def names_builtin_model(model: str) -> bool:
    """Whether a name means the built-in model."""
    return model.removeprefix(f"{BUILTIN_PROVIDER}/") == BUILTIN_MODEL.removeprefix(f"{BUILTIN_PROVIDER}/")


@asynccontextmanager
async def with_builtin_model(catalog: Catalog) -> AsyncIterator[Catalog]:
    """The catalog, in which the built-in model has an address that answers."""
    from thinkaloud.builtin import run_solver

    async with run_solver() as server:
        yield catalog.with_base_url(BUILTIN_PROVIDER, server.base_url)

"""From a name as people write it to a row, and from a row to the name that a provider knows it by.

A name may have a provider before it (`openrouter/qwen/qwen3-8b`), a vendor as OpenRouter writes it
(`google/gemini-3-pro`), or nothing (`gpt-5`). Of several patterns that fit, the longest is meant.
"""

from difflib import get_close_matches
from fnmatch import fnmatchcase

from thinkaloud.catalog.book import Catalog
from thinkaloud.catalog.rows import Model, Provider

SUFFIX = ":thinking"
"""What OpenRouter puts after a name to ask for thinking."""


def tail(name: str) -> str:
    """A name without the vendor before it."""
    return name.rpartition("/")[2]


def pinned(catalog: Catalog, name: str) -> tuple[Provider | None, str]:
    """The provider that a name begins with, if it does, and the rest."""
    first, slash, rest = name.partition("/")
    if slash and rest and first in catalog.providers:
        return catalog.providers[first], rest
    return None, name


def row_for(catalog: Catalog, name: str) -> Model | None:
    """The row that speaks of this name."""
    spellings = {name.lower(), tail(name).lower()}
    for model in catalog.models.values():
        if spellings & _exact(model):
            return model
    fits = [
        (len(pattern), model)
        for model in catalog.models.values()
        for pattern in model.names
        if any(fnmatchcase(spelling, pattern.lower()) for spelling in spellings)
    ]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


def id_at(model: Model, provider: Provider, name: str) -> str:
    """What this provider calls the model that was asked for by that name."""
    spelled = model.at.get(provider.name)
    if spelled is None:
        return name
    if "*" in spelled:
        return spelled.replace("*", tail(name))
    short, family = tail(name), tail(spelled)
    return spelled + short[len(family) :] if short.lower().startswith(family.lower()) else spelled


def near(catalog: Catalog, name: str) -> list[str]:
    """Names of rows that look like this one."""
    return get_close_matches(tail(name).lower(), catalog.models, n=5, cutoff=0.5)


def _exact(model: Model) -> set[str]:
    spelled = [at for at in model.at.values() if "*" not in at]
    plain = [pattern for pattern in model.names if "*" not in pattern]
    return {word.lower() for word in (model.id, *plain, *spelled, *map(tail, spelled))}

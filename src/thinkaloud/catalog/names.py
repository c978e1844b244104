"""From a name as people write it to a row, and from a row to the name that a provider knows it by.

A name may have a provider before it (`openrouter/qwen/qwen3-8b`), a vendor as OpenRouter writes it
(`google/gemini-3-pro`), or nothing (`gpt-5`). Of several patterns that fit, the longest is meant.
"""

from difflib import get_close_matches
from fnmatch import fnmatchcase

from thinkaloud.catalog.book import Catalog
from thinkaloud.catalog.rows import Model, Provider

THINKING_SUFFIX = ":thinking"
"""What OpenRouter puts after a name to ask for thinking."""


def without_vendor(name: str) -> str:
    """A name without the vendor before it."""
    return name.rpartition("/")[2]


def split_provider(catalog: Catalog, name: str) -> tuple[Provider | None, str]:
    """The provider that a name begins with, if it does, and the rest."""
    provider_name, slash, model_name = name.partition("/")
    if slash and model_name and provider_name in catalog.providers:
        return catalog.providers[provider_name], model_name
    return None, name


def find_model(catalog: Catalog, name: str) -> Model | None:
    """The row that speaks of this name."""
    spellings = {name.lower(), without_vendor(name).lower()}
    for model in catalog.models.values():
        if spellings & _exact_names(model):
            return model
    matches = [
        (len(pattern), model)
        for model in catalog.models.values()
        for pattern in model.names
        if any(fnmatchcase(spelling, pattern.lower()) for spelling in spellings)
    ]
    return max(matches, key=lambda match: match[0])[1] if matches else None


def provider_model_id(model: Model, provider: Provider, name: str) -> str:
    """What this provider calls the model that was asked for by that name."""
    provider_spelling = model.at.get(provider.name)
    if provider_spelling is None:
        return name
    if "*" in provider_spelling:
        return provider_spelling.replace("*", without_vendor(name))
    short_name, family = without_vendor(name), without_vendor(provider_spelling)
    return (
        provider_spelling + short_name[len(family) :]
        if short_name.lower().startswith(family.lower())
        else provider_spelling
    )


def similar_names(catalog: Catalog, name: str) -> list[str]:
    """Names of rows that look like this one."""
    return get_close_matches(without_vendor(name).lower(), catalog.models, n=5, cutoff=0.5)


def _exact_names(model: Model) -> set[str]:
    provider_spellings = [spelling for spelling in model.at.values() if "*" not in spelling]
    exact_patterns = [pattern for pattern in model.names if "*" not in pattern]
    return {
        word.lower()
        for word in (model.id, *exact_patterns, *provider_spellings, *map(without_vendor, provider_spellings))
    }

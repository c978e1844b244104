"""The catalog: rows read from TOML, and lookup of a model by the name a user types.

Built-in rows come first, then the user's; a later row overrides single fields. `like` in a model row copies
the fields of another row, except its names, where it is served and when it retires. `deployment_of` copies
them too, and says that the row is that model under a name of the user's own.
A model name may start with a provider (`openrouter/qwen/qwen3-8b`, `openai:gpt-5`), with its vendor as one of
its providers spells it (`google/gemini-3-pro`), or with neither (`gpt-5`). If several patterns match, the
longest wins. `[aliases]` gives names, or patterns of names, another model.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from importlib import resources
from itertools import islice
from typing import Any, TypeVar

import msgspec

from thinkaloud.core.canon import BadCatalog, reason_of
from thinkaloud.core.canon.events import build_types
from thinkaloud.core.catalog.levels import EFFORT_WORDS
from thinkaloud.core.catalog.rows import (
    SAMPLING_PARAMETERS,
    InputKind,
    Model,
    Provider,
    ReplayRow,
    ThinkingControl,
    ThinkingSupport,
    ThinkingVisibility,
)

build_types(Provider, Model, ReplayRow)

FILES = ("replays.toml", "providers.toml", "models.toml")
OFF_SETTINGS = ("", "disabled", "between_tools", "none", "budget_0", "toggle", "template")
_SECTIONS = ("providers", "models", "replays")
_ALIASES = "aliases"
_NOT_INHERITED = ("names", "at", "ids", "thinking_id", "retires", "successor", "deployment_of", "family")

_Row = TypeVar("_Row", Provider, Model, ReplayRow)
_RowFields = dict[str, dict[str, Any]]


_REMEMBERED_NAMES = 1000


class Catalog(msgspec.Struct, frozen=True, dict=True):
    """All rows, by name."""

    providers: dict[str, Provider]
    models: dict[str, Model]
    replays: dict[str, ReplayRow]
    aliases: dict[str, str] = {}
    """The model behind each alias. An alias may contain `*`."""

    def with_base_url(self, provider: str, base_url: str) -> "Catalog":
        """Return a copy of the catalog in which this provider has another base URL."""
        provider_row = msgspec.structs.replace(self.providers[provider], base_url=base_url)
        return msgspec.structs.replace(self, providers={**self.providers, provider: provider_row})

    def providers_named(self, name: str) -> list[Provider]:
        """Return the providers that people call by this name, the one whose own name it is first."""
        rows = [row for row in self.providers.values() if name in (row.name, *row.names)]
        return sorted(rows, key=lambda row: row.name != name)

    @cached_property
    def exact_names(self) -> dict[str, int]:
        """The position of the first row with each exact name, in lower case."""
        positions: dict[str, int] = {}
        for position, model in enumerate(self.models.values()):
            for name in _exact_names(model):
                positions.setdefault(name, position)
        return positions

    @cached_property
    def models_by_pattern(self) -> "dict[frozenset[str], Model | None]":
        """The rows that patterns gave to names lately: comparing a name with all patterns takes long."""
        return {}

    @cached_property
    def name_patterns(self) -> list[tuple[str, Model]]:
        """The patterns of all rows in lower case, the longest first."""
        patterns = [(name.lower(), model) for model in self.models.values() for name in model.names]
        return sorted(patterns, key=lambda row: -len(row[0]))


class _CatalogMerger:
    """Merges the rows of several TOML texts. Remembers for error messages which text set each row last."""

    def __init__(self) -> None:
        self.rows: dict[str, _RowFields] = {section: {} for section in _SECTIONS}
        self.sources: dict[tuple[str, str], str] = {}
        self.aliases: dict[str, str] = {}

    def add(self, text: str, source: str) -> None:
        for section, rows in _decode_tables(text, source).items():
            if section == _ALIASES:
                self._add_aliases(rows, source)
                continue
            if section not in _SECTIONS:
                known = ", ".join(f"[{name}.NAME]" for name in _SECTIONS)
                raise BadCatalog(
                    "{source}: unknown section [{section}]. A catalog has: {known}, [{aliases}].",
                    source=source,
                    section=section,
                    known=known,
                    aliases=_ALIASES,
                )
            for key, fields in _named_rows(rows, f"{source}: [{section}]"):
                self.rows[section].setdefault(key, {}).update(fields)
                self.sources[section, key] = source

    def _add_aliases(self, rows: object, source: str) -> None:
        if not isinstance(rows, dict) or not all(isinstance(name, str) and name for name in rows.values()):
            raise BadCatalog(
                "{source}: [{aliases}] may contain only names of models. Write each line as "
                '"claude-*" = "deepseek/deepseek-v4-pro".',
                source=source,
                aliases=_ALIASES,
            )
        for alias, name in rows.items():
            self.aliases[alias] = name
            self.sources[_ALIASES, alias] = source

    def location(self, section: str, key: str) -> str:
        return f"{self.sources.get((section, key), 'catalog')}: [{section}.{key}]"

    def build_rows(self, section: str, row_type: type[_Row], key_field: str) -> dict[str, _Row]:
        return {
            key: _convert_row({**fields, key_field: key}, row_type, self.location(section, key))
            for key, fields in self.rows[section].items()
        }

    def resolve_likes(self) -> None:
        models = self.rows["models"]
        for key in models:
            models[key] = self._with_inherited(key, ())

    def _with_inherited(self, key: str, seen: tuple[str, ...]) -> dict[str, Any]:
        fields = dict(self.rows["models"][key])
        word = "deployment_of" if "deployment_of" in fields else "like"
        like = fields.get(word)
        fields.pop("like", None)
        if like is None:
            return fields
        if like not in self.rows["models"] or like in (*seen, key):
            raise BadCatalog(
                "{place}: `{word}` refers to {like}, which is not another model row. Use the id of "
                "another model, or write the fields out.",
                place=self.location("models", key),
                word=word,
                like=repr(like),
            )
        inherited = self._with_inherited(like, (*seen, key))
        excluded: tuple[str, ...] = _NOT_INHERITED
        if word == "deployment_of":
            spellings = (like, *inherited.get("names", ()), *inherited.get("at", {}).values())
            fields["family"] = [name for name in spellings if name.strip("*")]
            excluded = (*excluded, "at_with_thinking")
        return {name: value for name, value in inherited.items() if name not in excluded} | fields


def parse_catalog(*texts: str, names: Sequence[str] = ()) -> Catalog:
    """Merge TOML texts into a catalog. `names` are their file names, used in error messages."""
    merger = _CatalogMerger()
    for number, text in enumerate(texts):
        merger.add(text, names[number] if number < len(names) else f"catalog text {number + 1}")
    merger.resolve_likes()
    catalog = Catalog(
        providers=merger.build_rows("providers", Provider, "name"),
        models=merger.build_rows("models", Model, "id"),
        replays=merger.build_rows("replays", ReplayRow, "name"),
        aliases=merger.aliases,
    )
    _check_references(catalog, merger)
    return catalog


@cache
def builtin_texts() -> tuple[str, ...]:
    """Return the built-in rows as TOML text. A user's own file is merged on top of them."""
    folder = resources.files("thinkaloud.core.catalog")
    return tuple((folder / name).read_text("utf-8") for name in FILES)


@cache
def builtin_catalog() -> Catalog:
    """Return the built-in catalog."""
    return parse_catalog(*builtin_texts(), names=FILES)


@lru_cache(maxsize=2 * len(FILES))
def _decode_tables(text: str, source: str) -> dict[str, Any]:
    """Return the tables of a text. They are shared: to decode the built-in ones takes long, so only read."""
    try:
        return msgspec.toml.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadCatalog(
            "{source} is not valid TOML: {reason}. Correct that line.", source=source, reason=reason_of(error)
        ) from None


def _named_rows(rows: object, location: str) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(rows, dict) or not all(isinstance(fields, dict) for fields in rows.values()):
        raise BadCatalog(
            "{location} may contain only named tables. Write each row as [section.NAME].", location=location
        )
    return list(rows.items())


def _convert_row(fields: dict[str, Any], row_type: type[_Row], location: str) -> _Row:
    try:
        return msgspec.convert(fields, row_type)
    except msgspec.ValidationError as error:
        known = ", ".join(row_type.__struct_fields__)
        raise BadCatalog(
            "{location}: {reason}. Correct the field. Allowed fields: {known}.",
            location=location,
            reason=reason_of(error),
            known=known,
        ) from None


def _check_references(catalog: Catalog, merger: _CatalogMerger) -> None:
    for provider in catalog.providers.values():
        location = merger.location("providers", provider.name)
        _check_known(provider.replay, catalog.replays, f"{location}: replay")
        _check_known(provider.off, OFF_SETTINGS, f"{location}: off")
        _check_all_known(provider.efforts, EFFORT_WORDS, f"{location}: efforts")
    for model in catalog.models.values():
        location = merger.location("models", model.id)
        _check_all_known(model.at, catalog.providers, f"{location}: at")
        _check_all_known(model.ids, model.at, f"{location}: ids")
        _check_all_known(model.at_with_thinking, model.at, f"{location}: at_with_thinking")
        _check_all_known(model.replay, catalog.providers, f"{location}: replay")
        _check_all_known(model.cache, catalog.providers, f"{location}: cache")
        _check_all_known(model.replay.values(), catalog.replays, f"{location}: replay")
        _check_all_known(model.efforts, EFFORT_WORDS, f"{location}: efforts")
        _check_known(model.off, OFF_SETTINGS, f"{location}: off")
        _check_all_known(model.refuses, SAMPLING_PARAMETERS, f"{location}: refuses")
        _check_all_known(
            model.refuses_while_thinking, SAMPLING_PARAMETERS, f"{location}: refuses_while_thinking"
        )
        _check_all_known(model.tools_refused_at, catalog.providers, f"{location}: tools_refused_at")
        _check_all_known(model.retires, catalog.providers, f"{location}: retires")
        if model.successor:
            _check_known(model.successor, catalog.models, f"{location}: successor")
    for alias, name in catalog.aliases.items():
        if split_provider(catalog, name)[0] is None and find_model(catalog, name) is None:
            raise BadCatalog(
                "{place} stands for {name}, which is no model of the catalog. Use `provider/model`, "
                "or the name of a model that has a row.",
                place=merger.location(_ALIASES, alias),
                name=repr(name),
            )


def _check_all_known(words: Any, known: Any, location: str) -> None:
    for word in words:
        _check_known(word, known, location)


def _check_known(word: str, known: Any, location: str) -> None:
    if word not in known:
        known_names = ", ".join(filter(None, known))
        raise BadCatalog(
            "{location} has the unknown value {word}. Use one of: {known_names}.",
            location=location,
            word=repr(word),
            known_names=known_names,
        )


THINKING_SUFFIX = ":thinking"
"""The suffix with which OpenRouter model names ask for thinking."""


def without_vendor(name: str) -> str:
    """Return the name without its vendor prefix."""
    return name.rpartition("/")[2]


def split_provider(catalog: Catalog, name: str) -> tuple[Provider | None, str]:
    """Split off the provider that a name starts with, if any."""
    provider_name, slash, model_name = name.partition("/")
    if slash and model_name and provider_name in catalog.providers:
        return catalog.providers[provider_name], model_name
    # `mistral:7b` is a model of Ollama, so a colon counts only before a model that has a row.
    provider_name, colon, model_name = name.partition(":")
    if colon and provider_name in catalog.providers and find_model(catalog, model_name) is not None:
        return catalog.providers[provider_name], model_name
    return None, name


def find_alias(catalog: Catalog, name: str) -> str:
    """Return the alias that a name matches, the longest of several; empty if it matches none."""
    matching = [alias for alias in catalog.aliases if fnmatchcase(name.lower(), alias.lower())]
    return max(matching, key=len, default="")


def vendors(model: Model) -> set[str]:
    """Return what stands before the model's name in its ids at providers, in lower case."""
    return {spelling.rpartition("/")[0].lower() for spelling in model.at.values()} - {""}


def find_model(catalog: Catalog, name: str) -> Model | None:
    """Return the row for this name: an exact match, else the longest matching pattern."""
    spellings = frozenset((name.lower(), without_vendor(name).lower()))
    exact_names = catalog.exact_names
    if positions := [exact_names[spelling] for spelling in spellings if spelling in exact_names]:
        return next(islice(catalog.models.values(), min(positions), None))
    known = catalog.models_by_pattern
    if spellings not in known:
        if len(known) >= _REMEMBERED_NAMES:
            known.clear()
        known[spellings] = _match_pattern(catalog, spellings)
    return known[spellings]


def _match_pattern(catalog: Catalog, spellings: frozenset[str]) -> Model | None:
    for pattern, model in catalog.name_patterns:
        if any(fnmatchcase(spelling, pattern) for spelling in spellings):
            return model
    return None


def provider_model_id(model: Model, provider: Provider, name: str) -> str:
    """Return the model id to send to this provider for the name the user typed."""
    provider_spelling = model.at.get(provider.name)
    if provider_spelling is None:
        return name
    if "*" in provider_spelling:
        return provider_spelling.replace("*", without_vendor(name))
    short_name, family = without_vendor(name), without_vendor(provider_spelling)
    if short_name.lower().startswith(family.lower()):
        return provider_spelling + short_name[len(family) :]
    return provider_spelling


def similar_names(catalog: Catalog, name: str) -> list[str]:
    """Return the ids of rows that resemble this name."""
    return get_close_matches(without_vendor(name).lower(), catalog.models, n=5, cutoff=0.5)


def _exact_names(model: Model) -> set[str]:
    names = {model.id, *model.names, *model.at.values(), *map(without_vendor, model.at.values())}
    return {name.lower() for name in names if "*" not in name}


class ModelListing(msgspec.Struct, frozen=True):
    """One line of `thinkaloud models`: where a model is served and how it thinks."""

    id: str
    providers: tuple[str, ...]
    family: bool
    """Whether the id stands for a family. One of its models has to be named to be asked."""
    with_thinking: tuple[str, ...]
    thinking: ThinkingSupport
    on_by_default: bool
    control: tuple[ThinkingControl, ...]
    efforts: tuple[str, ...]
    can_be_off: bool
    visible: ThinkingVisibility
    inputs: tuple[InputKind, ...] | None
    retires: dict[str, str]
    successor: str
    as_of: str
    source: str


def list_models(catalog: Catalog, *, today: str = "", thinking: bool = False) -> list[ModelListing]:
    """List the models in catalog order; with `thinking`, only those that can think.

    With `today`, an ISO date, models that their vendor has retired are left out. A local server may have
    them still.
    """
    listings: list[ModelListing] = []
    for model in catalog.models.values():
        if thinking and model.thinking is ThinkingSupport.NONE:
            continue
        retired_by_vendor = retired(model, next(iter(model.at), ""), today)
        available = []
        for name in model.at:
            gone = retired_by_vendor or retired(model, name, today)
            if not gone or catalog.providers[name].local:
                available.append(name)
        if available or not model.at:
            listings += _model_listings(model, available)
    return listings


def retired(model: Model, provider: str, today: str) -> bool:
    """Return whether a provider no longer serves a model."""
    return model.retires.get(provider, "9999") <= today


def family_at(model: Model, provider: Provider) -> bool:
    """Return whether the row's id is no model at this provider. A local server names models as it likes."""
    is_pattern = "*" in model.at.get(provider.name, "")
    return is_pattern and not provider.local and model.id not in _ids_at(model, provider.name)


def _ids_at(model: Model, provider: str) -> tuple[str, ...]:
    """Return the ids to list at a provider. A row that declares none is not a family."""
    if model.ids and "*" in model.at[provider]:
        return model.ids.get(provider, ())
    return (model.id,)


def _model_listings(model: Model, available: Sequence[str]) -> list[ModelListing]:
    """Return a line for each id of a model, or one for the family if none is known."""
    providers_by_id: dict[str, list[str]] = {}
    for name in available:
        for listed_id in _ids_at(model, name):
            providers_by_id.setdefault(listed_id, []).append(name)
    lines = [_model_listing(model, listed_id, providers) for listed_id, providers in providers_by_id.items()]
    return lines or [_model_listing(model, model.id, available, family=bool(model.ids))]


def _model_listing(
    model: Model, listed_id: str, providers: Sequence[str], *, family: bool = False
) -> ModelListing:
    return ModelListing(
        id=listed_id,
        providers=tuple(providers),
        family=family,
        with_thinking=model.at_with_thinking or tuple(providers),
        thinking=model.thinking,
        on_by_default=model.on_by_default,
        control=model.control,
        efforts=model.efforts,
        can_be_off=model.thinking is not ThinkingSupport.ALWAYS,
        visible=model.visible,
        inputs=model.inputs,
        retires=model.retires,
        successor=model.successor,
        as_of=model.fact.as_of,
        source=model.fact.source,
    )

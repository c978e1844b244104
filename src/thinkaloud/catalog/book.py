"""The catalog: rows read from TOML, ours first and then the user's; a later row overrides single fields.

A row that cannot be read is refused with its file, its name and its field. `like` in a model's row takes
over what another row says, except what that one is called and where it is.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec

from thinkaloud.canon import BadCatalog
from thinkaloud.catalog.rows import Model, Provider, Replay
from thinkaloud.catalog.scale import WORDS

FILES = ("replays.toml", "providers.toml", "models.toml")
OFF_WORDS = ("", "disabled", "between_tools", "none", "budget_0", "toggle", "template")
_SECTIONS = ("providers", "models", "replays")
_NOT_TAKEN_OVER = ("names", "at", "thinking_id")

_Row = TypeVar("_Row", Provider, Model, Replay)
_Rows = dict[str, dict[str, Any]]


class Catalog(msgspec.Struct, frozen=True):
    """Every row there is, by name."""

    providers: dict[str, Provider]
    models: dict[str, Model]
    replays: dict[str, Replay]

    def with_address(self, provider: str, base_url: str) -> "Catalog":
        """The same catalog with a provider at this address."""
        moved = msgspec.structs.replace(self.providers[provider], base_url=base_url)
        return msgspec.structs.replace(self, providers={**self.providers, provider: moved})


class _Merging:
    """Rows of several texts on top of each other, and which text spoke last of each."""

    def __init__(self) -> None:
        self.rows: dict[str, _Rows] = {section: {} for section in _SECTIONS}
        self.told_by: dict[tuple[str, str], str] = {}

    def add(self, text: str, source: str) -> None:
        for section, rows in _tables(text, source).items():
            if section not in _SECTIONS:
                known = ", ".join(f"[{name}.NAME]" for name in _SECTIONS)
                raise BadCatalog(f"{source}: there is no section [{section}] in a catalog. Use {known}.")
            for key, fields in _named(rows, f"{source}: [{section}]"):
                self.rows[section].setdefault(key, {}).update(fields)
                self.told_by[section, key] = source

    def place(self, section: str, key: str) -> str:
        return f"{self.told_by.get((section, key), 'catalog')}: [{section}.{key}]"

    def take(self, section: str, kind: type[_Row], named: str) -> dict[str, _Row]:
        return {
            key: _row({**fields, named: key}, kind, self.place(section, key))
            for key, fields in self.rows[section].items()
        }

    def follow_likes(self) -> None:
        models = self.rows["models"]
        for key in models:
            models[key] = self._whole(key, ())

    def _whole(self, key: str, seen: tuple[str, ...]) -> dict[str, Any]:
        fields = dict(self.rows["models"][key])
        other = fields.pop("like", None)
        if other is None:
            return fields
        if other not in self.rows["models"] or other in (*seen, key):
            raise BadCatalog(
                f"{self.place('models', key)}: it is like {other!r}, and there is no such row before it. "
                "Name the id of another model, or write the fields out."
            )
        taken = self._whole(other, (*seen, key))
        return {name: said for name, said in taken.items() if name not in _NOT_TAKEN_OVER} | fields


def parse(*texts: str, names: Sequence[str] = ()) -> Catalog:
    """The catalog that these TOML texts make together; `names` are their files, for what goes wrong."""
    merging = _Merging()
    for number, text in enumerate(texts):
        merging.add(text, names[number] if number < len(names) else f"catalog text {number + 1}")
    merging.follow_likes()
    catalog = Catalog(
        providers=merging.take("providers", Provider, "name"),
        models=merging.take("models", Model, "id"),
        replays=merging.take("replays", Replay, "name"),
    )
    _check(catalog, merging)
    return catalog


@cache
def builtin_texts() -> tuple[str, ...]:
    """The rows that are shipped, as text: what a user's own file is laid on top of."""
    folder = resources.files("thinkaloud.catalog")
    return tuple((folder / name).read_text("utf-8") for name in FILES)


@cache
def builtin() -> Catalog:
    """The catalog that is shipped."""
    return parse(*builtin_texts(), names=FILES)


def _tables(text: str, source: str) -> dict[str, Any]:
    try:
        return msgspec.toml.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadCatalog(f"{source} is not TOML: {error}. Correct that line.") from None


def _named(rows: object, place: str) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(rows, dict) or not all(isinstance(fields, dict) for fields in rows.values()):
        raise BadCatalog(f"{place} holds rows and nothing else. Write a table with a name, [section.NAME].")
    return list(rows.items())


def _row(fields: dict[str, Any], kind: type[_Row], place: str) -> _Row:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        known = ", ".join(kind.__struct_fields__)
        raise BadCatalog(f"{place}: {error}. Correct the field; a row may have: {known}.") from None


def _check(catalog: Catalog, merging: _Merging) -> None:
    for provider in catalog.providers.values():
        place = merging.place("providers", provider.name)
        _known(provider.replay, catalog.replays, f"{place}: replay")
        _known(provider.off, OFF_WORDS, f"{place}: off")
        _all_known(provider.efforts, WORDS, f"{place}: efforts")
    for model in catalog.models.values():
        place = merging.place("models", model.id)
        _all_known(model.at, catalog.providers, f"{place}: at")
        _all_known(model.at_with_thinking, model.at, f"{place}: at_with_thinking")
        _all_known(model.replay, catalog.providers, f"{place}: replay")
        _all_known(model.replay.values(), catalog.replays, f"{place}: replay")
        _all_known(model.efforts, WORDS, f"{place}: efforts")
        _known(model.off, OFF_WORDS, f"{place}: off")


def _all_known(words: Any, known: Any, place: str) -> None:
    for word in words:
        _known(word, known, place)


def _known(word: str, known: Any, place: str) -> None:
    if word not in known:
        listed = ", ".join(name for name in known if name)
        raise BadCatalog(f"{place} says {word!r}, which is not known here. Use one of: {listed}.")

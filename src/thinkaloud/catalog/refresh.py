"""A provider's own list of models against our rows: what is new, what is gone, what is said differently.

The shapes are those of Anthropic, OpenRouter, OpenAI, Mistral, Gemini and Ollama. What a list does not say is
unknown and never counts as a difference.
"""

from collections.abc import Iterable

import msgspec

from thinkaloud.canon import NotAResponse
from thinkaloud.catalog.book import Catalog
from thinkaloud.catalog.names import row_for
from thinkaloud.catalog.rows import Capability, Model
from thinkaloud.catalog.scale import WORDS


class Offer(msgspec.Struct, frozen=True):
    """What a provider says of one model; None is not said."""

    id: str
    thinks: bool | None = None
    can_be_off: bool | None = None
    on_by_default: bool | None = None
    efforts: tuple[str, ...] | None = None
    max_output_tokens: int | None = None


class Change(msgspec.Struct, frozen=True):
    """A fact that the provider tells otherwise than our row."""

    id: str
    row: str
    field: str
    ours: str
    theirs: str


class Difference(msgspec.Struct, frozen=True):
    """What a provider's list has that we have not, what we have that it has not, and where we disagree."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[Change, ...]


class _Supported(msgspec.Struct):
    supported: bool | None = None


class _Thinking(msgspec.Struct):
    supported: bool | None = None
    types: dict[str, _Supported] = {}


class _Capabilities(msgspec.Struct):
    thinking: _Thinking | None = None
    effort: dict[str, _Supported | bool | None] | None = None
    reasoning: bool | None = None


class _Reasoning(msgspec.Struct):
    mandatory: bool | None = None
    default_enabled: bool | None = None
    supported_efforts: tuple[str, ...] | None = None


class _Item(msgspec.Struct):
    id: str = ""
    name: str = ""
    capabilities: _Capabilities | tuple[str, ...] | None = None
    reasoning: _Reasoning | None = None
    supported_parameters: tuple[str, ...] | None = None
    thinking: bool | None = None
    max_tokens: int | None = None
    output_token_limit: int | None = msgspec.field(default=None, name="outputTokenLimit")


class _List(msgspec.Struct):
    data: tuple[_Item, ...] | None = None
    models: tuple[_Item, ...] | None = None


_decoder = msgspec.json.Decoder(_List)


def offers(body: bytes | str) -> list[Offer]:
    """The models in the body of a models endpoint, whoever's it is."""
    try:
        told = _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise NotAResponse(
            f"This is not a list of models: {error}. Check models_path in the provider's row."
        ) from None
    if told.data is None and told.models is None:
        raise NotAResponse(
            "This is not a list of models: it has neither data nor models. "
            "Check models_path in the provider's row."
        )
    return [_offer(item) for item in (*(told.data or ()), *(told.models or ()))]


def difference(catalog: Catalog, provider: str, offered: Iterable[Offer]) -> Difference:
    """What is different between a provider's list and the rows of its models."""
    known = {offer.id: offer for offer in offered}
    rows = {name: row_for(catalog, name) for name in known}
    spelled = [model.at[provider] for model in catalog.models.values() if provider in model.at]
    return Difference(
        new=tuple(name for name, row in rows.items() if row is None),
        gone=tuple(name for name in spelled if "*" not in name and not _listed(name, known)),
        changed=tuple(
            change for name, row in rows.items() if row is not None for change in _changes(row, known[name])
        ),
    )


def _listed(name: str, known: Iterable[str]) -> bool:
    """A dated snapshot and a tag stand for the family: `gpt-5-2025-08-07`, `gpt-oss:20b`."""
    return any(
        other == name or other.startswith((f"{name}-20", f"{name}:")) or name.startswith(f"{other}-20")
        for other in known
    )


def _offer(item: _Item) -> Offer:
    name = item.id or item.name.removeprefix("models/")
    limit = item.max_tokens or item.output_token_limit
    if isinstance(item.capabilities, _Capabilities):
        return _from_capabilities(name, item.capabilities, limit)
    if isinstance(item.capabilities, tuple):
        return Offer(name, thinks="thinking" in item.capabilities)
    if item.reasoning is not None:
        return _from_reasoning(name, item.reasoning)
    if item.supported_parameters is not None:
        return Offer(name, thinks="reasoning" in item.supported_parameters)
    return Offer(name, thinks=item.thinking, max_output_tokens=limit)


def _from_capabilities(name: str, said: _Capabilities, limit: int | None) -> Offer:
    if said.thinking is None:
        return Offer(name, thinks=said.reasoning, max_output_tokens=limit)
    supported = [kind for kind, support in said.thinking.types.items() if support.supported]
    on = [kind for kind in supported if kind in ("adaptive", "enabled")]
    thinks = bool(on) if said.thinking.types else said.thinking.supported
    return Offer(
        name,
        thinks=thinks,
        can_be_off="disabled" in supported if on else None,
        efforts=_efforts(said.effort),
        max_output_tokens=limit,
    )


def _efforts(said: dict[str, _Supported | bool | None] | None) -> tuple[str, ...] | None:
    """The words of a list that are marked as supported; a list that marks none says nothing."""
    words = [word for word in WORDS if _supported((said or {}).get(word))]
    return tuple(words) or None


def _supported(mark: _Supported | bool | None) -> bool:
    return bool(mark.supported if isinstance(mark, _Supported) else mark)


def _from_reasoning(name: str, said: _Reasoning) -> Offer:
    known = said.supported_efforts
    return Offer(
        name,
        thinks=True,
        can_be_off=None if said.mandatory is None else not said.mandatory,
        on_by_default=said.default_enabled,
        efforts=None if known is None else tuple(word for word in WORDS if word in known and word != "none"),
    )


def _changes(row: Model, offer: Offer) -> list[Change]:
    thinks = row.thinking is not Capability.NONE
    facts: list[tuple[str, object, object]] = [("thinking", thinks, offer.thinks)]
    if thinks and offer.thinks is not False:
        facts += [
            ("can_be_off", row.thinking is Capability.OPTIONAL, offer.can_be_off),
            ("on_by_default", row.on_by_default, offer.on_by_default),
            ("efforts", row.efforts, offer.efforts if row.efforts else None),
        ]
    facts.append(("max_output_tokens", row.max_output_tokens, offer.max_output_tokens))
    return [
        Change(offer.id, row.id, field, _plain(ours), _plain(theirs))
        for field, ours, theirs in facts
        if theirs is not None and ours != theirs
    ]


def _plain(fact: object) -> str:
    if isinstance(fact, tuple):
        return ", ".join(fact)
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return "unknown" if fact is None else str(fact)

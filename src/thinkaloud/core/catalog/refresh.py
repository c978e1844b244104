"""Compares a provider's list of models with the catalog: new, removed and changed models.

Reads the list formats of Anthropic, OpenRouter, OpenAI, Mistral, Gemini and Ollama. A field that a list does
not contain is unknown and never counts as a difference.
"""

from collections.abc import Iterable

import msgspec

from thinkaloud.core.canon import NotAResponse, reason_of
from thinkaloud.core.catalog.catalog import Catalog, find_model
from thinkaloud.core.catalog.levels import EFFORT_WORDS
from thinkaloud.core.catalog.rows import Model, Provider, ThinkingSupport


class ReportedModel(msgspec.Struct, frozen=True):
    """What a provider's list says about one model. None means that the list does not say."""

    id: str
    thinks: bool | None = None
    can_be_off: bool | None = None
    on_by_default: bool | None = None
    efforts: tuple[str, ...] | None = None
    max_output_tokens: int | None = None
    retires: str | None = None


class FieldChange(msgspec.Struct, frozen=True):
    """A field in which the provider's list differs from the catalog row."""

    id: str
    row: str
    field: str
    catalog_value: str
    provider_value: str


class CatalogDifference(msgspec.Struct, frozen=True):
    """Models that only the provider lists, models that only the catalog lists, and fields that differ."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[FieldChange, ...]


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


class _ModelItem(msgspec.Struct):
    id: str = ""
    name: str = ""
    capabilities: _Capabilities | tuple[str, ...] | None = None
    reasoning: _Reasoning | None = None
    supported_parameters: tuple[str, ...] | None = None
    thinking: bool | None = None
    max_tokens: int | None = None
    output_token_limit: int | None = msgspec.field(default=None, name="outputTokenLimit")
    shutdown_date: str | None = None


class _ModelList(msgspec.Struct):
    data: tuple[_ModelItem, ...] | None = None
    models: tuple[_ModelItem, ...] | None = None


_decoder = msgspec.json.Decoder(_ModelList)


def read_reported_models(body: bytes | str) -> list[ReportedModel]:
    """Read the response body of a models endpoint, in any known format."""
    try:
        model_list = _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise NotAResponse(
            "The response is not a list of models: {reason}. Check models_path in the provider's row.",
            reason=reason_of(error),
        ) from None
    if model_list.data is None and model_list.models is None:
        raise NotAResponse(
            "The response is not a list of models: it has neither `data` nor `models`. "
            "Check models_path in the provider's row."
        )
    return [_reported_model(item) for item in (*(model_list.data or ()), *(model_list.models or ()))]


def compare_models(catalog: Catalog, provider: str, reported: Iterable[ReportedModel]) -> CatalogDifference:
    """Compare a provider's list with the catalog rows of its models."""
    reported_by_id = {model.id: model for model in reported}
    new = []
    changed: list[FieldChange] = []
    for name, model in reported_by_id.items():
        row = find_model(catalog, name)
        if row is None:
            new.append(name)
        else:
            changed += _changes(row, provider, model)
    gone = []
    for row in catalog.models.values():
        spelling = row.at.get(provider)
        if spelling is not None and "*" not in spelling and not _covered_by_list(spelling, reported_by_id):
            gone.append(spelling)
    return CatalogDifference(new=tuple(new), gone=tuple(gone), changed=tuple(changed))


def new_rows(catalog: Catalog, provider: Provider, reported: Iterable[ReportedModel], as_of: str) -> str:
    """Return rows in TOML for the models that the catalog does not have and of which the list says enough.

    How a model is asked to think is taken from the provider's row; the list does not say it.
    """
    return "".join(
        _row_text(provider, model, as_of)
        for model in reported
        if model.thinks is not None and find_model(catalog, model.id) is None
    )


def _row_text(provider: Provider, model: ReportedModel, as_of: str) -> str:
    fields: dict[str, object] = {"at": {provider.name: model.id}, "thinking": _support(model)}
    if model.thinks:
        efforts = provider.efforts if model.efforts is None else model.efforts
        fields |= {
            "on_by_default": bool(model.on_by_default),
            "control": provider.control,
            "efforts": efforts,
        }
        fields |= {"off": provider.off if model.can_be_off is not False else ""}
        fields |= {"omitted_by_default": bool(provider.display)}
    if model.max_output_tokens is not None:
        fields["max_output_tokens"] = model.max_output_tokens
    fields["fact"] = {"as_of": as_of, "source": f"the list of models of {provider.name}"}
    lines = "".join(f"{name} = {_toml_value(value)}\n" for name, value in fields.items())
    return f"\n[models.{_toml_value(model.id)}]\n{lines}"


def _support(model: ReportedModel) -> str:
    if not model.thinks:
        return ThinkingSupport.NONE.value
    return (ThinkingSupport.ALWAYS if model.can_be_off is False else ThinkingSupport.OPTIONAL).value


def _toml_value(value: object) -> str:
    """Return a value in TOML, whose strings, numbers and lists are written as in JSON."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_toml_value(name)} = {_toml_value(item)}" for name, item in value.items())
        return f"{{ {pairs} }}"
    return msgspec.json.encode(value).decode()


def _covered_by_list(name: str, reported_names: Iterable[str]) -> bool:
    """Return whether the model is listed, or a snapshot (`gpt-5-2025-08-07`) or tag (`gpt-oss:20b`) of it."""
    return any(
        reported_name == name
        or reported_name.startswith((f"{name}-20", f"{name}:"))
        or name.startswith(f"{reported_name}-20")
        for reported_name in reported_names
    )


def _reported_model(item: _ModelItem) -> ReportedModel:
    name = item.id or item.name.removeprefix("models/")
    limit = item.max_tokens or item.output_token_limit
    if isinstance(item.capabilities, _Capabilities):
        return _from_capabilities(name, item.capabilities, limit)
    if isinstance(item.capabilities, tuple):
        return ReportedModel(name, thinks="thinking" in item.capabilities)
    if item.reasoning is not None:
        return _from_reasoning(name, item.reasoning)
    if item.supported_parameters is not None:
        return ReportedModel(name, thinks="reasoning" in item.supported_parameters)
    return ReportedModel(name, thinks=item.thinking, max_output_tokens=limit, retires=item.shutdown_date)


def _from_capabilities(name: str, capabilities: _Capabilities, limit: int | None) -> ReportedModel:
    if capabilities.thinking is None:
        return ReportedModel(name, thinks=capabilities.reasoning, max_output_tokens=limit)
    supported = [kind for kind, support in capabilities.thinking.types.items() if support.supported]
    thinking_types = [kind for kind in supported if kind in ("adaptive", "enabled")]
    thinks = bool(thinking_types) if capabilities.thinking.types else capabilities.thinking.supported
    return ReportedModel(
        name,
        thinks=thinks,
        can_be_off="disabled" in supported if thinking_types else None,
        efforts=_efforts(capabilities.effort),
        max_output_tokens=limit,
    )


def _efforts(support: dict[str, _Supported | bool | None] | None) -> tuple[str, ...] | None:
    """Return the effort words marked as supported, or None if none is marked."""
    if not support:
        return None
    words = [word for word in EFFORT_WORDS if _supported(support.get(word))]
    return tuple(words) or None


def _supported(mark: _Supported | bool | None) -> bool:
    return bool(mark.supported if isinstance(mark, _Supported) else mark)


def _from_reasoning(name: str, reasoning: _Reasoning) -> ReportedModel:
    efforts: tuple[str, ...] | None = None
    if reasoning.supported_efforts is not None:
        supported = [word for word in EFFORT_WORDS if word in reasoning.supported_efforts]
        efforts = tuple(word for word in supported if word != "none")
    return ReportedModel(
        name,
        thinks=True,
        can_be_off=None if reasoning.mandatory is None else not reasoning.mandatory,
        on_by_default=reasoning.default_enabled,
        efforts=efforts,
    )


def _changes(row: Model, provider: str, reported: ReportedModel) -> list[FieldChange]:
    thinks = row.thinking is not ThinkingSupport.NONE
    facts: list[tuple[str, object, object]] = [("thinking", thinks, reported.thinks)]
    if thinks and reported.thinks is not False:
        facts += [
            ("can_be_off", row.thinking is ThinkingSupport.OPTIONAL, reported.can_be_off),
            ("on_by_default", row.on_by_default, reported.on_by_default),
            ("efforts", row.efforts, reported.efforts if row.efforts else None),
        ]
    facts.append(("max_output_tokens", row.max_output_tokens, reported.max_output_tokens))
    facts.append(("retires", row.retires.get(provider), reported.retires))
    return [
        FieldChange(reported.id, row.id, field, _display_text(row_value), _display_text(reported_value))
        for field, row_value, reported_value in facts
        if reported_value is not None and row_value != reported_value
    ]


def _display_text(fact: object) -> str:
    if isinstance(fact, tuple):
        return ", ".join(fact)
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return "unknown" if fact is None else str(fact)

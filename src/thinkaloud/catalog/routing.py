"""Which provider answers for a model, and why. Pure: whether there is a key is asked of the caller.

A provider in the name is kept. Otherwise the row says the order of preference, and with thinking on only the
providers that show it count: a missing key there is for the caller to report, never a reason to go elsewhere.
"""

from collections.abc import Callable

from thinkaloud.canon import KeyMissing, UnknownModel
from thinkaloud.catalog.catalog import (
    THINKING_SUFFIX,
    Catalog,
    find_model,
    provider_model_id,
    similar_names,
    split_provider,
    without_vendor,
)
from thinkaloud.catalog.rows import Model, Provider, ReplayRow, Route, RowSource, ThinkingSupport

ASSUMED_FACT = RowSource(as_of="0000-00-00", source="assumed: the catalog does not know this model")
"""The fact of a row that was made up for a name without one."""

HaveKey = Callable[[Provider], bool]


def has_thinking_suffix(name: str) -> bool:
    """Whether a name asks for thinking by its suffix."""
    return name.endswith(THINKING_SUFFIX)


def route(catalog: Catalog, name: str, *, thinking: bool, have_key: HaveKey) -> Route:
    """Where a request for this model goes, with one sentence for each step of the choice."""
    provider, model_name = split_provider(catalog, name.strip())
    suffixed = has_thinking_suffix(model_name) and not (provider and provider.local)
    base_name = model_name.removesuffix(THINKING_SUFFIX) if suffixed else model_name
    model = find_model(catalog, base_name)
    reasons = [f"The name ends in {THINKING_SUFFIX}, so thinking is on."] if suffixed else []
    if provider is None:
        if model is None or not model.at:
            raise _unknown_model_error(catalog, name)
        provider = _choose_provider(catalog, model, thinking or suffixed, have_key, reasons)
        model_id = provider_model_id(model, provider, base_name)
        reasons += _rename_reasons(base_name, model_id, provider)
    else:
        model_id, model = _pinned_model(provider, model, base_name, thinking or suffixed, reasons)
    if thinking or suffixed:
        model_id = _thinking_model_id(model, provider, model_id, base_name if suffixed else "", reasons)
    return Route(
        provider=provider,
        model=model,
        model_id=model_id,
        replay=_replay_row(catalog, model, provider),
        why=tuple(reasons),
    )


def key_missing_error(route: Route) -> KeyMissing:
    """What to tell the user when the provider of a route has no key."""
    provider, model = route.provider, route.model
    only_provider = model.at_with_thinking == (provider.name,)
    reason = f" With thinking on, {model.id} goes to {provider.name} only." if only_provider else ""
    short_name = without_vendor(route.model_id)
    alternatives = [
        f"{name}/{spelling.replace('*', short_name)}"
        for name, spelling in model.at.items()
        if name != provider.name
    ]
    remedy = f", or name another provider yourself, such as {alternatives[0]}" if alternatives else ""
    references = provider.key.split(" | ")
    places = f"{' and '.join(references)} {'leads' if len(references) == 1 else 'lead'}"
    return KeyMissing(
        f"There is no key for {provider.name}: {places} to nothing.{reason} "
        f"Set it{remedy}. Nothing was sent elsewhere."
    )


def _choose_provider(
    catalog: Catalog, model: Model, thinking: bool, have_key: HaveKey, reasons: list[str]
) -> Provider:
    thinking_providers = model.at_with_thinking if thinking else ()
    candidates = [catalog.providers[name] for name in thinking_providers or model.at]
    first = candidates[0]
    if thinking_providers:
        reasons.append(
            f"With thinking on, the catalog sends {model.id} to {' or '.join(thinking_providers)}."
        )
    else:
        reasons.append(f"For {model.id} the catalog prefers {first.name}.")
    if not first.key or have_key(first):
        return first
    # A server on this machine is never a second choice: it may not be running, and nobody asked for it.
    for alternative in candidates[1:]:
        if alternative.key and have_key(alternative):
            reasons.append(f"There is no key for {first.name}, so {alternative.name} is next.")
            return alternative
    reasons.append(f"There is no key for {first.name}, and no other provider of the list has one.")
    return first


def _pinned_model(
    provider: Provider, model: Model | None, model_name: str, thinking: bool, reasons: list[str]
) -> tuple[str, Model]:
    reasons.append(f"The name says {provider.name}.")
    if model is None:
        reasons.append(
            f"{model_name} is not in the catalog: whether it thinks is unknown, so it is taken to be able to, "
            f"and asked as {provider.name} usually is."
        )
        return model_name, _assumed_model(model_name, provider)
    if thinking and model.at_with_thinking and provider.name not in model.at_with_thinking:
        reasons.append(
            f"With thinking on, the catalog would have taken {' or '.join(model.at_with_thinking)}."
        )
    model_id = model_name if "/" in model_name else provider_model_id(model, provider, model_name)
    reasons += _rename_reasons(model_name, model_id, provider)
    return model_id, model


def _rename_reasons(requested_name: str, model_id: str, provider: Provider) -> list[str]:
    return [] if requested_name == model_id else [f"{provider.name} calls it {model_id}."]


def _thinking_model_id(
    model: Model, provider: Provider, model_id: str, suffixed_name: str, reasons: list[str]
) -> str:
    thinking_id = model.thinking_id.get(provider.name)
    if thinking_id and model_id == model.at.get(provider.name):
        reasons.append(f"With thinking on, {provider.name} calls it {thinking_id}.")
        return thinking_id
    if suffixed_name and model.fact == ASSUMED_FACT:
        return model_id + THINKING_SUFFIX
    if suffixed_name:
        reasons.append(
            f"{provider.name} knows no {THINKING_SUFFIX} for it; thinking is asked for in the request."
        )
    return model_id


def _replay_row(catalog: Catalog, model: Model, provider: Provider) -> ReplayRow:
    return catalog.replays[model.replay.get(provider.name, provider.replay)]


def _assumed_model(name: str, provider: Provider) -> Model:
    return Model(
        id=name,
        at={provider.name: name},
        thinking=ThinkingSupport.OPTIONAL,
        control=provider.control,
        efforts=provider.efforts,
        off=provider.off,
        omitted_by_default=bool(provider.display),
        fact=ASSUMED_FACT,
    )


def _unknown_model_error(catalog: Catalog, name: str) -> UnknownModel:
    similar = similar_names(catalog, name)
    hint = f"Did you mean {', '.join(similar)}? " if similar else ""
    return UnknownModel(
        f"{name!r} is not in the catalog, and it does not begin with the name of a provider. {hint}"
        f"Say who serves it, such as openrouter/{name}, or add a row for it to your own catalog file."
    )

"""Chooses the provider for a model and records why. No I/O: the caller passes a check for keys.

A provider in the name is final, and one that the catalog does not have is an error. Otherwise the row gives
the order of preference. With thinking on, only the providers that show thinking count: if their key is
missing, the request fails instead of using another one.
"""

from collections.abc import Callable
from difflib import get_close_matches

import msgspec

from thinkaloud.core.canon import KeyMissing, UnknownModel, Wording
from thinkaloud.core.catalog.catalog import (
    THINKING_SUFFIX,
    Catalog,
    family_at,
    find_alias,
    find_model,
    provider_model_id,
    similar_names,
    split_provider,
    vendors,
    without_vendor,
)
from thinkaloud.core.catalog.rows import Model, Provider, ReplayRow, Route, RowSource, ThinkingSupport

ASSUMED_FACT = RowSource(as_of="0000-00-00", source="assumed: the catalog does not know this model")
"""Marks a row that was made up for a model without one."""

HaveKey = Callable[[Provider], bool]


def has_thinking_suffix(name: str) -> bool:
    """Return whether a name ends in the thinking suffix."""
    return name.endswith(THINKING_SUFFIX)


def route(catalog: Catalog, name: str, *, thinking: bool, have_key: HaveKey) -> Route:
    """Choose the provider and model id for a request. `Route.why` has a sentence for each step."""
    reasons: list[str] = []
    if alias := find_alias(catalog, name.strip()):
        reasons.append(f"The alias {alias} of the catalog stands for {catalog.aliases[alias]}.")
        name = catalog.aliases[alias]
    provider, model_name = split_provider(catalog, name.strip())
    suffixed = has_thinking_suffix(model_name) and not (provider and provider.local)
    base_name = model_name.removesuffix(THINKING_SUFFIX) if suffixed else model_name
    model = find_model(catalog, base_name)
    reasons += [f"The name ends in {THINKING_SUFFIX}, so thinking is on."] if suffixed else []
    if provider is None:
        if model is None or not model.at:
            raise _unknown_model_error(catalog, name)
        _check_vendor(catalog, model, base_name)
        provider = _choose_provider(catalog, model, thinking or suffixed, have_key, reasons)
        model_id = provider_model_id(model, provider, base_name)
        reasons += _rename_reasons(base_name, model_id, provider)
    else:
        model_id, model = _pinned_model(provider, model, base_name, thinking or suffixed, reasons)
    if base_name.lower() == model.id.lower() and family_at(model, provider):
        raise _family_error(model, provider)
    if thinking or suffixed:
        model_id = _thinking_model_id(model, provider, model_id, base_name if suffixed else "", reasons)
    places = model.places.get(provider.name)
    return Route(
        provider=provider if places is None else msgspec.structs.replace(provider, places=places),
        model=model,
        model_id=model_id,
        replay=_replay_row(catalog, model, provider),
        why=tuple(reasons),
        thinking=thinking or suffixed,
    )


def retirement_note(route: Route) -> Wording | None:
    """Return when the provider stops serving the model and what to use instead; None if it goes on."""
    model, provider = route.model, route.provider.name
    date = model.retires.get(provider)
    if date is None:
        return None
    note = Wording("{provider} retires {model} on {date}.", provider=provider, model=model.id, date=date)
    if date <= model.fact.as_of:
        note = Wording("{provider} retired {model} on {date}.", provider=provider, model=model.id, date=date)
    if not model.successor:
        return note
    return Wording.join([note, Wording("Use {successor} instead.", successor=model.successor)])


def key_missing_error(route: Route, *, fault: Wording | None = None) -> KeyMissing:
    """Build the error for a route whose provider has no key. `fault` says why a stored key cannot be used."""
    provider, model = route.provider, route.model
    thinking_providers = model.at_with_thinking if route.thinking else ()
    bound = provider.name in thinking_providers
    parts = [fault or Wording("No API key found for {provider}.", provider=provider.name)]
    if bound:
        parts.append(
            Wording(
                "With thinking on, {model} is sent only to {providers}.",
                model=model.id,
                providers=Wording.any_of(thinking_providers),
            )
        )
    short_name = without_vendor(route.model_id)
    # A provider that would break the rule of the route is no advice.
    alternatives = [
        f"{name}/{spelling.replace('*', short_name)}"
        for name, spelling in model.at.items()
        if name != provider.name and (not bound or name in thinking_providers)
    ]
    places = Wording.any_of(map(_key_place, provider.key.split(" | ")))
    parts.append(_key_remedy(places, provider.name, alternatives, instead=fault is not None))
    return KeyMissing(wording=Wording.join([*parts, Wording("Nothing was sent.")]), fault=fault)


def _key_remedy(places: Wording, provider: str, alternatives: list[str], *, instead: bool) -> Wording:
    """Return what to do about a key that is missing, or `instead` of repairing the one that is there."""
    set_it = Wording("Set {places}", places=places)
    if instead:
        set_it = Wording("Or set {places}", places=places)
    if not alternatives:
        return Wording("{set_it}, or run `thinkaloud keys set {provider}`.", set_it=set_it, provider=provider)
    return Wording(
        "{set_it}, run `thinkaloud keys set {provider}`, or use another provider, such as {model}.",
        set_it=set_it,
        provider=provider,
        model=alternatives[0],
    )


def _key_place(reference: str) -> Wording:
    kind, _, name = reference.partition(":")
    match kind:
        case "credentials":
            return Wording("{name} in credentials.toml (mode 600)", name=name)
        case "file":
            return Wording("the key file {name}", name=name)
        case "keyring":
            return Wording("the keyring entry {name}", name=name)
    return Wording.plain(name)


def _check_vendor(catalog: Catalog, model: Model, name: str) -> None:
    """Refuse a name that starts with neither a provider nor the model's vendor."""
    prefix = name.rpartition("/")[0]
    if not prefix or prefix.lower() in vendors(model):
        return
    providers = _similar_providers(catalog, prefix) or tuple(model.at)[:3]
    choices = ", ".join(f"{provider}/{model.id}" for provider in providers)
    raise UnknownModel(
        "Unknown provider {prefix} in {name}. Use {choices}, or add a row for the provider to your "
        "own catalog file. Nothing was sent.",
        prefix=repr(prefix),
        name=repr(name),
        choices=choices,
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
        reasons.append(f"The catalog prefers {first.name} for {model.id}.")
    if not first.key or have_key(first):
        return first
    # Never fall back to a local server: it may not be running, and the user did not ask for it.
    for alternative in candidates[1:]:
        if alternative.key and have_key(alternative):
            reasons.append(f"No key found for {first.name}, so {alternative.name} is used.")
            return alternative
    reasons.append(f"No key found for {first.name}, and no alternative provider has one.")
    return first


def _pinned_model(
    provider: Provider, model: Model | None, model_name: str, thinking: bool, reasons: list[str]
) -> tuple[str, Model]:
    reasons.append(f"The name specifies {provider.name}.")
    if model is None:
        reasons.append(
            f"{model_name} is not in the catalog. It is assumed to support thinking "
            f"and is asked in the usual form for {provider.name}."
        )
        return model_name, _assumed_model(model_name, provider)
    if thinking and model.at_with_thinking and provider.name not in model.at_with_thinking:
        reasons.append(f"With thinking on, the catalog would use {' or '.join(model.at_with_thinking)}.")
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
            f"{provider.name} has no {THINKING_SUFFIX} variant of it; thinking is requested in the body."
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
    prefix, slash, model_name = name.partition("/")
    similar = [f"{provider}/{model_name}" for provider in _similar_providers(catalog, prefix) if slash]
    similar = similar or similar_names(catalog, name)
    parts = [
        Wording(
            "Unknown model {name}: it is not in the catalog and does not start with a provider.",
            name=repr(name),
        )
    ]
    if similar:
        parts.append(Wording("Did you mean {names}?", names=", ".join(similar)))
    parts.append(
        Wording(
            "Add the provider, such as {example}, or add a row for the model to your own catalog file.",
            example=f"openrouter/{name}",
        )
    )
    return UnknownModel(wording=Wording.join(parts))


def _family_error(model: Model, provider: Provider) -> UnknownModel:
    ids = [f"{provider.name}/{name}" for name in model.ids.get(provider.name, ())]
    if ids:
        return UnknownModel(
            "{model} is a family of models at {provider}. Use one of its models, such as {models}. Nothing "
            "was sent.",
            model=repr(model.id),
            provider=provider.name,
            models=Wording.any_of(ids[:3]),
        )
    return UnknownModel(
        "{model} is a family of models at {provider}. Name one of its models as {provider} spells it. "
        "Nothing was sent.",
        model=repr(model.id),
        provider=provider.name,
    )


def _similar_providers(catalog: Catalog, name: str) -> list[str]:
    return get_close_matches(name.lower(), catalog.providers, n=1)

"""Which provider answers for a model, and why. Pure: whether there is a key is asked of the caller.

A provider in the name is kept. Otherwise the row says the order of preference, and with thinking on only the
providers that show it count: a missing key there is for the caller to report, never a reason to go elsewhere.
"""

from collections.abc import Callable

from thinkaloud.canon import KeyMissing, UnknownModel
from thinkaloud.catalog.book import Catalog
from thinkaloud.catalog.names import SUFFIX, id_at, near, pinned, row_for, tail
from thinkaloud.catalog.rows import Capability, Fact, Model, Provider, Replay, Route

ASSUMED = Fact(as_of="0000-00-00", source="assumed: the catalog does not know this model")
"""The fact of a row that was made up for a name without one."""

HaveKey = Callable[[Provider], bool]


def wants_thinking(name: str) -> bool:
    """Whether a name asks for thinking by its suffix."""
    return name.endswith(SUFFIX)


def route(catalog: Catalog, name: str, *, thinking: bool, have_key: HaveKey) -> Route:
    """Where a request for this model goes, with one sentence for each step of the choice."""
    provider, rest = pinned(catalog, name.strip())
    suffixed = wants_thinking(rest) and not (provider and provider.local)
    plain = rest.removesuffix(SUFFIX) if suffixed else rest
    model = row_for(catalog, plain)
    why = [f"The name ends in {SUFFIX}, so thinking is on."] if suffixed else []
    if provider is None:
        if model is None or not model.at:
            raise _unknown(catalog, name)
        provider = _choose(catalog, model, thinking or suffixed, have_key, why)
        model_id = id_at(model, provider, plain)
        why += _renamed(plain, model_id, provider)
    else:
        model_id, model = _named(provider, model, plain, thinking or suffixed, why)
    if thinking or suffixed:
        model_id = _with_thinking(model, provider, model_id, plain if suffixed else "", why)
    return Route(
        provider=provider,
        model=model,
        model_id=model_id,
        replay=_replay(catalog, model, provider),
        why=tuple(why),
    )


def key_missing(route: Route) -> KeyMissing:
    """What to tell the user when the provider of a route has no key."""
    provider, model = route.provider, route.model
    only = model.at_with_thinking == (provider.name,)
    reason = f" With thinking on, {model.id} goes to {provider.name} only." if only else ""
    short = tail(route.model_id)
    others = [f"{name}/{at.replace('*', short)}" for name, at in model.at.items() if name != provider.name]
    remedy = f", or name another provider yourself, such as {others[0]}" if others else ""
    references = provider.key.split(" | ")
    places = f"{' and '.join(references)} {'leads' if len(references) == 1 else 'lead'}"
    return KeyMissing(
        f"There is no key for {provider.name}: {places} to nothing.{reason} "
        f"Set it{remedy}. Nothing was sent elsewhere."
    )


def _choose(catalog: Catalog, model: Model, thinking: bool, have_key: HaveKey, why: list[str]) -> Provider:
    narrowed = model.at_with_thinking if thinking else ()
    candidates = [catalog.providers[name] for name in narrowed or model.at]
    first = candidates[0]
    if narrowed:
        why.append(f"With thinking on, the catalog sends {model.id} to {' or '.join(narrowed)}.")
    else:
        why.append(f"For {model.id} the catalog prefers {first.name}.")
    if not first.key or have_key(first):
        return first
    # A server on this machine is never a second choice: it may not be running, and nobody asked for it.
    for other in candidates[1:]:
        if other.key and have_key(other):
            why.append(f"There is no key for {first.name}, so {other.name} is next.")
            return other
    why.append(f"There is no key for {first.name}, and no other provider of the list has one.")
    return first


def _named(
    provider: Provider, model: Model | None, rest: str, thinking: bool, why: list[str]
) -> tuple[str, Model]:
    why.append(f"The name says {provider.name}.")
    if model is None:
        why.append(
            f"{rest} is not in the catalog: whether it thinks is unknown, so it is taken to be able to, "
            f"and asked as {provider.name} usually is."
        )
        return rest, _assumed(rest, provider)
    if thinking and model.at_with_thinking and provider.name not in model.at_with_thinking:
        why.append(f"With thinking on, the catalog would have taken {' or '.join(model.at_with_thinking)}.")
    model_id = rest if "/" in rest else id_at(model, provider, rest)
    why += _renamed(rest, model_id, provider)
    return model_id, model


def _renamed(asked: str, model_id: str, provider: Provider) -> list[str]:
    return [] if asked == model_id else [f"{provider.name} calls it {model_id}."]


def _with_thinking(model: Model, provider: Provider, model_id: str, suffixed: str, why: list[str]) -> str:
    other = model.thinking_id.get(provider.name)
    if other and model_id == model.at.get(provider.name):
        why.append(f"With thinking on, {provider.name} calls it {other}.")
        return other
    if suffixed and model.fact == ASSUMED:
        return model_id + SUFFIX
    if suffixed:
        why.append(f"{provider.name} knows no {SUFFIX} for it; thinking is asked for in the request.")
    return model_id


def _replay(catalog: Catalog, model: Model, provider: Provider) -> Replay:
    return catalog.replays[model.replay.get(provider.name, provider.replay)]


def _assumed(name: str, provider: Provider) -> Model:
    return Model(
        id=name,
        at={provider.name: name},
        thinking=Capability.OPTIONAL,
        control=provider.control,
        efforts=provider.efforts,
        off=provider.off,
        omitted_by_default=bool(provider.display),
        fact=ASSUMED,
    )


def _unknown(catalog: Catalog, name: str) -> UnknownModel:
    alike = near(catalog, name)
    hint = f"Did you mean {', '.join(alike)}? " if alike else ""
    return UnknownModel(
        f"{name!r} is not in the catalog, and it does not begin with the name of a provider. {hint}"
        f"Say who serves it, such as openrouter/{name}, or add a row for it to your own catalog file."
    )

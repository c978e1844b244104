"""Fits sampling parameters to a route: what the dialect, the provider and the model take of them.

A parameter that is not taken is left out, with a note. A request with it would be refused, although the
conversation may have come from another model that takes it.
"""

from msgspec.structs import replace

from thinkaloud.core.canon import Wording
from thinkaloud.core.canon.requests import Sampling
from thinkaloud.core.catalog.rows import REFUSED_WHEN_UNBOUNDED, SAMPLING_PARAMETERS, Provider, Route
from thinkaloud.core.dialects.registry import DIALECTS

_DEFAULTS = {"temperature": 1, "top_p": 1, "parallel_tool_calls": True, "verbosity": "medium"}
"""Values that change nothing, so a model that does not take them loses nothing without them."""


def fit_sampling(
    route: Route, sampling: Sampling, *, thinks: bool, tools: bool, effort: str = ""
) -> tuple[Sampling, tuple[Wording, ...]]:
    """Return the parameters that can be sent with this effort, and a note for each change."""
    if not tools:
        # It means nothing without tools, and some APIs refuse it then.
        sampling = replace(sampling, parallel_tool_calls=None)
    unbounded = route.unbounded(effort)
    notes: list[Wording] = []
    for name in SAMPLING_PARAMETERS:
        value = getattr(sampling, name)
        reason = _refusal(route, name, sampling, thinks)
        if unbounded and name in REFUSED_WHEN_UNBOUNDED:
            reason = Wording(
                "{model} does not take {name} with the effort {effort}",
                model=route.model_id,
                name=name,
                effort=effort,
            )
        if value in (None, ()) or reason is None:
            continue
        sampling = replace(sampling, **{name: () if name == "stop" else None})
        if value != _DEFAULTS.get(name):
            notes.append(Wording("{reason}, so {name} was not sent.", reason=reason, name=name))
    return _within_limits(route.provider, sampling, notes)


def _within_limits(
    provider: Provider, sampling: Sampling, notes: list[Wording]
) -> tuple[Sampling, tuple[Wording, ...]]:
    """Return the parameters within the limits of the provider, and all notes."""
    temperature, temperature_max = sampling.temperature, provider.temperature_max
    if temperature is not None and temperature > temperature_max:
        sampling = replace(sampling, temperature=temperature_max)
        notes.append(
            Wording(
                "{name} takes temperatures up to {temperature_max}, so {temperature_max} was sent "
                "instead of {temperature}.",
                name=provider.name,
                temperature_max=f"{temperature_max:g}",
                temperature=f"{temperature:g}",
            )
        )
    top_p, (lowest, highest) = sampling.top_p, provider.top_p_range
    if top_p is not None and not lowest <= top_p <= highest:
        sampling = replace(sampling, top_p=min(max(top_p, lowest), highest))
        notes.append(
            Wording(
                "{name} takes top_p from {lowest} to {highest}, so {sent} was sent instead of {top_p}.",
                name=provider.name,
                lowest=f"{lowest:g}",
                highest=f"{highest:g}",
                sent=f"{sampling.top_p:g}",
                top_p=f"{top_p:g}",
            )
        )
    if len(sampling.stop) > provider.stop_max:
        sampling = replace(sampling, stop=sampling.stop[: provider.stop_max])
        notes.append(
            Wording(
                "{name} takes up to {stop_max} stop sequences, so only the first {stop_max} were sent.",
                name=provider.name,
                stop_max=provider.stop_max,
            )
        )
    return sampling, tuple(notes)


def _refusal(route: Route, name: str, sampling: Sampling, thinks: bool) -> Wording | None:
    """Return why a parameter cannot be sent; None if it can."""
    provider, model, model_id = route.provider, route.model, route.model_id
    dialect = DIALECTS.get(provider.dialect)
    if not provider.places.get(name, dialect.parameter_paths.get(name, "") if dialect else ""):
        return Wording("{provider} has no parameter for {name}", provider=provider.name, name=name)
    if name in model.refuses:
        return Wording("{model} does not take {name}", model=model_id, name=name)
    if thinks and name in model.refuses_while_thinking:
        return Wording("{model} does not take {name} while it thinks", model=model_id, name=name)
    if name == "top_p" and model.temperature_or_top_p and sampling.temperature is not None:
        return Wording("{model} takes only one of temperature and top_p", model=model_id)
    return None

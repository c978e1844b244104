"""Fits sampling parameters to a route: what the dialect, the provider and the model take of them.

A parameter that is not taken is left out, with a note. A request with it would be refused, although the
conversation may have come from another model that takes it.
"""

from msgspec.structs import replace

from thinkaloud.core.canon.requests import Sampling
from thinkaloud.core.catalog.rows import REFUSED_WHEN_UNBOUNDED, SAMPLING_PARAMETERS, Provider, Route
from thinkaloud.core.dialects.registry import DIALECTS

_DEFAULTS = {"temperature": 1, "top_p": 1, "parallel_tool_calls": True}
"""Values that change nothing, so a model that does not take them loses nothing without them."""


def fit_sampling(
    route: Route, sampling: Sampling, *, thinks: bool, tools: bool, effort: str = ""
) -> tuple[Sampling, tuple[str, ...]]:
    """Return the parameters that can be sent with this effort, and a note for each change."""
    if not tools:
        # It means nothing without tools, and some APIs refuse it then.
        sampling = replace(sampling, parallel_tool_calls=None)
    unbounded = route.unbounded(effort)
    notes = []
    for name in SAMPLING_PARAMETERS:
        value = getattr(sampling, name)
        reason = _refusal(route, name, sampling, thinks)
        if unbounded and name in REFUSED_WHEN_UNBOUNDED:
            reason = f"{route.model_id} does not take {name} with the effort {effort}"
        if value in (None, ()) or not reason:
            continue
        sampling = replace(sampling, **{name: () if name == "stop" else None})
        if value != _DEFAULTS.get(name):
            notes.append(f"{reason}, so {name} was not sent.")
    return _within_limits(route.provider, sampling, notes)


def _within_limits(
    provider: Provider, sampling: Sampling, notes: list[str]
) -> tuple[Sampling, tuple[str, ...]]:
    """Return the parameters within the limits of the provider, and all notes."""
    temperature, temperature_max = sampling.temperature, provider.temperature_max
    if temperature is not None and temperature > temperature_max:
        sampling = replace(sampling, temperature=temperature_max)
        notes.append(
            f"{provider.name} takes temperatures up to {temperature_max:g}, so {temperature_max:g} was sent "
            f"instead of {temperature:g}."
        )
    top_p, (lowest, highest) = sampling.top_p, provider.top_p_range
    if top_p is not None and not lowest <= top_p <= highest:
        sampling = replace(sampling, top_p=min(max(top_p, lowest), highest))
        notes.append(
            f"{provider.name} takes top_p from {lowest:g} to {highest:g}, so {sampling.top_p:g} was sent "
            f"instead of {top_p:g}."
        )
    if len(sampling.stop) > provider.stop_max:
        sampling = replace(sampling, stop=sampling.stop[: provider.stop_max])
        notes.append(
            f"{provider.name} takes up to {provider.stop_max} stop sequences, so only the first "
            f"{provider.stop_max} were sent."
        )
    return sampling, tuple(notes)


def _refusal(route: Route, name: str, sampling: Sampling, thinks: bool) -> str:
    """Return why a parameter cannot be sent; empty if it can."""
    provider, model = route.provider, route.model
    dialect = DIALECTS.get(provider.dialect)
    if not provider.places.get(name, dialect.parameter_paths.get(name, "") if dialect else ""):
        return f"{provider.name} has no parameter for {name}"
    if name in model.refuses:
        return f"{route.model_id} does not take {name}"
    if thinks and name in model.refuses_while_thinking:
        return f"{route.model_id} does not take {name} while it thinks"
    if name == "top_p" and model.temperature_or_top_p and sampling.temperature is not None:
        return f"{route.model_id} takes only one of temperature and top_p"
    return ""

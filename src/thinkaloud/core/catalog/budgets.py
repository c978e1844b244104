"""Keeps thinking budgets within a model's limits, with room for the answer. No I/O."""

from msgspec.structs import replace

from thinkaloud.core.canon import BudgetTooSmall
from thinkaloud.core.canon.requests import ThinkingParameters
from thinkaloud.core.catalog.rows import Model, Route

DEFAULT_ANSWER_TOKENS = 4096
"""Tokens reserved for the answer, beside the thoughts, if the caller sets no limit."""


def check_budget(route: Route, budget_tokens: int, *, sent_as_number: bool) -> tuple[int, str]:
    """Return the budget within the model's bounds, and a note if it was reduced."""
    model = route.model
    minimum = (model.budget_min or 1) if sent_as_number else 1
    if budget_tokens < minimum:
        raise BudgetTooSmall(
            f"A budget of {budget_tokens} tokens is too small: {route.model_id} needs at least {minimum}. "
            f"Set {minimum} or more, or turn thinking off."
        )
    if sent_as_number and model.budget_max is not None and budget_tokens > model.budget_max:
        maximum = model.budget_max
        return (
            maximum,
            f"{route.model_id} accepts a budget of at most {maximum} tokens, so {maximum} was sent.",
        )
    return budget_tokens, ""


def with_answer_room(
    parameters: ThinkingParameters, route: Route, max_tokens: int | None
) -> ThinkingParameters:
    """Set max_tokens within the limits of the route, and so that it exceeds the thinking budget."""
    if route.unbounded(parameters.effort):
        return _without_output_limit(parameters, route, max_tokens)
    parameters = _within_output_limit(parameters, route)
    max_tokens, note = _check_max_tokens(route, max_tokens)
    parameters = replace(parameters, notes=(*parameters.notes, *([note] if note else [])))
    budget, limit = parameters.budget_tokens or 0, route.model.max_output_tokens
    requested = _requested_max_tokens(route, max_tokens)
    if requested is None or requested > budget:
        return replace(parameters, max_tokens=requested)
    raised = budget + (max_tokens or DEFAULT_ANSWER_TOKENS)
    raised = raised if limit is None else min(raised, limit)
    if max_tokens is None:
        return replace(parameters, max_tokens=raised)
    note = (
        f"max_tokens includes thinking, and {max_tokens} leaves no room beside a budget of {budget}. "
        f"It was raised to {raised}."
    )
    return replace(parameters, max_tokens=raised, notes=(*parameters.notes, note))


def _without_output_limit(
    parameters: ThinkingParameters, route: Route, max_tokens: int | None
) -> ThinkingParameters:
    if max_tokens is None:
        return parameters
    note = (
        f"{route.model_id} takes no max_tokens with the effort {parameters.effort}, so it was not sent. "
        "Ask for less thinking to limit the answer."
    )
    return replace(parameters, notes=(*parameters.notes, note))


def _check_max_tokens(route: Route, max_tokens: int | None) -> tuple[int | None, str]:
    """Return the limit within what the route takes, and a note if it was changed."""
    least, most = route.provider.max_tokens_min, route.model.max_output_tokens
    if max_tokens is not None and most is not None and max_tokens > most:
        text = f"{route.model_id} writes at most {most} tokens"
        return most, f"{text}, so max_tokens was reduced from {max_tokens} to {most}."
    if max_tokens is not None and max_tokens < least:
        text = f"{route.provider.name} takes no max_tokens below {least}"
        return least, f"{text}, so it was raised from {max_tokens} to {least}."
    return max_tokens, ""


def _requested_max_tokens(route: Route, max_tokens: int | None) -> int | None:
    provider_default, limit = route.provider.max_tokens, route.model.max_output_tokens
    if max_tokens is not None or provider_default is None:
        return max_tokens
    return provider_default if limit is None else min(provider_default, limit)


def _within_output_limit(parameters: ThinkingParameters, route: Route) -> ThinkingParameters:
    budget, limit = parameters.budget_tokens, route.model.max_output_tokens
    if budget is None or limit is None or budget <= limit - DEFAULT_ANSWER_TOKENS:
        return parameters
    maximum = limit - DEFAULT_ANSWER_TOKENS
    note = (
        f"{route.model_id} has an output limit of {limit} tokens, "
        f"so the budget was reduced from {budget} to {maximum}."
    )
    return replace(parameters, budget_tokens=maximum, notes=(*parameters.notes, note))


def clamp_budget(model: Model, budget_tokens: int) -> int:
    """Return the budget moved into the model's range."""
    return min(max(budget_tokens, model.budget_min or 0), model.budget_max or budget_tokens)

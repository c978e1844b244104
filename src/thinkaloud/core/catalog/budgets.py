"""Keeps thinking budgets within a model's limits, with room for the answer. No I/O."""

from msgspec.structs import replace

from thinkaloud.core.canon import BudgetTooSmall, Wording
from thinkaloud.core.canon.requests import ThinkingParameters
from thinkaloud.core.catalog.rows import Model, Route

DEFAULT_ANSWER_TOKENS = 4096
"""Tokens reserved for the answer, beside the thoughts, if the caller sets no limit."""


def check_budget(route: Route, budget_tokens: int, *, sent_as_number: bool) -> tuple[int, Wording | None]:
    """Return the budget within the model's bounds, and a note if it was reduced."""
    model = route.model
    minimum = (model.budget_min or 1) if sent_as_number else 1
    if budget_tokens < minimum:
        raise BudgetTooSmall(
            "A budget of {budget_tokens} tokens is too small: {model_id} needs at least {minimum}. "
            "Set {minimum} or more, or turn thinking off.",
            budget_tokens=budget_tokens,
            model_id=route.model_id,
            minimum=minimum,
        )
    if sent_as_number and model.budget_max is not None and budget_tokens > model.budget_max:
        maximum = model.budget_max
        return (
            maximum,
            Wording(
                "{model_id} accepts a budget of at most {maximum} tokens, so {maximum} was sent.",
                model_id=route.model_id,
                maximum=maximum,
            ),
        )
    return budget_tokens, None


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
    note = Wording(
        "max_tokens includes thinking, and {max_tokens} leaves no room beside a budget of "
        "{budget}. It was raised to {raised}.",
        max_tokens=max_tokens,
        budget=budget,
        raised=raised,
    )
    return replace(parameters, max_tokens=raised, notes=(*parameters.notes, note))


def _without_output_limit(
    parameters: ThinkingParameters, route: Route, max_tokens: int | None
) -> ThinkingParameters:
    if max_tokens is None:
        return parameters
    note = Wording(
        "{model_id} takes no max_tokens with the effort {effort}, so it was not sent. Ask for "
        "less thinking to limit the answer.",
        model_id=route.model_id,
        effort=parameters.effort,
    )
    return replace(parameters, notes=(*parameters.notes, note))


def _check_max_tokens(route: Route, max_tokens: int | None) -> tuple[int | None, Wording | None]:
    """Return the limit within what the route takes, and a note if it was changed."""
    least, most = route.provider.max_tokens_min, route.model.max_output_tokens
    if max_tokens is not None and most is not None and max_tokens > most:
        return most, Wording(
            "{model} writes at most {most} tokens, so max_tokens was reduced from {max_tokens} to {most}.",
            model=route.model_id,
            most=most,
            max_tokens=max_tokens,
        )
    if max_tokens is not None and max_tokens < least:
        return least, Wording(
            "{provider} takes no max_tokens below {least}, so it was raised from {max_tokens} to {least}.",
            provider=route.provider.name,
            least=least,
            max_tokens=max_tokens,
        )
    return max_tokens, None


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
    note = Wording(
        "{model_id} has an output limit of {limit} tokens, so the budget was reduced from "
        "{budget} to {maximum}.",
        model_id=route.model_id,
        limit=limit,
        budget=budget,
        maximum=maximum,
    )
    return replace(parameters, budget_tokens=maximum, notes=(*parameters.notes, note))


def clamp_budget(model: Model, budget_tokens: int) -> int:
    """Return the budget moved into the model's range."""
    return min(max(budget_tokens, model.budget_min or 0), model.budget_max or budget_tokens)

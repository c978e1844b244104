"""Budgets against the limits of a model: not too small, not too large, and with room left for the answer."""

from msgspec.structs import replace

from thinkaloud.canon import BudgetTooSmall
from thinkaloud.canon.requests import ThinkingParameters
from thinkaloud.catalog.rows import Route

DEFAULT_ANSWER_TOKENS = 4096
"""Room for an answer beside the thoughts, when the caller says nothing of it."""


def check_budget(route: Route, budget_tokens: int, *, sent_as_number: bool) -> tuple[int, str]:
    """A user's budget within the model's bounds, and a note; `real` where it is sent as a number."""
    model = route.model
    minimum = (model.budget_min or 1) if sent_as_number else 1
    if budget_tokens < minimum:
        raise BudgetTooSmall(
            f"A budget of {budget_tokens} tokens is too small: {route.model_id} takes {minimum} or more. "
            f"Ask for at least {minimum}, or turn thinking off."
        )
    if sent_as_number and model.budget_max is not None and budget_tokens > model.budget_max:
        maximum = model.budget_max
        return (
            maximum,
            f"{route.model_id} takes at most {maximum} tokens of thinking. It is asked for {maximum}.",
        )
    return budget_tokens, ""


def with_answer_room(ask: ThinkingParameters, route: Route, max_tokens: int | None) -> ThinkingParameters:
    """The ask with a limit for the whole answer that is above its budget for thinking."""
    ask = _within_output_limit(ask, route)
    budget, limit = ask.budget_tokens or 0, route.model.max_output_tokens
    requested = _requested_max_tokens(route, max_tokens)
    if requested is None or requested > budget:
        return replace(ask, max_tokens=requested)
    raised = budget + (max_tokens or DEFAULT_ANSWER_TOKENS)
    raised = raised if limit is None else min(raised, limit)
    if max_tokens is None:
        return replace(ask, max_tokens=raised)
    note = (
        f"max_tokens counts thoughts too, and {max_tokens} leaves no room beside a budget of {budget}. "
        f"It was raised to {raised}."
    )
    return replace(ask, max_tokens=raised, notes=(*ask.notes, note))


def _requested_max_tokens(route: Route, max_tokens: int | None) -> int | None:
    provider_default, limit = route.provider.max_tokens, route.model.max_output_tokens
    if max_tokens is not None or provider_default is None:
        return max_tokens
    return provider_default if limit is None else min(provider_default, limit)


def _within_output_limit(ask: ThinkingParameters, route: Route) -> ThinkingParameters:
    budget, limit = ask.budget_tokens, route.model.max_output_tokens
    if budget is None or limit is None or budget <= limit - DEFAULT_ANSWER_TOKENS:
        return ask
    maximum = limit - DEFAULT_ANSWER_TOKENS
    note = (
        f"{route.model_id} puts out at most {limit} tokens, so its budget was cut from {budget} to {maximum}."
    )
    return replace(ask, budget_tokens=maximum, notes=(*ask.notes, note))

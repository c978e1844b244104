"""Budgets against the limits of a model: not too small, not too large, and with room left for the answer."""

from msgspec.structs import replace

from thinkaloud.canon import BudgetTooSmall
from thinkaloud.canon.requests import Ask
from thinkaloud.catalog.rows import Route

ANSWER_TOKENS = 4096
"""Room for an answer beside the thoughts, when the caller says nothing of it."""


def checked(route: Route, budget_tokens: int, *, real: bool) -> tuple[int, str]:
    """A user's budget within the model's bounds, and a note; `real` where it is sent as a number."""
    model = route.model
    least = (model.budget_min or 1) if real else 1
    if budget_tokens < least:
        raise BudgetTooSmall(
            f"A budget of {budget_tokens} tokens is too small: {route.model_id} takes {least} or more. "
            f"Ask for at least {least}, or turn thinking off."
        )
    if real and model.budget_max is not None and budget_tokens > model.budget_max:
        most = model.budget_max
        return most, f"{route.model_id} takes at most {most} tokens of thinking. It is asked for {most}."
    return budget_tokens, ""


def with_room(ask: Ask, route: Route, max_tokens: int | None) -> Ask:
    """The ask with a limit for the whole answer that is above its budget for thinking."""
    ask = _shortened(ask, route)
    budget, limit = ask.budget_tokens or 0, route.model.max_output_tokens
    wanted = _wanted(route, max_tokens)
    if wanted is None or wanted > budget:
        return replace(ask, max_tokens=wanted)
    raised = budget + (max_tokens or ANSWER_TOKENS)
    raised = raised if limit is None else min(raised, limit)
    if max_tokens is None:
        return replace(ask, max_tokens=raised)
    note = (
        f"max_tokens counts thoughts too, and {max_tokens} leaves no room beside a budget of {budget}. "
        f"It was raised to {raised}."
    )
    return replace(ask, max_tokens=raised, notes=(*ask.notes, note))


def _wanted(route: Route, max_tokens: int | None) -> int | None:
    demanded, limit = route.provider.max_tokens, route.model.max_output_tokens
    if max_tokens is not None or demanded is None:
        return max_tokens
    return demanded if limit is None else min(demanded, limit)


def _shortened(ask: Ask, route: Route) -> Ask:
    budget, limit = ask.budget_tokens, route.model.max_output_tokens
    if budget is None or limit is None or budget <= limit - ANSWER_TOKENS:
        return ask
    most = limit - ANSWER_TOKENS
    note = f"{route.model_id} puts out at most {limit} tokens, so its budget was cut from {budget} to {most}."
    return replace(ask, budget_tokens=most, notes=(*ask.notes, note))

"""Budgets against the limits of a model: not too small, not too large, and with room left for the answer.

One thinking setting, translated to what this model takes from this provider. Pure.

The row of the model says what it takes, the row of the provider where that goes. What cannot be honoured
is a note that says what, why and what was done instead; thinking that cannot be had at all is an error, or
by the caller's wish a note.
"""

from typing import Literal

from msgspec.structs import replace

from thinkaloud.canon import BudgetTooSmall, ThinkingNotOffered
from thinkaloud.canon.requests import ThinkingLevel, ThinkingParameters, ThinkingSetting
from thinkaloud.catalog.catalog import THINKING_SUFFIX
from thinkaloud.catalog.levels import LEVEL_BUDGETS, level_for, nearest_word, weakest_word
from thinkaloud.catalog.routing import ASSUMED_FACT
from thinkaloud.catalog.rows import Model, Route, ThinkingControl, ThinkingSupport, ThinkingVisibility

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


OnUnavailable = Literal["error", "warn"]

_EFFORT_CONTROLS = (ThinkingControl.ADAPTIVE, ThinkingControl.EFFORT, ThinkingControl.LEVEL)
_OFF_SETTINGS: dict[str, tuple[str, ThinkingParameters]] = {
    "disabled": ("mode", ThinkingParameters(mode="disabled")),
    "between_tools": ("mode", ThinkingParameters(mode="between_tools")),
    "none": ("effort", ThinkingParameters(effort="none")),
    "budget_0": ("budget_tokens", ThinkingParameters(budget_tokens=0)),
    "toggle": ("toggle", ThinkingParameters(toggle=False)),
    "template": ("template", ThinkingParameters()),
}
"""Each way to say "off": the place it needs, and what is asked."""
_OPPOSITE_VALUES = {"enabled": "disabled"}
_DEFAULT_TEMPLATE: dict[str, bool | str] = {"enable_thinking": True}
"""What most chat templates call the switch."""


def resolve_thinking(
    route: Route,
    setting: ThinkingSetting,
    *,
    max_tokens: int | None,
    tools: bool,
    forced_tool: bool = False,
    on_unavailable: OnUnavailable = "error",
) -> ThinkingParameters:
    """What to ask of the route's model so that it thinks as the setting says; "off" beats a budget."""
    if setting == ThinkingSetting():
        ask = _model_default(route)
    elif setting.level is ThinkingLevel.OFF:
        ask = _ask_off(route)
    else:
        ask = _ask_on(route, setting)
        if reason := _unavailable_reason(route, ask, tools):
            if on_unavailable == "error":
                raise ThinkingNotOffered(reason)
            ask = _add_note(_ask_off(route), reason)
    ask = with_answer_room(_with_notes(route, setting, ask), route, max_tokens)
    if forced_tool and not allows_forced_tool(route, ask):
        return _add_note(
            ask,
            f"{route.model_id} refuses a forced tool while it thinks, so the choice of tool is left to it. "
            "Turn thinking off to force one.",
        )
    return ask


def allows_forced_tool(route: Route, ask: ThinkingParameters) -> bool:
    """Whether a forced tool choice may go out with this ask."""
    if not thinks(route.model, ask):
        return True
    manual_mode = ask.mode == "enabled" and ThinkingControl.ADAPTIVE in route.model.control
    return route.model.forced_tools and not manual_mode


def thinks(model: Model, ask: ThinkingParameters) -> bool:
    """Whether the model will think when it is asked like this."""
    if model.thinking is ThinkingSupport.NONE:
        return False
    off = ask.mode == "disabled" or ask.effort == "none" or ask.budget_tokens == 0 or ask.toggle is False
    if off or any(value is False or value in _OPPOSITE_VALUES.values() for _, value in ask.template):
        return False
    requested = ask.mode or ask.effort or ask.level or ask.budget_tokens or ask.toggle or ask.template
    return bool(requested) or _thinks_by_default(model)


def _unavailable_reason(route: Route, ask: ThinkingParameters, tools: bool) -> str:
    """Why thinking cannot be had although it is asked for; empty when it can."""
    model, provider = route.model, route.provider
    if model.thinking is ThinkingSupport.NONE:
        return (
            f"Thinking is on, but {route.model_id} does not think. "
            "Turn thinking off, or choose a model that does: thinkaloud models --thinking lists them."
        )
    if tools and provider.name in model.tools_or_thinking_at:
        alternative = next((name for name in model.at if name != provider.name), "another provider")
        return (
            f"Thinking is on and there are tools, but {route.model_id} takes only one of the two at "
            f"{provider.name}. Use {alternative}, or turn thinking off."
        )
    if not thinks(model, ask) and model.fact != ASSUMED_FACT:
        return (
            f"Thinking is on, but {provider.name} has no way to ask {route.model_id} for it. "
            "Turn thinking off, or use another provider."
        )
    return ""


def _model_default(route: Route) -> ThinkingParameters:
    """Nothing is asked, except for the text of what is thought anyway."""
    ask = ThinkingParameters()
    if not _thinks_by_default(route.model) or not _text_withheld(route):
        return ask
    if "mode" in route.provider.places and ThinkingControl.ADAPTIVE in route.model.control:
        ask = ThinkingParameters(mode="adaptive")
    return replace(ask, display=route.provider.display)


def _ask_off(route: Route) -> ThinkingParameters:
    model, places = route.model, route.provider.places
    if model.thinking is ThinkingSupport.NONE:
        return ThinkingParameters()
    provider_setting = route.provider.off if model.off != "between_tools" else ""
    off_setting = (provider_setting or model.off) if model.off else ""
    field, ask = _OFF_SETTINGS.get(off_setting, ("", ThinkingParameters()))
    if field in places:
        ask = (
            replace(ask, template=_template_arguments(model, on=False)) if off_setting == "template" else ask
        )
        return _ask_off_between_tools(route, ask) if off_setting == "between_tools" else ask
    return _ask_lowest(route) if _thinks_by_default(model) else ThinkingParameters()


def _ask_off_between_tools(route: Route, ask: ThinkingParameters) -> ThinkingParameters:
    return _add_note(
        ask,
        f"{route.model_id} cannot be switched off: it is asked not to think before it answers, "
        "and may still leave short notes between tool calls.",
    )


def _ask_lowest(route: Route) -> ThinkingParameters:
    """As little as a model can that thinks always, or that has no switch here."""
    model, effort_words = route.model, _effort_words(route)
    cause = (
        "always thinks"
        if model.thinking is ThinkingSupport.ALWAYS
        else f"has no switch at {route.provider.name}"
    )
    if effort_words and _effort_field(route):
        ask, remedy = (
            _with_effort(route, weakest_word(effort_words)),
            f"It is asked for as little as it can: {weakest_word(effort_words)}.",
        )
    elif _takes_budget(route):
        minimum = model.budget_min or LEVEL_BUDGETS[ThinkingLevel.LOW]
        ask, remedy = _with_budget(route, minimum), f"It is asked for as little as it can: {minimum} tokens."
    else:
        ask, remedy = ThinkingParameters(), "Nothing can be asked of it, so it thinks as it does."
    ask = _with_display(route, ask)
    return _add_note(ask, f"Thinking cannot be off: {route.model_id} {cause}. {remedy}")


def _ask_on(route: Route, setting: ThinkingSetting) -> ThinkingParameters:
    if setting.budget_tokens is not None:
        ask = _ask_for_budget(route, setting.budget_tokens)
    else:
        ask = _ask_for_level(route, setting.level or ThinkingLevel.MEDIUM)
    return _with_display(route, _with_switch(route, ask))


def _ask_for_budget(route: Route, budget_tokens: int) -> ThinkingParameters:
    budget, note = check_budget(route, budget_tokens, sent_as_number=_takes_budget(route))
    if _takes_budget(route):
        return _add_note(_with_budget(route, budget), note)
    level = level_for(budget_tokens)
    effort_words = _effort_words(route)
    if effort_words and _effort_field(route):
        word = nearest_word(level, effort_words)
        remedy = f"It is asked for {word} instead, and may think more or less than that."
        ask = _with_effort(route, word)
    else:
        ask, remedy = ThinkingParameters(), "It is only asked to think, and decides itself how much."
    return _add_note(ask, f"{route.model_id} takes no budget at {route.provider.name}. {remedy}")


def _ask_for_level(route: Route, level: ThinkingLevel) -> ThinkingParameters:
    effort_words = _effort_words(route) if _effort_field(route) else ()
    if _takes_budget(route) and (not effort_words or _prefers_budget(route.model)):
        return _with_budget(route, _clamp_budget(route.model, LEVEL_BUDGETS[level]))
    if not effort_words:
        return _add_note(
            ThinkingParameters(),
            f"{route.model_id} has no levels at {route.provider.name}, so {level} cannot be asked for. "
            "It thinks as hard as it does.",
        )
    word = nearest_word(level, effort_words)
    ask = _with_effort(route, word)
    if not _takes_effort(route.model):
        return _add_note(
            ask,
            f"{route.model_id} can only be switched on. {route.provider.name} is asked for {word} to do so.",
        )
    if word == level or level is ThinkingLevel.MAX:
        return ask
    return _add_note(ask, f"{route.model_id} has no {level}. It is asked for {word}, the nearest it has.")


def _with_effort(route: Route, word: str) -> ThinkingParameters:
    ask = (
        ThinkingParameters(level=word.upper())
        if _effort_field(route) == "level"
        else ThinkingParameters(effort=word)
    )
    if ThinkingControl.ADAPTIVE in route.model.control and "mode" in route.provider.places:
        return replace(ask, mode="adaptive")
    return ask


def _with_budget(route: Route, budget_tokens: int) -> ThinkingParameters:
    return ThinkingParameters(
        budget_tokens=budget_tokens, mode="enabled" if "mode" in route.provider.places else ""
    )


def _with_switch(route: Route, ask: ThinkingParameters) -> ThinkingParameters:
    """With the switch, where the provider has one and the model needs it."""
    model, places = route.model, route.provider.places
    has_toggle = ThinkingControl.TOGGLE in model.control
    if has_toggle and "mode" in places:
        return replace(ask, mode="enabled")
    toggle_is_separate = not (ask.effort and places.get("effort") == places.get("toggle"))
    if (
        "toggle" in places
        and toggle_is_separate
        and (has_toggle or model.thinking is ThinkingSupport.OPTIONAL)
    ):
        return replace(ask, toggle=True)
    if has_toggle and "template" in places:
        return replace(ask, template=_template_arguments(model, on=True))
    return ask


def _with_display(route: Route, ask: ThinkingParameters) -> ThinkingParameters:
    return replace(ask, display=route.provider.display) if _text_withheld(route) else ask


def _with_notes(route: Route, setting: ThinkingSetting, ask: ThinkingParameters) -> ThinkingParameters:
    """With a word on what is only assumed, and on what one will not see."""
    model, provider = route.model, route.provider
    if model.fact == ASSUMED_FACT and setting != ThinkingSetting():
        ask = _add_note(
            ask,
            f"{model.id} is not in the catalog, so this is how {provider.name} is usually asked. "
            "If it is refused, add a row for the model to your own catalog file.",
        )
    if not thinks(model, ask):
        if route.model_id.endswith(THINKING_SUFFIX):
            ask = _add_note(
                ask,
                f"The name {route.model_id} asks for thinking and the setting does not. Drop {THINKING_SUFFIX}.",
            )
        return ask
    if model.visible is ThinkingVisibility.ENCRYPTED:
        ask = _add_note(
            ask, f"{route.model_id} sends its thoughts encrypted, so there will be no text to show."
        )
    elif not provider.shows_thinking:
        ask = _add_note(
            ask, f"{provider.name} never sends what was thought, so there will be no text to show."
        )
    return ask


def _effort_words(route: Route) -> tuple[str, ...]:
    """The words for a strength: the model's own, or the provider's where they are its only switch."""
    if _takes_effort(route.model):
        return route.model.efforts
    switches = {"mode", "toggle", "template"} & set(route.provider.places)
    return route.provider.efforts if ThinkingControl.TOGGLE in route.model.control and not switches else ()


def _takes_effort(model: Model) -> bool:
    return any(control in _EFFORT_CONTROLS for control in model.control)


def _effort_field(route: Route) -> str:
    """Where a word for the strength goes: level, effort, or nowhere."""
    places = route.provider.places
    if ThinkingControl.LEVEL in route.model.control and "level" in places:
        return "level"
    return "effort" if "effort" in places else ""


def _takes_budget(route: Route) -> bool:
    return ThinkingControl.BUDGET in route.model.control and "budget_tokens" in route.provider.places


def _prefers_budget(model: Model) -> bool:
    return (
        next(control for control in model.control if control in (ThinkingControl.BUDGET, *_EFFORT_CONTROLS))
        is ThinkingControl.BUDGET
    )


def _clamp_budget(model: Model, budget_tokens: int) -> int:
    return min(max(budget_tokens, model.budget_min or 0), model.budget_max or budget_tokens)


def _template_arguments(model: Model, *, on: bool) -> tuple[tuple[str, bool | str], ...]:
    arguments = (model.template or _DEFAULT_TEMPLATE).items()
    if on:
        return tuple(arguments)
    return tuple(
        (name, _OPPOSITE_VALUES[value] if isinstance(value, str) else not value) for name, value in arguments
    )


def _text_withheld(route: Route) -> bool:
    return route.model.omitted_by_default and "display" in route.provider.places


def _thinks_by_default(model: Model) -> bool:
    return model.on_by_default or model.thinking is ThinkingSupport.ALWAYS


def _add_note(ask: ThinkingParameters, note: str) -> ThinkingParameters:
    return replace(ask, notes=(*ask.notes, note)) if note else ask

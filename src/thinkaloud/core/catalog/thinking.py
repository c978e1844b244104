"""Translates a thinking setting into the parameters of one model at one provider. No I/O.

The model row says which controls the model has; the provider row says where they go in the body. A setting
that cannot be honoured exactly becomes a note: what, why, and what was sent instead. Thinking that is not
available at all is an error, or a note with `on_unavailable="warn"`.

A thinking budget is kept within the model's limits, with room for the answer.
"""

from msgspec.structs import replace

from thinkaloud.core.canon import BudgetTooSmall, ThinkingNotOffered, Wording
from thinkaloud.core.canon.requests import OnUnavailable, ThinkingLevel, ThinkingParameters, ThinkingSetting
from thinkaloud.core.catalog.catalog import THINKING_SUFFIX
from thinkaloud.core.catalog.levels import LEVEL_BUDGETS, level_for, nearest_word, weakest_word
from thinkaloud.core.catalog.routing import ASSUMED_FACT
from thinkaloud.core.catalog.rows import Model, Route, ThinkingControl, ThinkingSupport, ThinkingVisibility

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


_EFFORT_CONTROLS = (ThinkingControl.ADAPTIVE, ThinkingControl.EFFORT, ThinkingControl.LEVEL)
_OFF_SETTINGS: dict[str, tuple[str, ThinkingParameters]] = {
    "disabled": ("mode", ThinkingParameters(mode="disabled")),
    "between_tools": ("mode", ThinkingParameters(mode="between_tools")),
    "none": ("effort", ThinkingParameters(effort="none")),
    "budget_0": ("budget_tokens", ThinkingParameters(budget_tokens=0)),
    "toggle": ("toggle", ThinkingParameters(toggle=False)),
    "template": ("template", ThinkingParameters()),
}
"""For each kind of "off": the field it needs at the provider, and the parameters."""
_OPPOSITE_VALUES = {"enabled": "disabled"}
_DEFAULT_TEMPLATE: dict[str, bool | str] = {"enable_thinking": True}
"""The switch that most chat templates use."""


def resolve_thinking(
    route: Route,
    setting: ThinkingSetting,
    *,
    max_tokens: int | None,
    tools: bool,
    forced_tool: bool = False,
    on_unavailable: OnUnavailable = "error",
) -> ThinkingParameters:
    """Return the parameters that make the model think as the setting asks. "off" overrides a budget."""
    if setting == ThinkingSetting():
        parameters = _model_default(route)
        if thinks(route.model, parameters) and _tools_exclude_thinking(route, tools):
            provider = route.provider.name
            note = Wording(
                "{model_id} takes no tools at {provider} while it thinks, so thinking is off.",
                model_id=route.model_id,
                provider=provider,
            )
            parameters = _add_note(_off_parameters(route), note)
    elif setting.level is ThinkingLevel.OFF:
        parameters = _off_parameters(route)
    else:
        parameters = _on_parameters(route, setting)
        if reason := _unavailable_reason(route, parameters, tools):
            if on_unavailable == "error":
                raise ThinkingNotOffered(wording=reason)
            parameters = _add_note(_off_parameters(route), reason)
    parameters = with_answer_room(_with_notes(route, setting, parameters), route, max_tokens)
    if forced_tool and not allows_forced_tool(route, parameters):
        return _add_note(
            parameters,
            Wording(
                "{model_id} does not allow a forced tool while thinking, so the model chooses the "
                "tool. Turn thinking off to force a tool.",
                model_id=route.model_id,
            ),
        )
    return parameters


def allows_forced_tool(route: Route, parameters: ThinkingParameters) -> bool:
    """Return whether a forced tool choice is allowed with these parameters."""
    if not thinks(route.model, parameters):
        return True
    manual_mode = parameters.mode == "enabled" and ThinkingControl.ADAPTIVE in route.model.control
    return route.model.forced_tools and not manual_mode


def thinks(model: Model, parameters: ThinkingParameters) -> bool:
    """Return whether the model will think with these parameters."""
    if model.thinking is ThinkingSupport.NONE:
        return False
    off = (
        parameters.mode == "disabled"
        or parameters.effort == "none"
        or parameters.budget_tokens == 0
        or parameters.toggle is False
    )
    if off or any(value is False or value in _OPPOSITE_VALUES.values() for _, value in parameters.template):
        return False
    requested = (
        parameters.mode
        or parameters.effort
        or parameters.level
        or parameters.budget_tokens
        or parameters.toggle
        or parameters.template
    )
    return bool(requested) or _thinks_by_default(model)


def _unavailable_reason(route: Route, parameters: ThinkingParameters, tools: bool) -> Wording | None:
    """Return why the requested thinking is not available; None if it is."""
    model, provider = route.model, route.provider
    if model.thinking is ThinkingSupport.NONE:
        return Wording(
            "Thinking is on, but {model_id} does not support thinking. Turn thinking off, or "
            "choose a model listed by: thinkaloud models --thinking",
            model_id=route.model_id,
        )
    if _tools_exclude_thinking(route, tools):
        alternative = next((name for name in model.at if name != provider.name), "another provider")
        return Wording(
            "Thinking and tools are both on, but {model_id} supports only one of them at {name}. "
            "Use {alternative}, or turn thinking off.",
            model_id=route.model_id,
            name=provider.name,
            alternative=alternative,
        )
    if not thinks(model, parameters) and model.fact != ASSUMED_FACT:
        return Wording(
            "Thinking is on, but {name} has no parameter to turn it on for {model_id}. Turn "
            "thinking off, or use another provider.",
            name=provider.name,
            model_id=route.model_id,
        )
    return None


def _tools_exclude_thinking(route: Route, tools: bool) -> bool:
    return tools and route.provider.name in route.model.tools_or_thinking_at


def _model_default(route: Route) -> ThinkingParameters:
    """Request nothing, except the text of thoughts that the model produces anyway."""
    parameters = ThinkingParameters()
    if not _thinks_by_default(route.model) or not _text_withheld(route):
        return parameters
    if "mode" in route.provider.places and ThinkingControl.ADAPTIVE in route.model.control:
        parameters = ThinkingParameters(mode="adaptive")
    return replace(parameters, display=route.provider.display)


def _off_parameters(route: Route) -> ThinkingParameters:
    model, places = route.model, route.provider.places
    if model.thinking is ThinkingSupport.NONE:
        return ThinkingParameters()
    provider_setting = route.provider.off if model.off != "between_tools" else ""
    off_setting = (provider_setting or model.off) if model.off else ""
    field, parameters = _OFF_SETTINGS.get(off_setting, ("", ThinkingParameters()))
    if field in places:
        match off_setting:
            case "template":
                return replace(parameters, template=_template_arguments(model, on=False))
            case "between_tools":
                return _with_between_tools_note(route, parameters)
        return parameters
    return _lowest_parameters(route) if _thinks_by_default(model) else ThinkingParameters()


def _with_between_tools_note(route: Route, parameters: ThinkingParameters) -> ThinkingParameters:
    return _add_note(
        parameters,
        Wording(
            "Thinking cannot be turned off completely for {model_id}: it does not think before it "
            "answers, but may write short thoughts between tool calls.",
            model_id=route.model_id,
        ),
    )


def _lowest_parameters(route: Route) -> ThinkingParameters:
    """Request the least thinking from a model that always thinks, or that has no switch at this provider."""
    model, effort_words = route.model, _effort_words(route)
    cause = Wording("has no switch at {name}", name=route.provider.name)
    if model.thinking is ThinkingSupport.ALWAYS:
        cause = Wording("always thinks")
    if effort_words and _effort_field(route):
        parameters, remedy = (
            _effort_request(route, weakest_word(effort_words)),
            Wording("The lowest effort was requested: {word}.", word=weakest_word(effort_words)),
        )
    elif _takes_budget(route):
        minimum = model.budget_min or LEVEL_BUDGETS[ThinkingLevel.LOW]
        parameters, remedy = (
            _budget_request(route, minimum),
            Wording("The smallest budget was requested: {minimum} tokens.", minimum=minimum),
        )
    else:
        parameters, remedy = (
            ThinkingParameters(),
            Wording("It has no setting for less thinking, so its default applies."),
        )
    return _add_note(
        parameters,
        Wording(
            "Thinking cannot be turned off: {model_id} {cause}. {remedy}",
            model_id=route.model_id,
            cause=cause,
            remedy=remedy,
        ),
    )


def _on_parameters(route: Route, setting: ThinkingSetting) -> ThinkingParameters:
    if setting.budget_tokens is not None:
        parameters = _budget_parameters(route, setting.budget_tokens)
    else:
        parameters = _level_parameters(route, setting.level or ThinkingLevel.MEDIUM)
    return _with_display(route, _with_switch(route, parameters))


def _budget_parameters(route: Route, budget_tokens: int) -> ThinkingParameters:
    budget, note = check_budget(route, budget_tokens, sent_as_number=_takes_budget(route))
    if _takes_budget(route):
        return _add_note(_budget_request(route, budget), note)
    level = level_for(budget_tokens)
    effort_words = _effort_words(route)
    if effort_words and _effort_field(route):
        word = nearest_word(level, effort_words)
        remedy = Wording(
            "The effort {word} was requested instead; it may use more or fewer tokens.", word=word
        )
        parameters = _effort_request(route, word)
    else:
        parameters, remedy = (
            ThinkingParameters(),
            Wording("Only the switch was sent; the model decides how much to think."),
        )
    return _add_note(
        parameters,
        Wording(
            "{model_id} does not accept a budget at {name}. {remedy}",
            model_id=route.model_id,
            name=route.provider.name,
            remedy=remedy,
        ),
    )


def _level_parameters(route: Route, level: ThinkingLevel) -> ThinkingParameters:
    effort_words = _effort_words(route) if _effort_field(route) else ()
    if _takes_budget(route) and (not effort_words or _prefers_budget(route.model)):
        return _budget_request(route, clamp_budget(route.model, LEVEL_BUDGETS[level]))
    if not effort_words:
        return _add_note(
            ThinkingParameters(),
            Wording(
                "{model_id} has no levels at {name}, so {level} was not sent. The model decides how "
                "much to think.",
                model_id=route.model_id,
                name=route.provider.name,
                level=level,
            ),
        )
    word = nearest_word(level, effort_words)
    parameters = _effort_request(route, word)
    if not _takes_effort(route.model):
        return _add_note(
            parameters,
            Wording(
                "{model_id} has only a switch and no levels, so {word} was sent to turn it on.",
                model_id=route.model_id,
                word=word,
            ),
        )
    if word == level or level is ThinkingLevel.MAX:
        return parameters
    return _add_note(
        parameters,
        Wording(
            "{model_id} has no level {level}. The nearest, {word}, was requested.",
            model_id=route.model_id,
            level=level,
            word=word,
        ),
    )


def _effort_request(route: Route, word: str) -> ThinkingParameters:
    parameters = ThinkingParameters(effort=word)
    if _effort_field(route) == "level":
        parameters = ThinkingParameters(level=word.upper())
    if ThinkingControl.ADAPTIVE in route.model.control and "mode" in route.provider.places:
        return replace(parameters, mode="adaptive")
    return parameters


def _budget_request(route: Route, budget_tokens: int) -> ThinkingParameters:
    return ThinkingParameters(
        budget_tokens=budget_tokens, mode="enabled" if "mode" in route.provider.places else ""
    )


def _with_switch(route: Route, parameters: ThinkingParameters) -> ThinkingParameters:
    """Add the on/off switch, if the provider has one and the model needs it."""
    model, places = route.model, route.provider.places
    has_toggle = ThinkingControl.TOGGLE in model.control
    if has_toggle and "mode" in places:
        return replace(parameters, mode="enabled")
    toggle_is_separate = not (parameters.effort and places.get("effort") == places.get("toggle"))
    if (
        "toggle" in places
        and toggle_is_separate
        and (has_toggle or model.thinking is ThinkingSupport.OPTIONAL)
    ):
        return replace(parameters, toggle=True)
    if has_toggle and "template" in places:
        return replace(parameters, template=_template_arguments(model, on=True))
    return parameters


def _with_display(route: Route, parameters: ThinkingParameters) -> ThinkingParameters:
    return replace(parameters, display=route.provider.display) if _text_withheld(route) else parameters


def _with_notes(route: Route, setting: ThinkingSetting, parameters: ThinkingParameters) -> ThinkingParameters:
    """Add notes about assumed parameters and about thoughts that will not be visible."""
    model, provider = route.model, route.provider
    if model.fact == ASSUMED_FACT and setting != ThinkingSetting():
        parameters = _add_note(
            parameters,
            Wording(
                "{id} is not in the catalog, so the usual parameters for {name} were sent. If the "
                "provider refuses them, add a row for the model to your own catalog file.",
                id=model.id,
                name=provider.name,
            ),
        )
    if not thinks(model, parameters):
        if route.model_id.endswith(THINKING_SUFFIX):
            parameters = _add_note(
                parameters,
                Wording(
                    "The name {model_id} asks for thinking but the setting does not. Remove "
                    "{thinking_suffix}.",
                    model_id=route.model_id,
                    thinking_suffix=THINKING_SUFFIX,
                ),
            )
        return parameters
    if model.visible is ThinkingVisibility.ENCRYPTED:
        parameters = _add_note(
            parameters,
            Wording(
                "{model_id} encrypts its thoughts, so there is no text to show.", model_id=route.model_id
            ),
        )
    elif model.visible is ThinkingVisibility.WITHHELD:
        parameters = _add_note(
            parameters,
            Wording(
                "{model_id} withholds its thoughts, so there is no text to show.", model_id=route.model_id
            ),
        )
    elif not provider.shows_thinking:
        parameters = _add_note(
            parameters,
            Wording("{name} does not return thoughts, so there is no text to show.", name=provider.name),
        )
    return parameters


def _effort_words(route: Route) -> tuple[str, ...]:
    """Return the model's effort words, or the provider's if they are its only switch."""
    if _takes_effort(route.model):
        return route.model.efforts
    switches = {"mode", "toggle", "template"} & set(route.provider.places)
    return route.provider.efforts if ThinkingControl.TOGGLE in route.model.control and not switches else ()


def _takes_effort(model: Model) -> bool:
    return any(control in _EFFORT_CONTROLS for control in model.control)


def _effort_field(route: Route) -> str:
    """Return the field that takes an effort word: `level`, `effort`, or empty if there is none."""
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


def _add_note(parameters: ThinkingParameters, note: Wording | None) -> ThinkingParameters:
    return replace(parameters, notes=(*parameters.notes, note)) if note else parameters

"""One thinking setting, translated to what this model takes from this provider. Pure.

The row of the model says what it takes, the row of the provider where that goes. What cannot be honoured
is a note that says what, why and what was done instead; thinking that cannot be had at all is an error, or
by the caller's wish a note.
"""

from typing import Literal

from msgspec.structs import replace

from thinkaloud.canon import ThinkingNotOffered
from thinkaloud.canon.requests import Ask, Level, ThinkingSetting
from thinkaloud.catalog.budgets import checked, with_room
from thinkaloud.catalog.names import SUFFIX
from thinkaloud.catalog.routing import ASSUMED
from thinkaloud.catalog.rows import Capability, Control, Model, Route, Visibility
from thinkaloud.catalog.scale import BUDGETS, level_for, weakest, word_for

OnUnavailable = Literal["error", "warn"]

_SPOKEN = (Control.ADAPTIVE, Control.EFFORT, Control.LEVEL)
_OFF: dict[str, tuple[str, Ask]] = {
    "disabled": ("mode", Ask(mode="disabled")),
    "between_tools": ("mode", Ask(mode="between_tools")),
    "none": ("effort", Ask(effort="none")),
    "budget_0": ("budget_tokens", Ask(budget_tokens=0)),
    "toggle": ("toggle", Ask(toggle=False)),
    "template": ("template", Ask()),
}
"""Each way to say "off": the place it needs, and what is asked."""
_OPPOSITE = {"enabled": "disabled"}
_TEMPLATE: dict[str, bool | str] = {"enable_thinking": True}
"""What most chat templates call the switch."""


def solve(
    route: Route,
    setting: ThinkingSetting,
    *,
    max_tokens: int | None,
    tools: bool,
    forced_tool: bool = False,
    on_unavailable: OnUnavailable = "error",
) -> Ask:
    """What to ask of the route's model so that it thinks as the setting says; "off" beats a budget."""
    if setting == ThinkingSetting():
        ask = _own_way(route)
    elif setting.level is Level.OFF:
        ask = _off(route)
    else:
        ask = _on(route, setting)
        if refusal := _refusal(route, ask, tools):
            if on_unavailable == "error":
                raise ThinkingNotOffered(refusal)
            ask = _note(_off(route), refusal)
    ask = with_room(_said(route, setting, ask), route, max_tokens)
    if forced_tool and not allows_forced_tool(route, ask):
        return _note(
            ask,
            f"{route.model_id} refuses a forced tool while it thinks, so the choice of tool is left to it. "
            "Turn thinking off to force one.",
        )
    return ask


def allows_forced_tool(route: Route, ask: Ask) -> bool:
    """Whether a forced tool choice may go out with this ask."""
    if not thinks(route.model, ask):
        return True
    manual = ask.mode == "enabled" and Control.ADAPTIVE in route.model.control
    return route.model.forced_tools and not manual


def thinks(model: Model, ask: Ask) -> bool:
    """Whether the model will think when it is asked like this."""
    if model.thinking is Capability.NONE:
        return False
    off = ask.mode == "disabled" or ask.effort == "none" or ask.budget_tokens == 0 or ask.toggle is False
    if off or any(value is False or value in _OPPOSITE.values() for _, value in ask.template):
        return False
    asked = ask.mode or ask.effort or ask.level or ask.budget_tokens or ask.toggle or ask.template
    return bool(asked) or _by_itself(model)


def _refusal(route: Route, ask: Ask, tools: bool) -> str:
    """Why thinking cannot be had although it is asked for; empty when it can."""
    model, provider = route.model, route.provider
    if model.thinking is Capability.NONE:
        return (
            f"Thinking is on, but {route.model_id} does not think. "
            "Turn thinking off, or choose a model that does: thinkaloud models --thinking lists them."
        )
    if tools and provider.name in model.tools_or_thinking_at:
        other = next((name for name in model.at if name != provider.name), "another provider")
        return (
            f"Thinking is on and there are tools, but {route.model_id} takes only one of the two at "
            f"{provider.name}. Use {other}, or turn thinking off."
        )
    if not thinks(model, ask) and model.fact != ASSUMED:
        return (
            f"Thinking is on, but {provider.name} has no way to ask {route.model_id} for it. "
            "Turn thinking off, or use another provider."
        )
    return ""


def _own_way(route: Route) -> Ask:
    """Nothing is asked, except for the text of what is thought anyway."""
    ask = Ask()
    if not _by_itself(route.model) or not _withheld(route):
        return ask
    if "mode" in route.provider.places and Control.ADAPTIVE in route.model.control:
        ask = Ask(mode="adaptive")
    return replace(ask, display=route.provider.display)


def _off(route: Route) -> Ask:
    model, places = route.model, route.provider.places
    if model.thinking is Capability.NONE:
        return Ask()
    gateway = route.provider.off if model.off != "between_tools" else ""
    way = (gateway or model.off) if model.off else ""
    place, ask = _OFF.get(way, ("", Ask()))
    if place in places:
        ask = replace(ask, template=_template(model, on=False)) if way == "template" else ask
        return _nearly_off(route, ask) if way == "between_tools" else ask
    return _lowest(route) if _by_itself(model) else Ask()


def _nearly_off(route: Route, ask: Ask) -> Ask:
    return _note(
        ask,
        f"{route.model_id} cannot be switched off: it is asked not to think before it answers, "
        "and may still leave short notes between tool calls.",
    )


def _lowest(route: Route) -> Ask:
    """As little as a model can that thinks always, or that has no switch here."""
    model, words = route.model, _words(route)
    cause = (
        "always thinks" if model.thinking is Capability.ALWAYS else f"has no switch at {route.provider.name}"
    )
    if words and _field(route):
        ask, instead = (
            _spoken(route, weakest(words)),
            f"It is asked for as little as it can: {weakest(words)}.",
        )
    elif _budgeted(route):
        least = model.budget_min or BUDGETS[Level.LOW]
        ask, instead = _counted(route, least), f"It is asked for as little as it can: {least} tokens."
    else:
        ask, instead = Ask(), "Nothing can be asked of it, so it thinks as it does."
    ask = _shown(route, ask)
    return _note(ask, f"Thinking cannot be off: {route.model_id} {cause}. {instead}")


def _on(route: Route, setting: ThinkingSetting) -> Ask:
    if setting.budget_tokens is not None:
        ask = _by_budget(route, setting.budget_tokens)
    else:
        ask = _by_level(route, setting.level or Level.MEDIUM)
    return _shown(route, _switched_on(route, ask))


def _by_budget(route: Route, budget_tokens: int) -> Ask:
    budget, note = checked(route, budget_tokens, real=_budgeted(route))
    if _budgeted(route):
        return _note(_counted(route, budget), note)
    level = level_for(budget_tokens)
    words = _words(route)
    if words and _field(route):
        word = word_for(level, words)
        instead = f"It is asked for {word} instead, and may think more or less than that."
        ask = _spoken(route, word)
    else:
        ask, instead = Ask(), "It is only asked to think, and decides itself how much."
    return _note(ask, f"{route.model_id} takes no budget at {route.provider.name}. {instead}")


def _by_level(route: Route, level: Level) -> Ask:
    words = _words(route) if _field(route) else ()
    if _budgeted(route) and (not words or _prefers_budget(route.model)):
        return _counted(route, _within(route.model, BUDGETS[level]))
    if not words:
        return _note(
            Ask(),
            f"{route.model_id} has no levels at {route.provider.name}, so {level} cannot be asked for. "
            "It thinks as hard as it does.",
        )
    word = word_for(level, words)
    ask = _spoken(route, word)
    if not _speaks(route.model):
        return _note(
            ask,
            f"{route.model_id} can only be switched on. {route.provider.name} is asked for {word} to do so.",
        )
    if word == level or level is Level.MAX:
        return ask
    return _note(ask, f"{route.model_id} has no {level}. It is asked for {word}, the nearest it has.")


def _spoken(route: Route, word: str) -> Ask:
    ask = Ask(level=word.upper()) if _field(route) == "level" else Ask(effort=word)
    if Control.ADAPTIVE in route.model.control and "mode" in route.provider.places:
        return replace(ask, mode="adaptive")
    return ask


def _counted(route: Route, budget_tokens: int) -> Ask:
    return Ask(budget_tokens=budget_tokens, mode="enabled" if "mode" in route.provider.places else "")


def _switched_on(route: Route, ask: Ask) -> Ask:
    """With the switch, where the provider has one and the model needs it."""
    model, places = route.model, route.provider.places
    toggled = Control.TOGGLE in model.control
    if toggled and "mode" in places:
        return replace(ask, mode="enabled")
    alone = not (ask.effort and places.get("effort") == places.get("toggle"))
    if "toggle" in places and alone and (toggled or model.thinking is Capability.OPTIONAL):
        return replace(ask, toggle=True)
    if toggled and "template" in places:
        return replace(ask, template=_template(model, on=True))
    return ask


def _shown(route: Route, ask: Ask) -> Ask:
    return replace(ask, display=route.provider.display) if _withheld(route) else ask


def _said(route: Route, setting: ThinkingSetting, ask: Ask) -> Ask:
    """With a word on what is only assumed, and on what one will not see."""
    model, provider = route.model, route.provider
    if model.fact == ASSUMED and setting != ThinkingSetting():
        ask = _note(
            ask,
            f"{model.id} is not in the catalog, so this is how {provider.name} is usually asked. "
            "If it is refused, add a row for the model to your own catalog file.",
        )
    if not thinks(model, ask):
        if route.model_id.endswith(SUFFIX):
            ask = _note(
                ask, f"The name {route.model_id} asks for thinking and the setting does not. Drop {SUFFIX}."
            )
        return ask
    if model.visible is Visibility.ENCRYPTED:
        ask = _note(ask, f"{route.model_id} sends its thoughts encrypted, so there will be no text to show.")
    elif not provider.shows_thinking:
        ask = _note(ask, f"{provider.name} never sends what was thought, so there will be no text to show.")
    return ask


def _words(route: Route) -> tuple[str, ...]:
    """The words for a strength: the model's own, or the provider's where they are its only switch."""
    if _speaks(route.model):
        return route.model.efforts
    switches = {"mode", "toggle", "template"} & set(route.provider.places)
    return route.provider.efforts if Control.TOGGLE in route.model.control and not switches else ()


def _speaks(model: Model) -> bool:
    return any(control in _SPOKEN for control in model.control)


def _field(route: Route) -> str:
    """Where a word for the strength goes: level, effort, or nowhere."""
    places = route.provider.places
    if Control.LEVEL in route.model.control and "level" in places:
        return "level"
    return "effort" if "effort" in places else ""


def _budgeted(route: Route) -> bool:
    return Control.BUDGET in route.model.control and "budget_tokens" in route.provider.places


def _prefers_budget(model: Model) -> bool:
    return (
        next(control for control in model.control if control in (Control.BUDGET, *_SPOKEN)) is Control.BUDGET
    )


def _within(model: Model, budget_tokens: int) -> int:
    return min(max(budget_tokens, model.budget_min or 0), model.budget_max or budget_tokens)


def _template(model: Model, *, on: bool) -> tuple[tuple[str, bool | str], ...]:
    arguments = (model.template or _TEMPLATE).items()
    if on:
        return tuple(arguments)
    return tuple(
        (name, _OPPOSITE[value] if isinstance(value, str) else not value) for name, value in arguments
    )


def _withheld(route: Route) -> bool:
    return route.model.omitted_by_default and "display" in route.provider.places


def _by_itself(model: Model) -> bool:
    return model.on_by_default or model.thinking is Capability.ALWAYS


def _note(ask: Ask, note: str) -> Ask:
    return replace(ask, notes=(*ask.notes, note)) if note else ask

"""One setting, every model: what is asked is legal for the row, or it is said why not. Never silence."""

from collections.abc import Iterator
from itertools import product

import pytest

from thinkaloud.canon import BudgetTooSmall, ThinkingNotOffered
from thinkaloud.canon.requests import ThinkingLevel, ThinkingParameters, ThinkingSetting
from thinkaloud.catalog import (
    Provider,
    Route,
    ThinkingControl,
    ThinkingSupport,
    allows_forced_tool,
    builtin_catalog,
    resolve_thinking,
    route,
)
from thinkaloud.catalog.levels import LEVEL_BUDGETS, level_for
from thinkaloud.catalog.thinking import thinks

CATALOG = builtin_catalog()
OFF, LOW, MEDIUM, HIGH, MAX = (ThinkingSetting(level=level) for level in ThinkingLevel)
DEFAULT = ThinkingSetting()


def tokens(count: int) -> ThinkingSetting:
    return ThinkingSetting(budget_tokens=count)


SETTINGS = (DEFAULT, OFF, LOW, MEDIUM, HIGH, MAX, tokens(1024), tokens(9000), tokens(200_000))


def any_key(_: Provider) -> bool:
    return True


def find_route(name: str, *, thinking: bool = True) -> Route:
    return route(CATALOG, name, thinking=thinking, have_key=any_key)


def resolve(
    name: str,
    setting: ThinkingSetting,
    *,
    max_tokens: int | None = None,
    tools: bool = False,
    forced_tool: bool = False,
) -> ThinkingParameters:
    return resolve_thinking(
        find_route(name), setting, max_tokens=max_tokens, tools=tools, forced_tool=forced_tool
    )


def _every_route() -> Iterator[Route]:
    for model in CATALOG.models.values():
        for provider, spelled in model.at.items():
            yield find_route(f"{provider}/{spelled.replace('*', model.id)}")
    for provider in CATALOG.providers:
        yield find_route(f"{provider}/newcomer-1")


ROUTES = pytest.mark.parametrize(
    "way", list(_every_route()), ids=lambda way: f"{way.provider.name}/{way.model_id}"
)


def violations(target: Route, ask: ThinkingParameters) -> list[str]:
    """What this model or this provider would refuse, checked against the rows alone."""
    model, provider = target.model, target.provider
    sent = {name for name in ("mode", "effort", "level", "display") if getattr(ask, name)}
    sent |= {name for name in ("budget_tokens", "toggle") if getattr(ask, name) is not None}
    sent |= {"template"} if ask.template else set()
    words = set(model.efforts or provider.efforts) | (
        {"none"} if "none" in (model.off, provider.off) and model.off else set()
    )
    modes = {
        "": True,
        "disabled": "disabled" in (model.off, provider.off),
        "between_tools": model.off == "between_tools",
    }
    modes["adaptive"] = ThinkingControl.ADAPTIVE in model.control
    modes["enabled"] = bool({ThinkingControl.BUDGET, ThinkingControl.TOGGLE} & set(model.control))
    least = 0 if model.off == "budget_0" else model.budget_min
    budget = ask.budget_tokens
    limit = model.max_output_tokens
    rules = {
        "a field without a place": sent <= set(provider.places),
        "two fields in one place": len({provider.places[name] for name in sent}) == len(sent),
        "a word it does not know": not ask.effort or ask.effort in words,
        "a level it does not know": not ask.level or ask.level.lower() in model.efforts,
        "a mode it does not know": modes[ask.mode],
        "a budget it does not take": budget is None or ThinkingControl.BUDGET in model.control,
        "a budget below the least": budget is None or (least or 0) <= budget,
        "a budget above the most": budget is None or budget <= (model.budget_max or budget),
        "no room for an answer": not budget or ask.max_tokens is None or budget < ask.max_tokens,
        "more than it can put out": not budget or not limit or budget < limit,
        "effort and budget at once": not (ask.effort and budget),
        "manual mode without a budget": ask.mode != "enabled"
        or ThinkingControl.TOGGLE in model.control
        or bool(budget),
        "display when nothing is thought": not ask.display or ask.mode not in ("disabled", "between_tools"),
    }
    return [rule for rule, holds in rules.items() if not holds]


@ROUTES
def test_every_model_and_every_setting(way: Route) -> None:
    """A legal ask for the row, or a word on why not; nothing is dropped in silence."""
    for setting, max_tokens, tools in product(SETTINGS, (None, 2000), (False, True)):
        if setting not in (DEFAULT, OFF) and not can_think(way, tools):
            with pytest.raises(ThinkingNotOffered):
                resolve_thinking(way, setting, max_tokens=max_tokens, tools=tools)
            continue
        ask = resolve_thinking(way, setting, max_tokens=max_tokens, tools=tools)
        assert violations(way, ask) == []
        assert honoured(way, setting, ask) or ask.notes


def can_think(target: Route, tools: bool) -> bool:
    model, provider = target.model, target.provider
    nova = model.id == "nova-2"  # the one row whose switch has no place in its provider's row
    return (
        model.thinking is not ThinkingSupport.NONE
        and not nova
        and not (tools and provider.name in model.tools_or_thinking_at)
    )


def honoured(target: Route, setting: ThinkingSetting, ask: ThinkingParameters) -> bool:
    if setting == DEFAULT:
        return not (ask.effort or ask.level or ask.budget_tokens or ask.toggle is not None or ask.template)
    if setting.level is ThinkingLevel.OFF:
        return not thinks(target.model, ask)
    if not thinks(target.model, ask):
        return False
    if setting.budget_tokens is not None:
        return ask.budget_tokens == setting.budget_tokens
    word = ask.effort or ask.level.lower()
    return (
        word == setting.level
        or (setting.level is ThinkingLevel.MAX and bool(word))
        or bool(ask.budget_tokens)
    )


@ROUTES
def test_what_is_withheld_is_asked_for(way: Route) -> None:
    if way.model.thinking is ThinkingSupport.NONE or not way.model.omitted_by_default:
        return
    ask = resolve_thinking(way, HIGH, max_tokens=None, tools=False)
    assert ask.display == way.provider.display


@pytest.mark.parametrize(
    ("name", "setting", "ask"),
    [
        # R036, R043: budgets for Claude up to 4.5.
        (
            "claude-opus-4.5",
            tokens(4096),
            ThinkingParameters(mode="enabled", budget_tokens=4096, max_tokens=16_384),
        ),
        (
            "claude-sonnet-4",
            MEDIUM,
            ThinkingParameters(mode="enabled", budget_tokens=8192, max_tokens=16_384),
        ),
        (
            "claude-sonnet-4",
            HIGH,
            ThinkingParameters(mode="enabled", budget_tokens=24_576, max_tokens=28_672),
        ),
        ("claude-opus-4.5", OFF, ThinkingParameters(mode="disabled", max_tokens=16_384)),
        ("claude-opus-4.5", DEFAULT, ThinkingParameters(max_tokens=16_384)),
        # K30: adaptive and an effort for newer ones, from the same setting.
        ("claude-opus-4.6", MEDIUM, ThinkingParameters(mode="adaptive", effort="medium", max_tokens=16_384)),
        (
            "claude-opus-4.6",
            tokens(2048),
            ThinkingParameters(mode="enabled", budget_tokens=2048, max_tokens=16_384),
        ),
        (
            "claude-opus-4.8",
            MEDIUM,
            ThinkingParameters(mode="adaptive", effort="medium", display="summarized", max_tokens=16_384),
        ),
        ("claude-opus-4.8", DEFAULT, ThinkingParameters(max_tokens=16_384)),
        (
            "claude-opus-5",
            DEFAULT,
            ThinkingParameters(mode="adaptive", display="summarized", max_tokens=16_384),
        ),
        (
            "claude-opus-5",
            MAX,
            ThinkingParameters(mode="adaptive", effort="max", display="summarized", max_tokens=16_384),
        ),
        ("claude-opus-5", OFF, ThinkingParameters(mode="disabled", max_tokens=16_384)),
        # R034: Claude 3.7, GPT-5 and Gemini 3 through OpenRouter's reasoning object.
        ("claude-3.7-sonnet", tokens(2000), ThinkingParameters(budget_tokens=2000, toggle=True)),
        ("gpt-5", HIGH, ThinkingParameters(effort="high", display="auto")),
        ("gpt-5.2", MAX, ThinkingParameters(effort="xhigh", toggle=True, display="auto")),
        ("gemini-3-pro", LOW, ThinkingParameters(effort="low", display="auto")),
        # The others, each in its own words.
        ("openai/gpt-5.1", LOW, ThinkingParameters(effort="low", display="auto")),
        ("openai/gpt-5.1", OFF, ThinkingParameters(effort="none")),
        ("openai/gpt-5.1", DEFAULT, ThinkingParameters()),
        ("gemini/gemini-3-pro", HIGH, ThinkingParameters(level="HIGH", display="include")),
        ("gemini-2.5-flash", OFF, ThinkingParameters(budget_tokens=0)),
        ("gemini-2.5-flash", HIGH, ThinkingParameters(budget_tokens=24_576, display="include")),
        ("gemini-2.5-flash", DEFAULT, ThinkingParameters(display="include")),
        ("deepseek-v4-pro", LOW, ThinkingParameters(mode="enabled", effort="low")),
        ("deepseek-v4-pro", OFF, ThinkingParameters(mode="disabled")),
        ("kimi-k3", HIGH, ThinkingParameters(effort="high")),
        ("kimi-k2.6", OFF, ThinkingParameters(mode="disabled")),
        ("qwen3-8b", tokens(500), ThinkingParameters(toggle=True, budget_tokens=500)),
        ("qwen3-8b", OFF, ThinkingParameters(toggle=False)),
        ("vllm/Qwen/Qwen3-8B", OFF, ThinkingParameters(template=(("enable_thinking", False),))),
        (
            "vllm/Qwen/Qwen3-8B",
            LOW,
            ThinkingParameters(budget_tokens=1024, template=(("enable_thinking", True),)),
        ),
        (
            "vllm/deepseek-ai/DeepSeek-V4-Pro",
            HIGH,
            ThinkingParameters(effort="high", template=(("thinking", True),)),
        ),
        ("vllm/MiniMaxAI/MiniMax-M3", OFF, ThinkingParameters(template=(("thinking_mode", "disabled"),))),
        ("llamacpp/granite-4", OFF, ThinkingParameters(effort="none")),
        ("groq/qwen/qwen3-32b", OFF, ThinkingParameters(effort="none")),
        ("ollama/gpt-oss:20b", HIGH, ThinkingParameters(effort="high")),
        ("ollama/gpt-oss:20b", DEFAULT, ThinkingParameters()),
        ("ollama/qwen3:8b", OFF, ThinkingParameters(toggle=False)),
        ("openrouter/z-ai/glm-4.6", OFF, ThinkingParameters(effort="none")),
        ("grok-4.3", LOW, ThinkingParameters(effort="low", display="auto")),
        ("command-a-reasoning", tokens(500), ThinkingParameters(mode="enabled", budget_tokens=500)),
        ("mistral-small-4", HIGH, ThinkingParameters(effort="high")),
        ("gpt-4o", OFF, ThinkingParameters()),
        ("gpt-4o", DEFAULT, ThinkingParameters()),
    ],
)
def test_what_is_asked_without_a_word(name: str, setting: ThinkingSetting, ask: ThinkingParameters) -> None:
    """R036, R042, R043, K30: one setting, in the words of each model."""
    assert resolve(name, setting) == ask


NOTES = {
    "budget where there is none": (
        ("openai/gpt-5", tokens(9000)),
        ThinkingParameters(
            effort="medium",
            display="auto",
            notes=(
                "gpt-5 takes no budget at openai. "
                "It is asked for medium instead, and may think more or less than that.",
            ),
        ),
    ),
    "budget on a switch": (
        ("glm-4.6", tokens(9000)),
        ThinkingParameters(
            mode="enabled",
            notes=(
                "glm-4.6 takes no budget at zai. It is only asked to think, and decides itself how much.",
            ),
        ),
    ),
    "level on a switch": (
        ("ollama/qwen3:8b", LOW),
        ThinkingParameters(
            toggle=True,
            notes=(
                "qwen3:8b has no levels at ollama, so low cannot be asked for. It thinks as hard as it does.",
            ),
        ),
    ),
    "a word as a switch": (
        ("lmstudio/granite-4", LOW),
        ThinkingParameters(
            effort="low",
            notes=("granite-4 can only be switched on. lmstudio is asked for low to do so.",),
        ),
    ),
    "a word it has not": (
        ("deepseek-v4-pro", MEDIUM),
        ThinkingParameters(
            mode="enabled",
            effort="high",
            notes=("deepseek-v4-pro has no medium. It is asked for high, the nearest it has.",),
        ),
    ),
    "off, always thinking, words": (
        ("kimi-k3", OFF),
        ThinkingParameters(
            effort="low",
            notes=(
                "Thinking cannot be off: kimi-k3 always thinks. It is asked for as little as it can: low.",
            ),
        ),
    ),
    "off, always thinking, budget": (
        ("gemini-2.5-pro", OFF),
        ThinkingParameters(
            budget_tokens=128,
            display="include",
            notes=(
                "Thinking cannot be off: gemini-2.5-pro always thinks. "
                "It is asked for as little as it can: 128 tokens.",
            ),
        ),
    ),
    "off, always thinking, nothing": (
        ("kimi-k2-thinking", OFF),
        ThinkingParameters(
            notes=(
                "Thinking cannot be off: kimi-k2-thinking always thinks. "
                "Nothing can be asked of it, so it thinks as it does.",
            )
        ),
    ),
    "off between tools": (
        ("claude-sonnet-5.5", OFF),
        ThinkingParameters(
            mode="between_tools",
            max_tokens=16_384,
            notes=(
                "claude-sonnet-5-5 cannot be switched off: it is asked not to think before it answers, "
                "and may still leave short notes between tool calls.",
            ),
        ),
    ),
    "off through a gateway": (
        ("openrouter/anthropic/claude-sonnet-5.5", OFF),
        ThinkingParameters(
            effort="low",
            display="auto",
            notes=(
                "Thinking cannot be off: anthropic/claude-sonnet-5.5 always thinks. "
                "It is asked for as little as it can: low.",
            ),
        ),
    ),
    "no switch at this provider": (
        ("moonshot/gemini-2.5-flash", OFF),
        ThinkingParameters(
            notes=(
                "Thinking cannot be off: gemini-2.5-flash has no switch at moonshot. "
                "Nothing can be asked of it, so it thinks as it does.",
            )
        ),
    ),
    "encrypted": (
        ("grok-4", DEFAULT),
        ThinkingParameters(notes=("grok-4 sends its thoughts encrypted, so there will be no text to show.",)),
    ),
    "never shown": (
        ("openai-chat/gpt-5", HIGH),
        ThinkingParameters(
            effort="high",
            notes=("openai-chat never sends what was thought, so there will be no text to show.",),
        ),
    ),
    "not in the catalog": (
        ("openrouter/some/newcomer", HIGH),
        ThinkingParameters(
            effort="high",
            toggle=True,
            display="auto",
            notes=(
                "some/newcomer is not in the catalog, so this is how openrouter is usually asked. "
                "If it is refused, add a row for the model to your own catalog file.",
            ),
        ),
    ),
    "a name that asks for it": (
        ("openrouter/anthropic/claude-3.7-sonnet:thinking", OFF),
        ThinkingParameters(
            effort="none",
            notes=(
                "The name anthropic/claude-3.7-sonnet:thinking asks for thinking and the setting does not. "
                "Drop :thinking.",
            ),
        ),
    ),
    "more than the most": (
        ("gemini-2.5-flash", tokens(50_000)),
        ThinkingParameters(
            budget_tokens=24_576,
            display="include",
            notes=("gemini-2.5-flash takes at most 24576 tokens of thinking. It is asked for 24576.",),
        ),
    ),
    "more than it can put out": (
        ("claude-opus-4", MAX),
        ThinkingParameters(
            mode="enabled",
            budget_tokens=27_904,
            max_tokens=32_000,
            notes=(
                "claude-opus-4-20250514 puts out at most 32000 tokens, "
                "so its budget was cut from 32768 to 27904.",
            ),
        ),
    ),
}


@pytest.mark.parametrize(("wish", "ask"), NOTES.values(), ids=NOTES)
def test_what_cannot_be_honoured_is_said(wish: tuple[str, ThinkingSetting], ask: ThinkingParameters) -> None:
    """R046, K19: a note that says what, why and what was done instead."""
    assert resolve(*wish) == ask


@pytest.mark.parametrize(
    ("max_tokens", "solved", "notes"),
    [
        (20_000, 20_000, ()),
        (8193, 8193, ()),
        (
            8192,
            16_384,
            (
                "max_tokens counts thoughts too, and 8192 leaves no room beside a budget of 8192. "
                "It was raised to 16384.",
            ),
        ),
        (
            1000,
            9192,
            (
                "max_tokens counts thoughts too, and 1000 leaves no room beside a budget of 8192. "
                "It was raised to 9192.",
            ),
        ),
    ],
)
def test_a_budget_leaves_room_for_the_answer(max_tokens: int, solved: int, notes: tuple[str, ...]) -> None:
    """OQ6: below max_tokens, which is raised where it must be, with a word."""
    ask = resolve("claude-sonnet-4.5", MEDIUM, max_tokens=max_tokens)
    assert (ask.budget_tokens, ask.max_tokens, ask.notes) == (8192, solved, notes)


def test_room_ends_where_the_model_does() -> None:
    ask = resolve("claude-opus-4", tokens(30_000), max_tokens=20_000)
    assert (ask.budget_tokens, ask.max_tokens) == (27_904, 32_000)
    assert len(ask.notes) == 2
    ask = resolve("claude-opus-4", tokens(20_000), max_tokens=20_000)
    assert (ask.budget_tokens, ask.max_tokens) == (20_000, 32_000)


@pytest.mark.parametrize(
    ("name", "count", "told"),
    [
        (
            "claude-opus-4.5",
            512,
            "A budget of 512 tokens is too small: claude-opus-4-5 takes 1024 or more. "
            "Ask for at least 1024, or turn thinking off.",
        ),
        (
            "openai/gpt-5",
            0,
            "A budget of 0 tokens is too small: gpt-5 takes 1 or more. "
            "Ask for at least 1, or turn thinking off.",
        ),
    ],
)
def test_a_budget_that_is_too_small_is_refused(name: str, count: int, told: str) -> None:
    """OQ6: validated before anything is sent."""
    with pytest.raises(BudgetTooSmall) as error_info:
        resolve(name, tokens(count))
    assert str(error_info.value) == told


REFUSED = {
    "does not think": (
        "gpt-4o",
        False,
        "Thinking is on, but gpt-4o does not think. Turn thinking off, or choose a model that does: "
        "thinkaloud models --thinking lists them.",
        ThinkingParameters(),
    ),
    "tools or thinking": (
        "openai-chat/gpt-5.6-sol",
        True,
        "Thinking is on and there are tools, but gpt-5.6-sol takes only one of the two at openai-chat. "
        "Use openai, or turn thinking off.",
        ThinkingParameters(effort="none"),
    ),
    "no way to ask": (
        "nova-2",
        False,
        "Thinking is on, but bedrock has no way to ask amazon.nova-2-lite-v1:0 for it. "
        "Turn thinking off, or use another provider.",
        ThinkingParameters(),
    ),
}


@pytest.mark.parametrize(("name", "tools", "told", "instead"), REFUSED.values(), ids=REFUSED)
def test_thinking_that_cannot_be_had_is_an_error_or_a_note(
    name: str, tools: bool, told: str, instead: ThinkingParameters
) -> None:
    """R046, K19: an error by default, an announced alternative by wish."""
    target = find_route(name)
    with pytest.raises(ThinkingNotOffered) as error_info:
        resolve_thinking(target, HIGH, max_tokens=None, tools=tools)
    assert str(error_info.value) == told
    warned = resolve_thinking(target, HIGH, max_tokens=None, tools=tools, on_unavailable="warn")
    assert warned.notes == (told,)
    assert (warned.effort, warned.mode) == (instead.effort, instead.mode)
    assert not thinks(target.model, warned)


@pytest.mark.parametrize(
    ("name", "setting", "allowed"),
    [
        ("claude-opus-4.5", HIGH, False),
        ("claude-opus-4.5", OFF, True),
        ("claude-opus-4.6", HIGH, True),
        ("claude-opus-4.6", tokens(4096), False),
        ("claude-opus-5.5", LOW, False),
        ("claude-sonnet-5.5", OFF, False),
        ("deepseek-v4-pro", HIGH, False),
        ("deepseek-v4-pro", OFF, True),
        ("openai/gpt-5", HIGH, True),
        ("gpt-4o", OFF, True),
    ],
)
def test_a_forced_tool_where_it_is_refused(name: str, setting: ThinkingSetting, allowed: bool) -> None:
    target = find_route(name)
    ask = resolve(name, setting, forced_tool=True)
    assert allows_forced_tool(target, ask) is allowed
    note = (
        f"{target.model_id} refuses a forced tool while it thinks, so the choice of tool is left to it. "
        "Turn thinking off to force one."
    )
    assert (note in ask.notes) is not allowed


def test_off_beats_a_budget() -> None:
    assert (
        resolve("claude-opus-4.5", ThinkingSetting(level=ThinkingLevel.OFF, budget_tokens=2048)).mode
        == "disabled"
    )


def test_levels_and_budgets_stand_for_each_other() -> None:
    """OQ6: the table of the page, there and back."""
    assert {level: level_for(budget) for level, budget in LEVEL_BUDGETS.items()} == {
        level: level for level in LEVEL_BUDGETS
    }


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("gpt-4o", ThinkingSupport.NONE),
        ("claude-opus-4.5", ThinkingSupport.OPTIONAL),
        ("claude-opus-5.5", ThinkingSupport.ALWAYS),
    ],
)
def test_whether_a_model_can_think_is_in_its_row(name: str, capability: ThinkingSupport) -> None:
    """R041, R060, K20: what a surface needs for its toggle."""
    assert find_route(name).model.thinking is capability

"""Thinking settings for every model: legal parameters, or a note or an error that says why not."""

from collections.abc import Iterator
from itertools import product

import pytest
from msgspec.structs import replace

from thinkaloud.core.canon import BudgetTooSmall, ThinkingNotOffered, Wording
from thinkaloud.core.canon.requests import ThinkingLevel, ThinkingParameters, ThinkingSetting
from thinkaloud.core.catalog import (
    Provider,
    Route,
    ThinkingControl,
    ThinkingSupport,
    allows_forced_tool,
    builtin_catalog,
    resolve_thinking,
    route,
)
from thinkaloud.core.catalog.levels import LEVEL_BUDGETS, level_for
from thinkaloud.core.catalog.thinking import thinks

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
            # A family's own name is refused, so one that begins like it stands for its models.
            yield find_route(f"{provider}/{spelled.replace('*', f'{model.id}-1')}")
    for provider in CATALOG.providers:
        yield find_route(f"{provider}/newcomer-1")


ROUTES = pytest.mark.parametrize(
    "target", list(_every_route()), ids=lambda target: f"{target.provider.name}/{target.model_id}"
)


def violations(target: Route, parameters: ThinkingParameters) -> list[str]:
    """Return the rules of this model or provider that the parameters break, judged by the rows alone."""
    model, provider = target.model, target.provider
    sent = {name for name in ("mode", "effort", "level", "display") if getattr(parameters, name)}
    sent |= {name for name in ("budget_tokens", "toggle") if getattr(parameters, name) is not None}
    sent |= {"template"} if parameters.template else set()
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
    budget = parameters.budget_tokens
    limit = model.max_output_tokens
    rules = {
        "a field without a place": sent <= set(provider.places),
        "two fields in one place": len({provider.places[name] for name in sent}) == len(sent),
        "a word it does not know": not parameters.effort or parameters.effort in words,
        "a level it does not know": not parameters.level or parameters.level.lower() in model.efforts,
        "a mode it does not know": modes[parameters.mode],
        "a budget it does not take": budget is None or ThinkingControl.BUDGET in model.control,
        "a budget below the least": budget is None or (least or 0) <= budget,
        "a budget above the most": budget is None or budget <= (model.budget_max or budget),
        "no room for an answer": not budget
        or parameters.max_tokens is None
        or budget < parameters.max_tokens,
        "more than it can put out": not budget or not limit or budget < limit,
        "effort and budget at once": not (parameters.effort and budget),
        "manual mode without a budget": parameters.mode != "enabled"
        or ThinkingControl.TOGGLE in model.control
        or bool(budget),
        "display when nothing is thought": not parameters.display
        or parameters.mode not in ("disabled", "between_tools"),
    }
    return [rule for rule, holds in rules.items() if not holds]


@ROUTES
def test_every_model_with_every_thinking_setting(target: Route) -> None:
    """The parameters are legal for the row, or a note says why not; nothing is dropped silently."""
    for setting, max_tokens, tools in product(SETTINGS, (None, 2000), (False, True)):
        if setting not in (DEFAULT, OFF) and not can_think(target, tools):
            with pytest.raises(ThinkingNotOffered):
                resolve_thinking(target, setting, max_tokens=max_tokens, tools=tools)
            continue
        parameters = resolve_thinking(target, setting, max_tokens=max_tokens, tools=tools)
        assert violations(target, parameters) == []
        assert honoured(target, setting, parameters) or parameters.notes


def can_think(target: Route, tools: bool) -> bool:
    model, provider = target.model, target.provider
    excluded = tools and provider.name in model.tools_or_thinking_at
    return model.thinking is not ThinkingSupport.NONE and not excluded


def honoured(target: Route, setting: ThinkingSetting, parameters: ThinkingParameters) -> bool:
    if setting == DEFAULT:
        return not (
            parameters.effort
            or parameters.level
            or parameters.budget_tokens
            or parameters.toggle is not None
            or parameters.template
        )
    if setting.level is ThinkingLevel.OFF:
        return not thinks(target.model, parameters)
    if not thinks(target.model, parameters):
        return False
    if setting.budget_tokens is not None:
        return parameters.budget_tokens == setting.budget_tokens
    word = parameters.effort or parameters.level.lower()
    return (
        word == setting.level
        or (setting.level is ThinkingLevel.MAX and bool(word))
        or bool(parameters.budget_tokens)
    )


@ROUTES
def test_omitted_thought_text_is_requested(target: Route) -> None:
    if target.model.thinking is ThinkingSupport.NONE or not target.model.omitted_by_default:
        return
    parameters = resolve_thinking(target, HIGH, max_tokens=None, tools=False)
    assert parameters.display == target.provider.display


@pytest.mark.parametrize(
    ("name", "setting", "parameters"),
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
        # The others, each with its own parameters.
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
        ("mistral-small-latest", HIGH, ThinkingParameters(effort="high")),
        ("gpt-4o", OFF, ThinkingParameters()),
        ("gpt-4o", DEFAULT, ThinkingParameters()),
    ],
)
def test_thinking_parameters_without_notes(
    name: str, setting: ThinkingSetting, parameters: ThinkingParameters
) -> None:
    """R036, R042, R043, K30: one setting, translated for each model."""
    assert resolve(name, setting) == parameters


NOTES = {
    "budget where there is none": (
        ("openai/gpt-5", tokens(9000)),
        ThinkingParameters(
            effort="medium",
            display="auto",
            notes=(
                Wording(
                    "gpt-5 does not accept a budget at openai. The effort medium was requested "
                    "instead; it may use more or fewer tokens."
                ),
            ),
        ),
    ),
    "budget on a switch": (
        ("glm-4.6", tokens(9000)),
        ThinkingParameters(
            mode="enabled",
            notes=(
                Wording(
                    "glm-4.6 does not accept a budget at zai. Only the switch was sent; "
                    "the model decides how much to think."
                ),
            ),
        ),
    ),
    "level on a switch": (
        ("ollama/qwen3:8b", LOW),
        ThinkingParameters(
            toggle=True,
            notes=(
                Wording(
                    "qwen3:8b has no levels at ollama, so low was not sent. The model decides how "
                    "much to think."
                ),
            ),
        ),
    ),
    "a word as a switch": (
        ("lmstudio/granite-4", LOW),
        ThinkingParameters(
            effort="low",
            notes=(Wording("granite-4 has only a switch and no levels, so low was sent to turn it on."),),
        ),
    ),
    "a word it has not": (
        ("deepseek-v4-pro", MEDIUM),
        ThinkingParameters(
            mode="enabled",
            effort="high",
            notes=(Wording("deepseek-v4-pro has no level medium. The nearest, high, was requested."),),
        ),
    ),
    "off, always thinking, words": (
        ("kimi-k3", OFF),
        ThinkingParameters(
            effort="low",
            notes=(
                Wording(
                    "Thinking cannot be turned off: kimi-k3 always thinks. The lowest effort was "
                    "requested: low."
                ),
            ),
        ),
    ),
    "off, always thinking, budget": (
        ("gemini-2.5-pro", OFF),
        ThinkingParameters(
            budget_tokens=128,
            notes=(
                Wording(
                    "Thinking cannot be turned off: gemini-2.5-pro always thinks. The smallest "
                    "budget was requested: 128 tokens."
                ),
            ),
        ),
    ),
    "off, always thinking, nothing": (
        ("kimi-k2-thinking", OFF),
        ThinkingParameters(
            notes=(
                Wording(
                    "Thinking cannot be turned off: kimi-k2-thinking always thinks. It has no "
                    "setting for less thinking, so its default applies."
                ),
            )
        ),
    ),
    "off between tools": (
        ("claude-sonnet-5.5", OFF),
        ThinkingParameters(
            mode="between_tools",
            max_tokens=16_384,
            notes=(
                Wording(
                    "Thinking cannot be turned off completely for claude-sonnet-5-5: it does not "
                    "think before it answers, but may write short thoughts between tool calls."
                ),
            ),
        ),
    ),
    "off through a gateway": (
        ("openrouter/anthropic/claude-sonnet-5.5", OFF),
        ThinkingParameters(
            effort="low",
            notes=(
                Wording(
                    "Thinking cannot be turned off: anthropic/claude-sonnet-5.5 always thinks. The "
                    "lowest effort was requested: low."
                ),
            ),
        ),
    ),
    "no switch at this provider": (
        ("moonshot/gemini-2.5-flash", OFF),
        ThinkingParameters(
            notes=(
                Wording(
                    "Thinking cannot be turned off: gemini-2.5-flash has no switch at moonshot. It "
                    "has no setting for less thinking, so its default applies."
                ),
            )
        ),
    ),
    "encrypted": (
        ("grok-4", DEFAULT),
        ThinkingParameters(notes=(Wording("grok-4 encrypts its thoughts, so there is no text to show."),)),
    ),
    "never shown": (
        ("openai-chat/gpt-5", HIGH),
        ThinkingParameters(
            effort="high",
            notes=(Wording("openai-chat does not return thoughts, so there is no text to show."),),
        ),
    ),
    "not in the catalog": (
        ("openrouter/some/newcomer", HIGH),
        ThinkingParameters(
            effort="high",
            toggle=True,
            display="auto",
            notes=(
                Wording(
                    "some/newcomer is not in the catalog, so the usual parameters for openrouter "
                    "were sent. If the provider refuses them, add a row for the model to your own "
                    "catalog file."
                ),
            ),
        ),
    ),
    "a name that asks for it": (
        ("openrouter/anthropic/claude-3.7-sonnet:thinking", OFF),
        ThinkingParameters(
            effort="none",
            notes=(
                Wording(
                    "The name anthropic/claude-3.7-sonnet:thinking asks for thinking but the setting "
                    "does not. Remove :thinking."
                ),
            ),
        ),
    ),
    "more than the most": (
        ("gemini-2.5-flash", tokens(50_000)),
        ThinkingParameters(
            budget_tokens=24_576,
            display="include",
            notes=(Wording("gemini-2.5-flash accepts a budget of at most 24576 tokens, so 24576 was sent."),),
        ),
    ),
    "more than it can put out": (
        ("claude-opus-4", MAX),
        ThinkingParameters(
            mode="enabled",
            budget_tokens=27_904,
            max_tokens=32_000,
            notes=(
                Wording(
                    "claude-opus-4-20250514 has an output limit of 32000 tokens, so the budget was "
                    "reduced from 32768 to 27904."
                ),
            ),
        ),
    ),
}


@pytest.mark.parametrize(("arguments", "parameters"), NOTES.values(), ids=NOTES)
def test_thinking_parameters_with_notes(
    arguments: tuple[str, ThinkingSetting], parameters: ThinkingParameters
) -> None:
    """R046, K19: a note says what cannot be honoured, why, and what was sent instead."""
    assert with_texts(resolve(*arguments)) == with_texts(parameters)


def with_texts(parameters: ThinkingParameters) -> ThinkingParameters:
    return replace(parameters, notes=tuple(map(Wording.plain, parameters.notes)))


@pytest.mark.parametrize(
    ("max_tokens", "solved", "notes"),
    [
        (20_000, 20_000, ()),
        (8193, 8193, ()),
        (
            8192,
            16_384,
            (
                "max_tokens includes thinking, and 8192 leaves no room beside a budget of 8192. "
                "It was raised to 16384.",
            ),
        ),
        (
            1000,
            9192,
            (
                "max_tokens includes thinking, and 1000 leaves no room beside a budget of 8192. "
                "It was raised to 9192.",
            ),
        ),
    ],
)
def test_a_budget_leaves_room_for_the_answer(max_tokens: int, solved: int, notes: tuple[str, ...]) -> None:
    """OQ6: the budget stays below max_tokens, which is raised with a note if necessary."""
    parameters = resolve("claude-sonnet-4.5", MEDIUM, max_tokens=max_tokens)
    assert (parameters.budget_tokens, parameters.max_tokens) == (8192, solved)
    assert tuple(map(str, parameters.notes)) == notes


def test_max_tokens_is_not_raised_above_the_output_limit() -> None:
    parameters = resolve("claude-opus-4", tokens(30_000), max_tokens=20_000)
    assert (parameters.budget_tokens, parameters.max_tokens) == (27_904, 32_000)
    assert len(parameters.notes) == 2
    parameters = resolve("claude-opus-4", tokens(20_000), max_tokens=20_000)
    assert (parameters.budget_tokens, parameters.max_tokens) == (20_000, 32_000)


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        (
            "claude-opus-4.5",
            512,
            "A budget of 512 tokens is too small: claude-opus-4-5 needs at least 1024. Set 1024 "
            "or more, or turn thinking off.",
        ),
        (
            "openai/gpt-5",
            0,
            "A budget of 0 tokens is too small: gpt-5 needs at least 1. Set 1 or more, or turn thinking off.",
        ),
    ],
)
def test_a_budget_that_is_too_small_is_refused(name: str, count: int, message: str) -> None:
    """OQ6: the budget is validated before anything is sent."""
    with pytest.raises(BudgetTooSmall) as error_info:
        resolve(name, tokens(count))
    assert str(error_info.value) == message


REFUSED = {
    "does not think": (
        "gpt-4o",
        False,
        "Thinking is on, but gpt-4o does not support thinking. Turn thinking off, or choose a "
        "model listed by: thinkaloud models --thinking",
        ThinkingParameters(),
    ),
    "tools or thinking": (
        "openai-chat/gpt-5.6-sol",
        True,
        "Thinking and tools are both on, but gpt-5.6-sol supports only one of them at "
        "openai-chat. Use openai, or turn thinking off.",
        ThinkingParameters(effort="none"),
    ),
}


@pytest.mark.parametrize(("name", "tools", "message", "instead"), REFUSED.values(), ids=REFUSED)
def test_unavailable_thinking_is_an_error_or_a_note(
    name: str, tools: bool, message: str, instead: ThinkingParameters
) -> None:
    """R046, K19: an error by default; with `warn`, a note about the alternative."""
    target = find_route(name)
    with pytest.raises(ThinkingNotOffered) as error_info:
        resolve_thinking(target, HIGH, max_tokens=None, tools=tools)
    assert str(error_info.value) == message
    warned = resolve_thinking(target, HIGH, max_tokens=None, tools=tools, on_unavailable="warn")
    assert tuple(map(str, warned.notes)) == (message,)
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
def test_a_forced_tool_where_the_model_does_not_allow_it(
    name: str, setting: ThinkingSetting, allowed: bool
) -> None:
    target = find_route(name)
    parameters = resolve(name, setting, forced_tool=True)
    assert allows_forced_tool(target, parameters) is allowed
    note = (
        f"{target.model_id} does not allow a forced tool while thinking, so the model chooses the "
        "tool. Turn thinking off to force a tool."
    )
    assert (note in map(str, parameters.notes)) is not allowed


def test_off_overrides_a_budget() -> None:
    assert (
        resolve("claude-opus-4.5", ThinkingSetting(level=ThinkingLevel.OFF, budget_tokens=2048)).mode
        == "disabled"
    )


def test_levels_and_budgets_convert_both_ways() -> None:
    """OQ6: the table of the reference page, in both directions."""
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
def test_the_row_says_whether_a_model_can_think(name: str, capability: ThinkingSupport) -> None:
    """R041, R060, K20: what a surface needs for its toggle."""
    assert find_route(name).model.thinking is capability

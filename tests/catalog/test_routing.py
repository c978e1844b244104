"""Route selection: the table of thinking models, all kinds of names, and missing keys."""

from collections.abc import Callable
from pathlib import Path

import pytest

from thinkaloud.core.canon import BadCatalog, UnknownModel, Wording
from thinkaloud.core.canon.requests import ThinkingLevel, ThinkingSetting
from thinkaloud.core.catalog import (
    Provider,
    Route,
    builtin_catalog,
    builtin_texts,
    find_model,
    has_thinking_suffix,
    key_missing_error,
    list_models,
    parse_catalog,
    resolve_thinking,
    retirement_note,
    route,
)

CATALOG = builtin_catalog()


def with_keys(*names: str) -> Callable[[Provider], bool]:
    return lambda provider: provider.name in names


def any_key(_: Provider) -> bool:
    return True


def find_route(name: str, *, thinking: bool = True, have_key: Callable[[Provider], bool] = any_key) -> Route:
    return route(CATALOG, name, thinking=thinking, have_key=have_key)


@pytest.mark.parametrize(
    ("name", "provider", "model_id"),
    [
        ("claude-3.7-sonnet", "openrouter", "anthropic/claude-3.7-sonnet:thinking"),
        ("claude-sonnet-4", "anthropic", "claude-sonnet-4-20250514"),
        ("claude-opus-4", "anthropic", "claude-opus-4-20250514"),
        ("claude-opus-4.1", "anthropic", "claude-opus-4-1-20250805"),
        ("claude-opus-4.5", "anthropic", "claude-opus-4-5"),
        ("gpt-5", "openrouter", "openai/gpt-5"),
        ("gpt-5.2", "openrouter", "openai/gpt-5.2"),
        ("gemini-3-pro", "openrouter", "google/gemini-3-pro-preview"),
    ],
)
def test_route_of_every_thinking_model(name: str, provider: str, model_id: str) -> None:
    """R034, R035, R038, R039, K29: Claude 4 and later are sent to Anthropic, the others to OpenRouter."""
    chosen = find_route(name)
    assert (chosen.provider.name, chosen.model_id) == (provider, model_id)
    assert chosen.why[0] == f"With thinking on, the catalog sends {name} to {provider}."


@pytest.mark.parametrize(
    "model", [name for name in CATALOG.models if name.startswith("claude-") and "claude-3" not in name]
)
def test_every_claude_from_4_on_is_routed_to_anthropic(model: str) -> None:
    """R035: with thinking on, and without a fallback if its key is missing."""
    for have_key in (any_key, with_keys("openrouter")):
        assert find_route(model, have_key=have_key).provider.name == "anthropic"


def test_a_user_can_override_the_route() -> None:
    """K29: one line in the user's file routes Claude with thinking to OpenRouter."""
    user_catalog = parse_catalog(
        *builtin_texts(), '[models."claude-opus-4.5"]\nat_with_thinking = ["openrouter"]'
    )
    chosen = route(user_catalog, "claude-opus-4.5", thinking=True, have_key=any_key)
    assert (chosen.provider.name, chosen.model_id) == ("openrouter", "anthropic/claude-opus-4.5")


@pytest.mark.parametrize(
    ("name", "thinking", "provider", "model_id", "why"),
    [
        ("gpt-5", False, "openai", "gpt-5", ("The catalog prefers openai for gpt-5.",)),
        (
            "openai/gpt-5",
            True,
            "openai",
            "gpt-5",
            ("The name specifies openai.", "With thinking on, the catalog would use openrouter."),
        ),
        (
            "openrouter/anthropic/claude-opus-4.5",
            False,
            "openrouter",
            "anthropic/claude-opus-4.5",
            ("The name specifies openrouter.",),
        ),
        (
            "anthropic/claude-opus-4.5",
            True,
            "anthropic",
            "claude-opus-4-5",
            ("The name specifies anthropic.", "anthropic calls it claude-opus-4-5."),
        ),
        (
            "claude-opus-4-5-20251101",
            True,
            "anthropic",
            "claude-opus-4-5-20251101",
            ("With thinking on, the catalog sends claude-opus-4.5 to anthropic.",),
        ),
        (
            "openrouter/anthropic/claude-3.7-sonnet:thinking",
            False,
            "openrouter",
            "anthropic/claude-3.7-sonnet:thinking",
            (
                "The name ends in :thinking, so thinking is on.",
                "The name specifies openrouter.",
                "With thinking on, openrouter calls it anthropic/claude-3.7-sonnet:thinking.",
            ),
        ),
        (
            "claude-opus-4.5:thinking",
            False,
            "anthropic",
            "claude-opus-4-5",
            (
                "The name ends in :thinking, so thinking is on.",
                "With thinking on, the catalog sends claude-opus-4.5 to anthropic.",
                "anthropic calls it claude-opus-4-5.",
                "anthropic has no :thinking variant of it; thinking is requested in the body.",
            ),
        ),
        (
            "google/gemini-2.5-pro",
            True,
            "gemini",
            "gemini-2.5-pro",
            ("The catalog prefers gemini for gemini-2.5-pro.", "gemini calls it gemini-2.5-pro."),
        ),
        (
            "openrouter/some/newcomer:thinking",
            False,
            "openrouter",
            "some/newcomer:thinking",
            (
                "The name ends in :thinking, so thinking is on.",
                "The name specifies openrouter.",
                "some/newcomer is not in the catalog. It is assumed to support thinking and is "
                "asked in the usual form for openrouter.",
            ),
        ),
        ("openai:gpt-5", False, "openai", "gpt-5", ("The name specifies openai.",)),
        ("openrouter:qwen/qwen3-8b", False, "openrouter", "qwen/qwen3-8b", None),
        ("gpt-oss-20b", True, "ollama", "gpt-oss:20b", None),
        ("ollama/lfm:thinking", True, "ollama", "lfm:thinking", None),
        ("ollama/qwen3:8b", True, "ollama", "qwen3:8b", None),
        ("vllm/Qwen/Qwen3-8B", True, "vllm", "Qwen/Qwen3-8B", None),
        ("qwen/qwen3-8b", True, "dashscope", "qwen3-8b", None),
        ("openrouter/qwen3-8b", True, "openrouter", "qwen/qwen3-8b", None),
        ("MiniMax-M2.1", True, "minimax", "MiniMax-M2.1", None),
        ("openrouter/glm-4.5-air", True, "openrouter", "z-ai/glm-4.5-air", None),
        (
            "bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0",
            True,
            "bedrock",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            None,
        ),
    ],
)
def test_route_by_every_kind_of_name(
    name: str, thinking: bool, provider: str, model_id: str, why: tuple[str, ...] | None
) -> None:
    chosen = find_route(name, thinking=thinking)
    assert (chosen.provider.name, chosen.model_id) == (provider, model_id)
    if why is not None:
        assert chosen.why == why


def test_with_thinking_a_missing_key_keeps_the_route() -> None:
    """R046, K19: no silent fallback; the caller reports the missing key."""
    chosen = find_route("claude-opus-4.5", have_key=with_keys("openrouter"))
    assert chosen.provider.name == "anthropic"
    assert chosen.why[1] == "No key found for anthropic, and no alternative provider has one."
    assert str(key_missing_error(chosen)) == (
        "No API key found for anthropic. With thinking on, claude-opus-4.5 is sent only to anthropic. "
        "Set ANTHROPIC_API_KEY or ai.claude.api_token in credentials.toml (mode 600), "
        "or run `thinkaloud keys set anthropic`. Nothing was sent."
    )
    fault = "credentials.toml is readable by other users. Run: chmod 600 credentials.toml"
    assert str(key_missing_error(chosen, fault=Wording.plain(fault))).startswith(
        f"{fault} With thinking on, "
    )
    without = find_route("claude-opus-4.5", thinking=False, have_key=with_keys())
    assert str(key_missing_error(without)) == (
        "No API key found for anthropic. Set ANTHROPIC_API_KEY or ai.claude.api_token in credentials.toml "
        "(mode 600), run `thinkaloud keys set anthropic`, or use another provider, such as "
        "openrouter/anthropic/claude-opus-4.5. Nothing was sent."
    )


def test_without_thinking_the_next_provider_with_a_key_is_used() -> None:
    chosen = find_route("claude-opus-4.5", thinking=False, have_key=with_keys("openrouter"))
    assert chosen.provider.name == "openrouter"
    assert chosen.why == (
        "The catalog prefers anthropic for claude-opus-4.5.",
        "No key found for anthropic, so openrouter is used.",
        "openrouter calls it anthropic/claude-opus-4.5.",
    )


def test_a_local_server_is_never_a_fallback() -> None:
    chosen = find_route("qwen3-8b", thinking=False, have_key=with_keys())
    assert chosen.provider.name == "dashscope"
    assert str(key_missing_error(chosen)) == (
        "No API key found for dashscope. Set DASHSCOPE_API_KEY, run `thinkaloud keys set dashscope`, or use "
        "another provider, such as openrouter/qwen/qwen3-8b. Nothing was sent."
    )


def test_missing_key_error_without_another_provider() -> None:
    chosen = find_route("command-a-reasoning", have_key=with_keys())
    assert str(key_missing_error(chosen)) == (
        "No API key found for cohere. Set CO_API_KEY or COHERE_API_KEY, or run `thinkaloud keys set cohere`. "
        "Nothing was sent."
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "claude-opus-45",
            "Unknown model 'claude-opus-45': it is not in the catalog and does not start with a "
            "provider. Did you mean claude-opus-4.5, claude-opus-5, claude-opus-4, "
            "claude-opus-5.5, claude-opus-4.8? Add the provider, such as "
            "openrouter/claude-opus-45, or add a row for the model to your own catalog file.",
        ),
        (
            "zzz",
            "Unknown model 'zzz': it is not in the catalog and does not start with a provider. "
            "Add the provider, such as openrouter/zzz, or add a row for the model to your own catalog file.",
        ),
    ],
)
def test_an_unknown_model_is_refused_with_suggestions(name: str, message: str) -> None:
    with pytest.raises(UnknownModel) as error_info:
        find_route(name)
    assert str(error_info.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "siliconflow/gpt-5",
            "Unknown provider 'siliconflow' in 'siliconflow/gpt-5'. Use openai/gpt-5, openrouter/gpt-5, or "
            "add a row for the provider to your own catalog file. Nothing was sent.",
        ),
        (
            "mylocal/deepseek-v4-pro",
            "Unknown provider 'mylocal' in 'mylocal/deepseek-v4-pro'. Use deepseek/deepseek-v4-pro, "
            "openrouter/deepseek-v4-pro, or add a row for the provider to your own catalog file. "
            "Nothing was sent.",
        ),
        (
            "antropic/claude-opus-4.5",
            "Unknown provider 'antropic' in 'antropic/claude-opus-4.5'. Use anthropic/claude-opus-4.5, or "
            "add a row for the provider to your own catalog file. Nothing was sent.",
        ),
        (
            "google/gpt-5",
            "Unknown provider 'google' in 'google/gpt-5'. Use openai/gpt-5, openrouter/gpt-5, or add a row "
            "for the provider to your own catalog file. Nothing was sent.",
        ),
    ],
)
def test_an_unknown_provider_is_refused(name: str, message: str) -> None:
    """The prompt never goes to another provider than the name says."""
    with pytest.raises(UnknownModel) as error_info:
        find_route(name)
    assert str(error_info.value) == message


def test_an_unknown_provider_of_an_unknown_model_is_refused() -> None:
    with pytest.raises(UnknownModel, match=r"Did you mean openrouter/some/newcomer\? "):
        find_route("openruter/some/newcomer")
    with pytest.raises(UnknownModel, match="Unknown model 'mistral:7b'"):
        find_route("mistral:7b")


def test_every_vendor_spelling_of_a_provider_is_a_name() -> None:
    for model in CATALOG.models.values():
        for spelling in model.at.values():
            if "/" in spelling:
                assert find_model(CATALOG, spelling.replace("*", model.id)) == model


def test_a_retired_model_names_its_successor() -> None:
    """The date comes from the provider's own table, and holds only there."""
    assert str(retirement_note(find_route("anthropic/claude-3.7-sonnet"))) == (
        "anthropic retired claude-3.7-sonnet on 2026-02-19. Use claude-sonnet-4.6 instead."
    )
    assert retirement_note(find_route("openrouter/claude-3.7-sonnet")) is None
    assert retirement_note(find_route("anthropic/claude-sonnet-4.6")) is None
    assert str(retirement_note(find_route("vertex/gemini-2.5-pro"))) == (
        "vertex retired gemini-2.5-pro on 2026-10-20. Use gemini-3.8-flash instead."
    )
    assert retirement_note(find_route("gemini/gemini-2.5-pro")) is None
    assert str(retirement_note(find_route("openai/o4-mini"))) == (
        "openai retired o4-mini on 2026-10-23. Use gpt-5.6-terra instead."
    )
    user_catalog = parse_catalog(
        *builtin_texts(), '[models.gpt-5]\nretires = { openai = "2031-01-01" }\nsuccessor = "gpt-5.5"'
    )
    chosen = route(user_catalog, "openai/gpt-5", thinking=False, have_key=any_key)
    assert str(retirement_note(chosen)) == "openai retires gpt-5 on 2031-01-01. Use gpt-5.5 instead."


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('successor = "gpt-0"', "successor has the unknown value 'gpt-0'"),
        ('retires = { nowhere = "2026-01-01" }', "retires has the unknown value 'nowhere'"),
        ('retires = { openai = "soon" }', "Expected `str` matching regex"),
        ('inputs = ["smell"]', "Invalid enum value 'smell'"),
    ],
)
def test_lifecycle_and_inputs_are_checked(field: str, message: str) -> None:
    with pytest.raises(BadCatalog, match=message):
        parse_catalog(*builtin_texts(), f"[models.gpt-5]\n{field}")


@pytest.mark.parametrize(
    ("name", "replay"),
    [
        ("claude-opus-4.5", "signed"),
        ("claude-sonnet-5.5", "signed_prefix_bound"),
        ("openrouter/anthropic/claude-sonnet-5.5", "details"),
        ("openai/gpt-5", "items"),
        ("openai-chat/gpt-5", "none"),
        ("deepseek-r1", "reasoning_content_forbidden"),
        ("deepseek-v3.2", "reasoning_content_open_loop"),
        ("deepseek-v4-pro", "reasoning_content_required"),
        ("kimi-k3", "reasoning_content_required"),
        ("gemini-2.5-pro", "parts"),
        ("glm-5.3", "reasoning_content_open_loop"),
        ("vllm/Qwen/Qwen3-8B", "reasoning_open_loop"),
        ("qwen3.8-27b", "reasoning_content_all"),
        ("ollama/qwen3:8b", "thinking_open_loop"),
        ("magistral-medium-latest", "thinking_chunks"),
        ("minimax-m2", "whole_message"),
    ],
)
def test_replay_rule_of_a_route(name: str, replay: str) -> None:
    assert find_route(name).replay.name == replay


def test_every_model_has_a_route_by_its_id() -> None:
    for listed in list_models(CATALOG):
        if listed.family:
            continue
        model = find_model(CATALOG, listed.id)
        assert model is not None
        for thinking in (False, True):
            chosen = find_route(f"{listed.providers[0]}/{listed.id}", thinking=thinking)
            assert chosen.model == model
            chosen = find_route(listed.id, thinking=thinking)
            allowed = (model.at_with_thinking if thinking else ()) or tuple(model.at)
            assert chosen.provider.name in allowed
            assert chosen.model == model
            assert chosen.why


def test_thinking_suffix_turns_thinking_on() -> None:
    assert has_thinking_suffix("anthropic/claude-3.7-sonnet:thinking")
    assert not has_thinking_suffix("claude-opus-4.5")


def test_a_new_provider_is_a_row() -> None:
    """A provider that uses a known dialect needs one TOML table, the one shown in the guide."""
    guide = (Path(__file__).parents[2] / "docs/contributing/provider.md").read_text("utf-8")
    row = guide.partition('```toml title="src/thinkaloud/core/catalog/providers.toml"')[2].partition("```")[0]
    user_catalog = parse_catalog(*builtin_texts(), row)
    chosen = route(user_catalog, "acme/anvil-1", thinking=True, have_key=any_key)
    assert (chosen.provider.base_url, chosen.model_id) == ("https://api.acme.test/v1", "anvil-1")
    assert chosen.replay.field == "reasoning_content"
    for level, effort in (
        (ThinkingLevel.OFF, "none"),
        (ThinkingLevel.LOW, "low"),
        (ThinkingLevel.HIGH, "high"),
    ):
        assert (
            resolve_thinking(chosen, ThinkingSetting(level=level), max_tokens=None, tools=False).effort
            == effort
        )


def test_a_model_row_routes_a_bare_name_to_the_new_provider() -> None:
    user_catalog = parse_catalog(
        *builtin_texts(),
        '[models."glm-4.6"]\nat = { together = "zai-org/GLM-4.6" }',
    )
    chosen = route(user_catalog, "glm-4.6", thinking=True, have_key=any_key)
    assert (chosen.provider.name, chosen.model_id) == ("together", "zai-org/GLM-4.6")


def test_the_longest_alias_that_matches_is_used() -> None:
    aliases = '[aliases]\n"claude-*" = "deepseek/deepseek-v4-pro"\n"claude-haiku-*" = "gpt-5"\n'
    catalog = parse_catalog(*builtin_texts(), aliases)
    chosen = route(catalog, "claude-haiku-9", thinking=False, have_key=any_key)
    assert chosen.model_id == "gpt-5"
    assert "The alias claude-haiku-* of the catalog stands for gpt-5." in chosen.why
    other = route(catalog, "claude-opus-9", thinking=False, have_key=any_key)
    assert other.provider.name == "deepseek"


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ("aliases = 3", "may contain only names of models"),
        ('[aliases]\n"claude-*" = 3', "may contain only names of models"),
        ('[aliases]\n"claude-*" = "nothing-known"', "is no model of the catalog"),
    ],
)
def test_alias_that_leads_nowhere_is_refused(aliases: str, message: str) -> None:
    with pytest.raises(BadCatalog, match=message):
        parse_catalog(*builtin_texts(), aliases, names=["r", "p", "m", "my.toml"])


@pytest.mark.parametrize(
    ("name", "effort", "unbounded"),
    [("nova-2", "high", True), ("nova-2", "low", False), ("nova-2", "", False), ("gpt-5", "", False)],
)
def test_unbounded_effort_is_one_of_the_model(name: str, effort: str, unbounded: bool) -> None:
    """No effort is not the effort of a model that has none."""
    assert find_route(name).unbounded(effort) is unbounded


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "mistral/magistral",
            r"'magistral' is a family of models at mistral\. Use one of its models, such as mistral/mag",
        ),
        ("openrouter/qwen3", r"'qwen3' is a family of models at openrouter\."),
    ],
)
def test_the_name_of_a_family_is_not_sent_to_a_provider(name: str, message: str) -> None:
    with pytest.raises(UnknownModel, match=message):
        find_route(name)

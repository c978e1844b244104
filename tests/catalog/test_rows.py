"""The built-in rows are consistent: facts have a date and a source, and names are known and unique."""

import re
from datetime import date
from pathlib import Path

import pytest

from thinkaloud.core.canon.requests import ThinkingParameters
from thinkaloud.core.catalog import (
    Model,
    Provider,
    ReplayForm,
    ReplayRow,
    ReplayScope,
    ThinkingControl,
    ThinkingSupport,
    builtin_catalog,
)
from thinkaloud.core.catalog.catalog import find_model
from thinkaloud.core.catalog.rows import SAMPLING_PARAMETERS
from thinkaloud.core.dialects import DIALECTS, PROFILES

CATALOG = builtin_catalog()
PAGE = (Path(__file__).parents[2] / "docs/reference/catalog.md").read_text("utf-8")
ROWS: list[Provider | Model | ReplayRow] = [
    *CATALOG.providers.values(),
    *CATALOG.models.values(),
    *CATALOG.replays.values(),
]
MODELS = pytest.mark.parametrize("model", CATALOG.models.values(), ids=lambda model: model.id)
PROVIDERS = pytest.mark.parametrize(
    "provider", CATALOG.providers.values(), ids=lambda provider: provider.name
)


def test_every_row_has_a_date_and_a_source() -> None:
    for row in ROWS:
        assert row.fact is not None, row
        assert date.fromisoformat(row.fact.as_of) <= date(2026, 11, 17), row
        assert row.fact.source.startswith(("https://", "docs/")), row


@PROVIDERS
def test_every_provider_uses_a_known_dialect(provider: Provider) -> None:
    assert provider.dialect in DIALECTS
    fields = {*ThinkingParameters.__struct_fields__, *SAMPLING_PARAMETERS}
    assert set(provider.places) <= fields - {"notes"}
    assert "max_tokens" in provider.places
    assert provider.display == "" or "display" in provider.places
    assert provider.key.startswith("env:") or provider.auth == "none"


@PROVIDERS
def test_every_provider_is_local_or_uses_tls(provider: Provider) -> None:
    secure = provider.base_url.startswith("https://") or provider.base_url == ""
    assert secure or (provider.local and provider.base_url.startswith("http://127.0.0.1:"))
    assert not provider.base_url.endswith("/")


def test_providers_without_a_base_url() -> None:
    """The built-in model gets its URL when it is started."""
    without = [name for name, provider in CATALOG.providers.items() if not provider.base_url]
    assert without == ["builtin"]


@MODELS
def test_every_model_has_consistent_thinking_fields(model: Model) -> None:
    spoken = {ThinkingControl.EFFORT, ThinkingControl.LEVEL, ThinkingControl.ADAPTIVE} & set(model.control)
    assert bool(model.efforts) == bool(spoken)
    assert (model.budget_min is not None) == (ThinkingControl.BUDGET in model.control)
    assert model.tags == "" or model.tags in PROFILES
    if model.thinking is ThinkingSupport.NONE:
        assert (model.control, model.off, model.on_by_default) == ((), "", False)
    if model.thinking is ThinkingSupport.ALWAYS:
        assert model.on_by_default
        assert model.off in ("", "between_tools")


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("claude-opus-5.5", {"image", "pdf"}),
        ("gpt-5-codex", {"image", "pdf"}),
        ("o3-mini", set()),
        ("gemini-3.5-flash", {"image", "pdf", "audio"}),
        ("deepseek-v4-pro", set()),
        ("deepseek-v4.1-flash", {"image"}),
        ("kimi-k2-thinking", set()),
        ("kimi-k2.6", {"image"}),
        ("qwen3", None),
    ],
)
def test_inputs_of_models(name: str, inputs: set[str] | None) -> None:
    """A row without the field says that it is not known, not that the model takes text only."""
    known = CATALOG.models[name].inputs
    assert (None if known is None else set(known)) == inputs


@MODELS
def test_retired_models_have_a_successor_that_is_served(model: Model) -> None:
    if model.successor:
        assert model.retires
        successor = CATALOG.models[model.successor]
        assert not set(model.retires) & set(successor.retires)


@MODELS
def test_every_model_is_found_by_its_own_names(model: Model) -> None:
    """R034: the table is found by each id that people write."""
    spelled = [at for at in model.at.values() if "*" not in at]
    for name in (model.id, model.id.upper(), *spelled):
        assert find_model(CATALOG, name) is model
    for pattern in model.names:
        assert find_model(CATALOG, re.sub(r"\[.*?\]", "1", pattern).replace("*", "")) is not None


def test_no_two_rows_claim_the_same_name() -> None:
    claimed_names = [name.lower() for model in CATALOG.models.values() for name in {model.id, *model.names}]
    assert sorted(claimed_names) == sorted(set(claimed_names))
    for provider in CATALOG.providers:
        at = [
            m.at[provider] for m in CATALOG.models.values() if provider in m.at and "*" not in m.at[provider]
        ]
        assert sorted(at) == sorted(set(at))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-5-20251101", "claude-opus-4.5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4.5"),
        ("claude-opus-5-20260901", "claude-opus-5"),
        ("claude-opus-5-5", "claude-opus-5.5"),
        ("claude-fable-5-20260601", "claude-fable-5"),
        ("claude-fable-5-2-20261001", "claude-fable-5.2"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gpt-5.2-chat-latest", "gpt-5.3-chat-latest"),
        ("gpt-4o-mini", "gpt-4o"),
        ("gemini-3-pro-preview", "gemini-3-pro"),
        ("gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("moonshotai/kimi-k2-thinking-turbo", "kimi-k2-thinking"),
        ("kimi-k2-0905-preview", "kimi-k2"),
        ("qwen/qwen3-32b", "qwen3"),
        ("Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-thinking"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-instruct"),
        ("qwen3-max-2026-01-23", "qwen-plus"),
        ("Qwen/Qwen3.8-27B", "qwen3.8"),
        ("grok-4-fast", "grok-4-fast"),
        ("grok-4-fast-non-reasoning", "grok-fast-non-reasoning"),
        ("grok-4-1-fast-reasoning-latest", "grok-4-1-fast"),
        ("x-ai/grok-4.1-fast", "grok-4-1-fast"),
        ("grok-4.20", "grok-4.20-reasoning"),
        ("gpt-5.1-codex-max", "gpt-5.1-codex-max"),
        ("gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
        ("o3-deep-research-2025-06-26", "o3-deep-research"),
        ("gpt-4-turbo", "gpt-4"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("us.anthropic.claude-opus-5", "claude-opus-5"),
        ("global.anthropic.claude-sonnet-5", "claude-sonnet-5"),
        ("anthropic.claude-opus-5-5", "claude-opus-5.5"),
        ("anthropic.claude-fable-5", "claude-fable-5"),
        ("deepseek-flash", "deepseek-v4.1-flash"),
        ("accounts/fireworks/models/glm-5p3", "glm-5.3"),
        ("accounts/fireworks/models/kimi-k2p7-code", "kimi-k2.7-code"),
        ("grok-4.20-0309-reasoning", "grok-4.20-reasoning"),
        ("grok-4.20-0309-non-reasoning", "grok-4.20-non-reasoning"),
        ("grok-4.20-beta", "grok-4.20-reasoning"),
        ("mistral-small-2603", "mistral-small-4"),
        ("mistral-medium", "mistral-medium-3.5"),
        ("gemini-3.5-flash-lite", "gemini-3.5-flash-lite"),
        ("mistral-medium-latest", "mistral-medium-3.5"),
        ("mistral-large-latest", "mistral-large-3"),
        ("command-r-plus-08-2024", "command-a"),
        ("z-ai/glm-4.5-air", "glm-4.5"),
        ("MiniMaxAI/MiniMax-M2.1", "minimax-m2"),
        ("gpt-oss:120b-cloud", "gpt-oss-120b"),
    ],
)
def test_other_spellings_are_found(name: str, row: str) -> None:
    model = find_model(CATALOG, name)
    assert model is not None
    assert model.id == row


@pytest.mark.parametrize(
    ("replay", "form", "field", "default", "required"),
    [
        ("none", ReplayForm.NONE, "", ReplayScope.NONE, ReplayScope.NONE),
        ("signed", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.OPEN_LOOP),
        ("signed_prefix_bound", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.OPEN_LOOP),
        ("items", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.OPEN_LOOP),
        ("details", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.TOOL_TURNS),
        ("details_thought_first", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.TOOL_TURNS),
        ("details_signed_calls", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.TOOL_TURNS),
        ("parts", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.OPEN_LOOP),
        (
            "reasoning_content_required",
            ReplayForm.FIELD,
            "reasoning_content",
            ReplayScope.TOOL_TURNS,
            ReplayScope.TOOL_TURNS,
        ),
        ("reasoning_content_forbidden", ReplayForm.NONE, "", ReplayScope.NONE, ReplayScope.NONE),
        (
            "reasoning_content_open_loop",
            ReplayForm.FIELD,
            "reasoning_content",
            ReplayScope.OPEN_LOOP,
            ReplayScope.NONE,
        ),
        ("reasoning_content_all", ReplayForm.FIELD, "reasoning_content", ReplayScope.ALL, ReplayScope.NONE),
        ("reasoning_open_loop", ReplayForm.FIELD, "reasoning", ReplayScope.OPEN_LOOP, ReplayScope.NONE),
        ("thinking_open_loop", ReplayForm.FIELD, "thinking", ReplayScope.OPEN_LOOP, ReplayScope.NONE),
        ("thinking_chunks", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.NONE),
        ("whole_message", ReplayForm.VERBATIM, "", ReplayScope.ALL, ReplayScope.NONE),
        ("thinking_items", ReplayForm.VERBATIM, "", ReplayScope.OPEN_LOOP, ReplayScope.NONE),
    ],
)
def test_replay_rows(
    replay: str, form: ReplayForm, field: str, default: ReplayScope, required: ReplayScope
) -> None:
    row = CATALOG.replays[replay]
    assert (row.form, row.field, row.default, row.required) == (form, field, default, required)
    assert f"`{replay}`" in PAGE


def test_every_replay_row_is_tested_and_used() -> None:
    used = {provider.replay for provider in CATALOG.providers.values()}
    used |= {name for model in CATALOG.models.values() for name in model.replay.values()}
    assert used == set(CATALOG.replays)
    assert len(CATALOG.replays) == 17


@PROVIDERS
def test_the_reference_page_shows_where_each_field_goes(provider: Provider) -> None:
    header, *lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    fields = [cell.strip(" `") for cell in header.split("|")[2:-1]]
    (line,) = [line for line in lines if f"`{provider.name}`" in line.split("|")[1]]
    cells = dict(zip(fields, line.split("|")[2:-1], strict=True))
    for field, cell in cells.items():
        path, *only = re.findall(r"`(.+?)`", cell) or [""]
        expected_path = path if not only or provider.name in only else ""
        assert provider.places.get(field, "") == expected_path, field


@pytest.mark.parametrize("kind", [Provider, Model, ReplayRow])
def test_the_reference_page_explains_every_field(kind: type[Provider | Model | ReplayRow]) -> None:
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in PAGE] == []

"""The rows that are shipped hold together: facts have a date and a source, names exist and are told apart."""

import re
from datetime import date
from pathlib import Path

import pytest

from thinkaloud.canon.requests import Ask
from thinkaloud.catalog import Capability, Control, Model, Provider, Replay, ReplayForm, Sent, builtin
from thinkaloud.catalog.names import row_for
from thinkaloud.dialects import DIALECTS, PROFILES

BOOK = builtin()
PAGE = (Path(__file__).parents[2] / "docs/reference/catalog.md").read_text("utf-8")
ROWS: list[Provider | Model | Replay] = [
    *BOOK.providers.values(),
    *BOOK.models.values(),
    *BOOK.replays.values(),
]
MODELS = pytest.mark.parametrize("model", BOOK.models.values(), ids=lambda model: model.id)
PROVIDERS = pytest.mark.parametrize("provider", BOOK.providers.values(), ids=lambda provider: provider.name)


def test_every_row_says_when_and_from_where() -> None:
    for row in ROWS:
        assert row.fact is not None, row
        assert date.fromisoformat(row.fact.as_of) <= date(2026, 11, 16), row
        assert row.fact.source.startswith(("https://", "docs/")), row


@PROVIDERS
def test_a_provider_speaks_a_dialect_we_have(provider: Provider) -> None:
    assert provider.dialect in DIALECTS
    assert set(provider.places) <= set(Ask.__struct_fields__) - {"notes"}
    assert "max_tokens" in provider.places
    assert provider.display == "" or "display" in provider.places
    assert provider.key.startswith("env:") or provider.auth == "none"


@PROVIDERS
def test_a_provider_is_on_this_machine_or_behind_tls(provider: Provider) -> None:
    secure = provider.base_url.startswith("https://") or provider.base_url == ""
    assert secure or (provider.local and provider.base_url.startswith("http://127.0.0.1:"))
    assert not provider.base_url.endswith("/")


def test_who_has_no_address() -> None:
    """Bedrock's has a region in it, and the built-in model gets one when it is started."""
    without = [name for name, provider in BOOK.providers.items() if not provider.base_url]
    assert without == ["bedrock", "builtin"]


@MODELS
def test_a_model_says_how_it_thinks(model: Model) -> None:
    spoken = {Control.EFFORT, Control.LEVEL, Control.ADAPTIVE} & set(model.control)
    assert bool(model.efforts) == bool(spoken)
    assert (model.budget_min is not None) == (Control.BUDGET in model.control)
    assert model.tags == "" or model.tags in PROFILES
    if model.thinking is Capability.NONE:
        assert (model.control, model.off, model.on_by_default) == ((), "", False)
    if model.thinking is Capability.ALWAYS:
        assert model.on_by_default
        assert model.off in ("", "between_tools")


@MODELS
def test_a_model_is_found_by_its_own_names(model: Model) -> None:
    """R034: the table is found by the ids people write, here each of them."""
    spelled = [at for at in model.at.values() if "*" not in at]
    for name in (model.id, model.id.upper(), *spelled):
        assert row_for(BOOK, name) is model
    for pattern in model.names:
        assert row_for(BOOK, re.sub(r"\[.*?\]", "1", pattern).replace("*", "")) is not None


def test_no_two_rows_claim_one_name() -> None:
    said = [name.lower() for model in BOOK.models.values() for name in {model.id, *model.names}]
    assert sorted(said) == sorted(set(said))
    for provider in BOOK.providers:
        at = [m.at[provider] for m in BOOK.models.values() if provider in m.at and "*" not in m.at[provider]]
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
        ("gpt-5.2-chat-latest", "gpt-5.1-chat-latest"),
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
        ("grok-4-fast", "grok-4"),
        ("grok-4.20-0309-reasoning", "grok-4.20-reasoning"),
        ("grok-4.20-0309-non-reasoning", "grok-4.20-non-reasoning"),
        ("z-ai/glm-4.5-air", "glm-4.5"),
        ("MiniMaxAI/MiniMax-M2.1", "minimax-m2"),
        ("gpt-oss:120b-cloud", "gpt-oss-120b"),
    ],
)
def test_other_spellings_are_found(name: str, row: str) -> None:
    found = row_for(BOOK, name)
    assert found is not None
    assert found.id == row


@pytest.mark.parametrize(
    ("replay", "form", "field", "default", "required"),
    [
        ("none", ReplayForm.NONE, "", Sent.NONE, Sent.NONE),
        ("signed", ReplayForm.VERBATIM, "", Sent.ALL, Sent.OPEN_LOOP),
        ("signed_prefix_bound", ReplayForm.VERBATIM, "", Sent.ALL, Sent.OPEN_LOOP),
        ("items", ReplayForm.VERBATIM, "", Sent.ALL, Sent.OPEN_LOOP),
        ("details", ReplayForm.VERBATIM, "", Sent.ALL, Sent.TOOL_TURNS),
        ("parts", ReplayForm.VERBATIM, "", Sent.ALL, Sent.OPEN_LOOP),
        (
            "reasoning_content_required",
            ReplayForm.FIELD,
            "reasoning_content",
            Sent.TOOL_TURNS,
            Sent.TOOL_TURNS,
        ),
        ("reasoning_content_forbidden", ReplayForm.NONE, "", Sent.NONE, Sent.NONE),
        ("reasoning_content_open_loop", ReplayForm.FIELD, "reasoning_content", Sent.OPEN_LOOP, Sent.NONE),
        ("reasoning_content_all", ReplayForm.FIELD, "reasoning_content", Sent.ALL, Sent.NONE),
        ("reasoning_open_loop", ReplayForm.FIELD, "reasoning", Sent.OPEN_LOOP, Sent.NONE),
        ("thinking_open_loop", ReplayForm.FIELD, "thinking", Sent.OPEN_LOOP, Sent.NONE),
        ("thinking_chunks", ReplayForm.VERBATIM, "", Sent.ALL, Sent.NONE),
        ("whole_message", ReplayForm.VERBATIM, "", Sent.ALL, Sent.NONE),
        ("thinking_items", ReplayForm.VERBATIM, "", Sent.OPEN_LOOP, Sent.NONE),
    ],
)
def test_how_thoughts_go_back(
    replay: str, form: ReplayForm, field: str, default: Sent, required: Sent
) -> None:
    row = BOOK.replays[replay]
    assert (row.form, row.field, row.default, row.required) == (form, field, default, required)
    assert f"`{replay}`" in PAGE


def test_every_replay_is_in_that_table_and_used() -> None:
    used = {provider.replay for provider in BOOK.providers.values()}
    used |= {name for model in BOOK.models.values() for name in model.replay.values()}
    assert used == set(BOOK.replays)
    assert len(BOOK.replays) == 15


@PROVIDERS
def test_the_page_shows_where_each_field_goes(provider: Provider) -> None:
    header, *lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    fields = [cell.strip(" `") for cell in header.split("|")[2:-1]]
    (line,) = [line for line in lines if f"`{provider.name}`" in line.split("|")[1]]
    cells = dict(zip(fields, line.split("|")[2:-1], strict=True))
    for field, cell in cells.items():
        path, *only = re.findall(r"`(.+?)`", cell) or [""]
        told = path if not only or provider.name in only else ""
        assert provider.places.get(field, "") == told, field


@pytest.mark.parametrize("kind", [Provider, Model, Replay])
def test_the_page_explains_every_field(kind: type[Provider | Model | Replay]) -> None:
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in PAGE] == []

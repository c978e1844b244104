"""The list of `thinkaloud models`, and its comparison with a provider's own list."""

import pytest

from thinkaloud.core.canon import NotAResponse
from thinkaloud.core.catalog import (
    CatalogDifference,
    FieldChange,
    ReportedModel,
    ThinkingSupport,
    builtin_catalog,
    builtin_texts,
    compare_models,
    find_model,
    list_models,
    new_rows,
    parse_catalog,
    read_reported_models,
)

CATALOG = builtin_catalog()


def test_list_models_returns_every_model_in_catalog_order() -> None:
    listed_rows = [find_model(CATALOG, listed.id) for listed in list_models(CATALOG)]
    assert list(dict.fromkeys(row.id for row in listed_rows if row)) == list(CATALOG.models)


def test_families_are_listed_by_the_ids_of_their_models() -> None:
    listings = {listed.id: listed for listed in list_models(CATALOG)}
    assert "magistral" not in listings
    assert listings["magistral-medium-latest"].providers == ("mistral",)
    assert (listings["qwen-plus"].providers, listings["qwen-plus"].family) == (("dashscope",), False)
    assert (listings["seed-oss"].family, listings["seed-oss"].providers[0]) == (True, "vllm")


def test_retired_models_are_left_out_from_their_date_on_unless_a_local_server_may_have_them() -> None:
    before, after = (
        {listed.id: listed for listed in list_models(CATALOG, today=today)}
        for today in ("2026-07-23", "2026-07-24")
    )
    assert before["deepseek-r1"].providers == ("deepseek", "openrouter", "together", "ollama")
    assert after["deepseek-r1"].providers == ("ollama",)
    assert "deepseek-v3.2" in before
    assert "deepseek-v3.2" not in after


def test_provider_that_alone_retired_a_model_is_left_out() -> None:
    listed = {row.id: row.providers for row in list_models(CATALOG, today="2026-11-01")}
    assert "vertex" not in listed["gemini-2.5-pro"]
    assert "gemini" in listed["gemini-2.5-pro"]


def test_list_models_filters_thinking_models() -> None:
    """R041, R044, K20: the table says for which models a thinking toggle makes sense."""
    thinking = list_models(CATALOG, thinking=True)
    assert {listed.id for listed in thinking}.isdisjoint({"gpt-4o", "gpt-4.1", "kimi-k2", "qwen3-instruct"})
    opus = next(listed for listed in thinking if listed.id == "claude-opus-4.5")
    assert opus.providers == ("anthropic", "openrouter")
    assert opus.with_thinking == ("anthropic",)
    assert (opus.thinking, opus.can_be_off, opus.on_by_default) == (ThinkingSupport.OPTIONAL, True, False)
    kimi = next(listed for listed in thinking if listed.id == "kimi-k3")
    assert (kimi.can_be_off, kimi.with_thinking) == (False, ("moonshot", "openrouter"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            '{"data":[{"id":"claude-opus-5","type":"model","max_tokens":128000,"capabilities":{"thinking":'
            '{"supported":true,"types":{"adaptive":{"supported":true},"enabled":{"supported":false},'
            '"disabled":{"supported":true}}},"effort":{"supported":true,"low":{"supported":true},'
            '"max":{"supported":true},"xhigh":{"supported":false}}}}],"has_more":false}',
            ReportedModel("claude-opus-5", True, True, None, ("low", "max"), 128_000),
            id="anthropic",
        ),
        pytest.param(
            '{"data":[{"id":"claude-x","capabilities":{"thinking":{"supported":true}}}]}',
            ReportedModel("claude-x", True),
            id="anthropic-short",
        ),
        pytest.param(
            '{"data":[{"id":"openai/gpt-5","reasoning":{"mandatory":true,"default_enabled":true,'
            '"supported_efforts":["high","low","none"],"supports_max_tokens":false}}]}',
            ReportedModel("openai/gpt-5", True, False, True, ("low", "high")),
            id="openrouter",
        ),
        pytest.param(
            '{"data":[{"id":"a/b","reasoning":{"supported_efforts":null}}]}',
            ReportedModel("a/b", True),
            id="openrouter-bare",
        ),
        pytest.param(
            '{"data":[{"id":"a/b","supported_parameters":["tools"]}]}',
            ReportedModel("a/b", False),
            id="openrouter-without",
        ),
        pytest.param(
            '{"object":"list","data":[{"id":"gpt-5","owned_by":"x"}]}', ReportedModel("gpt-5"), id="openai"
        ),
        pytest.param(
            '{"object":"list","data":[{"id":"gpt-5","shutdown_date":"2026-12-11"}]}',
            ReportedModel("gpt-5", retires="2026-12-11"),
            id="openai-with-a-shutdown-date",
        ),
        pytest.param(
            '{"models":[{"name":"models/gemini-2.5-pro","outputTokenLimit":65536,"thinking":true}]}',
            ReportedModel("gemini-2.5-pro", True, max_output_tokens=65_536),
            id="gemini",
        ),
        pytest.param(
            '{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":1}]}',
            ReportedModel("qwen3:8b"),
            id="ollama",
        ),
        pytest.param(
            '{"models":[{"name":"qwen3:8b","capabilities":["completion","thinking"]}]}',
            ReportedModel("qwen3:8b", True),
            id="ollama-with-capabilities",
        ),
        pytest.param(
            '{"data":[{"id":"mistral-small-4","capabilities":{"reasoning":true,"vision":false}}]}',
            ReportedModel("mistral-small-4", True),
            id="mistral",
        ),
    ],
)
def test_read_reported_models_in_every_format(body: str, expected: ReportedModel) -> None:
    assert read_reported_models(body) == [expected]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "<html>",
            "The response is not a list of models: JSON is malformed: invalid character (byte "
            "0). Check models_path in the provider's row.",
        ),
        (
            '{"error":{}}',
            "The response is not a list of models: it has neither `data` nor `models`. Check "
            "models_path in the provider's row.",
        ),
    ],
)
def test_a_response_without_models_is_refused(body: str, message: str) -> None:
    with pytest.raises(NotAResponse) as error_info:
        read_reported_models(body)
    assert str(error_info.value) == message


def test_compare_models_finds_new_gone_and_changed() -> None:
    difference_found = compare_models(
        CATALOG,
        "cohere",
        [
            ReportedModel("command-z", True),
            ReportedModel("command-a-reasoning-12-2026", False, max_output_tokens=32_000),
        ],
    )
    assert difference_found == CatalogDifference(
        new=("command-z",),
        gone=("command-a-reasoning-08-2025", "command-a-plus-05-2026"),
        changed=(
            FieldChange("command-a-reasoning-12-2026", "command-a-reasoning", "thinking", "yes", "no"),
            FieldChange(
                "command-a-reasoning-12-2026", "command-a-reasoning", "max_output_tokens", "unknown", "32000"
            ),
        ),
    )


def test_compare_models_reports_changed_fields() -> None:
    difference_found = compare_models(
        CATALOG,
        "openrouter",
        [ReportedModel("openai/gpt-5", True, True, False, ("low", "high")), ReportedModel("openai/gpt-5.1")],
    )
    assert difference_found.changed == (
        FieldChange("openai/gpt-5", "gpt-5", "can_be_off", "no", "yes"),
        FieldChange("openai/gpt-5", "gpt-5", "on_by_default", "yes", "no"),
        FieldChange("openai/gpt-5", "gpt-5", "efforts", "minimal, low, medium, high", "low, high"),
    )


def test_compare_models_reports_another_shutdown_date() -> None:
    reported = [ReportedModel("gpt-5", retires="2026-12-11"), ReportedModel("gpt-5.5", retires="2027-06-01")]
    changes = compare_models(CATALOG, "openai", reported).changed
    assert changes == (FieldChange("gpt-5.5", "gpt-5.5", "retires", "unknown", "2027-06-01"),)


def test_snapshots_and_tags_count_as_their_family() -> None:
    gone = compare_models(CATALOG, "openai", [ReportedModel("gpt-5-2025-08-07")]).gone
    assert "gpt-5" not in gone
    assert "gpt-5-mini" in gone
    assert (
        "claude-opus-4-20250514"
        not in compare_models(CATALOG, "anthropic", [ReportedModel("claude-opus-4")]).gone
    )
    assert "deepseek-r1" not in compare_models(CATALOG, "ollama", [ReportedModel("deepseek-r1:8b")]).gone


def test_compare_models_without_differences() -> None:
    reported = [
        ReportedModel(model.at["deepseek"], True, model.off != "", model.on_by_default)
        for model in CATALOG.models.values()
        if "deepseek" in model.at
    ]
    assert compare_models(CATALOG, "deepseek", reported) == CatalogDifference((), (), ())


def test_rows_for_new_models_are_a_catalog_that_can_be_used() -> None:
    """Only models that are new and of which the list says whether they think get a row."""
    catalog = builtin_catalog()
    provider = catalog.providers["openrouter"]
    text = new_rows(
        catalog,
        provider,
        [
            ReportedModel("acme/anvil", thinks=True, can_be_off=True, efforts=("low",), max_output_tokens=9),
            ReportedModel("acme/hammer", thinks=True, can_be_off=False),
            ReportedModel("acme/plain", thinks=False),
            ReportedModel("acme/unknown"),
            ReportedModel("openai/gpt-5", thinks=True),
        ],
        "2026-11-17",
    )
    rows = parse_catalog(*builtin_texts(), text).models
    assert set(rows) - set(catalog.models) == {"acme/anvil", "acme/hammer", "acme/plain"}
    assert (rows["acme/anvil"].thinking, rows["acme/anvil"].efforts) == (ThinkingSupport.OPTIONAL, ("low",))
    assert rows["acme/anvil"].max_output_tokens == 9
    assert (rows["acme/hammer"].thinking, rows["acme/hammer"].off) == (ThinkingSupport.ALWAYS, "")
    assert rows["acme/hammer"].efforts == provider.efforts
    assert rows["acme/plain"].thinking is ThinkingSupport.NONE
    assert rows["acme/plain"].fact.as_of == "2026-11-17"

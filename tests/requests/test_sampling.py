"""Sampling parameters: sent where they are taken, left out with a note where they are not."""

import json
from typing import Any

import pytest

from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare
from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import RequestOptions, ToolDefinition, merge_options
from thinkaloud.core.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.dialects import DIALECTS, build_request

ALL: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "stop": ("END",), "seed": 7}


def prepared(model: str, thinking: str | int | None = None, **options: Any) -> PreparedRequest:
    catalog: Catalog = options.pop("catalog", builtin_catalog())
    settings = Options(catalog=catalog, **options)
    return prepare("Hi", model=model, thinking=thinking, options=settings, have_key=lambda _: True)


def body(request: PreparedRequest) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(build_request(request.route, request.request).body)
    return decoded


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai-chat/gpt-4o", {"temperature": 0.5, "top_p": 0.9, "stop": ["END"], "seed": 7}),
        ("mistral/mistral-large-3", {"temperature": 0.5, "stop": ["END"], "random_seed": 7}),
        ("cohere/command-a-03-2025", {"temperature": 0.5, "p": 0.9, "stop_sequences": ["END"], "seed": 7}),
        (
            "ollama/gemma",
            {"options": {"temperature": 0.5, "top_p": 0.9, "stop": ["END"], "seed": 7}},
        ),
    ],
)
def test_each_dialect_has_its_own_place_for_sampling(model: str, expected: dict[str, Any]) -> None:
    request = prepared(model, **ALL)
    assert body(request).items() >= expected.items()
    assert request.notes == ()


@pytest.mark.parametrize(
    ("thinking", "reasoning", "inference"),
    [
        (None, {}, {"maxTokens": 900, "temperature": 0.5, "topP": 0.9}),
        ("off", {"type": "disabled"}, {"maxTokens": 900, "temperature": 0.5, "topP": 0.9}),
        (
            "low",
            {"type": "enabled", "maxReasoningEffort": "low"},
            {"maxTokens": 900, "temperature": 0.5, "topP": 0.9},
        ),
        ("high", {"type": "enabled", "maxReasoningEffort": "high"}, {}),
    ],
)
def test_nova_thinks_and_takes_no_limits_with_the_highest_effort(
    thinking: str | None, reasoning: dict[str, Any], inference: dict[str, Any]
) -> None:
    request = prepared("nova-2", thinking, temperature=0.5, top_p=0.9, max_tokens=900)
    sent = body(request)
    assert sent.get("additionalModelRequestFields", {}).get("reasoningConfig", {}) == reasoning
    assert sent.get("inferenceConfig", {}) == inference
    assert sum("with the effort high" in str(note) for note in request.notes) == (
        3 if thinking == "high" else 0
    )


def test_gemini_takes_sampling_while_it_thinks() -> None:
    config = body(prepared("gemini/gemini-3-pro", "high", **ALL))["generationConfig"]
    assert {"temperature": 0.5, "topP": 0.9, "stopSequences": ["END"], "seed": 7}.items() <= config.items()


@pytest.mark.parametrize(
    ("model", "thinking", "sent", "missing"),
    [
        ("openai/gpt-5", None, (), ("temperature", "top_p", "stop", "seed")),
        ("openai/gpt-5.1", "off", ("temperature", "top_p"), ("stop", "seed")),
        ("openai/gpt-5.1", "high", (), ("temperature", "top_p", "stop", "seed")),
        ("claude-opus-4.5", "off", ("temperature", "stop_sequences"), ("top_p", "seed")),
        ("claude-opus-4.5", "high", ("stop_sequences",), ("temperature", "top_p", "seed")),
        ("claude-opus-4.7", "off", ("stop_sequences",), ("temperature", "top_p", "seed")),
        ("deepseek/deepseek-v4-pro", "high", ("stop", "seed"), ("temperature", "top_p")),
    ],
)
def test_what_a_model_does_not_take_is_left_out_with_a_note(
    model: str, thinking: str | None, sent: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    request = prepared(model, thinking, **ALL)
    fields = set(body(request))
    assert fields >= set(sent)
    assert not fields & set(missing)
    noted = [
        name for name in missing if any(f"so {name} was not sent" in str(note) for note in request.notes)
    ]
    assert noted == [*missing]


def test_a_default_that_is_not_taken_needs_no_note() -> None:
    request = prepared("openai/gpt-5", temperature=1, top_p=1)
    assert not {"temperature", "top_p"} & set(body(request))
    assert not any("not sent" in str(note) for note in request.notes)


def test_temperature_above_the_highest_is_lowered_with_a_note() -> None:
    request = prepared("claude-haiku-4.5", temperature=1.5)
    assert body(request)["temperature"] == 1
    assert "anthropic takes temperatures up to 1, so 1 was sent instead of 1.5." in map(str, request.notes)


@pytest.mark.parametrize(("top_p", "sent"), [(1, 0.99), (0.001, 0.01), (0.5, 0.5)])
def test_top_p_is_kept_within_the_range_of_the_provider_with_a_note(top_p: float, sent: float) -> None:
    request = prepared("cohere/command-a-03-2025", top_p=top_p)
    assert body(request)["p"] == sent
    note = f"cohere takes top_p from 0.01 to 0.99, so {sent:g} was sent instead of {top_p:g}."
    assert tuple(map(str, request.notes)) == (() if top_p == sent else (note,))


def test_stop_sequences_above_the_limit_of_the_provider_are_left_out_with_a_note() -> None:
    request = prepared("cohere/command-a-03-2025", stop=tuple("abcdef"))
    assert body(request)["stop_sequences"] == list("abcde")
    assert tuple(map(str, request.notes)) == (
        "cohere takes up to 5 stop sequences, so only the first 5 were sent.",
    )


@pytest.mark.parametrize("bad", [{"temperature": 2.5}, {"top_p": 0}, {"stop": ("",)}, {"seed": -1}])
def test_values_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=f"Invalid sampling parameter.*{next(iter(bad))}"):
        prepared("openai/gpt-4o", **bad)


@pytest.mark.parametrize("dialect", sorted(name for name, row in DIALECTS.items() if row.build_request))
def test_extra_fields_are_sent_in_every_dialect_and_replace_nothing(dialect: str) -> None:
    row = f'[providers.any]\ndialect = "{dialect}"\nbase_url = "http://127.0.0.1:1"\nreplay = "none"\n'
    row += 'auth = "none"\nlocal = true\nfact = { as_of = "2026-01-01", source = "test" }\n'
    catalog = parse_catalog(*builtin_texts(), row)
    request = prepared("any/m", extra={"deep.er": [1], "flat": None}, catalog=catalog)
    assert (body(request)["deep"], body(request)["flat"]) == ({"er": [1]}, None)
    taken = next(iter(body(request)))
    with pytest.raises(Refused, match=f"extra field '{taken}' is part of the request already"):
        body(prepared("any/m", extra={taken: "x"}, catalog=catalog))


def test_settings_of_a_question_go_over_those_of_an_agent() -> None:
    agent = RequestOptions(temperature=0.3, stop=("END",), extra={"a": 1, "b": 1})
    merged = merge_options(agent, RequestOptions(temperature=0, seed=1, extra={"b": 2}))
    assert merged == RequestOptions(temperature=0, stop=("END",), seed=1, extra={"a": 1, "b": 2})


WEATHER = ToolDefinition("get_weather")


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("openai-chat/gpt-4o", {"parallel_tool_calls": False}),
        ("openai/gpt-5.1", {"parallel_tool_calls": False}),
        ("claude-opus-4.5", {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ],
)
def test_one_call_at_a_time_is_asked_for_where_the_dialect_has_a_field(
    model: str, fields: dict[str, Any]
) -> None:
    request = prepared(model, parallel_tool_calls=False, tools=(WEATHER,))
    assert body(request).items() >= fields.items()
    assert not any("parallel_tool_calls" in str(note) for note in request.notes)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", {"type": "any", "disable_parallel_tool_use": True}),
        ("get_weather", {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}),
        ("none", {"type": "none"}),
    ],
)
def test_claude_gets_it_as_part_of_the_tool_choice(choice: str, sent: dict[str, str]) -> None:
    request = prepared(
        "claude-opus-4.5", "off", parallel_tool_calls=False, tools=(WEATHER,), tool_choice=choice
    )
    assert body(request)["tool_choice"] == sent


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("gemini/gemini-3-pro", "gemini has no parameter for parallel_tool_calls"),
        ("deepseek/deepseek-v4-pro", "deepseek has no parameter for parallel_tool_calls"),
        ("openai/o3", "o3 does not take parallel_tool_calls"),
    ],
)
def test_one_call_at_a_time_is_left_out_with_a_note_where_it_is_not_taken(model: str, reason: str) -> None:
    for value, noted in ((False, True), (True, False)):
        request = prepared(model, parallel_tool_calls=value, tools=(WEATHER,))
        assert "parallel" not in json.dumps(body(request))
        assert (f"{reason}, so parallel_tool_calls was not sent." in map(str, request.notes)) == noted


@pytest.mark.parametrize("model", ["openai/gpt-5.1", "gemini/gemini-3-pro", "claude-opus-4.5"])
def test_one_call_at_a_time_means_nothing_without_tools(model: str) -> None:
    request = prepared(model, parallel_tool_calls=False)
    assert not {"parallel_tool_calls", "tool_choice"} & set(body(request))
    assert not any("parallel_tool_calls" in str(note) for note in request.notes)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("openai-chat/gpt-5.1", ("verbosity",)),
        ("openrouter/openai/gpt-5.1", ("verbosity",)),
        ("openai/gpt-5.1", ("text", "verbosity")),
        ("azure/gpt-5.1", ("text", "verbosity")),
    ],
)
def test_verbosity_is_sent_where_the_provider_has_a_field(model: str, path: tuple[str, ...]) -> None:
    value: Any = body(prepared(model, verbosity="low"))
    for name in path:
        value = value[name]
    assert value == "low"


def test_verbosity_and_the_shape_of_the_answer_are_sent_together() -> None:
    text = body(prepared("openai/gpt-5.1", verbosity="low", output_schema={"type": "object"}))["text"]
    assert (text["verbosity"], text["format"]["type"]) == ("low", "json_schema")


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("claude-opus-4.5", "anthropic has no parameter for verbosity"),
        ("deepseek/deepseek-v4-pro", "deepseek has no parameter for verbosity"),
        ("openai/gpt-4o", "gpt-4o does not take verbosity"),
        ("openai/o3", "o3 does not take verbosity"),
    ],
)
def test_verbosity_is_left_out_with_a_note_where_it_is_not_taken(model: str, reason: str) -> None:
    for value, noted in (("high", True), ("medium", False)):
        request = prepared(model, verbosity=value)
        assert "verbosity" not in json.dumps(body(request))
        assert (f"{reason}, so verbosity was not sent." in map(str, request.notes)) == noted


def test_a_row_that_refuses_more_than_its_model_keeps_what_that_refuses() -> None:
    assert "temperature" not in body(prepared("openai/o3", temperature=0.5))

"""Anthropic simulator: every rule with an accepted and a refused request, and the stream format."""

import copy
import json
from typing import Any

import pytest
from tests.simulators.rule_cases import (
    CLOSED_SCHEMA,
    KEY_HEADERS,
    OPEN_SCHEMA,
    BuildRequest,
    HttpReply,
    Json,
    RuleCase,
    check_case,
    get_path,
    post_json,
    request_once,
    unchanged,
    with_changes,
    with_fields,
    with_simulator,
)

from thinkaloud.simulators import Simulator

PATH = "/v1/messages"
TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather in a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
MANUAL: Json = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "tools": TOOLS,
    "messages": [{"role": "user", "content": "Is it warm in Lima?"}],
}
BOUND = with_fields(MANUAL, model="claude-opus-5-5", thinking={"type": "adaptive", "display": "summarized"})
PLAIN = with_fields(MANUAL, thinking=None, tools=None)
OPUS_5 = with_fields(PLAIN, model="claude-opus-5")
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
THREADED = with_fields(BOUND, thread={"type": "create"})
THREADS = KEY_HEADERS | {"anthropic-beta": "message-threads-2026-08-12"}
BETA = KEY_HEADERS | {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


OPEN_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_x", "name": "f", "input": {}}],
}


def with_tool_results(body: Json, message: Json) -> Json:
    """Return the request with the results of the calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "18 degrees"}
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    more = [{"role": "assistant", "content": message["content"]}, {"role": "user", "content": results}]
    return with_fields(body, messages=[*body["messages"], *copy.deepcopy(more)])


def with_block(number: int, **fields: object) -> BuildRequest:
    """Return the request with results and a changed block in the assistant message; None removes a field."""

    def ask(body: Json, message: Json) -> Json:
        request = with_tool_results(body, message)
        blocks = request["messages"][1]["content"]
        blocks[number] = with_fields(blocks[number], **fields)
        return request

    return ask


def without_thought(body: Json, message: Json) -> Json:
    request = with_tool_results(body, message)
    del request["messages"][1]["content"][0]
    return request


def with_messages(*more: Json) -> BuildRequest:
    return lambda body, message: with_fields(
        with_tool_results(body, message), messages=[*body["messages"], *more]
    )


def result_of(call: str) -> BuildRequest:
    def ask(body: Json, message: Json) -> Json:
        request = with_tool_results(body, message)
        request["messages"].append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": ""}]}
        )
        return request

    return ask


def call_twice(body: Json, message: Json) -> Json:
    request = with_tool_results(body, message)
    request["messages"][1]["content"].append(request["messages"][1]["content"][-1])
    return request


def text_before_result(body: Json, message: Json) -> Json:
    request = with_tool_results(body, message)
    request["messages"][-1]["content"].insert(0, {"type": "text", "text": "Here it is:"})
    return request


def with_empty_text(body: Json, message: Json) -> Json:
    request = with_tool_results(body, message)
    request["messages"][-1]["content"].append({"type": "text", "text": ""})
    return request


def continued(**fields: Any) -> BuildRequest:
    """Return the request that continues the thread: only what is new, and these fields."""

    def ask(body: Json, message: Json) -> Json:
        new = with_tool_results(body, message)["messages"][-1:]
        thread = {"type": "continue", "previous_message_id": message["id"]}
        return with_fields(body, **{"messages": new, "tools": None, "thread": thread, **fields})

    return ask


MARKED = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}

CASES = [
    RuleCase(
        "anthropic.key",
        unchanged,
        unchanged,
        "invalid x-api-key",
        401,
        refused_headers=KEY_HEADERS | {"x-api-key": "bad"},
    ),
    RuleCase(
        "anthropic.version", unchanged, unchanged, "anthropic-version", refused_headers={"x-api-key": "k"}
    ),
    RuleCase(
        "anthropic.shape", unchanged, with_changes(reasoning_effort="low"), "reasoning_effort: Extra inputs"
    ),
    RuleCase("anthropic.model", unchanged, with_changes(model="claude-none"), "model: claude-none", 404),
    RuleCase(
        "anthropic.thinking-shape",
        with_changes(thinking={"type": "enabled", "budget_tokens": 1024, "display": "omitted"}),
        with_changes(thinking={"type": "on"}),
        "thinking: Input tag 'on'",
    ),
    RuleCase(
        "anthropic.binding-header",
        with_changes(thinking=DROP),
        with_changes(thinking=DROP),
        "thinking.block_binding",
        opening=BOUND,
        headers=BETA,
        refused_headers=KEY_HEADERS,
    ),
    RuleCase(
        "anthropic.thread-header",
        unchanged,
        continued(),
        "thread: Extra inputs are not permitted",
        opening=THREADED,
        headers=THREADS,
        refused_headers=KEY_HEADERS,
    ),
    RuleCase(
        "anthropic.thread-fields",
        unchanged,
        with_changes(fallbacks=[{"model": "claude-opus-5"}]),
        "not supported together with: fallbacks",
        opening=THREADED,
        headers=THREADS,
    ),
    RuleCase(
        "anthropic.thread-known",
        continued(),
        continued(thread={"type": "continue", "previous_message_id": "msg_none"}),
        "No thread was found for 'msg_none'",
        404,
        opening=THREADED,
        headers=THREADS,
    ),
    RuleCase(
        "anthropic.thread-last",
        continued(),
        continued(),
        "has already been continued",
        opening=THREADED,
        headers=THREADS,
    ),
    RuleCase(
        "anthropic.thread-repeated",
        unchanged,
        continued(tools=TOOLS),
        "tools: may not be set",
        opening=THREADED,
        headers=THREADS,
    ),
    RuleCase(
        "anthropic.thread-fixed",
        unchanged,
        continued(output_config={"effort": "low"}),
        "differing field(s): output_config",
        opening=THREADED,
        headers=THREADS,
    ),
    RuleCase(
        "anthropic.thinking-type",
        with_changes(thinking={"type": "adaptive"}),
        with_changes(thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model.',
        opening=BOUND,
    ),
    RuleCase(
        "anthropic.least-budget",
        with_changes(thinking={"type": "enabled", "budget_tokens": 1024}),
        with_changes(thinking={"type": "enabled", "budget_tokens": 1023}),
        "greater than or equal to 1024",
    ),
    RuleCase(
        "anthropic.most-budget",
        with_changes(thinking={"type": "enabled", "budget_tokens": 4095}),
        with_changes(thinking={"type": "enabled", "budget_tokens": 4096}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    RuleCase(
        "anthropic.max-tokens",
        with_changes(max_tokens=64_000),
        with_changes(max_tokens=64_001),
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens",
    ),
    RuleCase(
        "anthropic.one-sampling",
        with_changes(temperature=0.5),
        with_changes(temperature=0.5, top_p=0.5),
        "`temperature` and `top_p` cannot both be specified",
        opening=PLAIN,
    ),
    RuleCase(
        "anthropic.call-ids",
        with_tool_results,
        call_twice,
        "`tool_use` ids must be unique",
    ),
    RuleCase(
        "anthropic.results-first",
        with_tool_results,
        text_before_result,
        "`tool_result` blocks must come before all other content",
    ),
    RuleCase(
        "anthropic.effort",
        with_changes(output_config={"effort": "max"}),
        with_changes(output_config={"effort": "max"}, thinking={"type": "disabled"}),
        "'max' is not supported",
        opening=OPUS_5,
    ),
    RuleCase(
        "anthropic.forced-tool",
        with_changes(tool_choice={"type": "any"}, thinking=None),
        with_changes(tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    RuleCase(
        "anthropic.sampling",
        with_changes(temperature=1),
        with_changes(temperature=0.2),
        "`temperature` may only be set",
    ),
    RuleCase(
        "anthropic.output",
        with_changes(output_config={"format": {"type": "json_schema", "schema": CLOSED_SCHEMA}}),
        with_changes(output_config={"format": {"type": "json_schema", "schema": OPEN_SCHEMA}}),
        "'additionalProperties' must be explicitly set to false",
    ),
    RuleCase(
        "anthropic.prefill",
        unchanged,
        with_messages({"role": "assistant", "content": "It is"}),
        "does not support assistant message prefill",
        opening=OPUS_5,
    ),
    RuleCase(
        "anthropic.cache-marks",
        unchanged,
        with_messages({"role": "user", "content": [MARKED] * 5}),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    RuleCase(
        "anthropic.cache-empty",
        unchanged,
        with_messages({"role": "user", "content": [{**MARKED, "text": ""}]}),
        "cache_control cannot be set for empty text blocks",
    ),
    RuleCase(
        "anthropic.message-shape",
        with_tool_results,
        with_messages({"role": "user", "content": "Hi", "reasoning_content": ""}),
        "messages.1.reasoning_content: Extra inputs",
    ),
    RuleCase(
        "anthropic.block-shape", with_tool_results, with_empty_text, "text content blocks must be non-empty"
    ),
    RuleCase(
        "anthropic.unsigned",
        with_tool_results,
        with_block(0, signature=None),
        "thinking.signature: Field required",
    ),
    RuleCase(
        "anthropic.altered",
        with_tool_results,
        with_block(0, thinking="Other words"),
        "Invalid `signature` in `thinking`",
    ),
    RuleCase(
        "anthropic.calls-open",
        with_tool_results,
        lambda body, message: with_fields(body, messages=[*body["messages"], OPEN_CALL, *body["messages"]]),
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_x",
    ),
    RuleCase(
        "anthropic.results-alone", with_tool_results, result_of("toolu_none"), "unexpected `tool_use_id`"
    ),
    RuleCase(
        "anthropic.thinking-first",
        with_tool_results,
        without_thought,
        "Expected `thinking` or `redacted_thinking`",
    ),
    RuleCase(
        "anthropic.thinking-left-out",
        with_tool_results,
        without_thought,
        "messages.1.content.0.type",
        opening=BOUND,
    ),
    RuleCase(
        "anthropic.moved",
        with_tool_results,
        lambda body, message: with_fields(with_tool_results(body, message), system="It is Tuesday."),
        "messages.1.content.0: Invalid signature in thinking block. The block is bound to a different",
        opening=BOUND,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_anthropic_rule(case: RuleCase) -> None:
    def message(error: Json) -> str:
        assert error["type"] == "error"
        return f"{error['error']['type']}: {error['error']['message']}"

    check_case("anthropic", PATH, MANUAL, case, message)


def names_of(stream: HttpReply) -> list[str]:
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    return [
        line.removeprefix("event: ") for line in stream.body.decode().splitlines() if line.startswith("event")
    ]


def data_of(stream: HttpReply) -> list[Json]:
    lines = stream.body.decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_anthropic_stream_events() -> None:
    turn = {"thinking": "Look first.", "text": "Wait.", "tool_calls": [{"name": "get_weather"}]}
    stream = request_once("anthropic", PATH, with_fields(MANUAL, stream=True), script=[turn])
    expected = ["message_start"]
    expected += ["content_block_start", *["content_block_delta"] * 3, "content_block_stop", "ping"]
    expected += ["content_block_start", "content_block_delta", "content_block_stop"]
    expected += ["content_block_start", *["content_block_delta"] * 3, "content_block_stop"]
    expected += ["message_delta", "message_stop"]
    assert names_of(stream) == expected
    frames = data_of(stream)
    assert [frame["type"] for frame in frames] == expected
    deltas = [frame["delta"]["type"] for frame in frames if frame["type"] == "content_block_delta"]
    assert deltas[:3] == ["thinking_delta", "thinking_delta", "signature_delta"]
    assert frames[-2]["delta"]["stop_reason"] == "tool_use"
    assert frames[-2]["usage"]["output_tokens_details"] == {"thinking_tokens": 3}


def block_text(block: Json) -> str:
    return "".join(str(block.get(name, "")) for name in ("thinking", "signature", "text"))


def test_streamed_and_whole_are_the_same_message() -> None:
    turn = {"thinking": ["One.", "Two."], "text": "Done."}
    whole = request_once("anthropic", PATH, MANUAL, script=[turn]).json
    frames = data_of(request_once("anthropic", PATH, with_fields(MANUAL, stream=True), script=[turn]))
    texts = {0: "", 1: "", 2: ""}
    for frame in frames:
        if frame["type"] == "content_block_delta":
            delta = frame["delta"]
            texts[frame["index"]] += (
                delta.get("thinking", "") + delta.get("text", "") + delta.get("signature", "")
            )
    spoken = [
        block.get("thinking", "") + block.get("signature", "") + block.get("text", "")
        for block in whole["content"]
    ]
    assert list(texts.values()) == spoken
    assert frames[0]["message"]["id"] == whole["id"]


def test_omitted_thinking_text_leaves_a_signed_empty_block() -> None:
    body = with_fields(BOUND, thinking={"type": "adaptive"}, stream=True)
    frames = data_of(
        request_once("anthropic", PATH, body, script=[{"thinking": "Hidden.", "text": "Shown."}])
    )
    first = [frame["delta"] for frame in frames if frame.get("index") == 0 and "delta" in frame]
    assert [delta["type"] for delta in first] == ["signature_delta"]


def test_a_redacted_thought_is_complete_in_its_start_event() -> None:
    turn = {"thinking": "Hidden.", "redacted": True, "text": "Shown."}
    frames = data_of(request_once("anthropic", PATH, with_fields(MANUAL, stream=True), script=[turn]))
    started = frames[1]["content_block"]
    assert (started["type"], sorted(started)) == ("redacted_thinking", ["data", "type"])
    assert frames[2] == {"type": "content_block_stop", "index": 0}


def test_a_redacted_thought_is_accepted_back_only_unaltered() -> None:
    turn = {"thinking": "x", "redacted": True, "tool_calls": [{"name": "get_weather"}]}

    async def scenario(server: Simulator) -> list[int]:
        first = (await post_json(server, PATH, MANUAL)).json
        good = await post_json(server, PATH, with_tool_results(MANUAL, first))
        bad = await post_json(server, PATH, with_block(0, data="AAAA")(MANUAL, first))
        return [good.status, bad.status]

    assert with_simulator("anthropic", scenario, script=[turn]) == [200, 400]


def test_drop_block_drops_and_reports_a_moved_thought() -> None:
    async def scenario(server: Simulator) -> list[Json]:
        opening = with_fields(BOUND, thinking=DROP | {"display": "summarized"})
        first = (await post_json(server, PATH, opening, BETA)).json
        assert first["input_transformations"] == []
        after = await post_json(
            server, PATH, with_fields(with_tool_results(opening, first), system="Other."), BETA
        )
        assert after.status == 200, after.body
        dropped: list[Json] = after.json["input_transformations"]
        return dropped

    assert with_simulator("anthropic", scenario) == [
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    ]


@pytest.mark.parametrize("change", ["tools", "history", "system"])
def test_changes_before_a_bound_thought_invalidate_it_and_later_ones_do_not(change: str) -> None:
    async def scenario(server: Simulator) -> tuple[int, int]:
        first = (await post_json(server, PATH, BOUND)).json
        request = with_tool_results(BOUND, first)
        good = copy.deepcopy(request)
        good["messages"][-1]["content"].append({"type": "text", "text": "And tell me the date."})
        bad = copy.deepcopy(request)
        if change == "tools":
            bad["tools"].append(TOOLS[0] | {"name": "other"})
        elif change == "history":
            bad["messages"][0]["content"] += " Please."
        else:
            bad["system"] = "It is Tuesday."
        return (await post_json(server, PATH, good)).status, (await post_json(server, PATH, bad)).status

    assert with_simulator("anthropic", scenario) == (200, 400)


def test_a_long_bound_conversation_is_accepted_also_by_a_model_without_binding() -> None:
    async def scenario(server: Simulator) -> None:
        request = BOUND
        for turn in range(4):
            request = with_tool_results(request, (await post_json(server, PATH, request)).json)
            message = (await post_json(server, PATH, request)).json
            more = [
                {"role": "assistant", "content": message["content"]},
                {"role": "user", "content": f"And {turn}?"},
            ]
            request = with_fields(request, messages=[*request["messages"], *more])
        other = with_fields(request, model="claude-sonnet-4-6")
        assert (await post_json(server, PATH, other)).status == 200
        assert server.refusals == []

    with_simulator("anthropic", scenario)


def test_models_endpoint_lists_thinking_capabilities() -> None:
    async def scenario(server: Simulator) -> tuple[HttpReply, HttpReply, HttpReply]:
        names = ("/v1/models", "/v1/models/claude-sonnet-5-5", "/v1/models/claude-none")
        listed, one, none = [await get_path(server, name) for name in names]
        return listed, one, none

    listed, one, none = with_simulator("anthropic", scenario)
    assert len(listed.json["data"]) > 20
    types = one.json["capabilities"]["thinking"]["types"]
    assert {name for name, support in types.items() if support["supported"]} == {"adaptive", "between_tools"}
    assert (none.status, none.json["error"]["type"]) == (404, "not_found_error")


ACCEPTED_TYPES = {
    "claude-sonnet-4-5": {"enabled", "disabled"},
    "claude-opus-4-6": {"adaptive", "enabled", "disabled"},
    "claude-opus-4-7": {"adaptive", "disabled"},
    "claude-mythos-preview": {"adaptive", "enabled"},
    "claude-opus-5": {"adaptive", "disabled"},
    "claude-haiku-5-5": {"adaptive", "disabled"},
    "claude-sonnet-5-5": {"adaptive", "between_tools"},
    "claude-opus-5-5": {"adaptive"},
    "claude-fable-5": {"adaptive"},
}


def test_each_model_accepts_its_own_thinking_types() -> None:
    async def scenario(server: Simulator) -> dict[str, set[str]]:
        thinking_types: dict[str, set[str]] = {}
        for model in ACCEPTED_TYPES:
            for kind in ("adaptive", "enabled", "disabled", "between_tools"):
                thinking = {"type": kind} | ({"budget_tokens": 1024} if kind == "enabled" else {})
                answer = await post_json(server, PATH, with_fields(PLAIN, model=model, thinking=thinking))
                if answer.status == 200:
                    thinking_types.setdefault(model, set()).add(kind)
        return thinking_types

    assert with_simulator("anthropic", scenario) == ACCEPTED_TYPES


def test_count_tokens_has_the_rules_of_a_message() -> None:
    request = with_fields(MANUAL, max_tokens=None)
    counted = request_once("anthropic", f"{PATH}/count_tokens", request)
    message = request_once("anthropic", PATH, MANUAL).json
    assert counted.json == {"input_tokens": message["usage"]["input_tokens"]}
    refused = request_once("anthropic", f"{PATH}/count_tokens", with_fields(request, model="claude-none"))
    assert refused.status == 404

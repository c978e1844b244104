"""Bedrock simulator: every rule with an accepted and a refused request, and the event stream."""

import copy
import json

import pytest
from tests.simulators.rule_cases import (
    CLOSED_SCHEMA,
    OPEN_SCHEMA,
    Json,
    RuleCase,
    check_case,
    request_once,
    unchanged,
    with_changes,
    with_fields,
)

import thinkaloud
from thinkaloud.core.view.state import HiddenReason, hidden_reason
from thinkaloud.simulators.bedrock import MODELS

PATH = f"/model/{MODELS[0]}/converse"
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
SCHEMA = {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
OPENING: Json = {
    "messages": [{"role": "user", "content": [{"text": "Is it warm in Lima?"}]}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": SCHEMA}}]},
    "additionalModelRequestFields": THINKING,
}


def with_results(request: Json, response: Json, result: str = "18 degrees") -> Json:
    message = copy.deepcopy(response["output"]["message"])
    call_id = message["content"][-1]["toolUse"]["toolUseId"]
    answer = {"toolResult": {"toolUseId": call_id, "content": [{"text": result}]}}
    messages = [*request["messages"], message, {"role": "user", "content": [answer]}]
    return with_fields(request, messages=messages)


def blank_result(request: Json, response: Json) -> Json:
    return with_results(request, response, " ")


def without_result(request: Json, response: Json) -> Json:
    request = with_results(request, response)
    request["messages"][-1]["content"] = [{"text": "Well?"}]
    return request


def altered_thought(request: Json, response: Json) -> Json:
    request = with_results(request, response)
    request["messages"][1]["content"][0]["reasoningContent"]["reasoningText"]["text"] = "Other."
    return request


def without_thought(request: Json, response: Json) -> Json:
    request = with_results(request, response)
    del request["messages"][1]["content"][0]
    return request


def repeated(request: Json, _: Json) -> Json:
    return with_fields(request, messages=request["messages"] * 2)


def output_config(schema: Json) -> Json:
    structure = {"jsonSchema": {"name": "city", "schema": json.dumps(schema)}}
    return {"textFormat": {"type": "json_schema", "structure": structure}}


CASES: list[RuleCase] = [
    RuleCase(
        "bedrock.key",
        unchanged,
        unchanged,
        "security token",
        403,
        headers={"authorization": "AWS4-HMAC-SHA256 Credential=AKID/20261117/eu-west-1/bedrock/aws4_request"},
        refused_headers={},
    ),
    RuleCase("bedrock.model", unchanged, unchanged, "model identifier", refused_path="/model/none/converse"),
    RuleCase("bedrock.fields", unchanged, with_changes(max_tokens=1), "Unknown parameter in input"),
    RuleCase("bedrock.order", unchanged, repeated, "must alternate"),
    RuleCase(
        "bedrock.budget",
        with_changes(inferenceConfig={"maxTokens": 1025}),
        with_changes(inferenceConfig={"maxTokens": 1024}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    RuleCase(
        "bedrock.sampling",
        with_changes(inferenceConfig={"temperature": 1}),
        with_changes(inferenceConfig={"temperature": 0.5}),
        "`temperature` may only be set to 1",
    ),
    RuleCase(
        "bedrock.forced-tool",
        unchanged,
        with_changes(toolConfig=OPENING["toolConfig"] | {"toolChoice": {"any": {}}}),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    RuleCase(
        "bedrock.output",
        with_changes(outputConfig=output_config(CLOSED_SCHEMA)),
        with_changes(outputConfig=output_config(OPEN_SCHEMA)),
        "'additionalProperties' must be explicitly set to false",
    ),
    RuleCase("bedrock.blank", with_results, blank_result, "is blank"),
    RuleCase("bedrock.results", with_results, without_result, "Expected toolResult blocks"),
    RuleCase("bedrock.signature", with_results, altered_thought, "Invalid `signature`"),
    RuleCase("bedrock.thought-first", with_results, without_thought, "Expected `thinking`"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_bedrock_rule(case: RuleCase) -> None:
    check_case("bedrock", PATH, OPENING, case, lambda error: str(error["message"]))


NOVA: Json = {"messages": OPENING["messages"]}
NOVA_PATH = "/model/global.amazon.nova-2-lite-v1:0/converse"
HIGH = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}
NOVA_CASES = [
    RuleCase(
        "bedrock.nova",
        with_changes(additionalModelRequestFields=HIGH),
        with_changes(additionalModelRequestFields=HIGH, inferenceConfig={"maxTokens": 900}),
        "maxTokens must be unset",
    ),
    RuleCase(
        "bedrock.nova", unchanged, with_changes(additionalModelRequestFields=THINKING), "Malformed input"
    ),
    RuleCase(
        "bedrock.nova",
        with_changes(inferenceConfig={"temperature": 0.5, "topP": 0.9}),
        with_changes(additionalModelRequestFields={"reasoningConfig": {"type": "enabled"}}),
        "reasoning config value is invalid",
    ),
]


@pytest.mark.parametrize("case", NOVA_CASES)
def test_nova_rule(case: RuleCase) -> None:
    check_case("bedrock", NOVA_PATH, NOVA, case, lambda error: str(error["message"]))


def test_thought_of_nova_is_withheld() -> None:
    script = [{"thinking": "It is summer.", "text": "Yes, quite."}]
    for path in (NOVA_PATH, f"{NOVA_PATH}-stream"):
        reply = request_once("bedrock", path, {**NOVA, "additionalModelRequestFields": HIGH}, script=script)
        thought, text = thinkaloud.read(reply.body, "bedrock_converse").blocks
        assert (thought.text, hidden_reason(thought), text.text) == ("", HiddenReason.REDACTED, "Yes, quite.")


def test_event_stream_has_the_turn_of_the_whole_response() -> None:
    script = [{"thinking": "It is summer.", "text": "Yes, quite."}]
    whole = request_once("bedrock", PATH, OPENING, script=script)
    stream = request_once("bedrock", f"{PATH}-stream", OPENING, script=script)
    assert stream.headers["Content-Type"] == "application/vnd.amazon.eventstream"
    turns = [thinkaloud.read(reply.body, "bedrock_converse") for reply in (whole, stream)]
    assert {(turn.reasoning, turn.answer) for turn in turns} == {("It is summer.", "Yes, quite.")}

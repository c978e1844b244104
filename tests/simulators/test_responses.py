"""OpenAI Responses simulator: every rule with an accepted and a refused request, and the stream format."""

import copy
import json
from typing import Any

import pytest
from tests.simulators.rule_cases import (
    KEY_HEADERS,
    OPEN_SCHEMA,
    BuildRequest,
    Json,
    RuleCase,
    check_case,
    post_json,
    request_once,
    unchanged,
    with_changes,
    with_fields,
    with_simulator,
)

from thinkaloud.simulators import Simulator

PATH = "/v1/responses"
TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
OPENING: Json = {
    "model": "gpt-6-sol",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "medium", "summary": "auto"},
    "tools": [TOOL],
    "input": [{"role": "user", "content": "Is it warm in Lima?"}],
}
STORED = with_fields(OPENING, store=True)


def with_tool_results(body: Json, response: Json) -> Json:
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "18 degrees"}
        for item in response["output"]
        if item["type"] == "function_call"
    ]
    return with_fields(body, input=[*body["input"], *copy.deepcopy(response["output"]), *outputs])


def item(number: int, **fields: Any) -> BuildRequest:
    """Return the request with outputs, with one changed input item; None removes a field."""

    def ask(body: Json, response: Json) -> Json:
        request = with_tool_results(body, response)
        request["input"][number] = with_fields(request["input"][number], **fields)
        return request

    return ask


def without(*numbers: int) -> BuildRequest:
    def ask(body: Json, response: Json) -> Json:
        request = with_tool_results(body, response)
        kept_items = [item for index, item in enumerate(request["input"]) if index not in numbers]
        return with_fields(request, input=kept_items)

    return ask


def twice(body: Json, response: Json) -> Json:
    request = with_tool_results(body, response)
    request["input"].insert(1, request["input"][1])
    return request


def by_reference(body: Json, response: Json) -> Json:
    request = with_tool_results(body, response)
    request["input"][1] = {"type": "item_reference", "id": request["input"][1]["id"]}
    return request


def previous(body: Json, response: Json) -> Json:
    request = with_tool_results(body, response)
    return with_fields(request, previous_response_id=response["id"], input=request["input"][-1:])


def without_id(number: int) -> BuildRequest:
    return item(number, id=None)


LOST = "not found. Items are not persisted when `store` is set to false"
CASES = [
    RuleCase(
        "openai-responses.key",
        unchanged,
        unchanged,
        "Incorrect API key",
        401,
        refused_headers={"authorization": "Bearer bad"},
    ),
    RuleCase(
        "openai-responses.model", unchanged, with_changes(model="gpt-none"), "`gpt-none` does not exist", 404
    ),
    RuleCase("openai-responses.shape", unchanged, with_changes(messages=[]), "Unknown parameter: 'messages'"),
    RuleCase(
        "openai-responses.max-tokens",
        with_changes(max_output_tokens=16),
        with_changes(max_output_tokens=15),
        "Expected a value >= 16, but got 15 instead",
    ),
    RuleCase("openai-responses.call-id", with_tool_results, item(2, call_id="c" * 65), "maximum length 64"),
    RuleCase(
        "openai-responses.effort",
        with_changes(reasoning={"effort": "max"}),
        with_changes(reasoning={"effort": "minimal"}),
        "'minimal' is not supported with the 'gpt-6-sol' model",
    ),
    RuleCase(
        "openai-responses.verbosity",
        with_changes(text={"verbosity": "low"}),
        with_changes(text={"verbosity": "short"}),
        "'short' is not supported with the 'gpt-6-sol' model",
    ),
    RuleCase(
        "openai-responses.unverified",
        unchanged,
        with_changes(reasoning={"summary": "auto"}),
        "must be verified",
        refused_headers={"authorization": "Bearer unverified-key"},
    ),
    RuleCase(
        "openai-responses.include",
        with_changes(model="gpt-4o", reasoning=None, include=None),
        with_changes(model="gpt-4o", reasoning=None),
        "Encrypted content is not supported with this model",
    ),
    RuleCase(
        "openai-responses.sampling",
        with_changes(temperature=0.2, reasoning={"effort": "none"}),
        with_changes(temperature=0.2),
        "Unsupported parameter: 'temperature'",
    ),
    RuleCase(
        "openai-responses.output",
        with_changes(text={"format": {"type": "json_schema", "name": "city", "schema": OPEN_SCHEMA}}),
        with_changes(text={"format": {"type": "json_object"}}, input="Where?"),
        "must contain the word 'json'",
    ),
    RuleCase(
        "openai-responses.previous",
        previous,
        with_changes(previous_response_id="resp_none"),
        "Previous response with id 'resp_none' not found",
        opening=STORED,
    ),
    RuleCase("openai-responses.unknown-id", with_tool_results, item(1, encrypted_content=None), LOST, 404),
    RuleCase("openai-responses.duplicate", with_tool_results, twice, "Duplicate item found with id rs_"),
    RuleCase(
        "openai-responses.undecipherable",
        without_id(1),
        item(1, encrypted_content="gAAAAAltered"),
        "invalid_encrypted_content",
    ),
    RuleCase(
        "openai-responses.thought-alone",
        with_tool_results,
        without(2, 3),
        "without its required following item",
    ),
    RuleCase(
        "openai-responses.without-thought",
        without_id(2),
        without(1),
        "without its required 'reasoning' item: 'rs_",
    ),
    RuleCase(
        "openai-responses.calls-open",
        with_tool_results,
        without(3),
        "No tool output found for function call call_",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_responses_rule(case: RuleCase) -> None:
    def message(error: Json) -> str:
        assert set(error["error"]) == {"message", "type", "param", "code"}
        return f"{error['error']['code']}: {error['error']['message']}"

    check_case("openai-responses", PATH, OPENING, case, message)


@pytest.mark.parametrize("ask", [by_reference, item(1, encrypted_content=None), previous])
def test_stored_items_may_be_referenced(ask: BuildRequest) -> None:
    async def scenario(server: Simulator) -> int:
        first = (await post_json(server, PATH, STORED)).json
        return (await post_json(server, PATH, ask(STORED, first))).status

    assert with_simulator("openai-responses", scenario) == 200


def test_encrypted_content_of_another_item_or_account_is_refused() -> None:
    async def scenario(server: Simulator) -> Json:
        response: Json = (await post_json(server, PATH, OPENING)).json
        return response

    first = with_simulator("openai-responses", scenario)

    async def again(server: Simulator) -> str:
        words = await post_json(server, PATH, item(1, id="rs_other")(OPENING, first))
        assert words.status == 400
        return str(words.json["error"]["message"])

    assert "item_id did not match" in with_simulator("openai-responses", again)
    assert "could not be decrypted" in with_simulator("openai-responses", again, secret=b"another account")


EXPECTED = """response.created response.in_progress
response.output_item.added
response.reasoning_summary_part.added
response.reasoning_summary_text.delta response.reasoning_summary_text.delta
response.reasoning_summary_text.done response.reasoning_summary_part.done
response.output_item.done
response.output_item.added response.content_part.added
response.output_text.delta response.output_text.done response.content_part.done
response.output_item.done
response.output_item.added
response.function_call_arguments.delta response.function_call_arguments.delta
response.function_call_arguments.done
response.output_item.done
response.completed"""


def events(body: bytes) -> list[Json]:
    frames = [frame.split(b"\n") for frame in body.strip().split(b"\n\n")]
    payloads: list[Json] = [json.loads(data.removeprefix(b"data: ")) for _, data in frames]
    names = [name.removeprefix(b"event: ").decode() for name, _ in frames]
    assert names == [event["type"] for event in payloads]
    return payloads


def test_responses_stream_events() -> None:
    call = {"name": "get_weather", "arguments": {"city": "Lima"}}
    turn = {"thinking": "Look first.", "text": "Wait.", "tool_calls": [call]}
    stream_events = events(
        request_once("openai-responses", PATH, with_fields(OPENING, stream=True), script=[turn]).body
    )
    assert [event["type"] for event in stream_events] == EXPECTED.split()
    assert [event["sequence_number"] for event in stream_events] == list(range(len(stream_events)))
    added, done = (
        event["item"] for event in stream_events if event.get("output_index") == 0 and "item" in event
    )
    assert len(added["encrypted_content"]) < len(done["encrypted_content"])
    whole = request_once("openai-responses", PATH, OPENING, script=[turn]).json
    assert stream_events[-1]["response"] == whole
    assert whole["usage"]["output_tokens_details"] == {"reasoning_tokens": 3}


def test_a_summary_is_sent_only_when_requested() -> None:
    body = with_fields(OPENING, reasoning={"effort": "low"})
    first = request_once(
        "openai-responses", PATH, body, script=[{"thinking": "Hidden.", "text": "Shown."}]
    ).json["output"][0]
    assert (first["type"], first["summary"]) == ("reasoning", [])
    assert first["encrypted_content"]


def test_an_incomplete_response_says_so() -> None:
    turn = {"thinking": "Too long", "finish": "length"}
    response = request_once("openai-responses", PATH, OPENING, script=[turn]).json
    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )


def test_an_error_event_has_its_sequence_number() -> None:
    turn = {"text": "a b c", "fault": {"kind": "overload", "after_events": 3}}
    stream_events = events(
        request_once("openai-responses", PATH, with_fields(OPENING, stream=True), script=[turn]).body
    )
    assert [event["sequence_number"] for event in stream_events] == [0, 1, 2, 3]
    assert (stream_events[-1]["type"], stream_events[-1]["code"]) == ("error", "server_error")


def test_responses_missing_key_has_its_own_message() -> None:
    async def scenario(server: Simulator) -> tuple[int, str]:
        refused = await post_json(server, PATH, OPENING, {})
        return refused.status, refused.json["error"]["message"]

    assert with_simulator("openai-responses", scenario) == (401, "You didn't provide an API key.")
    assert KEY_HEADERS["authorization"].startswith("Bearer")


XAI_OPENING = with_fields(OPENING, model="grok-4.3", reasoning={"effort": "high", "summary": "auto"})
XAI_CASES = [
    RuleCase("xai.key", unchanged, unchanged, "provide an API key", 401, refused_headers={}),
    RuleCase("xai.model", unchanged, with_changes(model="grok-none"), "does not exist", 404),
    RuleCase("xai.input", unchanged, with_changes(input=[]), "missing field `input`", 422),
    RuleCase(
        "xai.effort",
        with_changes(model="grok-4", reasoning=None),
        with_changes(model="grok-4"),
        "Model grok-4 does not support parameter reasoningEffort.",
    ),
    RuleCase("xai.penalty", unchanged, with_changes(presence_penalty=0), "parameter presencePenalty"),
    RuleCase("xai.undecipherable", with_tool_results, item(1, encrypted_content="other"), "not be verified"),
    RuleCase("xai.calls-open", with_tool_results, without(3), "No tool output found"),
]


@pytest.mark.parametrize("case", XAI_CASES, ids=lambda case: case.rule)
def test_xai_rule(case: RuleCase) -> None:
    def message(error: Json) -> str:
        assert set(error) == {"code", "error"}
        return str(error["error"])

    check_case("xai", PATH, XAI_OPENING, case, message)


def test_grok_reasons_without_an_effort() -> None:
    request = with_fields(OPENING, model="grok-4", reasoning=None)
    output = request_once("xai", PATH, request, script=[{"thinking": "Hm.", "text": "Yes."}]).json["output"]
    assert [part["type"] for part in output] == ["reasoning", "message"]

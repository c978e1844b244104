"""Cohere simulator: every rule with an accepted and a refused request, streamed and whole, and our client."""

import asyncio
import copy
import json
from typing import Any

import pytest
from tests.simulators.rule_cases import (
    ANY_JSON,
    CLOSED_SCHEMA,
    BuildRequest,
    Json,
    RuleCase,
    check_case,
    get_path,
    request_once,
    unchanged,
    with_changes,
    with_fields,
    with_simulator,
)

import thinkaloud
from thinkaloud.client import Options, ask, prepare
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import Image, ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import builtin_texts, parse_catalog
from thinkaloud.core.context import AnsweredTurn, Context, Step
from thinkaloud.core.transcript import Turn
from thinkaloud.simulators import Simulator, run_simulator
from thinkaloud.simulators.cohere import MODELS

PATH = "/v2/chat"
QUESTION = {"role": "user", "content": "Is it warm in Lima?"}
TOOL: Json = {"type": "function", "function": {"name": "get_weather", "parameters": CLOSED_SCHEMA}}
OPENING: Json = {"model": "command-a-reasoning-08-2025", "messages": [QUESTION], "tools": [TOOL]}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def with_results(request: Json, response: Json, content: object = "18 degrees") -> Json:
    message = copy.deepcopy(response["message"])
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": content}
    return with_fields(request, messages=[*request["messages"], message, result])


def result_of(content: object) -> BuildRequest:
    return lambda request, response: with_results(request, response, content)


def without_result(request: Json, response: Json) -> Json:
    request = with_results(request, response)
    request["messages"][-1] = QUESTION
    return request


def call_twice(request: Json, response: Json) -> Json:
    request = with_results(request, response)
    request["messages"][1]["tool_calls"] *= 2
    return request


def asked(*messages: Json, **fields: Any) -> BuildRequest:
    return with_changes(messages=list(messages), **fields)


SYSTEM = {"role": "system", "content": "Be brief."}
STRICT_TOOL = TOOL | {"function": TOOL["function"] | {"strict": True}}
SEEN = {"role": "user", "content": [IMAGE]}
CASES: list[RuleCase] = [
    RuleCase(
        "cohere.key",
        unchanged,
        unchanged,
        "invalid api token",
        401,
        refused_headers={"authorization": "Bearer bad-key"},
    ),
    RuleCase(
        "cohere.model",
        with_changes(model="command-a-03-2025"),
        with_changes(model="command-none"),
        "model 'command-none' not found",
        404,
    ),
    RuleCase("cohere.messages", unchanged, asked(), "messages"),
    RuleCase(
        "cohere.fields",
        with_changes(strict_tools=True),
        with_changes(tools=[STRICT_TOOL]),
        "unknown field: parameter 'strict' is not a valid field",
        422,
    ),
    RuleCase(
        "cohere.thinking",
        with_changes(thinking={"type": "enabled", "token_budget": 1}),
        with_changes(thinking={"type": "enabled", "token_budget": 0}),
        "must be a positive integer",
    ),
    RuleCase("cohere.sampling", with_changes(p=0.99), with_changes(p=1), "p must be between 0.01 and 0.99"),
    RuleCase(
        "cohere.tool-choice",
        with_changes(tool_choice="REQUIRED"),
        with_changes(tool_choice="auto"),
        "must be one of 'REQUIRED' or 'NONE'",
    ),
    RuleCase(
        "cohere.output",
        with_changes(tools=None, response_format=ANY_JSON | {"json_schema": CLOSED_SCHEMA}),
        with_changes(response_format=ANY_JSON),
        "not supported with tools",
    ),
    RuleCase(
        "cohere.system-first",
        asked(SYSTEM, QUESTION),
        asked(QUESTION, SYSTEM),
        "system turn must be the first in the list",
    ),
    RuleCase(
        "cohere.empty", unchanged, asked({"role": "user", "content": ""}), "must not be empty in a turn"
    ),
    RuleCase(
        "cohere.images",
        asked(SEEN, model="command-a-vision-07-2025"),
        asked(SEEN),
        "image inputs are not supported",
    ),
    RuleCase(
        "cohere.result-parts",
        result_of([{"type": "document", "document": {"data": "18 degrees"}}]),
        result_of([IMAGE]),
        "text or document",
    ),
    RuleCase("cohere.call-id", with_results, call_twice, "cannot have duplicate tool ids"),
    RuleCase("cohere.calls-open", with_results, without_result, "without a tool message"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_cohere_rule(case: RuleCase) -> None:
    check_case("cohere", PATH, OPENING, case, lambda error: str(error["message"]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": ""}, "a model parameter is required"),
        ({"zz": 1}, "'zz' is not a valid field"),
        ({"messages": [QUESTION | {"name": "Ada"}]}, "'name' is not a valid field"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"index": 0}]}]}, "'index' is not a valid field"),
        ({"thinking": {"type": "auto"}}, "must be one of 'enabled' or 'disabled'"),
        ({"temperature": 1.5}, "temperature must be between 0 and 1 inclusive."),
        ({"stop_sequences": list("abcdef")}, "at most 5 stop_sequences"),
        ({"tools": [], "tool_choice": "REQUIRED"}, "tools must be passed"),
        ({"tools": [], "response_format": ANY_JSON | {"schema": {"type": "array"}}}, "must be an object"),
        (
            {"tools": [], "response_format": ANY_JSON | {"schema": {"type": "object", "required": ["a"]}}},
            "required field a not found in properties",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": [{"type": "code"}]}]}, "of type function"),
        ({"messages": [{"role": "tool", "content": "18"}]}, "tool call id must be provided"),
        ({"messages": [{"role": "tool", "tool_call_id": "c", "content": "18"}]}, "not found in previous"),
    ],
)
def test_other_refusals_of_a_rule(fields: Json, message: str) -> None:
    assert message in request_once("cohere", PATH, OPENING | fields).json["message"]


CALL: Json = {"name": "get_weather", "arguments": {"city": "Lima"}}
TURNS: list[Json] = [
    {"thinking": ["Lima.", "Ask."], "text": "One moment.", "tool_calls": [CALL, CALL]},
    {"thinking": "It is summer.", "text": "Yes, quite."},
    {"text": "It is", "finish": "length"},
    {"text": "", "finish": "refusal"},
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("turn", TURNS, ids=["calls", "answer", "length", "refusal"])
def test_stream_has_the_turn_of_the_whole_response(model: str, turn: Json) -> None:
    """Models that do not reason give their thoughts away only as the plan before their calls."""
    bodies = [with_fields(OPENING, model=model, stream=stream) for stream in (False, True)]
    whole, stream = (request_once("cohere", PATH, body, script=[turn]).body for body in bodies)
    assert stream.startswith(b"event: message-start\n")
    assert stream.endswith(b"data: [DONE]\n\n")
    turns = [thinkaloud.read(data, "cohere_v2") for data in (whole, stream)]
    parts = [[(block.kind, block.text, block.name, block.call_id) for block in read.blocks] for read in turns]
    assert parts[0] == parts[1]
    assert turns[0].outcome == turns[1].outcome
    assert turns[0].usage == turns[1].usage
    assert turns[0].usage is not None
    thoughts = [turn["thinking"]] if isinstance(turn.get("thinking"), str) else turn.get("thinking", [])
    shown = MODELS[model].reasons or "tool_calls" in turn
    assert turns[0].reasoning == ("\n\n".join(thoughts) if shown else "")
    assert ("tool_plan" in json.loads(whole)["message"]) == (
        "tool_calls" in turn and not MODELS[model].reasons
    )


def test_thinking_can_be_turned_off() -> None:
    body = OPENING | {"thinking": {"type": "disabled"}}
    whole = request_once("cohere", PATH, body, script=[TURNS[1]]).json
    assert whole["message"] == {"role": "assistant", "content": [{"type": "text", "text": "Yes, quite."}]}
    assert whole["usage"]["billed_units"]["input_tokens"] < whole["usage"]["tokens"]["input_tokens"]


def test_models_are_listed() -> None:
    async def scenario(server: Simulator) -> Any:
        return (await get_path(server, "/v1/models")).json

    models = with_simulator("cohere", scenario)["models"]
    assert [model["name"] for model in models] == list(MODELS)
    assert all(model["endpoints"] == ["chat"] for model in models)


WEATHER = ToolDefinition("get_weather", "The weather.", json.dumps(CLOSED_SCHEMA))


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("model", MODELS)
def test_our_client_holds_a_tool_conversation(
    model: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message with the calls goes back as it came; a second question, with an image if it sees, too."""
    monkeypatch.setenv("COHERE_KEY", "sim-key")

    async def scenario() -> tuple[list[Turn], list[Json]]:
        async with run_simulator("cohere", script=[*TURNS[:2], TURNS[1]]) as server:
            row = f'[providers.cohere]\nbase_url = "{server.base_url}"\nkey = "env:COHERE_KEY"\n'
            catalog = parse_catalog(*builtin_texts(), row)
            options = Options(catalog=catalog, stream=stream, top_p=1, stop=tuple("abcdef"))
            steps: list[Step] = [UserMessage("Is it warm in Lima?")]
            turns = []
            for _ in range(3):
                context = Context(tuple(steps), system="Be brief.", tools=(WEATHER,))
                turns.append(await ask(prepare(context, model=f"cohere/{model}", options=options)))
                steps.append(AnsweredTurn(turns[-1], provider="cohere"))
                results = [
                    ToolMessage(block.call_id, "", block.name)
                    for block in turns[-1].own_blocks(Kind.TOOL_CALL)
                ]
                images = (Image("image/png", "aGk="),) if MODELS[model].sees else ()
                steps += results or [UserMessage("And now?", images)]
            assert server.refusals == []
            return turns, [request.body for request in server.requests]

    turns, bodies = asyncio.run(scenario())
    assert [turn.answer for turn in turns] == ["One moment.", "Yes, quite.", "Yes, quite."]
    sent = bodies[1]["messages"][2]
    if MODELS[model].reasons:
        assert sent["content"][0] == {"type": "thinking", "thinking": "Lima.\n\nAsk."}
    else:
        assert sent["tool_plan"] == "Lima.\n\nAsk."
    assert ("image_url" in json.dumps(bodies[2])) == MODELS[model].sees

"""Gemini and Ollama simulators: every rule with an accepted and a refused request, and the stream format."""

import copy
import json
from typing import Any

import pytest
from tests.simulators.rule_cases import (
    KEY_HEADERS,
    BuildRequest,
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

SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
MODEL = "gemini-3.1-pro-preview"


def path(model: str = MODEL, verb: str = "generateContent") -> str:
    return f"/v1beta/models/{model}:{verb}"


def thinking(**config: Any) -> Json:
    return {"thinkingConfig": config}


OPENING: Json = {
    "contents": [{"role": "user", "parts": [{"text": "Is it warm in Lima?"}]}],
    "tools": [{"functionDeclarations": [{"name": "get_weather", "parameters": SCHEMA}]}],
    "generationConfig": thinking(includeThoughts=True),
}


def with_tool_results(body: Json, response: Json) -> Json:
    content = copy.deepcopy(response["candidates"][0]["content"])
    results = [
        {"functionResponse": {"name": part["functionCall"]["name"], "response": {"degrees": 18}}}
        for part in content["parts"]
        if "functionCall" in part
    ]
    return with_fields(body, contents=[*body["contents"], content, {"role": "user", "parts": results}])


def call_part(**fields: Any) -> BuildRequest:
    """Return the request with results, with a changed call part; None removes a field."""

    def ask(body: Json, response: Json) -> Json:
        request = with_tool_results(body, response)
        parts = request["contents"][1]["parts"]
        at = next(number for number, part in enumerate(parts) if "functionCall" in part)
        parts[at] = with_fields(parts[at], **fields)
        return request

    return ask


def no_result(body: Json, response: Json) -> Json:
    request = with_tool_results(body, response)
    request["contents"][2] = {"role": "user", "parts": [{"text": "Well?"}]}
    return request


def ends_with_model(body: Json, response: Json) -> Json:
    request = with_tool_results(body, response)
    request["contents"].append({"role": "model", "parts": [{"text": "Mild."}]})
    return request


def beside_result(part: Json) -> BuildRequest:
    """Return a builder that adds a part to the message with the results."""

    def ask(body: Json, response: Json) -> Json:
        request = with_tool_results(body, response)
        request["contents"][2]["parts"].append(part)
        return request

    return ask


def image_result(body: Json, response: Json) -> Json:
    request = with_tool_results(body, response)
    request["contents"][2]["parts"][0]["functionResponse"]["parts"] = [IMAGE_PART]
    return request


def with_thinking(**config: Any) -> BuildRequest:
    return with_changes(generationConfig=thinking(**config))


IMAGE_PART = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
OTHER_CALL = {"name": "get_weather", "args": {"city": "Oslo"}}
NOT_VALID = KEY_HEADERS | {"x-goog-api-key": "bad"}
CASES = [
    RuleCase("gemini.key", unchanged, unchanged, "API key not valid", refused_headers=NOT_VALID),
    RuleCase("gemini.model", unchanged, unchanged, "is not found", 404, refused_path=path("gemini-none")),
    RuleCase("gemini.shape", unchanged, with_changes(messages=[]), 'Unknown name "messages"'),
    RuleCase(
        "gemini.roles",
        unchanged,
        with_changes(contents=[{"role": "assistant", "parts": [{"text": ""}]}]),
        "valid role",
    ),
    RuleCase(
        "gemini.both",
        with_thinking(thinkingLevel="LOW"),
        with_thinking(thinkingLevel="LOW", thinkingBudget=1024),
        "only one of thinking budget and thinking level",
    ),
    RuleCase(
        "gemini.no-thinking",
        unchanged,
        with_thinking(includeThoughts=True),
        "not supported",
        opening=with_fields(OPENING, generationConfig={}),
        path=path("gemini-2.0-flash"),
    ),
    RuleCase(
        "gemini.budget",
        with_thinking(thinkingBudget=128),
        with_thinking(thinkingBudget=0),
        "Budget 0 is invalid. This model only works in thinking mode.",
        path=path("gemini-2.5-pro"),
    ),
    RuleCase(
        "gemini.level",
        with_thinking(thinkingLevel="LOW"),
        with_thinking(thinkingLevel="MINIMAL"),
        "MINIMAL is not supported",
    ),
    RuleCase(
        "gemini.output",
        with_changes(generationConfig={"responseMimeType": "application/json"}),
        with_changes(generationConfig={"responseMimeType": "application/json"}),
        "Function calling with a response mime type: 'application/json' is unsupported",
        refused_path=path("gemini-2.5-flash"),
    ),
    RuleCase(
        "gemini.altered", with_tool_results, call_part(functionCall=OTHER_CALL), "Corrupted thought signature"
    ),
    RuleCase(
        "gemini.missing",
        with_tool_results,
        call_part(thoughtSignature=None),
        "is missing a thought_signature",
    ),
    RuleCase("gemini.calls-open", with_tool_results, no_result, "number of function response parts"),
    RuleCase("gemini.turns", with_tool_results, ends_with_model, "ending with a model turn"),
    RuleCase(
        "gemini.result-parts", image_result, beside_result(IMAGE_PART), "number of function response parts"
    ),
    RuleCase(
        "gemini.result-images",
        with_tool_results,
        image_result,
        "Multimodal function responses are not supported",
        opening=with_fields(OPENING, generationConfig=thinking(thinkingBudget=1024)),
        path=path("gemini-2.5-flash"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_gemini_rule(case: RuleCase) -> None:
    def message(error: Json) -> str:
        assert set(error["error"]) >= {"code", "message", "status"}
        return str(error["error"]["message"])

    check_case("gemini", path(), OPENING, case, message)


def test_gemini_missing_key_has_its_own_message() -> None:
    async def scenario(server: Simulator) -> tuple[int, str]:
        refused = await post_json(server, path(), OPENING, {})
        return refused.status, refused.json["error"]["status"]

    assert with_simulator("gemini", scenario) == (403, "PERMISSION_DENIED")


def test_only_the_first_of_parallel_calls_needs_a_signature() -> None:
    calls = [{"name": "get_weather", "arguments": {"city": name}} for name in ("Lima", "Oslo")]

    async def scenario(server: Simulator) -> None:
        first = (await post_json(server, path(), OPENING)).json
        signed = ["thoughtSignature" in part for part in first["candidates"][0]["content"]["parts"]]
        assert signed == [False, True, False]
        assert (await post_json(server, path(), with_tool_results(OPENING, first))).status == 200
        assert (
            await post_json(server, path(), call_part(thoughtSignature=None)(OPENING, first))
        ).status == 400

    with_simulator("gemini", scenario, script=[{"thinking": "Both.", "tool_calls": calls}])


def test_earlier_turns_need_no_signature() -> None:
    async def scenario(server: Simulator) -> int:
        first = (await post_json(server, path(), OPENING)).json
        request = call_part(thoughtSignature=None)(OPENING, first)
        request["contents"] += [{"role": "model", "parts": [{"text": "Mild."}]}, *OPENING["contents"]]
        return (await post_json(server, path(), request)).status

    assert with_simulator("gemini", scenario) == 200


def test_a_foreign_call_needs_the_skip_signature() -> None:
    async def scenario(server: Simulator) -> list[int]:
        first = (await post_json(server, path(), OPENING)).json
        skip = call_part(thoughtSignature="skip_thought_signature_validator")(OPENING, first)
        follow_up = with_tool_results(OPENING, first)
        other = path("gemini-3-flash-preview")
        sent = [
            (path(), skip),
            (other, follow_up),
            (path(), call_part(thoughtSignature="AAAA")(OPENING, first)),
        ]
        return [(await post_json(server, at, body)).status for at, body in sent]

    assert with_simulator("gemini", scenario) == [200, 400, 400]


TURN: Json = {"thinking": "Think twice.", "text": "Mild today."}
PARTS = [
    {"text": "Think ", "thought": True},
    {"text": "twice.", "thought": True},
    {"text": "Mild "},
    {"text": "today."},
    {"text": "", "thoughtSignature": ""},
]


@pytest.mark.parametrize("form", ["sse", "array"])
def test_gemini_streams_chunks_with_the_signature_last(form: str) -> None:
    at = path(verb="streamGenerateContent") + ("?alt=sse" if form == "sse" else "")
    stream = request_once("gemini", at, OPENING, script=[TURN])
    if form == "sse":
        frames = stream.body.decode().removesuffix("\n\n").split("\n\n")
        chunks = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    else:
        assert stream.headers["Content-Type"].startswith("application/json")
        chunks = stream.json
    parts = [chunk["candidates"][0]["content"]["parts"][0] for chunk in chunks]
    parts[-1]["thoughtSignature"] = ""
    assert parts == PARTS
    assert [chunk["candidates"][0].get("finishReason") for chunk in chunks] == [None] * 4 + ["STOP"]
    assert chunks[-1]["usageMetadata"]["candidatesTokenCount"] == 3
    assert chunks[-1]["usageMetadata"]["thoughtsTokenCount"] == 3


def test_gemini_signs_even_without_thoughts_in_the_response() -> None:
    body = with_fields(OPENING, generationConfig={})
    parts = request_once("gemini", path(), body, script=[TURN]).json["candidates"][0]["content"]["parts"]
    assert [sorted(part) for part in parts] == [["text", "thoughtSignature"]]


def test_an_interrupted_array_is_still_an_array() -> None:
    turn = TURN | {"fault": {"kind": "overload", "after_events": 2}}
    chunks = request_once("gemini", path(verb="streamGenerateContent"), OPENING, script=[turn]).json
    assert [sorted(chunk)[0] for chunk in chunks] == ["candidates", "candidates", "error"]


def test_gemini_models_list_thinking() -> None:
    async def scenario(server: Simulator) -> list[Any]:
        names = ("", f"/{MODEL}", "/gemini-2.0-flash", "/gemini-none")
        return [await get_path(server, f"/v1beta/models{name}") for name in names]

    listed, thinks, does_not, none = with_simulator("gemini", scenario)
    assert all(model["name"].startswith("models/") for model in listed.json["models"])
    assert (thinks.json["thinking"], does_not.json["thinking"], none.status) == (True, False, 404)


CHAT: Json = {"model": "qwen3", "messages": [{"role": "user", "content": "Hi"}], "stream": False}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
OLLAMA_CASES = [
    RuleCase("ollama.model", unchanged, with_changes(model="missing"), "model 'missing' not found", 404),
    RuleCase(
        "ollama.think-value",
        with_changes(think="low"),
        with_changes(think="huge"),
        'invalid think value: "huge"',
    ),
    RuleCase(
        "ollama.no-thinking",
        with_changes(think=True),
        with_changes(think=True, model="llama3.2"),
        '"llama3.2" does not support thinking',
    ),
    RuleCase(
        "ollama.no-tools",
        with_changes(tools=[TOOL]),
        with_changes(tools=[TOOL], model="gemma3"),
        "does not support tools",
    ),
]


@pytest.mark.parametrize("case", OLLAMA_CASES, ids=lambda case: case.rule)
def test_ollama_rule(case: RuleCase) -> None:
    check_case("ollama", "/api/chat", CHAT, case, lambda error: str(error["error"]))


def lines(body: bytes) -> list[Json]:
    assert body.endswith(b"\n")
    return [json.loads(line) for line in body.splitlines()]


def test_ollama_streams_lines_unless_stream_is_false() -> None:
    turn = TURN | {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}]}
    stream = request_once("ollama", "/api/chat", with_fields(CHAT, stream=None), script=[turn])
    assert stream.headers["Content-Type"].startswith("application/x-ndjson")
    stream_lines = lines(stream.body)
    assert [line["message"].get("thinking") for line in stream_lines] == [
        "Think ",
        "twice.",
        None,
        None,
        None,
        None,
    ]
    assert "".join(line["message"]["content"] for line in stream_lines) == "Mild today."
    assert stream_lines[-2]["message"]["tool_calls"][0]["function"]["arguments"] == {"city": "Lima"}
    assert [line["done"] for line in stream_lines] == [False] * 5 + [True]
    whole = request_once("ollama", "/api/chat", CHAT, script=[turn]).json
    assert whole["message"]["thinking"] == "Think twice."
    assert whole["eval_count"] == stream_lines[-1]["eval_count"]


def test_ollama_think_false_except_for_gpt_oss() -> None:
    off = [with_fields(CHAT, think=False), with_fields(CHAT, think=False, model="gpt-oss:20b")]
    shown = [
        "thinking" in request_once("ollama", "/api/chat", body, script=[TURN]).json["message"] for body in off
    ]
    assert shown == [False, True]


def test_ollama_show_lists_capabilities() -> None:
    async def scenario(server: Simulator) -> list[Any]:
        shown = [
            await post_json(server, "/api/show", {"model": name})
            for name in ("qwen3:8b", "llama3.2", "missing")
        ]
        return [*shown, await get_path(server, "/api/tags")]

    thinks, does_not, missing, tags = with_simulator("ollama", scenario)
    assert "thinking" in thinks.json["capabilities"]
    assert "thinking" not in does_not.json["capabilities"]
    assert missing.status == 404
    assert {"name", "model"} <= set(tags.json["models"][0])

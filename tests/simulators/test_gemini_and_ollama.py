"""Gemini and Ollama: each rule from both sides, and the streams as they must be."""

import copy
import json
from typing import Any

import pytest
from tests.simulators.talking import (
    KEY,
    Case,
    Json,
    Next,
    changed,
    check,
    get,
    instead,
    post,
    same,
    told,
    with_server,
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


def answered(body: Json, response: Json) -> Json:
    content = copy.deepcopy(response["candidates"][0]["content"])
    results = [
        {"functionResponse": {"name": part["functionCall"]["name"], "response": {"degrees": 18}}}
        for part in content["parts"]
        if "functionCall" in part
    ]
    return changed(body, contents=[*body["contents"], content, {"role": "user", "parts": results}])


def call_part(**fields: Any) -> Next:
    """The results, with the part of the call changed; None takes a field away."""

    def ask(body: Json, response: Json) -> Json:
        asked = answered(body, response)
        parts = asked["contents"][1]["parts"]
        at = next(number for number, part in enumerate(parts) if "functionCall" in part)
        parts[at] = changed(parts[at], **fields)
        return asked

    return ask


def no_result(body: Json, response: Json) -> Json:
    asked = answered(body, response)
    asked["contents"][2] = {"role": "user", "parts": [{"text": "Well?"}]}
    return asked


def wanting(**config: Any) -> Next:
    return instead(generationConfig=thinking(**config))


OTHER_CALL = {"name": "get_weather", "args": {"city": "Oslo"}}
NOT_VALID = KEY | {"x-goog-api-key": "bad"}
CASES = [
    Case("gemini.key", same, same, "API key not valid", bad_headers=NOT_VALID),
    Case("gemini.model", same, same, "is not found", 404, bad_path=path("gemini-none")),
    Case("gemini.shape", same, instead(messages=[]), 'Unknown name "messages"'),
    Case(
        "gemini.roles", same, instead(contents=[{"role": "assistant", "parts": [{"text": ""}]}]), "valid role"
    ),
    Case(
        "gemini.both",
        wanting(thinkingLevel="LOW"),
        wanting(thinkingLevel="LOW", thinkingBudget=1024),
        "only one of thinking budget and thinking level",
    ),
    Case(
        "gemini.no-thinking",
        same,
        wanting(includeThoughts=True),
        "not supported",
        opening=changed(OPENING, generationConfig={}),
        path=path("gemini-2.0-flash"),
    ),
    Case(
        "gemini.budget",
        wanting(thinkingBudget=128),
        wanting(thinkingBudget=0),
        "Budget 0 is invalid. This model only works in thinking mode.",
        path=path("gemini-2.5-pro"),
    ),
    Case(
        "gemini.level",
        wanting(thinkingLevel="LOW"),
        wanting(thinkingLevel="MINIMAL"),
        "MINIMAL is not supported",
    ),
    Case("gemini.altered", answered, call_part(functionCall=OTHER_CALL), "Corrupted thought signature"),
    Case("gemini.missing", answered, call_part(thoughtSignature=None), "is missing a thought_signature"),
    Case("gemini.calls-open", answered, no_result, "number of function response parts"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_of_gemini_passes_and_refuses(case: Case) -> None:
    def message(error: Json) -> str:
        assert set(error["error"]) >= {"code", "message", "status"}
        return str(error["error"]["message"])

    check("gemini", path(), OPENING, case, message)


def test_no_key_is_another_refusal() -> None:
    async def talk(server: Simulator) -> tuple[int, str]:
        refused = await post(server, path(), OPENING, {})
        return refused.status, refused.json["error"]["status"]

    assert with_server("gemini", talk) == (403, "PERMISSION_DENIED")


def test_only_the_first_of_parallel_calls_is_signed_and_only_it_must_be() -> None:
    calls = [{"name": "get_weather", "arguments": {"city": name}} for name in ("Lima", "Oslo")]

    async def talk(server: Simulator) -> None:
        first = (await post(server, path(), OPENING)).json
        signed = ["thoughtSignature" in part for part in first["candidates"][0]["content"]["parts"]]
        assert signed == [False, True, False]
        assert (await post(server, path(), answered(OPENING, first))).status == 200
        assert (await post(server, path(), call_part(thoughtSignature=None)(OPENING, first))).status == 400

    with_server("gemini", talk, script=[{"thinking": "Both.", "tool_calls": calls}])


def test_what_came_before_the_current_turn_needs_no_signature() -> None:
    async def talk(server: Simulator) -> int:
        first = (await post(server, path(), OPENING)).json
        asked = call_part(thoughtSignature=None)(OPENING, first)
        asked["contents"] += [{"role": "model", "parts": [{"text": "Mild."}]}, *OPENING["contents"]]
        return (await post(server, path(), asked)).status

    assert with_server("gemini", talk) == 200


def test_a_foreign_call_passes_with_the_documented_word_and_a_foreign_signature_does_not() -> None:
    async def talk(server: Simulator) -> list[int]:
        first = (await post(server, path(), OPENING)).json
        skip = call_part(thoughtSignature="skip_thought_signature_validator")(OPENING, first)
        kept = answered(OPENING, first)
        other = path("gemini-3-flash-preview")
        sent = [(path(), skip), (other, kept), (path(), call_part(thoughtSignature="AAAA")(OPENING, first))]
        return [(await post(server, at, body)).status for at, body in sent]

    assert with_server("gemini", talk) == [200, 400, 400]


TURN: Json = {"thinking": "Think twice.", "text": "Mild today."}
PARTS = [
    {"text": "Think ", "thought": True},
    {"text": "twice.", "thought": True},
    {"text": "Mild "},
    {"text": "today."},
    {"text": "", "thoughtSignature": ""},
]


@pytest.mark.parametrize("form", ["sse", "array"])
def test_gemini_streams_whole_responses_with_the_signature_last(form: str) -> None:
    at = path(verb="streamGenerateContent") + ("?alt=sse" if form == "sse" else "")
    stream = told("gemini", at, OPENING, script=[TURN])
    if form == "sse":
        frames = stream.body.decode().removesuffix("\n\n").split("\n\n")
        found = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    else:
        assert stream.headers["Content-Type"].startswith("application/json")
        found = stream.json
    parts = [chunk["candidates"][0]["content"]["parts"][0] for chunk in found]
    parts[-1]["thoughtSignature"] = ""
    assert parts == PARTS
    assert [chunk["candidates"][0].get("finishReason") for chunk in found] == [None] * 4 + ["STOP"]
    assert found[-1]["usageMetadata"]["candidatesTokenCount"] == 3
    assert found[-1]["usageMetadata"]["thoughtsTokenCount"] == 3


def test_without_being_asked_gemini_shows_no_thought_and_still_signs() -> None:
    body = changed(OPENING, generationConfig={})
    parts = told("gemini", path(), body, script=[TURN]).json["candidates"][0]["content"]["parts"]
    assert [sorted(part) for part in parts] == [["text", "thoughtSignature"]]


def test_an_array_that_breaks_is_still_an_array() -> None:
    turn = TURN | {"fault": {"kind": "overload", "after_events": 2}}
    found = told("gemini", path(verb="streamGenerateContent"), OPENING, script=[turn]).json
    assert [sorted(chunk)[0] for chunk in found] == ["candidates", "candidates", "error"]


def test_gemini_models_say_whether_they_think() -> None:
    async def talk(server: Simulator) -> list[Any]:
        names = ("", f"/{MODEL}", "/gemini-2.0-flash", "/gemini-none")
        return [await get(server, f"/v1beta/models{name}") for name in names]

    listed, thinks, does_not, none = with_server("gemini", talk)
    assert all(model["name"].startswith("models/") for model in listed.json["models"])
    assert (thinks.json["thinking"], does_not.json["thinking"], none.status) == (True, False, 404)


CHAT: Json = {"model": "qwen3", "messages": [{"role": "user", "content": "Hi"}], "stream": False}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
OLLAMA_CASES = [
    Case("ollama.model", same, instead(model="missing"), "model 'missing' not found", 404),
    Case("ollama.think-value", instead(think="low"), instead(think="huge"), 'invalid think value: "huge"'),
    Case(
        "ollama.no-thinking",
        instead(think=True),
        instead(think=True, model="llama3.2"),
        '"llama3.2" does not support thinking',
    ),
    Case(
        "ollama.no-tools",
        instead(tools=[TOOL]),
        instead(tools=[TOOL], model="gemma3"),
        "does not support tools",
    ),
]


@pytest.mark.parametrize("case", OLLAMA_CASES, ids=lambda case: case.rule)
def test_a_rule_of_ollama_passes_and_refuses(case: Case) -> None:
    check("ollama", "/api/chat", CHAT, case, lambda error: str(error["error"]))


def lines(body: bytes) -> list[Json]:
    assert body.endswith(b"\n")
    return [json.loads(line) for line in body.splitlines()]


def test_ollama_streams_line_by_line_unless_told_not_to() -> None:
    turn = TURN | {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}]}
    stream = told("ollama", "/api/chat", changed(CHAT, stream=None), script=[turn])
    assert stream.headers["Content-Type"].startswith("application/x-ndjson")
    found = lines(stream.body)
    assert [line["message"].get("thinking") for line in found] == ["Think ", "twice.", None, None, None, None]
    assert "".join(line["message"]["content"] for line in found) == "Mild today."
    assert found[-2]["message"]["tool_calls"][0]["function"]["arguments"] == {"city": "Lima"}
    assert [line["done"] for line in found] == [False] * 5 + [True]
    whole = told("ollama", "/api/chat", CHAT, script=[turn]).json
    assert whole["message"]["thinking"] == "Think twice."
    assert whole["eval_count"] == found[-1]["eval_count"]


def test_ollama_does_not_think_when_told_not_to_but_gpt_oss_always_does() -> None:
    off = [changed(CHAT, think=False), changed(CHAT, think=False, model="gpt-oss:20b")]
    shown = ["thinking" in told("ollama", "/api/chat", body, script=[TURN]).json["message"] for body in off]
    assert shown == [False, True]


def test_ollama_shows_what_a_model_can_do() -> None:
    async def talk(server: Simulator) -> list[Any]:
        shown = [
            await post(server, "/api/show", {"model": name}) for name in ("qwen3:8b", "llama3.2", "missing")
        ]
        return [*shown, await get(server, "/api/tags")]

    thinks, does_not, missing, tags = with_server("ollama", talk)
    assert "thinking" in thinks.json["capabilities"]
    assert "thinking" not in does_not.json["capabilities"]
    assert missing.status == 404
    assert {"name", "model"} <= set(tags.json["models"][0])

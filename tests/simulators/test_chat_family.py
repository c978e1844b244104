"""Those who speak Chat Completions: each rule from both sides, and the streams as they must be."""

import copy
import json
from typing import Any

import pytest
from tests.simulators.talking import (
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

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openrouter": "/api/v1/chat/completions",
    "deepseek": "/chat/completions",
    "kimi": "/v1/chat/completions",
    "vllm": "/v1/chat/completions",
}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
MESSAGES = [{"role": "user", "content": "Is it warm in Lima?"}]
FORCED = {"type": "function", "function": {"name": "get_weather"}}


def body(model: str, **fields: Any) -> Json:
    return {"model": model, "messages": MESSAGES, "tools": TOOLS, **fields}


OPENINGS = {
    "openai-chat": body("gpt-6-sol"),
    "openrouter": body("anthropic/claude-opus-5.5", reasoning={"effort": "high"}),
    "deepseek": body("deepseek-v4-pro"),
    "kimi": body("kimi-k2.6"),
    "vllm": body("qwen3-8b"),
}


def answered(asked: Json, response: Json) -> Json:
    message = copy.deepcopy(response["choices"][0]["message"])
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "18 degrees"}
        for call in message["tool_calls"]
    ]
    return changed(asked, messages=[*asked["messages"], message, *results])


def message(number: int = 1, **fields: Any) -> Next:
    """The results, with one message changed; None takes a field away."""

    def ask(asked: Json, response: Json) -> Json:
        after = answered(asked, response)
        after["messages"][number] = changed(after["messages"][number], **fields)
        return after

    return ask


def detail(**fields: Any) -> Next:
    def ask(asked: Json, response: Json) -> Json:
        details = response["choices"][0]["message"]["reasoning_details"]
        return message(reasoning_details=[changed(details[0], **fields)])(asked, response)

    return ask


def repeated(asked: Json, response: Json) -> Json:
    after = answered(asked, response)
    after["messages"] += [
        after["messages"][1] | {"tool_calls": None},
        {"role": "user", "content": "And now?"},
    ]
    return after


def no_result(asked: Json, response: Json) -> Json:
    after = answered(asked, response)
    return changed(after, messages=after["messages"][:-1])


def without_reasoning(asked: Json, response: Json) -> Json:
    return message(reasoning_content=None)(asked, response)


def said_before(**fields: Any) -> Next:
    def ask(asked: Json, _: Json) -> Json:
        before = [*MESSAGES, {"role": "assistant", "content": "Yes.", **fields}, *MESSAGES]
        return changed(asked, messages=before)

    return ask


BAD_KEY = {"authorization": "Bearer bad-key"}
UNANSWERED = "did not have response messages: call_"
R1 = {"model": "deepseek-reasoner", "messages": MESSAGES}
CLAUDE = body("anthropic/claude-sonnet-4.5", reasoning={"max_tokens": 2000})
MISSING = "reasoning_content is missing in assistant tool call message at index 1"
CASES = [
    Case("openai-chat.key", same, same, "Incorrect API key provided", 401, bad_headers=BAD_KEY),
    Case("openai-chat.model", same, instead(model="gpt-none"), "does not exist", 404),
    Case("openai-chat.messages", same, instead(messages=[]), "Missing required parameter: 'messages'"),
    Case("openai-chat.fields", same, instead(thinking={}), "Unknown parameter: 'thinking'"),
    Case(
        "openai-chat.message-fields",
        said_before(),
        said_before(reasoning_content="Hm."),
        "Unknown parameter: 'messages[1].reasoning_content'",
    ),
    Case(
        "openai-chat.effort",
        instead(reasoning_effort="max"),
        instead(reasoning_effort="minimal"),
        "'minimal'",
    ),
    Case("openai-chat.sampling", same, instead(temperature=0), "'temperature' does not support 0"),
    Case(
        "openai-chat.max-tokens",
        instead(max_completion_tokens=100),
        instead(max_tokens=100),
        "Use 'max_completion_tokens' instead",
    ),
    Case(
        "openai-chat.tools",
        instead(reasoning_effort="none"),
        instead(reasoning_effort="low"),
        "not supported for gpt-5.6-sol in /v1/chat/completions",
        opening=body("gpt-5.6-sol", reasoning_effort="none"),
    ),
    Case("openai-chat.calls-open", answered, no_result, UNANSWERED),
    Case("openrouter.key", same, same, "User not found", 401, bad_headers=BAD_KEY),
    Case("openrouter.model", same, instead(model="nobody/model"), "not a valid model ID"),
    Case("openrouter.messages", same, instead(messages=[]), "messages"),
    Case(
        "openrouter.both",
        instead(reasoning={"max_tokens": 2000}),
        instead(reasoning={"max_tokens": 2000, "effort": "low"}),
        "Only one of",
        opening=CLAUDE,
    ),
    Case("openrouter.effort", same, instead(reasoning_effort="low"), "must agree"),
    Case("openrouter.mandatory", same, instead(reasoning={"effort": "none"}), "Reasoning is mandatory"),
    Case("openrouter.unsigned", answered, detail(signature=None), "Invalid `signature`"),
    Case("openrouter.duplicate", answered, repeated, "Duplicate item found with id"),
    Case("openrouter.altered", answered, detail(text="Other."), "Invalid signature"),
    Case("openrouter.missing", answered, message(reasoning_details=None), "must be passed back"),
    Case("openrouter.calls-open", answered, no_result, UNANSWERED),
    Case("deepseek.key", same, same, "Authentication Fails", 401, bad_headers=BAD_KEY),
    Case("deepseek.model", same, instead(model="deepseek-none"), "Model Not Exist"),
    Case("deepseek.messages", same, instead(messages=[]), "messages"),
    Case(
        "deepseek.control",
        instead(thinking={"type": "enabled"}),
        instead(thinking={"type": "on"}),
        "thinking",
    ),
    Case(
        "deepseek.r1-forbidden",
        said_before(),
        said_before(reasoning_content="Hm."),
        "reasoning_content is not allowed",
        opening=R1,
    ),
    Case("deepseek.r1-tools", same, instead(tools=TOOLS), "does not support Function Calling", opening=R1),
    Case(
        "deepseek.v4-missing",
        message(reasoning_content=""),
        without_reasoning,
        "The reasoning_content in the thinking mode must be passed back to the API.",
    ),
    Case(
        "deepseek.forced-tool",
        instead(tool_choice=FORCED, thinking={"type": "disabled"}),
        instead(tool_choice=FORCED),
        "Thinking mode does not support this tool_choice",
    ),
    Case("deepseek.calls-open", answered, no_result, UNANSWERED),
    Case("kimi.key", same, same, "Invalid Authentication", 401, bad_headers=BAD_KEY),
    Case("kimi.model", same, instead(model="kimi-none"), "Not found the model", 404),
    Case("kimi.messages", same, instead(messages=[]), "messages"),
    Case(
        "kimi.both",
        instead(thinking={"type": "enabled"}),
        instead(thinking={"type": "enabled"}, reasoning_effort="low"),
        "cannot specify both 'thinking' and 'reasoning_effort'",
    ),
    Case(
        "kimi.effort",
        instead(reasoning_effort="max"),
        instead(reasoning_effort="none"),
        "reasoning_effort",
        opening=body("kimi-k3"),
    ),
    Case("kimi.toggle", same, instead(thinking={"type": "disabled"}), "thinking", opening=body("kimi-k3")),
    Case("kimi.sampling", instead(temperature=1), instead(temperature=0.3), "only 1 is allowed"),
    Case("kimi.missing", answered, without_reasoning, MISSING),
    Case("kimi.calls-open", answered, no_result, UNANSWERED),
    Case("vllm.key", same, same, "Unauthorized", 401, bad_headers=BAD_KEY),
    Case("vllm.model", same, instead(model="missing-7b"), "does not exist", 404),
    Case("vllm.messages", same, instead(messages=[]), "messages"),
    Case(
        "vllm.effort",
        instead(model="gpt-oss-20b", reasoning_effort="low"),
        instead(model="gpt-oss-20b", reasoning_effort="minimal"),
        "reasoning_effort='minimal' is not supported",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_passes_and_refuses(case: Case) -> None:
    name = case.rule.partition(".")[0]

    def words(error: Json) -> str:
        assert "message" in error["error"]
        return json.dumps(error["error"], ensure_ascii=False)

    check(name, PATHS[name], OPENINGS[name], case, words)


def chunks(stream: bytes) -> list[Json]:
    frames = stream.decode().removesuffix("\n\n").split("\n\n")
    assert frames.pop() == "data: [DONE]"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def streamed(name: str, asked: Json, turn: Json) -> list[Json]:
    """The deltas of a streamed turn, the last chunk's reason, and the same usage as the whole answer."""
    found = chunks(told(name, PATHS[name], changed(asked, stream=True), script=[turn]).body)
    assert len({(chunk["id"], chunk["model"], chunk["object"]) for chunk in found}) == 1
    return [choice for chunk in found for choice in chunk["choices"]]


TURN: Json = {"thinking": "Think twice.", "text": "Mild today."}


def test_openai_shows_no_thought_and_counts_it() -> None:
    deltas = [choice["delta"] for choice in streamed("openai-chat", OPENINGS["openai-chat"], TURN)]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "Mild "}, {"content": "today."}, {}]
    whole = told("openai-chat", PATHS["openai-chat"], OPENINGS["openai-chat"], script=[TURN]).json
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "Mild today."}
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}


@pytest.mark.parametrize(
    ("name", "field"),
    [("deepseek", "reasoning_content"), ("kimi", "reasoning_content"), ("vllm", "reasoning")],
)
def test_the_thought_comes_first_and_in_its_field(name: str, field: str) -> None:
    choices = streamed(name, OPENINGS[name], TURN)
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {field: "Think ", "content": None},
        {field: "twice.", "content": None},
        {"content": "Mild "},
        {"content": "today."},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None] * 5 + ["stop"]
    whole = told(name, PATHS[name], OPENINGS[name], script=[TURN]).json["choices"][0]["message"]
    assert whole == {"role": "assistant", "content": "Mild today.", field: "Think twice."}


def test_calls_come_in_pieces_with_their_index() -> None:
    calls = [{"name": "get_weather", "arguments": {"city": name}} for name in ("Lima", "Oslo")]
    choices = streamed("deepseek", OPENINGS["deepseek"], {"tool_calls": calls})
    told_calls = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
    joined = ["", ""]
    for call in told_calls:
        joined[call["index"]] += call["function"]["arguments"]
    assert [json.loads(text) for text in joined] == [{"city": "Lima"}, {"city": "Oslo"}]
    assert choices[-1]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("model", "content"),
    [
        ("qwen3-raw", "<think>\nThink twice.\n</think>\n\nMild today."),
        ("qwen3-prefilled", "Think twice.\n</think>\n\nMild today."),
        ("llama-3.1-8b", "Mild today."),
    ],
)
def test_vllm_without_a_parser_leaves_tags_in_the_text(model: str, content: str) -> None:
    choices = streamed("vllm", body(model), TURN)
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == content
    assert not any("reasoning" in choice["delta"] for choice in choices)


def test_openrouter_tells_every_thought_twice_and_signs_late() -> None:
    deltas = [choice["delta"] for choice in streamed("openrouter", OPENINGS["openrouter"], TURN)]
    assert [delta.get("reasoning") for delta in deltas] == [None, "Think ", "twice.", None, None, None, None]
    details = [one for delta in deltas for one in delta.get("reasoning_details", [])]
    assert [one.get("text") for one in details] == ["Think ", "twice.", None]
    whole = told("openrouter", PATHS["openrouter"], OPENINGS["openrouter"], script=[TURN]).json
    message = whole["choices"][0]["message"]
    assert message["reasoning"] == "Think twice."
    assert message["reasoning_details"][0]["signature"] == details[-1]["signature"]


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        ("openai/gpt-6-sol", ["reasoning.summary", "reasoning.encrypted"]),
        ("google/gemini-3-pro-preview", ["reasoning.text", "reasoning.encrypted"]),
        ("deepseek/deepseek-v4-pro", ["reasoning.text"]),
        ("anthropic/claude-opus-5.5", ["reasoning.text"]),
    ],
)
def test_openrouter_takes_every_makers_details_back(model: str, kinds: list[str]) -> None:
    async def talk(server: Simulator) -> None:
        asked = body(model)
        first = (await post(server, PATHS["openrouter"], asked)).json
        details = first["choices"][0]["message"]["reasoning_details"]
        assert [detail["type"] for detail in details] == kinds
        assert (await post(server, PATHS["openrouter"], answered(asked, first))).status == 200
        bare = await post(server, PATHS["openrouter"], message(reasoning_details=None)(asked, first))
        assert bare.status == 400

    with_server("openrouter", talk)


def test_openrouter_wants_an_empty_list_back_as_one() -> None:
    turn = {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}]}

    async def talk(server: Simulator) -> tuple[int, int]:
        asked = body("deepseek/deepseek-v4-pro")
        first = (await post(server, PATHS["openrouter"], asked)).json
        assert first["choices"][0]["message"]["reasoning_details"] == []
        kept = await post(server, PATHS["openrouter"], answered(asked, first))
        bare = await post(server, PATHS["openrouter"], message(reasoning_details=None)(asked, first))
        return kept.status, bare.status

    assert with_server("openrouter", talk, script=[turn]) == (200, 400)


def test_deepseek_wants_the_field_in_all_later_requests() -> None:
    async def talk(server: Simulator) -> tuple[int, int]:
        asked = OPENINGS["deepseek"]
        later = answered(asked, (await post(server, PATHS["deepseek"], asked)).json)
        reply = (await post(server, PATHS["deepseek"], later)).json["choices"][0]["message"]
        later["messages"] += [{"role": "assistant", "content": reply["content"]}, *MESSAGES]
        good = await post(server, PATHS["deepseek"], later)
        del later["messages"][1]["reasoning_content"]
        return good.status, (await post(server, PATHS["deepseek"], later)).status

    assert with_server("deepseek", talk) == (200, 400)


@pytest.mark.parametrize("name", sorted(PATHS))
def test_models_are_listed(name: str) -> None:
    async def talk(server: Simulator) -> Json:
        listed = await get(server, PATHS[name].replace("/chat/completions", "/models"))
        assert listed.status == 200
        found: Json = listed.json
        return found

    assert all("id" in model for model in with_server(name, talk)["data"])


def test_usage_is_told_at_the_end_of_a_stream_when_asked_for() -> None:
    asked = changed(OPENINGS["openai-chat"], stream=True, stream_options={"include_usage": True})
    found = chunks(told("openai-chat", PATHS["openai-chat"], asked, script=[TURN]).body)
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["completion_tokens"] == 6

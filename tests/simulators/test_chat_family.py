"""Chat Completions simulators: every rule with an accepted and a refused request, and the stream format."""

import copy
import json
from typing import Any

import pytest
from tests.simulators.rule_cases import (
    ANY_JSON,
    CLOSED_SCHEMA,
    OPEN_SCHEMA,
    BuildRequest,
    Json,
    RuleCase,
    check_case,
    get_path,
    post_json,
    request_once,
    schema_format,
    unchanged,
    with_changes,
    with_fields,
    with_simulator,
)

from thinkaloud.simulators import Simulator

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openrouter": "/api/v1/chat/completions",
    "mistral": "/v1/chat/completions",
    "groq": "/openai/v1/chat/completions",
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
    "mistral": body("magistral-medium-2509"),
    "groq": body("openai/gpt-oss-120b"),
}


def with_tool_results(request: Json, response: Json) -> Json:
    message = copy.deepcopy(response["choices"][0]["message"])
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "18 degrees"}
        for call in message["tool_calls"]
    ]
    return with_fields(request, messages=[*request["messages"], message, *results])


def message(number: int = 1, **fields: Any) -> BuildRequest:
    """Return the request with results, with one changed message; None removes a field."""

    def ask(request: Json, response: Json) -> Json:
        follow_up = with_tool_results(request, response)
        follow_up["messages"][number] = with_fields(follow_up["messages"][number], **fields)
        return follow_up

    return ask


def detail(**fields: Any) -> BuildRequest:
    def ask(request: Json, response: Json) -> Json:
        details = response["choices"][0]["message"]["reasoning_details"]
        return message(reasoning_details=[with_fields(details[0], **fields)])(request, response)

    return ask


def repeated(request: Json, response: Json) -> Json:
    follow_up = with_tool_results(request, response)
    follow_up["messages"] += [
        follow_up["messages"][1] | {"tool_calls": None},
        {"role": "user", "content": "And now?"},
    ]
    return follow_up


def no_result(request: Json, response: Json) -> Json:
    follow_up = with_tool_results(request, response)
    return with_fields(follow_up, messages=follow_up["messages"][:-1])


def without_reasoning(request: Json, response: Json) -> Json:
    return message(reasoning_content=None)(request, response)


def with_assistant_message(**fields: Any) -> BuildRequest:
    def ask(request: Json, _: Json) -> Json:
        before = [*MESSAGES, {"role": "assistant", "content": "Yes.", **fields}, *MESSAGES]
        return with_fields(request, messages=before)

    return ask


def asked_elsewhere(model: str) -> BuildRequest:
    """Send the message of one model to another."""
    return lambda request, response: with_tool_results(request | {"model": model}, response)


def without_details(
    model: str = "anthropic/claude-sonnet-4.5", placeholder: str = "", **fields: Any
) -> BuildRequest:
    """Send the calls of one model to another, without the details of the first, or with a placeholder."""
    details = [{"type": "reasoning.encrypted", "data": placeholder, "format": "google-gemini-v1"}]

    def ask(request: Json, response: Json) -> Json:
        bare = message(reasoning_details=details if placeholder else None)(request, response)
        return bare | {"model": model} | fields

    return ask


IMAGE_REFUSED = "Image URLs are only allowed for messages with role 'user'"
IMAGE_RESULT = message(2, content=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}])


def call_id_of(length: int) -> BuildRequest:
    """Return a builder that gives the call an id of this length."""

    def ask(request: Json, response: Json) -> Json:
        follow_up = with_tool_results(request, response)
        follow_up["messages"][1]["tool_calls"][0]["id"] = "c" * length
        follow_up["messages"][2]["tool_call_id"] = "c" * length
        return follow_up

    return ask


def then_a_question(request: Json, response: Json) -> Json:
    follow_up = with_tool_results(request, response)
    return with_fields(follow_up, messages=[*follow_up["messages"], *MESSAGES])


def call_by_name(request: Json, response: Json) -> Json:
    """Answer a call that was not made."""
    return message(2, tool_call_id="abcdefgh9")(request, response)


BAD_KEY = {"authorization": "Bearer bad-key"}
UNANSWERED = "did not have response messages: call_"
R1 = {"model": "deepseek-reasoner", "messages": MESSAGES}
CLAUDE = body("anthropic/claude-sonnet-4.5", reasoning={"max_tokens": 2000})
MISSING = "reasoning_content is missing in assistant tool call message at index 1"
CASES = [
    RuleCase(
        "openai-chat.key", unchanged, unchanged, "Incorrect API key provided", 401, refused_headers=BAD_KEY
    ),
    RuleCase("openai-chat.model", unchanged, with_changes(model="gpt-none"), "does not exist", 404),
    RuleCase(
        "openai-chat.messages", unchanged, with_changes(messages=[]), "Missing required parameter: 'messages'"
    ),
    RuleCase("openai-chat.fields", unchanged, with_changes(thinking={}), "Unknown parameter: 'thinking'"),
    RuleCase(
        "openai-chat.message-fields",
        with_assistant_message(),
        with_assistant_message(reasoning_content="Hm."),
        "Unknown parameter: 'messages[1].reasoning_content'",
    ),
    RuleCase(
        "openai-chat.effort",
        with_changes(reasoning_effort="max"),
        with_changes(reasoning_effort="minimal"),
        "'minimal'",
    ),
    RuleCase(
        "openai-chat.verbosity",
        with_changes(verbosity="low"),
        with_changes(verbosity="low", model="gpt-4o"),
        "'low' is not supported with the 'gpt-4o' model. Supported values are: 'medium'.",
    ),
    RuleCase(
        "openai-chat.sampling", unchanged, with_changes(temperature=0), "'temperature' does not support 0"
    ),
    RuleCase(
        "openai-chat.stop",
        with_changes(model="gpt-4o", stop=["x"]),
        with_changes(stop=["x"]),
        "'stop' is not supported with this model",
        opening=body("gpt-5"),
    ),
    RuleCase("openai-chat.call-id", with_tool_results, call_id_of(41), "maximum length 40"),
    RuleCase(
        "openai-chat.max-tokens",
        with_changes(max_completion_tokens=100),
        with_changes(max_tokens=100),
        "Use 'max_completion_tokens' instead",
    ),
    RuleCase(
        "openai-chat.tools",
        with_changes(reasoning_effort="none"),
        with_changes(reasoning_effort="low"),
        "not supported for gpt-5.6-sol in /v1/chat/completions",
        opening=body("gpt-5.6-sol", reasoning_effort="none"),
    ),
    RuleCase(
        "openai-chat.output",
        with_changes(response_format=schema_format(CLOSED_SCHEMA)),
        with_changes(response_format=schema_format(OPEN_SCHEMA)),
        "'additionalProperties' is required to be supplied and to be false",
    ),
    RuleCase("openai-chat.result-images", with_tool_results, IMAGE_RESULT, IMAGE_REFUSED),
    RuleCase("openai-chat.calls-open", with_tool_results, no_result, UNANSWERED),
    RuleCase("openrouter.key", unchanged, unchanged, "User not found", 401, refused_headers=BAD_KEY),
    RuleCase("openrouter.model", unchanged, with_changes(model="nobody/model"), "not a valid model ID"),
    RuleCase("openrouter.messages", unchanged, with_changes(messages=[]), "messages"),
    RuleCase(
        "openrouter.both",
        with_changes(reasoning={"max_tokens": 2000}),
        with_changes(reasoning={"max_tokens": 2000, "effort": "low"}),
        "Only one of",
        opening=CLAUDE,
    ),
    RuleCase("openrouter.effort", unchanged, with_changes(reasoning_effort="low"), "must agree"),
    RuleCase(
        "openrouter.verbosity", with_changes(verbosity="low"), with_changes(verbosity="short"), "'short'"
    ),
    RuleCase(
        "openrouter.mandatory",
        unchanged,
        with_changes(reasoning={"effort": "none"}),
        "Reasoning is mandatory",
    ),
    RuleCase("openrouter.unsigned", with_tool_results, detail(signature=None), "Invalid `signature`"),
    RuleCase("openrouter.duplicate", with_tool_results, repeated, "Duplicate item found with id"),
    RuleCase("openrouter.altered", with_tool_results, detail(text="Other."), "Invalid signature"),
    RuleCase("openrouter.missing", with_tool_results, message(reasoning_details=None), "must be passed back"),
    RuleCase(
        "openrouter.foreign",
        with_tool_results,
        asked_elsewhere("openai/gpt-6-sol"),
        "Invalid `signature`",
    ),
    RuleCase(
        "openrouter.thought-first",
        without_details(reasoning={"effort": "none"}),
        without_details(reasoning={"max_tokens": 2000}),
        "Expected `thinking`",
        opening=body("deepseek/deepseek-v4-pro"),
    ),
    RuleCase(
        "openrouter.signature",
        without_details(model="google/gemini-3-pro-preview", placeholder="skip_thought_signature_validator"),
        without_details(model="google/gemini-3-pro-preview"),
        "missing a thought_signature",
        opening=body("deepseek/deepseek-v4-pro"),
    ),
    RuleCase("openrouter.calls-open", with_tool_results, no_result, UNANSWERED),
    RuleCase("deepseek.key", unchanged, unchanged, "Authentication Fails", 401, refused_headers=BAD_KEY),
    RuleCase("deepseek.model", unchanged, with_changes(model="deepseek-none"), "Model Not Exist"),
    RuleCase("deepseek.messages", unchanged, with_changes(messages=[]), "messages"),
    RuleCase(
        "deepseek.text-only",
        with_changes(messages=[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]),
        with_changes(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]),
        "unknown variant `image_url`, expected `text`",
    ),
    RuleCase(
        "deepseek.text-only",
        with_changes(model="deepseek-flash", messages=[{"role": "user", "content": [{"type": "image_url"}]}]),
        with_changes(
            model="deepseek-flash", messages=[{"role": "user", "content": [{"type": "input_audio"}]}]
        ),
        "unknown variant `input_audio`",
    ),
    RuleCase(
        "deepseek.control",
        with_changes(thinking={"type": "enabled"}),
        with_changes(thinking={"type": "on"}),
        "thinking",
    ),
    RuleCase(
        "deepseek.max-tokens",
        with_changes(max_tokens=393_216),
        with_changes(max_tokens=393_217),
        "valid range of max_tokens is [1, 393216]",
    ),
    RuleCase(
        "deepseek.r1-successive",
        with_assistant_message(),
        with_changes(messages=MESSAGES * 2),
        "does not support successive user or assistant messages",
        opening=R1,
    ),
    RuleCase(
        "deepseek.r1-forbidden",
        with_assistant_message(),
        with_assistant_message(reasoning_content="Hm."),
        "reasoning_content is not allowed",
        opening=R1,
    ),
    RuleCase(
        "deepseek.r1-tools",
        unchanged,
        with_changes(tools=TOOLS),
        "does not support Function Calling",
        opening=R1,
    ),
    RuleCase(
        "deepseek.v4-missing",
        message(reasoning_content=""),
        without_reasoning,
        "The reasoning_content in the thinking mode must be passed back to the API.",
    ),
    RuleCase(
        "deepseek.forced-tool",
        with_changes(tool_choice=FORCED, thinking={"type": "disabled"}),
        with_changes(tool_choice=FORCED),
        "Thinking mode does not support this tool_choice",
    ),
    RuleCase(
        "deepseek.output",
        with_changes(response_format=ANY_JSON, messages=[{"role": "user", "content": "Say it in JSON."}]),
        with_changes(response_format=schema_format(CLOSED_SCHEMA)),
        "This response_format type is unavailable now",
    ),
    RuleCase("deepseek.calls-open", with_tool_results, no_result, UNANSWERED),
    RuleCase("kimi.key", unchanged, unchanged, "Invalid Authentication", 401, refused_headers=BAD_KEY),
    RuleCase("kimi.model", unchanged, with_changes(model="kimi-none"), "Not found the model", 404),
    RuleCase("kimi.messages", unchanged, with_changes(messages=[]), "messages"),
    RuleCase(
        "kimi.both",
        with_changes(thinking={"type": "enabled"}),
        with_changes(thinking={"type": "enabled"}, reasoning_effort="low"),
        "cannot specify both 'thinking' and 'reasoning_effort'",
    ),
    RuleCase(
        "kimi.effort",
        with_changes(reasoning_effort="max"),
        with_changes(reasoning_effort="none"),
        "reasoning_effort",
        opening=body("kimi-k3"),
    ),
    RuleCase(
        "kimi.toggle",
        unchanged,
        with_changes(thinking={"type": "disabled"}),
        "thinking",
        opening=body("kimi-k3"),
    ),
    RuleCase(
        "kimi.sampling", with_changes(temperature=1), with_changes(temperature=0.3), "only 1 is allowed"
    ),
    RuleCase(
        "kimi.forced-tool",
        with_changes(tool_choice="required", thinking={"type": "disabled"}),
        with_changes(tool_choice="required"),
        "tool_choice 'required' is incompatible with thinking enabled",
        opening=body("kimi-k2.6"),
    ),
    RuleCase("kimi.missing", with_tool_results, without_reasoning, MISSING),
    RuleCase("kimi.calls-open", with_tool_results, no_result, UNANSWERED),
    RuleCase("mistral.key", unchanged, unchanged, "Invalid Authentication", 401, refused_headers=BAD_KEY),
    RuleCase("mistral.model", unchanged, with_changes(model="mistral-none"), "Invalid model: mistral-none"),
    RuleCase("mistral.messages", unchanged, with_changes(messages=[]), "messages"),
    RuleCase(
        "mistral.effort",
        with_changes(model="mistral-small-latest", reasoning_effort="high"),
        with_changes(reasoning_effort="high"),
        "reasoning_effort high is not supported",
    ),
    RuleCase("mistral.call-id", with_tool_results, call_id_of(15), "with a length of 9"),
    RuleCase(
        "mistral.empty",
        with_assistant_message(),
        with_assistant_message(content=""),
        "must have either content or tool_calls",
    ),
    RuleCase("mistral.order", with_tool_results, then_a_question, "Unexpected role 'user' after role 'tool'"),
    RuleCase(
        "mistral.reasoning-input",
        with_tool_results,
        asked_elsewhere("mistral-large-latest"),
        "Reasoning input is not enabled",
    ),
    RuleCase("mistral.result-images", with_tool_results, IMAGE_RESULT, "Input should be 'text'"),
    RuleCase(
        "mistral.calls-open", with_tool_results, call_by_name, "must be a response to a preceding message"
    ),
    RuleCase("groq.key", unchanged, unchanged, "Invalid Authentication", 401, refused_headers=BAD_KEY),
    RuleCase("groq.model", unchanged, with_changes(model="groq-none"), "does not exist", 404),
    RuleCase("groq.messages", unchanged, with_changes(messages=[]), "messages"),
    RuleCase("groq.fields", unchanged, with_changes(reasoning={}), "property 'reasoning' is unsupported"),
    RuleCase(
        "groq.message-fields",
        with_assistant_message(reasoning="Hm."),
        with_assistant_message(reasoning_content="Hm."),
        "property 'reasoning_content' is unsupported",
    ),
    RuleCase(
        "groq.effort",
        with_changes(reasoning_effort="low"),
        with_changes(reasoning_effort="none"),
        "`reasoning_effort` must be one of",
    ),
    RuleCase(
        "groq.format",
        with_changes(include_reasoning=True),
        with_changes(include_reasoning=True, reasoning_format="parsed"),
        "cannot specify both",
    ),
    RuleCase(
        "groq.output",
        with_changes(response_format=schema_format(CLOSED_SCHEMA)),
        with_changes(response_format=schema_format(CLOSED_SCHEMA), model="qwen/qwen3-32b"),
        "does not support response format `json_schema`",
    ),
    RuleCase("groq.calls-open", with_tool_results, no_result, UNANSWERED),
    RuleCase("vllm.key", unchanged, unchanged, "Unauthorized", 401, refused_headers=BAD_KEY),
    RuleCase("vllm.model", unchanged, with_changes(model="missing-7b"), "does not exist", 404),
    RuleCase("vllm.messages", unchanged, with_changes(messages=[]), "messages"),
    RuleCase("vllm.result-images", with_tool_results, IMAGE_RESULT, IMAGE_REFUSED),
    RuleCase(
        "vllm.effort",
        with_changes(model="gpt-oss-20b", reasoning_effort="low"),
        with_changes(model="gpt-oss-20b", reasoning_effort="minimal"),
        "reasoning_effort='minimal' is not supported",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_chat_rule(case: RuleCase) -> None:
    name = case.rule.partition(".")[0]

    def words(error: Json) -> str:
        detail = error.get("error", error)  # Mistral's errors have no envelope
        assert "message" in detail
        return json.dumps(detail, ensure_ascii=False)

    check_case(name, PATHS[name], OPENINGS[name], case, words)


def chunks(stream: bytes) -> list[Json]:
    frames = stream.decode().removesuffix("\n\n").split("\n\n")
    assert frames.pop() == "data: [DONE]"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def stream_choices(name: str, request: Json, turn: Json) -> list[Json]:
    """Return the deltas and the finish reason of a streamed turn, and check its usage."""
    choices = chunks(request_once(name, PATHS[name], with_fields(request, stream=True), script=[turn]).body)
    assert len({(chunk["id"], chunk["model"], chunk["object"]) for chunk in choices}) == 1
    return [choice for chunk in choices for choice in chunk["choices"]]


TURN: Json = {"thinking": "Think twice.", "text": "Mild today."}


def test_openai_hides_thoughts_and_counts_them() -> None:
    deltas = [choice["delta"] for choice in stream_choices("openai-chat", OPENINGS["openai-chat"], TURN)]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "Mild "}, {"content": "today."}, {}]
    whole = request_once("openai-chat", PATHS["openai-chat"], OPENINGS["openai-chat"], script=[TURN]).json
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "Mild today."}
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}


@pytest.mark.parametrize(
    ("name", "field"),
    [("deepseek", "reasoning_content"), ("kimi", "reasoning_content"), ("vllm", "reasoning")],
)
def test_the_thought_streams_first_in_its_field(name: str, field: str) -> None:
    choices = stream_choices(name, OPENINGS[name], TURN)
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {field: "Think ", "content": None},
        {field: "twice.", "content": None},
        {"content": "Mild "},
        {"content": "today."},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None] * 5 + ["stop"]
    whole = request_once(name, PATHS[name], OPENINGS[name], script=[TURN]).json["choices"][0]["message"]
    assert whole == {"role": "assistant", "content": "Mild today.", field: "Think twice."}


def test_calls_stream_in_pieces_with_their_index() -> None:
    calls = [{"name": "get_weather", "arguments": {"city": name}} for name in ("Lima", "Oslo")]
    choices = stream_choices("deepseek", OPENINGS["deepseek"], {"tool_calls": calls})
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
    choices = stream_choices("vllm", body(model), TURN)
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == content
    assert not any("reasoning" in choice["delta"] for choice in choices)


def test_openrouter_sends_every_thought_twice_and_signs_late() -> None:
    deltas = [choice["delta"] for choice in stream_choices("openrouter", OPENINGS["openrouter"], TURN)]
    assert [delta.get("reasoning") for delta in deltas] == [None, "Think ", "twice.", None, None, None, None]
    details = [one for delta in deltas for one in delta.get("reasoning_details", [])]
    assert [one.get("text") for one in details] == ["Think ", "twice.", None]
    whole = request_once("openrouter", PATHS["openrouter"], OPENINGS["openrouter"], script=[TURN]).json
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
def test_openrouter_accepts_the_details_of_every_vendor(model: str, kinds: list[str]) -> None:
    async def scenario(server: Simulator) -> None:
        request = body(model)
        first = (await post_json(server, PATHS["openrouter"], request)).json
        details = first["choices"][0]["message"]["reasoning_details"]
        assert [detail["type"] for detail in details] == kinds
        assert (await post_json(server, PATHS["openrouter"], with_tool_results(request, first))).status == 200
        bare = await post_json(server, PATHS["openrouter"], message(reasoning_details=None)(request, first))
        assert bare.status == 400

    with_simulator("openrouter", scenario)


def test_openrouter_requires_an_empty_details_list() -> None:
    turn = {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}]}

    async def scenario(server: Simulator) -> tuple[int, int]:
        request = body("deepseek/deepseek-v4-pro")
        first = (await post_json(server, PATHS["openrouter"], request)).json
        assert first["choices"][0]["message"]["reasoning_details"] == []
        complete = await post_json(server, PATHS["openrouter"], with_tool_results(request, first))
        bare = await post_json(server, PATHS["openrouter"], message(reasoning_details=None)(request, first))
        return complete.status, bare.status

    assert with_simulator("openrouter", scenario, script=[turn]) == (200, 400)


def test_deepseek_requires_reasoning_content_in_all_later_requests() -> None:
    async def scenario(server: Simulator) -> tuple[int, int]:
        request = OPENINGS["deepseek"]
        later = with_tool_results(request, (await post_json(server, PATHS["deepseek"], request)).json)
        reply = (await post_json(server, PATHS["deepseek"], later)).json["choices"][0]["message"]
        later["messages"] += [{"role": "assistant", "content": reply["content"]}, *MESSAGES]
        good = await post_json(server, PATHS["deepseek"], later)
        del later["messages"][1]["reasoning_content"]
        return good.status, (await post_json(server, PATHS["deepseek"], later)).status

    assert with_simulator("deepseek", scenario) == (200, 400)


@pytest.mark.parametrize("name", sorted(PATHS))
def test_models_are_listed(name: str) -> None:
    async def scenario(server: Simulator) -> Json:
        listed = await get_path(server, PATHS[name].replace("/chat/completions", "/models"))
        assert listed.status == 200
        models: Json = listed.json
        return models

    assert all("id" in model for model in with_simulator(name, scenario)["data"])


def test_usage_ends_a_stream_when_requested() -> None:
    request = with_fields(OPENINGS["openai-chat"], stream=True, stream_options={"include_usage": True})
    deltas = chunks(request_once("openai-chat", PATHS["openai-chat"], request, script=[TURN]).body)
    assert deltas[-1]["choices"] == []
    assert deltas[-1]["usage"]["completion_tokens"] == 6


@pytest.mark.parametrize("name", sorted(PATHS))
def test_every_chunk_has_a_fingerprint_and_openrouter_names_the_provider(name: str) -> None:
    """The official OpenRouter client and pydantic-ai expect them."""
    request = OPENINGS[name] | {"stream": True}
    for chunk in chunks(request_once(name, PATHS[name], request).body):
        assert chunk["system_fingerprint"]
        assert chunk.get("provider", "") == ("anthropic" if name == "openrouter" else "")

"""The complete request body of each dialect, to compare with the provider's documentation."""

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.conversations import (
    BEDROCK,
    BOUND,
    CHAT,
    CLAUDE,
    COHERE,
    DEEPSEEK,
    GEMINI,
    GPT,
    INTERACTIONS,
    KIMI,
    MINIMAX,
    MISTRAL,
    OLLAMA,
    OPENROUTER,
    ROUTES,
    VLLM,
    WEATHER,
    CityCall,
    answer_from,
    conversation_of,
    route,
    tool_result,
    user_message,
)

from thinkaloud.core.canon import Refused, UnknownDialect, Wording
from thinkaloud.core.canon.requests import (
    AssistantMessage,
    Image,
    Message,
    Request,
    ThinkingParameters,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import build
from thinkaloud.core.dialects import DIALECTS, build_request
from thinkaloud.core.dialects.request import set_at_path

IMAGE = Image("image/png", "aGk=")
CALL = ToolCall("c1", "get_weather", '{"city": "Lima"}')
MESSAGES: tuple[Message, ...] = (
    UserMessage("Look.", (IMAGE,)),
    AssistantMessage("Checking.", (CALL,)),
    ToolMessage("c1", "18 C", "get_weather"),
    UserMessage("And now?"),
)
SCHEMA = json.loads(WEATHER.parameters)


def json_body(destination: Route, request: Request) -> Any:
    return json.loads(build_request(destination, request).body)


def make_request(destination: Route, *messages: Message, **fields: Any) -> Request:
    return Request(model=destination.model_id, messages=messages or MESSAGES, **fields)


def full_body(destination: Route, **fields: Any) -> Any:
    return json_body(
        destination, make_request(destination, system="Be brief.", tools=(WEATHER,), max_tokens=900, **fields)
    )


def test_anthropic_messages() -> None:
    sent_body = full_body(
        CLAUDE,
        thinking=ThinkingParameters(mode="enabled", budget_tokens=2048, effort="high", display="summarized"),
    )
    assert sent_body == {
        "model": "claude-opus-4-5",
        "max_tokens": 900,
        "system": "Be brief.",
        "tools": [{"name": "get_weather", "description": "The weather in a city.", "input_schema": SCHEMA}],
        "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"},
        "output_config": {"effort": "high"},
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                    },
                    {"type": "text", "text": "Look."},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Checking."},
                    {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Lima"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "18 C"},
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
    }


@pytest.mark.parametrize(
    ("fields", "betas"),
    [
        (
            {"thinking": ThinkingParameters(mode="enabled"), "tools": (WEATHER,)},
            "interleaved-thinking-2025-05-14",
        ),
        ({"thinking": ThinkingParameters(mode="enabled")}, None),
        ({"thinking": ThinkingParameters(mode="adaptive"), "tools": (WEATHER,)}, None),
        (
            {
                "thinking": ThinkingParameters(
                    mode="adaptive", display="updates", template=(("block_binding", "drop_block"),)
                )
            },
            "thinking-display-updates-2026-08-18,thinking-binding-controls-2026-08-01",
        ),
    ],
)
def test_anthropic_headers(fields: dict[str, Any], betas: str | None) -> None:
    sent = build_request(BOUND, make_request(BOUND, **fields))
    assert sent.path == "/messages"
    assert sent.headers.get("anthropic-beta") == betas
    assert (sent.headers["anthropic-version"], sent.headers["content-type"]) == (
        "2023-06-01",
        "application/json",
    )


def test_anthropic_block_binding() -> None:
    thinking = ThinkingParameters(mode="adaptive", template=(("block_binding", "drop_block"),))
    sent_body = json_body(BOUND, make_request(BOUND, thinking=thinking))
    assert sent_body["thinking"] == {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert sent_body["max_tokens"] == 16384
    cloud = json_body(BEDROCK, make_request(BEDROCK, thinking=thinking))
    assert cloud["additionalModelRequestFields"] == {
        "thinking": sent_body["thinking"],
        "anthropic_beta": ["thinking-binding-controls-2026-08-01"],
    }


def test_anthropic_default_max_tokens() -> None:
    bare = msgspec.structs.replace(CLAUDE.provider, max_tokens=None, places={})
    route = msgspec.structs.replace(CLAUDE, provider=bare)
    assert json_body(route, make_request(route))["max_tokens"] == 8192
    assert json_body(route, make_request(route, max_tokens=5))["max_tokens"] == 5
    assert (
        json_body(route, make_request(route, max_tokens=5, thinking=ThinkingParameters(max_tokens=7)))[
            "max_tokens"
        ]
        == 7
    )


def test_openai_chat() -> None:
    assert full_body(CHAT, thinking=ThinkingParameters(effort="low"), stream=False) == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                ],
            },
            {
                "role": "assistant",
                "content": "Checking.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Lima"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "The weather in a city.",
                    "parameters": SCHEMA,
                },
            }
        ],
        "reasoning_effort": "low",
        "max_completion_tokens": 900,
        "stream": False,
    }


@pytest.mark.parametrize(
    ("route", "parameters", "expected"),
    [
        (OPENROUTER, ThinkingParameters(budget_tokens=2000), {"reasoning": {"max_tokens": 2000}}),
        (
            OPENROUTER,
            ThinkingParameters(effort="high", toggle=True),
            {"reasoning": {"effort": "high", "enabled": True}},
        ),
        (
            DEEPSEEK,
            ThinkingParameters(mode="enabled", effort="max"),
            {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        ),
        (KIMI, ThinkingParameters(mode="disabled"), {"thinking": {"type": "disabled"}}),
        (MINIMAX, ThinkingParameters(mode="disabled", effort="high"), {"thinking": {"type": "disabled"}}),
        (
            route("dashscope/qwen3-32b"),
            ThinkingParameters(toggle=False, budget_tokens=0),
            {"enable_thinking": False, "thinking_budget": 0},
        ),
        (
            VLLM,
            ThinkingParameters(template=(("enable_thinking", False),)),
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
        (CHAT, ThinkingParameters(template=(("x", True),), level="low", notes=(Wording("said"),)), {}),
        (OLLAMA, ThinkingParameters(toggle=True), {"think": True}),
        (OLLAMA, ThinkingParameters(effort="high"), {"think": "high"}),
        (
            COHERE,
            ThinkingParameters(mode="enabled", budget_tokens=500),
            {"thinking": {"type": "enabled", "token_budget": 500}},
        ),
    ],
)
def test_thinking_fields_use_the_paths_of_the_provider_row(
    route: Route, parameters: ThinkingParameters, expected: dict[str, Any]
) -> None:
    """R042, R043: each provider gets its own field and no unknown one."""
    plain, thinking = (
        json_body(route, make_request(route)),
        json_body(route, make_request(route, thinking=parameters)),
    )
    assert {name: value for name, value in thinking.items() if name not in plain} == expected


def test_reasoning_is_sent_in_its_field() -> None:
    """R059."""
    turn = AssistantMessage("", (CALL,), "", "reasoning_content")
    sent_body = json_body(DEEPSEEK, make_request(DEEPSEEK, UserMessage("Hi"), turn, ToolMessage("c1", "x")))
    assert sent_body["messages"][1]["reasoning_content"] == ""
    local = json_body(
        OLLAMA, make_request(OLLAMA, UserMessage("Hi"), AssistantMessage("a", (), "Hm.", "thinking"))
    )
    assert local["messages"][1] == {"role": "assistant", "content": "a", "thinking": "Hm."}


def test_mistral_needs_short_call_ids_and_no_usage_option() -> None:
    sent_body = json_body(MISTRAL, make_request(MISTRAL))
    assert "stream_options" not in sent_body
    assert json_body(CHAT, make_request(CHAT))["stream_options"] == {"include_usage": True}
    call_id = sent_body["messages"][1]["tool_calls"][0]["id"]
    assert re.fullmatch("[a-z0-9]{9}", call_id)
    assert sent_body["messages"][2]["tool_call_id"] == call_id


def test_openai_chat_sends_call_signature() -> None:
    call = msgspec.structs.replace(CALL, signature="sig")
    sent_body = json_body(CHAT, make_request(CHAT, UserMessage("Hi"), AssistantMessage("", (call,))))
    assert sent_body["messages"][1]["tool_calls"][0]["extra_content"] == {
        "google": {"thought_signature": "sig"}
    }


def test_openai_responses() -> None:
    """R007, K11: nothing is stored at the provider, and encrypted reasoning is requested."""
    assert full_body(GPT, thinking=ThinkingParameters(effort="high", display="auto"), tool_choice="auto") == {
        "model": "gpt-5",
        "input": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
                ],
            },
            {"role": "assistant", "content": "Checking."},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "get_weather",
                "arguments": '{"city": "Lima"}',
            },
            {"type": "function_call_output", "call_id": "c1", "output": "18 C"},
            {"role": "user", "content": "And now?"},
        ],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "The weather in a city.",
                "parameters": SCHEMA,
                "strict": False,
            }
        ],
        "tool_choice": "auto",
        "reasoning": {"effort": "high", "summary": "auto"},
        "max_output_tokens": 900,
        "stream": True,
    }


def test_openai_responses_of_a_model_that_does_not_reason() -> None:
    """OpenAI refuses the request for encrypted reasoning of such a model."""
    assert "include" not in full_body(route("openai/gpt-4o"))
    assert full_body(GPT)["include"] == ["reasoning.encrypted_content"]


def test_gemini() -> None:
    """R009."""
    sent = build_request(
        GEMINI,
        make_request(
            GEMINI,
            system="Be brief.",
            tools=(WEATHER,),
            thinking=ThinkingParameters(level="high", display="include"),
        ),
    )
    assert sent.path == f"/models/{GEMINI.model_id}:streamGenerateContent?alt=sse"
    assert json.loads(sent.body) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "description": "The weather in a city.",
                        "parametersJsonSchema": SCHEMA,
                    }
                ]
            }
        ],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "high", "includeThoughts": True}},
        "contents": [
            {
                "role": "user",
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}, {"text": "Look."}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "Checking."},
                    {
                        "functionCall": {"id": "c1", "name": "get_weather", "args": {"city": "Lima"}},
                        "thoughtSignature": "skip_thought_signature_validator",
                    },
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "c1",
                            "name": "get_weather",
                            "response": {"output": "18 C"},
                        }
                    },
                ],
            },
            {"role": "user", "parts": [{"text": "And now?"}]},
        ],
    }
    unstreamed = build_request(GEMINI, make_request(GEMINI, stream=False, max_tokens=5))
    assert unstreamed.path.endswith(":generateContent")
    assert json.loads(unstreamed.body)["generationConfig"] == {"maxOutputTokens": 5}


def test_gemini_adds_placeholder_signatures() -> None:
    """The first call of each step gets the placeholder; a signed call keeps its signature."""
    other = ToolCall("c2", "get_weather", "{}")
    signed = ToolCall("c3", "get_weather", "{}", "sig")
    loop = (
        UserMessage("Hi"),
        AssistantMessage("", (CALL, other)),
        ToolMessage("c1", "x", failed=True),
        ToolMessage("", "y"),
        AssistantMessage("", (signed,)),
        ToolMessage("c3", "z"),
        AssistantMessage(verbatim='{"role":"model","parts":[]}'),
    )
    contents = json_body(GEMINI, make_request(GEMINI, *loop))["contents"]
    markers = [part.get("thoughtSignature") for content in contents for part in content["parts"]]
    assert markers == [None, "skip_thought_signature_validator", None, None, None, "sig", None]
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"error": "x"}
    assert "id" not in contents[2]["parts"][1]["functionResponse"]
    lax = msgspec.structs.replace(GEMINI, replay=MISTRAL.replay)
    assert "skip_thought" not in json.dumps(json_body(lax, make_request(lax, *loop)))


def test_gemini_interactions() -> None:
    assert full_body(INTERACTIONS, tool_choice="required") == {
        "model": GEMINI.model_id,
        "system_instruction": "Be brief.",
        "store": False,
        "stream": True,
        "generation_config": {"tool_choice": "any", "max_output_tokens": 900},
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "The weather in a city.",
                "parameters": SCHEMA,
            }
        ],
        "input": [
            {
                "type": "user_input",
                "content": [
                    {"type": "image", "data": "aGk=", "mime_type": "image/png"},
                    {"type": "text", "text": "Look."},
                ],
            },
            {"type": "model_output", "content": [{"type": "text", "text": "Checking."}]},
            {"type": "function_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Lima"}},
            {"type": "function_result", "call_id": "c1", "name": "get_weather", "result": "18 C"},
            {"type": "user_input", "content": [{"type": "text", "text": "And now?"}]},
        ],
    }


def test_ollama() -> None:
    """R010."""
    assert full_body(OLLAMA, thinking=ThinkingParameters(toggle=True)) == {
        "model": "qwen3:8b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look.", "images": ["aGk="]},
            {
                "role": "assistant",
                "content": "Checking.",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "get_weather", "arguments": {"city": "Lima"}}}
                ],
            },
            {"role": "tool", "tool_name": "get_weather", "content": "18 C", "tool_call_id": "c1"},
            {"role": "user", "content": "And now?"},
        ],
        "tools": json_body(CHAT, make_request(CHAT, tools=(WEATHER,)))["tools"],
        "think": True,
        "options": {"num_predict": 900},
        "stream": True,
    }
    assert "tools" not in full_body(OLLAMA, tool_choice="none")


def test_bedrock_converse() -> None:
    sent = build_request(
        BEDROCK,
        make_request(
            BEDROCK,
            system="Be brief.",
            tools=(WEATHER,),
            thinking=ThinkingParameters(mode="enabled", budget_tokens=2048),
        ),
    )
    assert sent.path == "/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/converse-stream"
    assert json.loads(sent.body) == {
        "system": [{"text": "Be brief."}],
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "get_weather",
                        "description": "The weather in a city.",
                        "inputSchema": {"json": SCHEMA},
                    }
                }
            ]
        },
        "additionalModelRequestFields": {
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "anthropic_beta": ["interleaved-thinking-2025-05-14"],
        },
        "messages": [
            {
                "role": "user",
                "content": [{"image": {"format": "png", "source": {"bytes": "aGk="}}}, {"text": "Look."}],
            },
            {
                "role": "assistant",
                "content": [
                    {"text": "Checking."},
                    {"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Lima"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "c1",
                            "content": [{"text": "18 C"}],
                            "status": "success",
                        }
                    },
                    {"text": "And now?"},
                ],
            },
        ],
    }


def test_bedrock_converse_without_stream_and_description() -> None:
    bare = make_request(
        BEDROCK, UserMessage("Hi"), tools=(ToolDefinition("now"),), stream=False, max_tokens=5
    )
    assert build_request(BEDROCK, bare).path.endswith("/converse")
    assert "description" not in json_body(BEDROCK, bare)["toolConfig"]["tools"][0]["toolSpec"]
    assert json_body(BEDROCK, bare)["inferenceConfig"] == {"maxTokens": 5}


def test_cohere_v2() -> None:
    assert full_body(COHERE)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": "Checking.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Lima"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
        {"role": "user", "content": "And now?"},
    ]
    spoken = json_body(COHERE, make_request(COHERE, UserMessage("Hi"), AssistantMessage("Hello.")))
    assert spoken["messages"][1] == {"role": "assistant", "content": "Hello."}
    silent = json_body(COHERE, make_request(COHERE, UserMessage("Hi"), AssistantMessage("", (CALL,))))
    assert "content" not in silent["messages"][1]


@pytest.mark.parametrize(
    ("route", "choice", "expected"),
    [
        (CLAUDE, "", None),
        (CLAUDE, "auto", {"type": "auto"}),
        (CLAUDE, "required", {"type": "any"}),
        (CLAUDE, "get_weather", {"type": "tool", "name": "get_weather"}),
        (CHAT, "", None),
        (CHAT, "required", "required"),
        (CHAT, "get_weather", {"type": "function", "function": {"name": "get_weather"}}),
        (GPT, "", None),
        (GPT, "none", "none"),
        (GPT, "get_weather", {"type": "function", "name": "get_weather"}),
        (COHERE, "auto", None),
        (COHERE, "none", "NONE"),
        (COHERE, "required", "REQUIRED"),
    ],
)
def test_tool_choice(route: Route, choice: str, expected: object) -> None:
    assert full_body(route, tool_choice=choice).get("tool_choice") == expected


@pytest.mark.parametrize(
    ("route", "place", "choice", "expected"),
    [
        (GEMINI, "toolConfig", "none", {"functionCallingConfig": {"mode": "NONE"}}),
        (
            GEMINI,
            "toolConfig",
            "get_weather",
            {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}},
        ),
        (
            INTERACTIONS,
            "generation_config",
            "get_weather",
            {
                "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["get_weather"]}},
                "max_output_tokens": 900,
            },
        ),
    ],
)
def test_tool_choice_of_google(route: Route, place: str, choice: str, expected: object) -> None:
    assert full_body(route, tool_choice=choice)[place] == expected


def test_tool_choice_of_bedrock() -> None:
    chosen = [full_body(BEDROCK, tool_choice=choice)["toolConfig"]["toolChoice"] for choice in ("auto", "t")]
    assert chosen == [{"auto": {}}, {"tool": {"name": "t"}}]


PDF = UserMessage("See.", (Image("application/pdf", "x"),))
NO_OBJECT = AssistantMessage("", (ToolCall("c", "t", "{"),))


@pytest.mark.parametrize(
    ("route", "request_fields", "error_text"),
    [
        (OLLAMA, {"tool_choice": "required"}, "ollama cannot force a tool call"),
        (COHERE, {"tool_choice": "t"}, "tool 't' by name. Nothing was sent. Set tool_choice to \"required\""),
        (BEDROCK, {"tool_choice": "none"}, "bedrock_converse cannot forbid tool calls"),
        (CLAUDE, {"messages": (PDF,)}, "not accept images of type 'application/pdf'.*one of: jpeg, png"),
        (BEDROCK, {"messages": (PDF,)}, "bedrock_converse does not accept images"),
        (CLAUDE, {"messages": (NO_OBJECT,)}, "call of 't' is not valid JSON: '{'. Nothing was sent"),
        (CHAT, {"messages": (AssistantMessage(verbatim="{"),)}, "assistant message is not valid JSON"),
    ],
)
def test_request_that_cannot_be_encoded_is_refused(
    route: Route, request_fields: dict[str, Any], error_text: str
) -> None:
    fields = {"model": route.model_id, "messages": MESSAGES, "tools": (WEATHER,), **request_fields}
    with pytest.raises(Refused, match=error_text):
        build_request(route, Request(**fields))


def test_text_dialect_cannot_send_requests() -> None:
    route = msgspec.structs.replace(CHAT, provider=msgspec.structs.replace(CHAT.provider, dialect="text"))
    with pytest.raises(
        UnknownDialect, match=r"'text' of openai-chat cannot send requests. Use one of: anthropic"
    ):
        build_request(route, make_request(route))
    assert sum(dialect.build_request is not None for dialect in DIALECTS.values()) == 8


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.provider.name}-{route.provider.dialect}")
def test_consecutive_user_messages_are_joined(route: Route) -> None:
    sent_bytes = build_request(
        route, make_request(route, UserMessage("One."), UserMessage("", (IMAGE,)), UserMessage("Two."))
    ).body
    assert b"One.\\n\\nTwo." in sent_bytes
    assert sent_bytes.count(b'"user') == 1


@pytest.mark.parametrize(
    "route", [CLAUDE, BEDROCK, GEMINI, INTERACTIONS], ids=lambda route: str(route.provider.dialect)
)
def test_image_without_text(route: Route) -> None:
    assert b'"text"' not in build_request(route, make_request(route, UserMessage("", (IMAGE,)))).body


@pytest.mark.parametrize("route", [CHAT, GPT], ids=lambda route: str(route.provider.dialect))
def test_image_without_text_in_parts(route: Route) -> None:
    assert (
        b"text" not in build_request(route, make_request(route, UserMessage("", (IMAGE,)), stream=False)).body
    )


@pytest.mark.parametrize(
    "route", [CLAUDE, BEDROCK, INTERACTIONS], ids=lambda route: str(route.provider.dialect)
)
def test_failed_tool_result_is_marked(route: Route) -> None:
    sent_bytes = build_request(
        route, make_request(route, *MESSAGES[:2], ToolMessage("c1", "", "get_weather", failed=True))
    ).body
    assert b'"is_error":true' in sent_bytes or b'"status":"error"' in sent_bytes


def test_call_ids_of_other_providers_are_replaced() -> None:
    """Kimi's ids contain dots and colons, which Claude rejects; call and result get the same new id."""
    call = ToolCall("functions.get_weather:0", "get_weather", "{}")
    sent_body = json_body(
        CLAUDE, make_request(CLAUDE, AssistantMessage("", (call,)), ToolMessage(call.call_id, "x"))
    )
    used, answered = (
        sent_body["messages"][0]["content"][0]["id"],
        sent_body["messages"][1]["content"][0]["tool_use_id"],
    )
    assert used == answered
    assert re.fullmatch("[a-z0-9]{24}", used)
    native = AssistantMessage(verbatim='{"role":"assistant","content":[]}')
    native_body = json_body(CLAUDE, make_request(CLAUDE, native, ToolMessage(call.call_id, "x")))
    assert native_body["messages"][1]["content"][0]["tool_use_id"] == call.call_id


def test_set_at_path_refuses_a_path_through_a_value() -> None:
    with pytest.raises(AssertionError, match=r"a of a\.b holds a value already"):
        set_at_path({"a": 1}, "a.b", 2)


strange = st.text(min_size=1)


@given(st.sampled_from(ROUTES), strange, strange, st.text(), st.booleans())
def test_any_text_gives_a_valid_body(
    route: Route, text: str, call_id: str, answered: str, stream: bool
) -> None:
    call = ToolCall(call_id, "t", json.dumps({"x": text}))
    messages = (UserMessage(text), AssistantMessage(answered, (call,)), ToolMessage(call_id, text, "t"))
    sent = build_request(route, make_request(route, *messages, system=text, stream=stream))
    sent_body = json.loads(sent.body)
    assert sent_body.get("stream", stream) is stream
    assert {text, answered} - {""} <= strings(sent_body)


def strings(value: object) -> set[str]:
    if isinstance(value, dict):
        return {text for inner in value.values() for text in strings(inner)}
    if isinstance(value, list):
        return {text for inner in value for text in strings(inner)}
    return {value} if isinstance(value, str) else set()


def test_verbatim_message_is_sent_byte_for_byte() -> None:
    """The provider's white space and order of keys are kept."""
    turn = answer_from(CLAUDE, "Hm.", "Hi.", [CityCall("c1", "Lima")])
    assert turn.turn.message is not None
    sent = build_request(CLAUDE, build(conversation_of(user_message(), turn, tool_result()), CLAUDE).request)
    assert turn.turn.message.payload.encode() in sent.body

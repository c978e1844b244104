"""Requests of clients: the same question in all formats, and fields of any wrong type."""

import base64
import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import File, Image, ToolCall, ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.dialects import CLIENT_FORMATS
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientRequest, ClientThought

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()
PDF = base64.b64encode(b"%PDF-1.7").decode()
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "get_weather", "description": "The weather.", "parameters": SCHEMA}
ARGUMENTS = '{"city":"Lima"}'

CHAT: dict[str, Any] = {
    "model": "some/model",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Warm?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Look it up.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "18"},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "required",
    "reasoning_effort": "high",
    "max_completion_tokens": 500,
    "temperature": 0.5,
    "top_p": 0.9,
    "stop": "END",
    "seed": 7,
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
    "stream": True,
    "stream_options": {"include_usage": True},
}
RESPONSES: dict[str, Any] = {
    "model": "some/model",
    "instructions": "Be brief.",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Warm?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
            ],
        },
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look it up."}]},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": ARGUMENTS},
        {"type": "function_call_output", "call_id": "c1", "output": "18"},
    ],
    "tools": [{"type": "function", **FUNCTION}],
    "tool_choice": "required",
    "reasoning": {"effort": "high"},
    "max_output_tokens": 500,
    "temperature": 0.5,
    "top_p": 0.9,
    "text": {"format": {"type": "json_schema", "schema": SCHEMA}},
    "stream": True,
}
ANTHROPIC: dict[str, Any] = {
    "model": "some/model",
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: 1"},
        {"type": "text", "text": "Be brief."},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Warm?", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look it up.", "signature": ""},
                {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Lima"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "18"}]},
    ],
    "tools": [{"name": "get_weather", "description": "The weather.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any"},
    "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": SCHEMA}},
    "max_tokens": 500,
    "temperature": 0.5,
    "top_p": 0.9,
    "stop_sequences": ["END"],
    "stream": True,
}
OLLAMA: dict[str, Any] = {
    "model": "some/model",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Warm?", "images": [PNG]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "Look it up.",
            "tool_calls": [{"id": "c1", "function": {"name": "get_weather", "arguments": {"city": "Lima"}}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "18"},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "think": "high",
    "options": {"num_predict": 500, "temperature": 0.5, "top_p": 0.9, "stop": ["END"], "seed": 7},
    "format": SCHEMA,
}
UI_MESSAGES: dict[str, Any] = {
    "model": "some/model",
    "id": "chat-1",
    "trigger": "submit-message",
    "system": "Be brief.",
    "messages": [
        {
            "id": "m1",
            "role": "user",
            "parts": [
                {"type": "text", "text": "Warm?"},
                {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
            ],
        },
        {
            "id": "m2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Look it up.", "state": "done"},
                {
                    "type": "tool-get_weather",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"city": "Lima"},
                    "output": "18",
                },
            ],
        },
    ],
    "tools": [{"name": "get_weather", "description": "The weather.", "inputSchema": SCHEMA}],
    "thinking": "high",
    "maxTokens": 500,
}
AG_UI: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "messages": [
        {"id": "1", "role": "system", "content": "Be brief."},
        {
            "id": "2",
            "role": "user",
            "content": [
                {"type": "text", "text": "Warm?"},
                {"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}},
            ],
        },
        {"id": "3", "role": "reasoning", "content": "Look it up."},
        {
            "id": "4",
            "role": "assistant",
            "toolCalls": [
                {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
            ],
        },
        {"id": "5", "role": "tool", "toolCallId": "c1", "content": "18"},
        {"id": "6", "role": "activity", "activityType": "plan", "content": {"steps": 1}},
    ],
    "tools": [FUNCTION],
    "context": [],
    "forwardedProps": {"model": "some/model", "thinking": "high", "maxTokens": 500},
}
FRONT_ENDS = {"ui_message_stream": UI_MESSAGES, "ag_ui": AG_UI}
"""They have no fields for sampling, and no schema of the answer."""
BODIES = {
    "openai_chat": CHAT,
    "openai_responses": RESPONSES,
    "anthropic_messages": ANTHROPIC,
    "ollama": OLLAMA,
    **FRONT_ENDS,
}


WRONG_VALUES: tuple[Any, ...] = (None, True, 5, -1.5, "x", "", [], [1], {}, {"x": 1}, [[]], "😀")


def parse(dialect: str, body: object) -> ClientRequest:
    return CLIENT_FORMATS[dialect].parse_request(json.dumps(body, separators=(",", ":")).encode())


@pytest.mark.parametrize("dialect", BODIES)
def test_same_request_is_read_from_every_format(dialect: str) -> None:
    request = parse(dialect, BODIES[dialect])
    assert request.model == "some/model"
    assert request.system == "Be brief."
    assert request.steps == (
        UserMessage("Warm?", (Image("image/png", PNG),)),
        ClientAnswer("", (ToolCall("c1", "get_weather", ARGUMENTS),), (ClientThought("Look it up."),)),
        ToolMessage("c1", "18"),
    )
    (tool,) = request.tools
    assert (tool.name, tool.description, json.loads(tool.parameters)) == (
        *list(FUNCTION.values())[:2],
        SCHEMA,
    )
    assert isinstance(tool, ToolDefinition)
    assert request.thinking == "high"
    assert request.max_tokens == 500
    assert request.stream
    if dialect in FRONT_ENDS:
        return
    assert request.output_schema == SCHEMA
    assert request.temperature == 0.5
    assert request.top_p == 0.9
    if dialect != "openai_responses":
        assert request.stop == ("END",)
    if dialect != "ollama":
        assert request.tool_choice == "required"


def test_documents_and_images_in_results_are_kept() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    document = {"type": "document", "title": "a.pdf", "source": {"type": "base64", "data": PDF}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [image]}
    body = {"model": "m", "messages": [{"role": "user", "content": [result, document]}]}
    assert parse("anthropic_messages", body).steps == (
        ToolMessage("c1", "", images=(Image("image/png", PNG),)),
        UserMessage("", files=(File("application/pdf", PDF, "a.pdf"),)),
    )


@pytest.mark.parametrize(
    ("dialect", "fields", "ignored"),
    [
        (
            "openai_chat",
            {
                "presence_penalty": 0.5,
                "parallel_tool_calls": False,
                "top_k": 5,
                "logprobs": False,
                "user": "me",
            },
            ("presence_penalty", "top_k"),
        ),
        ("openai_chat", {"parallel_tool_calls": True, "modalities": ["text"], "verbosity": "medium"}, ()),
        (
            "openai_responses",
            {"truncation": "auto", "text": {"verbosity": "low"}, "max_tool_calls": 2, "store": True},
            ("truncation", "max_tool_calls"),
        ),
        (
            "anthropic_messages",
            {"top_k": 5, "metadata": {"user_id": "me"}, "new_field": 1},
            ("top_k", "new_field"),
        ),
        ("ollama", {"options": {"num_ctx": 4096, "seed": 1}, "keep_alive": "5m"}, ("options.num_ctx",)),
        ("ollama", {"options": None}, ()),
    ],
)
def test_fields_that_could_change_the_answer_and_are_not_honoured_are_named(
    dialect: str, fields: dict[str, Any], ignored: tuple[str, ...]
) -> None:
    assert parse(dialect, BODIES[dialect] | fields).ignored == ignored


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [("openai_chat", {"verbosity": "low"}), ("openai_responses", {"text": {"verbosity": "low"}})],
)
def test_verbosity_is_read_where_a_dialect_has_it(dialect: str, fields: dict[str, Any]) -> None:
    assert parse(dialect, BODIES[dialect]).verbosity is None
    assert parse(dialect, BODIES[dialect] | fields).verbosity == "low"


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic_messages"])
def test_parallel_tool_calls_are_read_where_a_dialect_has_them(dialect: str, value: bool) -> None:
    fields: dict[str, Any] = {"parallel_tool_calls": value}
    if dialect == "anthropic_messages":
        fields = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": not value}}
    assert parse(dialect, BODIES[dialect]).parallel_tool_calls is None
    request = parse(dialect, BODIES[dialect] | fields)
    assert request.parallel_tool_calls is value
    assert request.ignored == ()


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [
        ("openai_chat", {"response_format": {"type": "json_object"}}),
        ("openai_responses", {"text": {"format": {"type": "json_object"}}}),
        ("ollama", {"format": "json"}),
    ],
)
def test_json_mode_asks_for_an_object(dialect: str, fields: dict[str, Any]) -> None:
    assert parse(dialect, BODIES[dialect] | fields).output_schema == {"type": "object"}


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "ollama", "ag_ui"])
def test_image_in_a_tool_result_is_kept(dialect: str) -> None:
    url = f"data:image/png;base64,{PNG}"
    image = {"type": "image_url", "image_url": {"url": url}}
    image_part = {"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}
    output = {"type": "function_call_output", "call_id": "c1"}
    bodies: dict[str, dict[str, Any]] = {
        "openai_chat": {"messages": [{"role": "tool", "tool_call_id": "c1", "content": [image]}]},
        "openai_responses": {"input": [{**output, "output": [{"type": "input_image", "image_url": url}]}]},
        "ollama": {"messages": [{"role": "tool", "tool_call_id": "c1", "content": "", "images": [PNG]}]},
        "ag_ui": {"messages": [{"role": "tool", "toolCallId": "c1", "content": [image_part]}]},
    }
    (result,) = parse(dialect, {"model": "m", **bodies[dialect]}).steps
    assert isinstance(result, ToolMessage)
    assert result.images == (Image("image/png", PNG),)


@pytest.mark.parametrize(
    ("dialect", "change", "message"),
    [
        ("openai_chat", {"n": 2}, "`n` must be 1"),
        ("openai_chat", {"messages": [{"role": "wizard"}]}, "Unknown role"),
        ("openai_chat", {"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "not supported"),
        ("openai_responses", {"background": True}, "`background`"),
        ("openai_responses", {"input": [{"type": "computer_call"}]}, "cannot be used"),
        (
            "openai_responses",
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f1"}]}]},
            "not a data URL",
        ),
        ("anthropic_messages", {"messages": [{"role": "user", "content": [{"type": "x"}]}]}, "not supported"),
        ("ui_message_stream", {"messages": [{"role": "data", "parts": []}]}, "Unknown role"),
        ("ag_ui", {"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "not supported"),
        ("ag_ui", {"messages": [{"role": "user", "content": 5}]}, "cannot be read"),
        ("ollama", {"messages": [{"role": "user", "images": ["AAAA"]}]}, "no type of an image"),
    ],
)
def test_what_would_be_lost_is_refused(dialect: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        parse(dialect, BODIES[dialect] | change)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a JSON value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@pytest.mark.parametrize("dialect", BODIES)
def test_a_field_of_any_wrong_type_is_read_or_refused(dialect: str) -> None:
    for path in places(BODIES[dialect]):
        for wrong in WRONG_VALUES:
            body = copy.deepcopy(BODIES[dialect])
            place = body
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = wrong
            with suppress(Refused):
                assert isinstance(parse(dialect, body), ClientRequest)


@pytest.mark.parametrize("dialect", BODIES)
@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"model":"m","input":"\\ud800"']
)
def test_what_is_no_request_is_refused(dialect: str, data: bytes) -> None:
    with pytest.raises(Refused):
        CLIENT_FORMATS[dialect].parse_request(data)

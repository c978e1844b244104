"""Servers that violate their own format, one case at a time, where a recording would be too large."""

import json
from typing import Any

import pytest
from tests.dialects.recordings import RECORDINGS
from tests.dialects.turn_checks import assert_valid_turn
from tests.wire.aws_encoder import encode_event

import thinkaloud
from thinkaloud import Reader, Turn
from thinkaloud.core.canon import Kind, SealForm
from thinkaloud.core.dialects.payload import has_error, parse_error
from thinkaloud.core.transcript import Ending

DONE = b"data: [DONE]\n\n"


def sse(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def chat(*deltas: Any, finish: str = "stop") -> Turn:
    """Read a stream of these deltas."""
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    return thinkaloud.read(sse(*chunks, {"choices": [{"delta": {}, "finish_reason": finish}]}) + DONE)


def sent_back_message(turn: Turn) -> Any:
    assert turn.message is not None
    return json.loads(turn.message.payload)


def ending(turn: Turn) -> tuple[str, str]:
    assert turn.outcome is not None
    return turn.outcome.ending.value, turn.outcome.cause


class TestErrors:
    @pytest.mark.parametrize("raw", [b"", b"null", b"{}", b'""', b"false"])
    def test_empty_error_field_is_no_error(self, raw: bytes) -> None:
        assert not has_error(raw)

    @pytest.mark.parametrize(
        ("raw", "code", "message"),
        [
            (b'"no gas"', "provider_error", "no gas"),
            (b'{"message":"no gas"}', "provider_error", "no gas"),
            (b'{"type":"gas_error","message":"no gas"}', "gas_error", "no gas"),
            (b'{"type":"gas_error","code":"no_gas","message":"no gas"}', "no_gas", "no gas"),
            (b'{"type":"gas_error","code":502,"message":"no gas"}', "gas_error", "no gas"),
            (b'{"code":502,"message":"no gas"}', "502", "no gas"),
            (b'{"code":502,"status":"NO_GAS","message":"no gas"}', "NO_GAS", "no gas"),
            (b'{"code":"no_gas"}', "no_gas", '{"code":"no_gas"}'),
            (b"[1]", "provider_error", "[1]"),
            (b'{"message":{"deep":1}}', "provider_error", '{"deep":1}'),
            (b'{"code":502,"message":"no","metadata":{"raw":"no gas"}}', "502", "no: no gas"),
        ],
    )
    def test_parse_error_of_any_shape(self, raw: bytes, code: str, message: str) -> None:
        assert has_error(raw)
        assert tuple(map(str, parse_error(raw))) == (code, message)


SSE_LINES = (b"data:", b"event:")
CUT_RECORDINGS = [
    name
    for name in RECORDINGS
    if name.endswith("/cut") and RECORDINGS[name].body.startswith(SSE_LINES) and name != "openai_chat/cut"
]
"""Of server-sent events, which alone can have such an end; it is the usual one of `openai_chat`."""


@pytest.mark.parametrize("name", CUT_RECORDINGS)
def test_done_does_not_end_other_dialects(name: str) -> None:
    """A proxy may end every stream with [DONE]; a stream that was cut off stays cut off."""
    recording = RECORDINGS[name]
    lines = recording.body.rpartition(b"\n\n")[0] + b"\n\n" + DONE
    assert ending(thinkaloud.read(lines)) == ("cut_off", "cut_off")


class TestAnthropic:
    def test_delta_without_start_starts_a_block(self) -> None:
        thought, text = (
            {"type": "content_block_delta", "index": i, "delta": d}
            for i, d in enumerate(
                ({"type": "thinking_delta", "thinking": "a"}, {"type": "text_delta", "text": "b"})
            )
        )
        turn = thinkaloud.read(sse(thought, text, {"type": "message_stop"}))
        assert [(block.kind, block.text) for block in turn.blocks] == [
            (Kind.REASONING, "a"),
            (Kind.TEXT, "b"),
        ]

    def test_invalid_json_arguments_are_not_sent_back(self) -> None:
        start = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
        turn = thinkaloud.read(
            sse(
                {"type": "content_block_start", "index": 0, "content_block": start},
                {"type": "content_block_delta", "index": 0, "delta": {"partial_json": '{"a'}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_stop"},
            )
        )
        assert turn.blocks[0].text == '{"a'
        assert sent_back_message(turn)["content"] == [start]

    def test_input_in_block_start_is_emitted_once(self) -> None:
        start = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}
        turn = thinkaloud.read(
            sse(
                {"type": "content_block_start", "index": 0, "content_block": start},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_stop"},
            )
        )
        assert json.loads(turn.blocks[0].text) == {"a": 1}
        assert sent_back_message(turn)["content"] == [start]

    def test_result_without_call_is_ignored(self) -> None:
        result = {"type": "web_search_tool_result", "tool_use_id": "lost", "content": []}
        turn = thinkaloud.read(json.dumps({"type": "message", "content": [result]}).encode())
        assert turn.blocks == []
        assert sent_back_message(turn)["content"] == [result]

    def test_tool_error_without_text(self) -> None:
        call = {"type": "mcp_tool_use", "id": "t", "name": "n", "input": {}}
        result = {"type": "mcp_tool_result", "tool_use_id": "t", "is_error": True, "content": ""}
        turn = thinkaloud.read(json.dumps({"type": "message", "content": [call, result]}).encode())
        assert turn.blocks[0].error

    def test_citations_after_null(self) -> None:
        nothing: list[object] = [None, [], 5]
        for citations in nothing:
            turn = thinkaloud.read(
                sse(
                    {
                        "type": "content_block_start",
                        "content_block": {"type": "text", "citations": citations},
                    },
                    {"type": "content_block_delta", "delta": {"citation": {"url": "a"}}},
                    {"type": "content_block_delta", "delta": {"citation": {"url": "b"}}},
                    {"type": "content_block_stop"},
                    {"type": "message_stop"},
                )
            )
            assert sent_back_message(turn)["content"][0]["citations"] == [{"url": "a"}, {"url": "b"}]


class TestBedrock:
    def test_whole_response_without_content(self) -> None:
        assert ending(thinkaloud.read(b'{"output":{"message":{}},"stopReason":"end_turn"}')) == (
            "empty",
            "end_turn",
        )

    def test_unknown_block_start_is_ignored(self) -> None:
        body = encode_event("contentBlockStart", b'{"contentBlockIndex":0,"start":{"image":{}}}')
        assert assert_valid_turn([*(reader := Reader()).feed(body), *reader.close()]).blocks == []

    def test_invalid_json_arguments_are_not_sent_back(self) -> None:
        body = (
            encode_event(
                "contentBlockStart",
                b'{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t","name":"n"}}}',
            )
            + encode_event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{"}}}')
            + encode_event("contentBlockStop", b'{"contentBlockIndex":0}')
            + encode_event("messageStop", b'{"stopReason":"tool_use"}')
        )
        turn = thinkaloud.read(body)
        assert turn.blocks[0].text == "{"
        assert sent_back_message(turn)["content"] == [
            {"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}
        ]

    def test_exception_without_message(self) -> None:
        turn = thinkaloud.read(encode_event("throttlingException", b"{}"))
        assert ending(turn) == ("failed", "throttlingException")


class TestCohere:
    def test_delta_without_start_starts_a_block(self) -> None:
        delta = {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"thinking": "a"}}}}
        turn = thinkaloud.read(sse(delta, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}))
        assert turn.reasoning == "a"

    def test_timeout_is_a_failure(self) -> None:
        turn = thinkaloud.read(b'{"message":{"content":[]},"finish_reason":"TIMEOUT"}')
        assert ending(turn) == ("failed", "timeout")


class TestGeminiInteractions:
    def test_unknown_delta_is_ignored(self) -> None:
        turn = thinkaloud.read(
            sse(
                {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "hologram"}},
                {"event_type": "step.stop", "index": 0},
                {"event_type": "interaction.completed", "interaction": {"status": "completed"}},
            )
        )
        assert (turn.answer, ending(turn)) == ("", ("empty", "completed"))

    def test_result_without_call_is_ignored(self) -> None:
        turn = thinkaloud.read(
            b'{"object":"interaction","status":"completed","steps":[{"type":"function_result","call_id":"lost"}]}'
        )
        assert turn.blocks == []

    def test_tool_error_without_text(self) -> None:
        call = {"type": "mcp_call", "id": "t"}
        result = {"type": "mcp_result", "call_id": "t", "is_error": True, "result": ""}
        body = {"object": "interaction", "status": "completed", "steps": [call, result]}
        assert thinkaloud.read(json.dumps(body).encode()).blocks[0].error


class TestGemini:
    def test_code_result_without_code_is_ignored(self) -> None:
        part = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
        body = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
        assert thinkaloud.read(json.dumps(body).encode()).blocks == []


class TestChat:
    def test_thinking_part_may_be_text_or_list(self) -> None:
        steps = [{"type": "text", "text": "c"}]
        parts = [{"type": "thinking", "thinking": part} for part in ("a", "b", steps, "d", None)]
        turn = chat({"content": parts})
        assert turn.reasoning == "abcd"
        assert len(sent_back_message(turn)["content"]) == 3

    def test_text_before_list_of_parts(self) -> None:
        turn = chat({"content": "a"}, {"content": [{"type": "text", "text": "b"}]})
        assert turn.answer == "ab"
        assert sent_back_message(turn)["content"] == [{"type": "text", "text": "ab"}]

    def test_details_in_two_lists_are_emitted_once(self) -> None:
        details = [{"type": "reasoning.text", "text": "a", "signature": "s"}]
        blocks = [{"type": "thinking", "thinking": "a", "signature": "s"}]
        turn = chat(
            {"reasoning_details": details, "thinking_blocks": blocks, "reasoning": "a"}, {"content": "b"}
        )
        assert (turn.reasoning, [seal.payload for seal in turn.blocks[0].seals]) == ("a", ["s"])

    def test_signature_in_thinking_blocks_seals_reasoning_content(self) -> None:
        blocks = [{"type": "thinking", "thinking": "", "signature": "s"}]
        turn = chat({"reasoning_content": "a"}, {"thinking_blocks": blocks}, {"content": "b"})
        assert [(seal.form, seal.payload) for seal in turn.blocks[0].seals] == [(SealForm.SIGNATURE, "s")]

    @pytest.mark.parametrize("odd", [5, [], {}, True, None, ["x"], {"a": 1}])
    @pytest.mark.parametrize("field", ["type", "text", "summary", "data", "signature", "index"])
    def test_malformed_reasoning_details(self, field: str, odd: object) -> None:
        good: dict[str, object] = {"type": "reasoning.text", "text": "a", "index": 0}
        detail = {**good, field: odd}
        deltas = [{"choices": [{"delta": {"reasoning_details": [good, detail, good]}}]}] * 2
        reader = Reader("openai_chat")
        turn = assert_valid_turn(reader.feed(sse(*deltas) + DONE) + reader.close())
        assert turn.reasoning.startswith("a")

    def test_error_object_with_null_error(self) -> None:
        turn = thinkaloud.read(sse({"object": "error", "message": "too long", "code": 400, "error": None}))
        assert ending(turn) == ("failed", "400")

    def test_pending_text_survives_profile_change(self) -> None:
        marked = {"content": "<thought>b</thought>c", "extra_content": {"google": {"thought": True}}}
        turn = chat({"content": "<thi"}, marked)
        assert turn.answer == "<thic"
        assert turn.reasoning == "b"

    def test_named_tag_profile_is_not_replaced(self) -> None:
        delta = {"content": "<thought>a</thought>", "extra_content": {"google": {"thought": True}}}
        body = sse({"choices": [{"delta": delta, "finish_reason": "stop"}]})
        assert thinkaloud.read(body, tags="off").answer == "<thought>a</thought>"

    @pytest.mark.parametrize("empty", [{}, {"name": "", "arguments": ""}, {"name": None, "arguments": "{}"}])
    @pytest.mark.parametrize("index", [{}, {"index": 0}, {"index": 1}])
    def test_empty_function_call_beside_a_call(self, empty: Any, index: Any) -> None:
        """Snowflake sends one with every message."""
        call = {**index, "id": "c", "function": {"name": "f", "arguments": "{}"}}
        streamed = chat({"tool_calls": [call]}, {"function_call": empty}, finish="tool_calls")
        message = {"content": "", "tool_calls": [call], "function_call": empty}
        choice = {"message": message, "finish_reason": "tool_calls"}
        whole = thinkaloud.read(json.dumps({"choices": [choice]}).encode())
        for turn in (streamed, whole, chat({"tool_calls": [call], "function_call": empty})):
            assert [(block.name, block.text) for block in turn.blocks] == [("f", "{}")]

    def test_call_without_function(self) -> None:
        turn = chat({"tool_calls": [{"index": 0, "id": "c"}]}, finish="tool_calls")
        assert [(block.name, block.call_id, block.text) for block in turn.blocks] == [("", "c", "")]

    def test_whole_message_with_empty_delta(self) -> None:
        choice = {"delta": {}, "message": {"content": "a"}, "finish_reason": "stop"}
        assert thinkaloud.read(json.dumps({"choices": [choice]}).encode()).answer == "a"


class TestResponses:
    def test_empty_text_starts_no_block(self) -> None:
        done = {"type": "response.output_text.done", "output_index": 0, "text": ""}
        delta = {"type": "response.output_text.delta", "output_index": 0, "delta": ""}
        end = {"type": "response.completed", "response": {"status": "completed", "output": []}}
        assert thinkaloud.read(sse(done, delta, end)).blocks == []

    def test_failed_response_without_error(self) -> None:
        turn = thinkaloud.read(b'{"object":"response","status":"failed","output":[]}')
        assert ending(turn) == ("failed", "provider_error")

    def test_unknown_incomplete_reason(self) -> None:
        for details, cause in (({"reason": "steered"}, "steered"), (None, "incomplete")):
            body = {"object": "response", "status": "incomplete", "incomplete_details": details}
            assert ending(thinkaloud.read(json.dumps(body).encode())) == ("empty", cause)

    def test_refusal_in_finished_item(self) -> None:
        item = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
        turn = thinkaloud.read(
            json.dumps({"object": "response", "status": "completed", "output": [item]}).encode()
        )
        assert (turn.answer, ending(turn)) == ("No.", ("refused", "completed"))


class TestText:
    def test_json_lines_without_tokens_are_text(self) -> None:
        for line in ('{"type": 5}', '{"text": "a", "token": null}', '{"done": 3}'):
            text = f"{line}\n{line}\n"
            assert thinkaloud.read(text.encode(), "text").answer == text

    def test_unknown_finish_reason(self) -> None:
        body = b'{"text":"a","token":1}\n{"text":"b","token":2,"finish_reason":"bored"}\n'
        assert ending(thinkaloud.read(body)) == (Ending.ANSWERED, "bored")


def test_bedrock_error_with_only_a_message() -> None:
    """An error before the stream is a failed turn with the provider's message."""
    turn = thinkaloud.read(b'{"message":"Too many requests"}', "bedrock_converse")
    assert turn.outcome is not None
    assert (turn.outcome.ending, turn.outcome.message) == ("failed", "Too many requests")

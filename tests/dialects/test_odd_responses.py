"""Responses that real servers send beside their documentation: nothing of them is lost silently."""

import base64
import json
from typing import Any

import pytest
from tests.dialects.odd_bodies import DONE, blocks, chat, ending, message, read, sse
from tests.wire.aws_encoder import encode_event

from thinkaloud import Turn
from thinkaloud.core.canon import Kind, SealForm

REASONING = {"id": "rs", "type": "reasoning", "summary": [], "content": [{"text": "a"}]}
MESSAGE = {"id": "msg", "type": "message", "content": [{"type": "output_text", "text": "b"}]}
ERROR = {"code": 502, "message": "Provider returned error", "metadata": {"raw": "upstream is down"}}


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{name}", **fields}


class TestFirstFrames:
    """Frames before the dialect is known are never skipped silently."""

    def test_first_frame_with_infinity_is_read(self) -> None:
        first = b'data: {"choices":[{"delta":{"content":"a"},"logprobs":-Infinity}]}\n\n'
        turn = read(first + chat({"content": "b"}))
        assert (turn.answer, ending(turn)) == ("ab", ("answered", "stop"))
        assert "NaN or Infinity" in turn.notices[0].text

    def test_whole_body_with_nan_is_read(self) -> None:
        body = b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop","logprobs":[NaN, -Infinity]}]}'
        assert read(body).answer == read(body, dialect="openai_chat").answer == "a"

    def test_malformed_first_frame_fails_the_turn_and_keeps_the_text(self) -> None:
        body = b'data: {"choices":[{"delta":{"content":"a"}\n\n' + chat({"content": "b"})
        for dialect in ("auto", "openai_chat"):
            turn = read(body, dialect=dialect)
            assert (turn.answer, ending(turn)) == ("b", ("failed", "bad_frame"))
            assert turn.outcome is not None
            assert '{"choices":[{"delta":{"content":"a"}' in turn.outcome.message

    def test_malformed_frame_in_the_middle_fails_the_turn_and_keeps_the_text(self) -> None:
        body = sse({"choices": [{"delta": {"content": "a"}}]}) + b"data: {oops\n\n" + chat({"content": "b"})
        turn = read(body)
        assert (turn.answer, ending(turn)) == ("ab", ("failed", "bad_frame"))

    def test_numeric_request_id_does_not_hide_the_first_frame(self) -> None:
        first = {"request_id": 7, "choices": [{"delta": {"content": "a"}}]}
        assert read(sse(first) + chat({"content": "b"})).answer == "ab"

    def test_frames_before_the_dialect_is_known_are_read_again(self) -> None:
        first = {"type": 5, "delta": {"type": "thinking_delta", "thinking": "a"}, "index": 0}
        turn = read(sse(first, {"type": "content_block_delta", "index": 1, "delta": {"text": "b"}}))
        assert blocks(turn) == [("reasoning", "a"), ("text", "b")]


class TestWrongTypes:
    def test_float_count_in_whole_body(self) -> None:
        body = {
            "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5.0, "completion_tokens": 1.5},
        }
        turn = read(json.dumps(body).encode())
        assert (turn.answer, turn.usage.input, turn.usage.output) == ("a", 5, None)
        assert [(notice.code, notice.text) for notice in turn.notices] == [
            ("odd_field", "usage.prompt_tokens is not an integer but 5.0."),
            ("odd_field", "usage.completion_tokens is not an integer but 1.5."),
        ]

    def test_content_that_is_an_object_or_a_number_is_read_as_its_json(self) -> None:
        body = b'{"choices":[{"message":{"content":{"a": 1}},"finish_reason":"stop"}]}'
        assert read(body).answer == '{"a": 1}'
        assert read(chat({"content": "["}, {"content": 1}, {"content": "]"})).answer == "[1]"

    def test_malformed_reasoning_details_keep_the_answer(self) -> None:
        """R014: a list of another kind does no harm."""
        for details in ("bad", {"text": "bad"}, [5, "bad", None], 7):
            turn = read(chat({"content": "a", "reasoning_details": details}))
            assert (turn.answer, ending(turn), len(turn.notices)) == ("a", ("answered", "stop"), 1)

    def test_step_with_null_content(self) -> None:
        turn = read(
            sse(
                {"event_type": "step.start", "index": 0, "step": {"type": "model_output", "content": None}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "a"}},
                {"event_type": "step.start", "index": 1, "step": {"type": "thought", "summary": "odd "}},
                {"event_type": "step.delta", "index": 1, "delta": {"type": "thought_summary", "text": "b"}},
                {"event_type": "interaction.completed", "interaction": {"status": "completed"}},
            )
        )
        assert (turn.answer, turn.reasoning, ending(turn)) == ("a", "odd b", ("answered", "completed"))

    def test_events_without_type_are_told_by_their_fields(self) -> None:
        turn = read(
            sse(
                {"type": "message_start", "message": {"model": "m"}},
                {"content_block": {"type": "thinking", "thinking": ""}, "index": 0},
                {"delta": {"thinking": "a"}},
                {"content_block": {"type": 5, "text": ""}},
                {"delta": {"text": "b"}},
                {"type": "message_stop"},
            )
        )
        assert blocks(turn) == [("reasoning", "a"), ("text", "b")]


class TestResponsesItems:
    def stream(self, *, reasoning: dict[str, Any], text: dict[str, Any]) -> Turn:
        """Read a thought and an answer whose events have these fields beside their own."""
        return read(
            sse(
                event("output_item.added", item={"id": "rs", "type": "reasoning"}, **reasoning),
                event("reasoning_text.delta", delta="a", **{"item_id": "rs", **reasoning}),
                event("output_item.done", item=REASONING, **reasoning),
                event("output_item.added", item={"id": "msg", "type": "message"}, **text),
                event("output_text.delta", delta="b", **{"item_id": "msg", **text}),
                event("output_item.done", item=MESSAGE, **text),
                event("completed", response={"status": "completed", "output": [REASONING, MESSAGE]}),
            )
        )

    @pytest.mark.parametrize(
        ("reasoning", "text"),
        [
            pytest.param({}, {}, id="no-index"),
            pytest.param({"output_index": 0}, {"output_index": 0}, id="same-index"),
            pytest.param({"output_index": 0}, {"output_index": 1}, id="index"),
            pytest.param(
                {"output_index": 0, "item_id": "x"}, {"output_index": 1, "item_id": "y"}, id="changing-ids"
            ),
            pytest.param({"output_index": "0"}, {"output_index": None}, id="odd-index"),
        ],
    )
    def test_items_are_found_by_id_or_index(self, reasoning: dict[str, Any], text: dict[str, Any]) -> None:
        turn = self.stream(reasoning=reasoning, text=text)
        assert blocks(turn) == [("reasoning", "a"), ("text", "b")]
        assert message(turn) == [REASONING, MESSAGE]

    def test_parallel_items_without_index(self) -> None:
        turn = read(
            sse(
                event("output_item.added", item={"id": "a", "type": "function_call", "name": "f"}),
                event("output_item.added", item={"id": "b", "type": "function_call", "name": "g"}),
                event("function_call_arguments.delta", item_id="a", delta='{"x":'),
                event("function_call_arguments.delta", item_id="b", delta="{}"),
                event("function_call_arguments.delta", item_id="a", delta="1}"),
                event("completed", response={"status": "completed", "output": []}),
            )
        )
        assert [(block.name, block.text) for block in turn.blocks] == [("f", '{"x":1}'), ("g", "{}")]

    def test_text_without_index_of_its_part_is_emitted_once(self) -> None:
        turn = read(
            sse(
                event("output_text.delta", item_id="msg", content_index=1, delta="b"),
                event("output_text.done", item_id="msg", content_index=None, text="b"),
                event("completed", response={"status": "completed", "output": []}),
            )
        )
        assert turn.answer == "b"

    def test_repeated_ids_are_items_of_their_own(self) -> None:
        output = [REASONING, MESSAGE, REASONING]
        for frames in ([], [event("output_item.done", item=REASONING, output_index=0)]):
            body = sse(*frames, event("completed", response={"status": "completed", "output": output}))
            assert blocks(read(body)) == [("reasoning", "a"), ("text", "b"), ("reasoning", "a")]
            assert message(read(body)) == output

    def test_reasoning_delta_event(self) -> None:
        for delta in ("a", {"text": "a"}):
            turn = read(
                sse(
                    event("reasoning.delta", item_id="rs", delta=delta),
                    event("output_text.delta", item_id="msg", delta="b"),
                    event("completed", response={"status": "completed", "output": []}),
                )
            )
            assert blocks(turn) == [("reasoning", "a"), ("text", "b")]


def invoke_chunk(value: Any) -> bytes:
    data = {"bytes": base64.b64encode(json.dumps(value).encode()).decode(), "p": "abcdef"}
    return encode_event("chunk", json.dumps(data).encode())


class TestBedrockInvoke:
    def test_frames_of_another_dialect_are_unwrapped(self) -> None:
        frames = [
            {"type": "message_start", "message": {"model": "claude"}},
            {"type": "content_block_delta", "index": 0, "delta": {"thinking": "a"}},
            {"type": "content_block_delta", "index": 1, "delta": {"text": "b"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3}},
        ]
        turn = read(b"".join(map(invoke_chunk, frames)))
        assert (turn.dialect, blocks(turn)) == ("anthropic_messages", [("reasoning", "a"), ("text", "b")])
        assert ending(turn) == ("answered", "end_turn")

    def test_chat_frames_are_unwrapped(self) -> None:
        delta = {"choices": [{"delta": {"reasoning": "a", "content": "b"}, "finish_reason": "stop"}]}
        assert blocks(read(invoke_chunk(delta))) == [("reasoning", "a"), ("text", "b")]

    def test_named_events_of_nova(self) -> None:
        events = [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "a"}}, "contentBlockIndex": 0}},
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"contentBlockDelta": {"delta": {"text": "b"}, "contentBlockIndex": 1}},
            {"messageStop": {"stopReason": "end_turn"}},
            {"metadata": {"usage": {"inputTokens": 3}}},
        ]
        turn = read(b"".join(map(invoke_chunk, events)))
        assert (blocks(turn), turn.usage.input) == ([("reasoning", "a"), ("text", "b")], 3)

    def test_exception_in_an_invoke_stream(self) -> None:
        first = invoke_chunk({"type": "content_block_delta", "index": 0, "delta": {"text": "a"}})
        turn = read(first + encode_event("throttlingException", b'{"message":"Too many requests."}'))
        assert (turn.answer, ending(turn)) == ("a", ("failed", "throttlingException"))

    def test_chunk_that_cannot_be_unwrapped(self) -> None:
        first = invoke_chunk({"type": "content_block_delta", "index": 0, "delta": {"text": "a"}})
        turn = read(first + encode_event("chunk", b'{"bytes":"???"}'))
        assert (turn.answer, ending(turn)) == ("a", ("failed", "bad_frame"))


class TestTags:
    """Tags are split in every dialect that carries free text, unless reasoning arrives apart."""

    TEXTS = ("<thi", "nk>a</th", "ink>b")

    def bodies(self, texts: tuple[str, ...]) -> list[bytes]:
        whole = "".join(texts)
        return [
            sse(
                *({"type": "content_block_delta", "index": 0, "delta": {"text": text}} for text in texts),
                {"type": "message_stop"},
            ),
            json.dumps({"type": "message", "content": [{"type": "text", "text": whole}]}).encode(),
            sse(
                *(event("output_text.delta", item_id="m", output_index=0, delta=text) for text in texts),
                event("completed", response={"status": "completed", "output": []}),
            ),
            json.dumps(
                {"object": "response", "output": [{"type": "message", "content": [{"text": whole}]}]}
            ).encode(),
            b"".join(
                encode_event("contentBlockDelta", json.dumps({"delta": {"text": text}}).encode())
                for text in texts
            )
            + encode_event("messageStop", b'{"stopReason":"end_turn"}'),
            json.dumps(
                {"output": {"message": {"content": [{"text": whole}]}}, "stopReason": "end_turn"}
            ).encode(),
        ]

    def test_tags_are_split_in_every_dialect(self) -> None:
        for body in self.bodies(self.TEXTS):
            assert blocks(read(body)) == [("reasoning", "a"), ("text", "b")]

    def test_named_profile_is_used_in_every_dialect(self) -> None:
        for body in self.bodies(self.TEXTS):
            assert blocks(read(body, tags="off")) == [("text", "<think>a</think>b")]

    def test_unfinished_tag_at_the_end_is_text(self) -> None:
        for body in self.bodies(("a</th",)):
            assert read(body).answer == "a</th"
        for body in self.bodies(("<thi",)):
            assert read(body).answer == "<thi"

    def test_tags_beside_a_reasoning_block_are_text(self) -> None:
        contents = [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "<think>a</think>"}]
        turn = read(json.dumps({"type": "message", "content": contents}).encode())
        assert blocks(turn) == [("reasoning", "t"), ("text", "<think>a</think>")]

    def test_text_of_a_cut_stream_is_not_held_back(self) -> None:
        delta = {"type": "content_block_delta", "index": 0, "delta": {"text": "<thi"}}
        assert read(sse(delta)).answer == "<thi"

    def test_tags_before_details_are_closed(self) -> None:
        """R023: a thought that a tag opened before the details is ended by its closing tag."""
        details = [{"type": "reasoning.text", "text": "a", "signature": "s"}]
        turn = read(chat({"content": "<think>a"}, {"reasoning_details": details}, {"content": "</think>b"}))
        assert (blocks(turn), turn.blocks[0].seals[0].payload) == ([("reasoning", "a"), ("text", "b")], "s")

    def test_empty_tags_before_details_are_closed(self) -> None:
        details = [{"type": "reasoning.text", "text": "a"}]
        turn = read(chat({"content": "<think>\n"}, {"reasoning_details": details}, {"content": "</think>b"}))
        assert (turn.reasoning.strip(), turn.answer) == ("a", "b")


class TestErrorsAfterOutput:
    @pytest.mark.parametrize(
        "end",
        [
            pytest.param([{"error": ERROR}], id="alone"),
            pytest.param([{"error": ERROR, "choices": [{"delta": {"content": "b"}}]}], id="with-text"),
            pytest.param(
                [{"error": ERROR, "choices": [{"delta": {}, "finish_reason": "error"}]}], id="with-reason"
            ),
            pytest.param(
                [{"choices": [{"delta": {}, "finish_reason": "error", "error": ERROR}]}], id="in-choice"
            ),
            pytest.param(
                [{"choices": [{"delta": {}, "finish_reason": "error"}]}, {"error": ERROR}], id="after-reason"
            ),
        ],
    )
    def test_error_in_a_stream_keeps_the_text_and_names_the_cause(self, end: list[Any]) -> None:
        turn = read(sse({"choices": [{"delta": {"content": "a"}}]}, *end) + DONE)
        assert turn.outcome is not None
        assert turn.answer.startswith("a")
        assert ending(turn) == ("failed", "502")
        assert turn.outcome.message == "Provider returned error: upstream is down"

    def test_error_in_a_choice_of_a_whole_body(self) -> None:
        choice = {"message": {"content": "a"}, "finish_reason": "error", "error": ERROR}
        turn = read(json.dumps({"choices": [choice]}).encode())
        assert (turn.answer, ending(turn)) == ("a", ("failed", "502"))

    def test_error_after_a_finish_reason_is_a_notice_with_its_cause(self) -> None:
        body = sse({"choices": [{"delta": {"content": "a"}, "finish_reason": "length"}]}, {"error": ERROR})
        turn = read(body + DONE)
        assert ending(turn) == ("cut_off", "length")
        assert turn.notices[0].text == "Provider returned error: upstream is down"

    def test_error_flag_without_choices_is_an_error(self) -> None:
        turn = read(b'{"error": true, "message": "no such model"}')
        assert turn.outcome is not None
        assert (turn.outcome.ending.value, turn.outcome.message) == ("failed", "no such model")


class TestFieldsOfServers:
    def test_compaction_summary_is_sent_back(self) -> None:
        turn = read(
            sse(
                {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction"}},
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "compaction_delta", "content": "a"},
                },
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "compaction_delta", "content": "b"},
                },
                {"type": "content_block_stop", "index": 0},
                {"type": "content_block_delta", "index": 1, "delta": {"text": "c"}},
                {"type": "message_stop"},
            )
        )
        assert turn.answer == "c"
        assert message(turn)["content"][0] == {"type": "compaction", "content": "ab"}

    def test_streamed_arguments_are_one_call(self) -> None:
        calls: list[dict[str, Any]] = [
            {"name": "f", "id": "1", "willContinue": True},
            {"partialArgs": [{"jsonPath": "$.city", "stringValue": "New ", "willContinue": True}]},
            {
                "partialArgs": [
                    {"jsonPath": "$.city", "stringValue": "York"},
                    {"jsonPath": "$.days[0].high", "numberValue": 30},
                    {"jsonPath": "$.days[1].high", "numberValue": 3.5},
                    {"jsonPath": "$['with space']", "boolValue": True},
                    {"jsonPath": "$.none", "nullValue": "NULL_VALUE"},
                ]
            },
            {},
        ]
        calls[1]["willContinue"] = calls[2]["willContinue"] = True
        parts: list[dict[str, Any]] = [{"functionCall": call} for call in calls]
        parts[0]["thoughtSignature"] = "s"
        chunks = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
        turn = read(sse(*chunks, {"candidates": [{"finishReason": "STOP"}]}))
        arguments = {
            "city": "New York",
            "days": [{"high": 30}, {"high": 3.5}],
            "with space": True,
            "none": None,
        }
        (call,) = turn.blocks
        assert (call.name, call.call_id, json.loads(call.text)) == ("f", "1", arguments)
        assert [seal.payload for seal in call.seals] == ["s"]
        assert message(turn)["parts"] == [
            {"functionCall": {"name": "f", "id": "1", "args": arguments}, "thoughtSignature": "s"}
        ]

    def test_streamed_call_is_ended_by_the_next_part(self) -> None:
        parts = [
            {"functionCall": {"name": "f", "willContinue": True}},
            {
                "functionCall": {
                    "partialArgs": [{"jsonPath": "$.a", "stringValue": "b"}],
                    "willContinue": True,
                }
            },
            {"functionCall": {"name": "g", "args": {"c": 1}}},
            {"text": "d"},
        ]
        body = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
        turn = read(json.dumps(body).encode())
        assert [(block.name, block.text) for block in turn.blocks] == [
            ("f", '{"a":"b"}'),
            ("g", '{"c": 1}'),
            ("", "d"),
        ]

    def test_copilot_reasoning_is_read_and_sent_back(self) -> None:
        turn = read(chat({"reasoning_text": "a"}, {"content": "b", "reasoning_opaque": "sealed"}))
        assert blocks(turn) == [("reasoning", "a"), ("text", "b")]
        assert [(seal.form, seal.payload) for seal in turn.blocks[0].seals] == [
            (SealForm.ENCRYPTED, "sealed")
        ]
        assert message(turn) == {
            "role": "assistant",
            "content": "b",
            "reasoning_text": "a",
            "reasoning_opaque": "sealed",
        }

    @pytest.mark.parametrize("call", [{}, {"name": "", "arguments": ""}, {"name": None, "arguments": {}}])
    def test_empty_function_call_is_no_call(self, call: Any) -> None:
        turn = read(chat({"content": "a", "function_call": call, "tool_calls": [{"function": call}]}))
        assert blocks(turn) == [("text", "a")]

    @pytest.mark.parametrize("finish", [{}, {"finish_reason": None}, {"finish_reason": ""}])
    def test_whole_body_without_finish_reason_is_complete(self, finish: dict[str, Any]) -> None:
        turn = read(json.dumps({"choices": [{"message": {"content": "a"}, **finish}]}).encode())
        assert (turn.answer, ending(turn)) == ("a", ("answered", "unknown"))

    def test_stream_with_final_usage_is_complete_without_finish_reason(self) -> None:
        first = {"choices": [{"delta": {"content": "a"}}], "usage": {"completion_tokens": 1}}
        last = {"choices": [], "usage": {"completion_tokens": 2}}
        assert ending(read(sse(first, last) + DONE)) == ("answered", "unknown")
        assert ending(read(sse(last, first) + DONE)) == ("cut_off", "cut_off")

    def test_stream_without_finish_reason_is_cut_off(self) -> None:
        assert ending(read(sse({"choices": [{"delta": {"content": "a"}}]}))) == ("cut_off", "cut_off")

    def test_whole_body_without_answer_or_finish_reason_is_cut_off(self) -> None:
        assert ending(read(b'{"choices":[{"message":{"content":""}}]}')) == ("cut_off", "cut_off")

    def test_databricks_reasoning_parts(self) -> None:
        summary = [{"type": "summary_text", "text": "a", "signature": "s"}]
        turn = read(
            chat({"content": [{"type": "reasoning", "summary": summary}, {"type": "text", "text": "b"}]})
        )
        assert (blocks(turn), turn.blocks[0].seals[0].payload) == ([("reasoning", "a"), ("text", "b")], "s")

    def test_perplexity_reasoning_steps(self) -> None:
        steps = [{"thought": "a", "type": "web_search", "web_search": {}}, {"thought": "b"}]
        turn = read(chat({"reasoning_steps": steps}, {"content": "c"}))
        assert blocks(turn) == [("reasoning", "a"), ("reasoning", "b"), ("text", "c")]

    def test_gemini_wrapped_in_response(self) -> None:
        parts = [{"text": "a", "thought": True}, {"text": "b"}]
        response = {
            "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}],
            "modelVersion": "m",
        }
        for body in (
            sse({"response": response, "traceId": "t"}),
            json.dumps({"response": response}).encode(),
        ):
            turn = read(body)
            assert (turn.dialect, turn.model, blocks(turn)) == (
                "gemini",
                "m",
                [("reasoning", "a"), ("text", "b")],
            )

    def test_tool_result_that_only_looks_like_json(self) -> None:
        contents = [
            {"type": "server_tool_use", "id": "t", "name": "n", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "t", "content": "{not JSON"},
            {"type": "text", "text": "a"},
        ]
        turn = read(json.dumps({"type": "message", "content": contents}).encode())
        assert (turn.blocks[0].result, turn.answer) == ("{not JSON", "a")


class TestLastEvent:
    """The last event counts without its blank line if its data is complete."""

    FIRST = sse({"candidates": [{"content": {"parts": [{"text": "a"}]}}]})
    LAST = b'data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}'

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r", b"\nda", b"\n: comment", b"\nid: 7"])
    def test_complete_last_event_is_read(self, end: bytes) -> None:
        turn = read(self.FIRST + self.LAST + end)
        assert (turn.answer, ending(turn)) == ("ab", ("answered", "STOP"))

    @pytest.mark.parametrize("missing", range(1, 30))
    def test_incomplete_last_event_is_dropped(self, missing: int) -> None:
        turn = read(self.FIRST + self.LAST[:-missing])
        assert (turn.answer, ending(turn)) == ("a", ("cut_off", "cut_off"))

    def test_complete_line_before_an_incomplete_one_is_read(self) -> None:
        assert read(self.FIRST + self.LAST + b'\ndata: {"candi').answer == "ab"

    def test_done_without_blank_line_ends_the_turn(self) -> None:
        assert ending(read(chat({"content": "a"})[:-2])) == ("answered", "stop")


def test_kinds_with_the_same_key_are_never_mixed() -> None:
    deltas = [{"thinking": "a"}, {"text": "b"}, {"thinking": "c"}, {"text": "d"}]
    events = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    turn = read(sse(*events, {"type": "message_stop"}))
    assert [(block.kind, block.text) for block in turn.blocks] == [
        (Kind.REASONING, "a"),
        (Kind.TEXT, "b"),
        (Kind.REASONING, "c"),
        (Kind.TEXT, "d"),
    ]

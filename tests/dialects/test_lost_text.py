"""Text in a place or of a type that is not documented is read all the same."""

import json
from typing import Any

import pytest
from tests.dialects.odd_bodies import blocks, chat, ending, message, read, sse


def gemini_call(*calls: dict[str, Any]) -> bytes:
    parts = [{"functionCall": call} for call in calls]
    return json.dumps({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}).encode()


def argument(path: str, value: str) -> list[dict[str, str]]:
    return [{"jsonPath": path, "stringValue": value}]


class TestMessageBesideDeltas:
    def test_whole_message_beside_a_blank_delta(self) -> None:
        choice = {"message": {"content": "Hi"}, "delta": {"role": "assistant", "content": ""}}
        body = json.dumps({"choices": [{**choice, "finish_reason": "stop"}]}).encode()
        assert read(body).answer == "Hi"
        assert message(read(body)) == {"content": "Hi"}

    def test_message_after_deltas_repeats_them(self) -> None:
        choice = {"message": {"content": "Hi"}, "delta": {"content": ""}, "finish_reason": "stop"}
        for last in (choice, {name: choice[name] for name in ("message", "finish_reason")}):
            turn = read(sse({"choices": [{"delta": {"content": "Hi"}}]}, {"choices": [last]}))
            assert (turn.answer, ending(turn)) == ("Hi", ("answered", "stop"))
            assert message(turn)["content"] == "Hi"

    def test_message_after_deltas_gives_the_fields_that_no_delta_had(self) -> None:
        last = {"message": {"reasoning": "hm", "content": "Hi"}, "finish_reason": "stop"}
        turn = read(sse({"choices": [{"delta": {"reasoning": "hm"}}]}, {"choices": [last]}))
        assert blocks(turn) == [("reasoning", "hm"), ("text", "Hi")]


class TestParts:
    def test_number_out_of_range_beside_text(self) -> None:
        """The number is sent back as it was written."""
        content = '[{"type":"text","text":"Hi","score":1e999},{"type":"text","text":"!"}]'
        details = '[{"text":"hm","index":1e999,"size":123456789012345678901234567890}]'
        fields = f'{{"content":{content},"reasoning_details":{details}}}'
        turn = read(b'data: {"choices":[{"delta":%s,"finish_reason":"stop"}]}\n\n' % fields.encode())
        assert blocks(turn) == [("reasoning", "hm"), ("text", "Hi!")]
        assert turn.message is not None
        assert details in turn.message.payload

    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            ({"type": "text", "text": 7}, ("text", "7")),
            ({"type": "text", "text": {"value": "Hi"}}, ("text", "Hi")),
            ({"type": "text", "text": {"a": 1}}, ("text", '{"a":1}')),
            ({"type": "thinking", "thinking": ["h", {"text": "m"}]}, ("reasoning", "hm")),
            ({"type": "thinking", "thinking": {"text": "hm"}}, ("reasoning", "hm")),
            ({"type": "refusal", "refusal": "No"}, ("text", "No")),
            ({"type": "reasoning", "summary": "hm"}, ("reasoning", "hm")),
            ({"type": "reasoning", "summary": [{"text": "hm"}]}, ("reasoning", "hm")),
            ("Hi", ("text", "Hi")),
        ],
    )
    def test_text_of_a_part_in_any_shape(self, part: object, expected: tuple[str, str]) -> None:
        turn = read(chat({"content": [part]}))
        assert blocks(turn) == [expected]
        assert (ending(turn)[0] == "refused") == ("refusal" in str(part))

    def test_reasoning_details_with_text_in_an_object(self) -> None:
        assert read(chat({"reasoning_details": [{"text": {"text": "hm"}}]})).reasoning == "hm"


@pytest.mark.parametrize(
    "body",
    [
        {"type": "message", "content": "Hi", "stop_reason": "end_turn"},
        {"object": "response", "status": "completed", "output": [{"type": "message", "content": "Hi"}]},
        {"message": {"content": "Hi"}, "finish_reason": "COMPLETE"},
        {"status": "completed", "steps": [{"type": "model_output", "content": "Hi"}]},
        {"output": {"message": {"content": "Hi"}}, "stopReason": "end_turn"},
    ],
)
def test_string_in_place_of_a_list_is_read(body: dict[str, Any]) -> None:
    turn = read(json.dumps(body).encode())
    assert (turn.answer, ending(turn)[0]) == ("Hi", "answered")
    assert "is not a list but" in turn.notices[0].text


def test_string_in_place_of_content_blocks_is_sent_back_as_a_block() -> None:
    turn = read(b'{"type":"message","content":"Hi","stop_reason":"end_turn"}')
    assert message(turn)["content"] == [{"type": "text", "text": "Hi"}]


class TestPartialArguments:
    def test_only_part_of_a_call(self) -> None:
        turn = read(gemini_call({"name": "f", "partialArgs": argument("$.a", "x")}))
        assert blocks(turn) == [("tool_call", '{"a":"x"}')]

    def test_last_part_repeats_the_name(self) -> None:
        first = {"name": "f", "partialArgs": argument("$.a", "x")}
        for continues in (True, "yes"):
            last = {"name": "f", "partialArgs": argument("$.a", "y")}
            turn = read(gemini_call({**first, "willContinue": continues}, last))
            assert blocks(turn) == [("tool_call", '{"a":"xy"}')]

    def test_another_id_starts_another_call(self) -> None:
        first = {"name": "f", "id": "1", "willContinue": True, "partialArgs": argument("$.a", "x")}
        turn = read(gemini_call(first, {"name": "f", "id": "2", "partialArgs": argument("$.a", "y")}))
        assert blocks(turn) == [("tool_call", '{"a":"x"}'), ("tool_call", '{"a":"y"}')]

    @pytest.mark.parametrize("depth", [65, 1000, 5000])
    def test_path_too_deep_fails_the_turn(self, depth: int) -> None:
        turn = read(gemini_call({"name": "f", "partialArgs": argument("$" + ".a" * depth, "x")}))
        assert ending(turn) == ("failed", "bad_frame")


class TestReasoningWithoutText:
    """Reasoning without text does not make the tags in the answer plain text."""

    @pytest.mark.parametrize(
        "delta",
        [
            {"reasoning_steps": [{"type": "web_search", "thought": ""}]},
            {"reasoning_content": "\n"},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
        ],
    )
    def test_chat(self, delta: dict[str, Any]) -> None:
        turn = read(chat(delta, {"content": "<think>hm</think>Hi"}))
        assert (turn.reasoning.strip(), turn.answer) == ("hm", "Hi")

    @pytest.mark.parametrize("detail", [{"text": "x"}, {"type": "reasoning.encrypted", "data": "x"}])
    def test_reasoning_within_a_tag(self, detail: dict[str, str]) -> None:
        """Reasoning in a field of its own does not break a tag that has begun."""
        pieces = ({"content": "<thi"}, {"reasoning_details": [detail]}, {"content": "nk>hm</think>Hi"})
        turn = read(chat(*pieces))
        assert (turn.reasoning.endswith("hm"), turn.answer) == (True, "Hi")
        assert read(chat(*pieces[:2], {"content": "rd"})).answer == "<third"

    def test_search_steps(self) -> None:
        steps = {"reasoning_steps": [{"thought": "search"}]}
        turn = read(chat(steps, {"content": "<think>hm</think>Hi"}))
        assert blocks(turn) == [("reasoning", "search"), ("reasoning", "hm"), ("text", "Hi")]

    def test_responses_item(self) -> None:
        content = [{"type": "output_text", "text": "<think>hm</think>Hi"}]
        output = [{"type": "reasoning", "summary": []}, {"type": "message", "content": content}]
        body = {"object": "response", "status": "completed", "output": output}
        turn = read(json.dumps(body).encode())
        assert (turn.reasoning, turn.answer) == ("hm", "Hi")


def tagged_bodies(text: str) -> list[bytes]:
    pieces = [text[:3], text[3:9], text[9:]]
    chunks = [{"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces]
    deltas = [{"event_type": "step.delta", "index": 0, "delta": {"text": piece}} for piece in pieces]
    contents = [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}}
        for piece in pieces
    ]
    return [
        sse(*chunks, {"candidates": [{"finishReason": "STOP"}]}),
        sse(*deltas, {"event_type": "interaction.completed", "interaction": {"status": "completed"}}),
        sse(*contents, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}),
    ]


@pytest.mark.parametrize("dialect", range(3), ids=["gemini", "gemini_interactions", "cohere_v2"])
def test_tags_in_the_text_of_dialects_with_reasoning_of_their_own(dialect: int) -> None:
    turn = read(tagged_bodies("<think>hm</think>Hi")[dialect])
    assert blocks(turn) == [("reasoning", "hm"), ("text", "Hi")]
    turn = read(tagged_bodies("Hi <thinking>hm</thinking>")[dialect], tags="prompted")
    assert blocks(turn) == [("text", "Hi "), ("reasoning", "hm")]
    turn = read(tagged_bodies("<think>hm</think>Hi")[dialect], tags="off")
    assert turn.answer == "<think>hm</think>Hi"

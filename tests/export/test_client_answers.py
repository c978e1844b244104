"""An answer that another program kept is the turn it came from, unless it was changed."""

import pytest

from thinkaloud import Refused, read
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import ToolCall
from thinkaloud.core.context import AnsweredTurn, read_answer, write_answer
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientThought
from thinkaloud.core.export.client_answers import answer_of, recall

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Lima", "days": 1.0}'},
}
MESSAGE = {
    "role": "assistant",
    "reasoning_content": "Look it up.",
    "content": "One moment.",
    "tool_calls": [CALL],
}
BODY = {
    "object": "chat.completion",
    "model": "river-1",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
}
ANSWERED = AnsweredTurn(read(BODY), "prefix", "vllm")


def test_record_gives_the_same_turn() -> None:
    assert read_answer(write_answer(ANSWERED)) == ANSWERED


def test_unchanged_answer_is_its_turn() -> None:
    assert recall(answer_of(ANSWERED.turn), write_answer(ANSWERED)) == ANSWERED


def test_answer_is_recognized_if_its_arguments_are_written_anew() -> None:
    call = ToolCall("call_1", "get_weather", '{"days":1,"city":"Lima"}')
    assert recall(ClientAnswer(" One moment.", (call,)), write_answer(ANSWERED)) == ANSWERED


@pytest.mark.parametrize("record", ["", write_answer(ANSWERED)])
def test_changed_or_unknown_answer_is_taken_as_it_is(record: str) -> None:
    answer = ClientAnswer("Another.", (ToolCall("call_2", "get_time", "{}"),), (ClientThought("A thought."),))
    blocks = [(block.kind, block.text, block.call_id) for block in recall(answer, record).turn.blocks]
    assert blocks == [
        (Kind.REASONING, "A thought.", ""),
        (Kind.TEXT, "Another.", ""),
        (Kind.TOOL_CALL, "{}", "call_2"),
    ]


@pytest.mark.parametrize("record", ["{", '{"role": "user"}', '{"role": "assistant", "events": [1]}'])
def test_damaged_record_is_refused(record: str) -> None:
    with pytest.raises(Refused, match="is damaged"):
        read_answer(record)

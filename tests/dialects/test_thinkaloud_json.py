"""Thinkaloud reads the JSON of a turn that it writes itself."""

import json
from typing import Any

import msgspec
import pytest
from tests.dialects.odd_bodies import blocks, ending, read
from tests.dialects.recordings import RECORDINGS, Recording

import thinkaloud
from thinkaloud import NotAResponse, Turn
from thinkaloud.cli.commands.read import turn_as_json
from thinkaloud.core.canon import Kind

ANSWER: dict[str, Any] = {
    "content": [{"type": "text", "text": "42"}],
    "reasoning_content": "Six times seven.",
    "reasoning_meta": {"model_supports": True, "duration_ms": 4200, "tokens": 234},
}


def written(turn: Turn) -> Any:
    """Return a turn as `read --format json` writes it, without the numbers of blocks: texts have none."""
    fields = msgspec.to_builtins(turn_as_json(turn))
    for thought in fields["reasoning_blocks"]:
        del thought["block"]
    for step in (fields["thinking"] or {"steps": ()})["steps"]:
        del step["id"]
    del fields["dialect"], fields["notices"]
    return fields


@pytest.mark.parametrize("recording", RECORDINGS.values(), ids=list(RECORDINGS))
def test_turn_as_json_is_read_back(recording: Recording) -> None:
    turn = recording.turn()
    body = msgspec.json.encode({"file": "a.sse", **turn_as_json(turn)})
    again = thinkaloud.read(body)
    assert again.dialect == "thinkaloud_json"
    assert written(again) == written(turn)


def test_smallest_answer_of_the_gateway() -> None:
    """R004: with and without reasoning, in any chunks."""
    turn = read(json.dumps(ANSWER).encode())
    assert blocks(turn) == [("reasoning", "Six times seven."), ("text", "42")]
    assert (turn.usage.reasoning, ending(turn), turn.notices) == (234, ("answered", "stop"), [])
    for fields in ({"reasoning_content": None}, {"reasoning_content": None, "reasoning_meta": None}):
        assert blocks(read(json.dumps({**ANSWER, **fields}).encode())) == [("text", "42")]


def test_steps_of_assistants_and_descriptions_of_tools() -> None:
    child = {"id": "2", "type": "reasoning", "content": "Hm."}
    steps = [
        {
            "id": "0",
            "type": "tool_call",
            "content": "Adds.",
            "toolName": "add",
            "toolInput": "{}",
            "toolResult": "1",
        },
        {
            "id": "1",
            "type": "assistant_call",
            "content": "Check",
            "assistantName": "Checker",
            "assistantTask": "Check",
            "assistantResult": "Fine.",
            "childSteps": [child],
        },
    ]
    turn = read(json.dumps({**ANSWER, "thinking_block": {"status": "done", "steps": steps}}).encode())
    tool, assistant, thought, text = turn.blocks
    assert (tool.name, tool.description, tool.text, tool.result) == ("add", "Adds.", "{}", "1")
    assert (assistant.kind, assistant.name, assistant.result) == (Kind.ASSISTANT_CALL, "Checker", "Fine.")
    assert (thought.parent, thought.text, text.text) == (assistant.number, "Hm.", "42")


def test_turn_that_still_runs_is_cut_off() -> None:
    running = {"status": "thinking", "steps": [{"id": "0", "type": "reasoning", "content": "Hm"}]}
    turn = read(json.dumps({**ANSWER, "content": [], "outcome": None, "thinking_block": running}).encode())
    assert (turn.reasoning, ending(turn)) == ("Hm", ("cut_off", "cut_off"))


def test_message_of_another_format_is_refused() -> None:
    """A list of parts alone does not make a message an answer of Thinkaloud: its thinking would be lost."""
    parts = [{"type": "thinking", "thinking": "Six times seven."}, {"type": "text", "text": "42"}]
    with pytest.raises(NotAResponse):
        thinkaloud.read(json.dumps({"role": "assistant", "content": parts}).encode())


def test_part_without_text_is_reported() -> None:
    parts = [{"type": "image", "url": "a.png"}, {"type": "text", "text": "42"}]
    turn = read(json.dumps({**ANSWER, "content": parts}).encode())
    assert blocks(turn) == [("reasoning", "Six times seven."), ("text", "42")]
    assert [notice.code for notice in turn.notices] == ["odd_field"]
    assert "image" in turn.notices[0].text


def test_empty_thought_leaves_the_step_before_it_alone() -> None:
    tool = {"id": "0", "type": "tool_call", "toolName": "add", "toolInput": "{}", "toolResult": "1"}
    child = {"id": "2", "type": "reasoning", "content": "Hm."}
    empty = {"id": "1", "type": "reasoning", "content": "", "toolResult": "2", "childSteps": [child]}
    turn = read(json.dumps({**ANSWER, "thinking": {"status": "done", "steps": [tool, empty]}}).encode())
    call, thought, _ = turn.blocks
    assert (call.result, thought.text, thought.parent) == ("1", "Hm.", None)

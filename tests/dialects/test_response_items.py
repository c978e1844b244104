"""Items of OpenAI Responses are found by whatever the server sends of their ids and indexes."""

import json
from typing import Any

from tests.dialects.odd_bodies import blocks, ending, message, read, sse


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{name}", **fields}


COMPLETED = event("completed", response={"status": "completed"})


def test_item_without_id_whose_deltas_have_one() -> None:
    call = {"type": "function_call", "name": "f", "call_id": "c"}
    arguments = event("function_call_arguments.delta", item_id="fc", delta='{"a":1}')
    done = event("output_item.done", item={**call, "arguments": '{"a":1}'})
    for end in (COMPLETED, event("completed", response={"status": "completed", "output": [done["item"]]})):
        turn = read(sse(event("output_item.added", item=call), arguments, done, end))
        assert blocks(turn) == [("tool_call", '{"a":1}')]
        assert ending(turn)[0] == "called_tools"


def test_end_of_a_text_without_ids_after_a_later_item() -> None:
    call = {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}
    turn = read(
        sse(
            event("output_item.added", item={"type": "message"}),
            event("output_text.delta", delta="Hi"),
            event("output_item.added", item=call),
            event("output_text.done", text="Hi"),
            event("output_item.done", item=call),
            COMPLETED,
        )
    )
    assert blocks(turn) == [("text", "Hi"), ("tool_call", "{}")]


def test_settings_of_the_text_in_a_whole_response_are_no_text() -> None:
    """OpenAI repeats the request's `text` in a whole response, where an event has the text of a part."""
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}
    settings = {"format": {"type": "text"}, "verbosity": "medium"}
    whole = {"object": "response", "status": "completed", "output": [message], "text": settings}
    turn = read(json.dumps(whole).encode())
    assert (turn.answer, turn.notices) == ("Hi", [])
    part = event("output_text.done", item_id="m", text={"text": "Hi"})
    assert (
        read(sse(event("output_item.added", item=message | {"content": []}), part, COMPLETED)).answer == "Hi"
    )


def test_items_that_are_no_calls_are_sent_back() -> None:
    compaction = {"id": "cmp", "type": "compaction", "encrypted_content": "x"}
    tools = {"id": "mcpl", "type": "mcp_list_tools", "tools": [], "error": {"message": "unreachable"}}
    whole = {"object": "response", "status": "completed", "output": [compaction, tools]}
    turn = read(json.dumps(whole).encode())
    assert blocks(turn) == []
    assert message(turn) == [compaction, tools]
    assert [(notice.code, notice.text) for notice in turn.notices] == [("mcp_list_tools", "unreachable")]

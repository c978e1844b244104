"""A turn as messages for the next request, as the SDK of each provider takes them."""

import json

import pytest
from tests.dialects.test_pieces import EVENTS

from thinkaloud import Refused, ToolMessage, Turn, read
from thinkaloud.core.export.messages import write_messages


def called_turn() -> Turn:
    return read(EVENTS)


def test_messages_without_results_end_with_the_calls() -> None:
    """The program appends the results itself, in the form of its SDK."""
    (message,) = called_turn().to_messages("anthropic")
    assert [part["type"] for part in message["content"]] == ["thinking", "tool_use"]
    assert message["content"][0]["signature"] == "c2VhbA=="


def test_messages_for_another_provider_have_no_thoughts() -> None:
    turn = called_turn()
    answer, result = turn.to_messages("openai", results=[ToolMessage("t1", "30 degrees")])
    assert answer["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city":"Lima"}'}
    assert "thinking" not in json.dumps(answer)
    assert result == {"role": "tool", "tool_call_id": "t1", "content": "30 degrees"}
    assert turn.to_messages("google")[0]["role"] == "model"


def test_wrong_results_and_providers_are_refused() -> None:
    turn = called_turn()
    with pytest.raises(Refused, match=r"no call 't2' that waits for a result. Its calls are: t1"):
        turn.to_messages("anthropic", results={"t2": "30"})
    with pytest.raises(Refused, match="Results are missing for the calls weather"):
        turn.to_messages("anthropic", results=[ToolMessage("t2", "30")])
    with pytest.raises(Refused, match=r"Unknown provider 'antropic'. Use one of: anthropic"):
        turn.to_messages("antropic")


def test_results_by_call_id_follow_their_calls() -> None:
    answer, results = write_messages(called_turn(), "anthropic", results={"t1": "30 degrees"})
    assert [part["type"] for part in answer["content"]] == ["thinking", "tool_use"]
    (result,) = results["content"]
    assert (result["tool_use_id"], result["type"]) == ("t1", "tool_result")

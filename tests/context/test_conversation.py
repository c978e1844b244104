"""The file of a conversation: hand-written or generated, read and written without loss."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.conversations import (
    CLAUDE,
    GEMINI,
    CityCall,
    answer_from,
    conversation_of,
    route,
    tool_result,
    user_message,
)
from tests.context.test_properties import conversations

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    Refused,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.canon.requests import Image, ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.context import (
    AnsweredTurn,
    Context,
    build,
    fingerprint,
    read_conversation,
    write_conversation,
)
from thinkaloud.core.transcript import Turn, apply, fold, unfold

BY_HAND = b"""{
  "system": "Be brief.",
  "tools": [{"name": "get_weather", "parameters": {"type": "object"}}, {"name": "now"}],
  "messages": [
    {"role": "user", "text": "Weather?", "images": [{"media_type": "image/png", "data": "aGk="}]},
    {"role": "assistant", "provider": "anthropic", "prefix": "abc", "events": [
      {"type": "turn.started", "dialect": "anthropic_messages", "model": "claude-opus-4-5"},
      {"type": "block.started", "block": 0, "kind": "text"},
      {"type": "block.grew", "block": 0, "text": "Warm."},
      {"type": "block.ended", "block": 0},
      {"type": "turn.ended", "finish": "stop"}]},
    {"role": "tool", "call_id": "c1", "result": "18 C", "failed": true}]}"""


def test_a_hand_written_conversation_is_read() -> None:
    read = read_conversation(BY_HAND)
    user, answered, tool = read.steps
    assert isinstance(answered, AnsweredTurn)
    assert user == UserMessage("Weather?", (Image("image/png", "aGk="),))
    assert (answered.turn.answer, answered.provider, answered.prefix) == ("Warm.", "anthropic", "abc")
    assert tool == ToolMessage("c1", "18 C", failed=True)
    assert read.tools == (ToolDefinition("get_weather", "", '{"type": "object"}'), ToolDefinition("now"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"hello", "This is not a conversation"),
        (b'{"messages":[{"role":"robot"}]}', "This is not a conversation"),
        (
            b'{"messages":[{"role":"assistant","events":[{"type":"block.ended","block":3}]}]}',
            (
                "The events of an assistant message are invalid: block 3 has not started. Keep them "
                "complete and in order."
            ),
        ),
    ],
)
def test_an_invalid_conversation_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(Refused, match=message):
        read_conversation(data)


def comparable(turn: Turn) -> object:
    """Return a turn without how its text was chunked and how many events it had."""
    for block in turn.blocks:
        assert block.text is not None
    fields = msgspec.to_builtins(turn)
    del fields["seq"]
    return fields


def same(one: Context, other: Context) -> bool:
    pairs = zip(one.steps, other.steps, strict=True)
    return (one.system, one.tools) == (other.system, other.tools) and all(
        (comparable(a.turn), a.prefix, a.provider) == (comparable(b.turn), b.prefix, b.provider)
        if isinstance(a, AnsweredTurn) and isinstance(b, AnsweredTurn)
        else a == b
        for a, b in pairs
    )


schemas = st.sampled_from(['{"type":"object"}', '{ "a" : [1, 2] }', ' {"spaced":1} ', "no schema", '"text"'])


@given(
    conversations(),
    st.text(),
    st.lists(st.builds(ToolDefinition, st.text(), st.text(), schemas), max_size=3),
    st.text(),
)
def test_a_conversation_file_keeps_everything(
    conversation: Context, system: str, tools: list[ToolDefinition], prefix: str
) -> None:
    """R050: ordered parts of their message, with everything attached to them."""
    steps = tuple(
        msgspec.structs.replace(step, prefix=prefix) if isinstance(step, AnsweredTurn) else step
        for step in conversation.steps
    )
    whole = Context(steps, system, tuple(tools))
    written = write_conversation(whole)
    assert same(read_conversation(written), whole)
    assert write_conversation(read_conversation(written)) == written


EVENTS: list[list[Event]] = [
    [TurnStarted("text", "m"), BlockStarted(0, Kind.TEXT), BlockGrew(0, "Live")],
    [TurnStarted(), TurnEnded(Finish.CANCELLED)],
    [TurnStarted(), TurnEnded(Finish.REFUSAL, "refusal")],
    [TurnStarted(), TurnEnded(Finish.LENGTH, "max_tokens")],
    [TurnStarted(), TurnFailed("overloaded_error", "Try later.")],
    [TurnStarted(), TurnFailed("cut_off", "openai_chat stopped")],
    [TurnStarted(), SummaryWritten("Did it.", "extract"), NoticeGiven("n", "hm"), TurnEnded(Finish.STOP)],
    [
        TurnStarted(),
        BlockStarted(0, Kind.TOOL_CALL, "t", "c"),
        ToolFinished(0, "", "boom"),
        BlockEnded(0),
        BlockStarted(1, Kind.TEXT),
        BlockGrew(1, "Done."),
        BlockEnded(1),
        UsageReported(Usage(1, 2, 3)),
        TurnEnded(Finish.TOOL_CALLS),
    ],
]


@pytest.mark.parametrize("events", EVENTS, ids=range(len(EVENTS)))
def test_unfold_and_fold_give_the_same_turn(events: list[Event]) -> None:
    turn = fold(events)
    assert comparable(fold(entry.event for entry in unfold(turn))) == comparable(turn)


def test_stamps_are_kept_if_there_are_any() -> None:
    """K22: durations are differences of stamps, also after reading a file."""
    turn = Turn()
    events: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockEnded(0), TurnEnded()]
    for seq, event in enumerate(events):
        apply(turn, Entry(seq, event, 1000 * seq))
    conversation = Context((AnsweredTurn(turn),))
    written = write_conversation(conversation)
    assert b'"entries"' in written
    assert same(read_conversation(written), conversation)
    (step,) = read_conversation(written).steps
    assert isinstance(step, AnsweredTurn)
    assert step.turn.blocks[0].duration_ms == 1000


def test_a_conversation_survives_its_file_and_builds_the_same_request() -> None:
    steps = conversation_of(
        user_message(), answer_from(GEMINI, "Two.", "", [CityCall("c1", "Lima")]), tool_result()
    )
    again = read_conversation(write_conversation(steps))
    assert build(again, GEMINI) == build(steps, GEMINI)


def test_fingerprint_covers_what_is_sent() -> None:
    steps = conversation_of(user_message(), answer_from(CLAUDE, "Hm.", "Hi."), user_message())
    built = build(steps, CLAUDE)
    request = built.request
    assert built.prefix == fingerprint(request.system, request.tools, request.messages)
    assert len(built.prefix) == 64
    other = {
        fingerprint("x", request.tools, request.messages),
        fingerprint(request.system, (), request.messages),
        fingerprint(request.system, request.tools, request.messages[1:]),
        build(steps, route("openai/gpt-5")).prefix,
    }
    assert len(other - {built.prefix}) == 4


@pytest.mark.parametrize("data", [b'{"system": "\xff"}', b'{"messages": ' + b"[" * 100_000])
def test_invalid_json_is_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="This is not a conversation"):
        read_conversation(data)


def test_a_providers_own_finish_reason_is_no_interruption() -> None:
    turn = fold(
        [
            TurnStarted(),
            BlockStarted(0, Kind.TEXT),
            BlockGrew(0, "x"),
            BlockEnded(0),
            TurnEnded(said="cut_off"),
        ]
    )
    assert fold(entry.event for entry in unfold(turn)).outcome == turn.outcome

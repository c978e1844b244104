"""The dialect is detected from the first bytes; a body that is no response is refused with the reason."""

import json

import pytest
from tests.chunks import one_by_one
from tests.dialects.recordings import RECORDINGS
from tests.wire.aws_encoder import encode_event

import thinkaloud
from thinkaloud import NotAResponse, Reader, fold
from thinkaloud.core.canon import Event, NoticeGiven, TurnFailed, TurnStarted, UnknownDialect, UnknownProfile
from thinkaloud.core.dialects import DIALECTS, PROFILES
from thinkaloud.core.transcript import Ending
from thinkaloud.core.wire import WireLimits

FIRST_BYTES = [
    ("anthropic_messages", b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n'),
    ("anthropic_messages", b'data: {"type":"content_block_delta","index":0,"delta":{"text":"a"}}\n\n'),
    ("anthropic_messages", b'{"type":"message","content":[]}'),
    ("anthropic_messages", b'{"type":"error","error":{"type":"api_error","message":"no"}}'),
    ("bedrock_converse", encode_event("messageStart", b'{"role":"assistant"}')),
    ("bedrock_converse", b'{"output":{"message":{"content":[]}},"stopReason":"end_turn"}'),
    ("cohere_v2", b'data: {"type":"message-start","delta":{}}\n\n'),
    ("cohere_v2", b'data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"a"}}}\n\n'),
    ("cohere_v2", b'{"message":{"content":[]},"finish_reason":"COMPLETE"}'),
    ("gemini", b'data: {"candidates":[]}\n\n'),
    ("gemini", b'[{"candidates":[]}\n,{'),
    ("gemini", b'[\n {"usageMetadata":{}}]'),
    ("gemini", b'{"promptFeedback":{"blockReason":"OTHER"}}'),
    ("gemini", b'{"error":{"code":404,"status":"NOT_FOUND","message":"no"}}'),
    ("gemini_interactions", b'data: {"event_type":"interaction.created","interaction":{}}\n\n'),
    ("gemini_interactions", b'data: {"event_type":"step.start","index":0,"step":{"type":"thought"}}\n\n'),
    ("gemini_interactions", b'{"object":"interaction","status":"completed"}'),
    ("ollama", b'{"model":"m","message":{"content":"a"},"done":false}\n'),
    ("ollama", b'{"model":"m","response":"a","done":true}'),
    ("ollama", b'\xef\xbb\xbf{"model":"m","message":{"content":"a"},"done":false}\n'),
    ("openai_chat", b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'),
    ("openai_chat", b': OPENROUTER PROCESSING\n\ndata: {"choices":[]}\n\n'),
    ("openai_chat", b'\r\n\r\n{"choices":[{"message":{"content":"a"}}]}'),
    ("openai_chat", b'{"error":"no"}'),
    ("openai_chat", b'{"object":"error","message":"no"}'),
    ("openai_responses", b'event: response.created\ndata: {"type":"response.created","response":{}}\n\n'),
    ("openai_responses", b'{"object":"response","status":"completed"}'),
    ("openai_responses", b'data: {"type":"error","code":"no","message":"no","sequence_number":0}\n\n'),
    ("text", b"<think>a</think>b"),
    ("text", b"\n\n <think>a"),
    ("text", b"[THINK]a[/THINK]b"),
    ("text", "◁think▷a◁/think▷b".encode()),
    ("text", b"<|channel|>analysis<|message|>a"),
    ("text", b"<think:fast>a</think:fast>b"),
    ("text", b'{"text":"<think>","token":1}\n'),
]

NOT_RESPONSES = [
    pytest.param(b"The model was not available today.", "The model was not", id="prose"),
    pytest.param(b"<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>", "<!DOCTYPE html>", id="html"),
    pytest.param(b"", "it is empty", id="empty"),
    pytest.param(b" \n\t\r\n", "it is empty", id="blank"),
    pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG", id="binary"),
    pytest.param(b"\x00\x01\x02\x03" * 8, r"\\x01", id="zeros"),
    pytest.param(b'{"hello": "world"}', "hello", id="json"),
    pytest.param(b"[1, 2, 3]", r"\[1, 2, 3\]", id="numbers"),
    pytest.param(b"[]", r"\[\]", id="empty-array"),
    pytest.param(b'[{"id": 1}, {"id": 2}]', "id", id="array"),
    pytest.param(b'[{"id": 1}]]', "id", id="array-that-closes-too-often"),
    pytest.param(b'{"id": 1}\n{"id": 2}\n', "id", id="ndjson"),
    pytest.param(b'data: {"id": 1}\n\ndata: [DONE]\n\n', "data: ", id="sse"),
    pytest.param(b'data: {"id": 1}\n\n' * 70, "data: ", id="long-sse"),
    pytest.param(b'{"choices": [{"message": {"con', "choices", id="cut-json"),
    pytest.param(b"name,age\nana,7\n", "name,age", id="csv"),
    pytest.param(b"<thi", "<thi", id="cut-tag"),
]

GARBAGE = [
    pytest.param(b"The model was not available today.", id="prose"),
    pytest.param(b"<html><body>502</body></html>", id="html"),
    pytest.param(b"data: this is no JSON\n\n", id="sse"),
    pytest.param(b"\x00\x01\x02\x03" * 8, id="zeros"),
    pytest.param(b"[1, 2, 3]", id="numbers"),
    pytest.param(b'data: "\xff"\n\n', id="not-utf-8"),
    pytest.param(b"data: 7\n\n", id="number"),
]

JSON_DIALECTS = [dialect for dialect in DIALECTS if dialect != "text"]


def read_in_chunks(reader: Reader, chunks: list[bytes]) -> list[Event]:
    return [turn_event for data in chunks for turn_event in reader.feed(data)] + reader.close()


@pytest.mark.parametrize(("dialect", "body"), FIRST_BYTES)
def test_dialect_is_detected_from_the_first_bytes(dialect: str, body: bytes) -> None:
    """R002: the caller does not name the provider."""
    for pieces in ([body], one_by_one(body)):
        reader = Reader()
        assert reader.dialect == "auto"
        events = read_in_chunks(reader, pieces)
        assert reader.dialect == dialect
        assert isinstance(events[0], TurnStarted)
        assert events[0].dialect == dialect


@pytest.mark.parametrize("name", RECORDINGS)
def test_dialect_of_every_recording_is_detected(name: str) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn()
    assert (turn.dialect, turn.model) == (recording.dialect, recording.story["model"])


@pytest.mark.parametrize(("body", "expected_text"), NOT_RESPONSES)
def test_not_a_response_error_shows_the_first_bytes(body: bytes, expected_text: str) -> None:
    with pytest.raises(NotAResponse, match=expected_text) as refused:
        thinkaloud.read(body)
    assert 'set the dialect to "text"' in str(refused.value)
    with pytest.raises(NotAResponse):
        read_in_chunks(Reader(), one_by_one(body))


@pytest.mark.parametrize("dialect", JSON_DIALECTS)
@pytest.mark.parametrize("body", GARBAGE)
def test_named_dialect_fails_on_garbage(dialect: str, body: bytes) -> None:
    outcome = thinkaloud.read(body, dialect).outcome
    assert outcome is not None
    assert (outcome.ending, outcome.cause) == (Ending.FAILED, "bad_frame")
    assert dialect in outcome.message


@pytest.mark.parametrize("dialect", JSON_DIALECTS)
@pytest.mark.parametrize("body", [b"", b" \n", b"\xef\xbb\xbf", b": waiting\n\n"])
def test_named_dialect_with_empty_body_is_cut_off(dialect: str, body: bytes) -> None:
    outcome = thinkaloud.read(body, dialect).outcome
    assert outcome is not None
    assert (outcome.ending, outcome.cause) == (Ending.CUT_OFF, "cut_off")


def test_text_dialect_with_empty_body_is_cut_off() -> None:
    outcome = thinkaloud.read(b"", "text").outcome
    assert outcome is not None
    assert outcome.cause == "cut_off"


def test_text_dialect_accepts_prose() -> None:
    turn = thinkaloud.read(b"The model was not available today.", "text")
    assert turn.answer == "The model was not available today."


def test_text_dialect_accepts_text_that_looks_like_json() -> None:
    text = '{"text": "no token"}\n[1, 2]\n'
    assert thinkaloud.read(text.encode(), "text").answer == text


def test_unknown_dialect_error_lists_the_dialects() -> None:
    with pytest.raises(UnknownDialect, match=r"Unknown dialect 'openia'.*Use one of: auto, ") as refused:
        Reader("openia")
    assert all(name in str(refused.value) for name in DIALECTS)


def test_unknown_profile_error_lists_the_profiles() -> None:
    with pytest.raises(UnknownProfile, match=r"Unknown tag profile 'thonk'.*Use one of: ") as refused:
        Reader("text", tags="thonk")
    assert all(name in str(refused.value) for name in PROFILES)


def chunk(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


@pytest.mark.parametrize(
    "limits",
    [WireLimits(line_bytes=500), WireLimits(event_bytes=500), WireLimits(response_bytes=200)],
    ids=["line", "event", "total"],
)
def test_wire_limit_fails_the_turn_and_keeps_the_text(limits: WireLimits) -> None:
    for body in (
        [chunk("first ") + chunk("text") + chunk("x" * 600)],
        one_by_one(chunk("first text") + chunk("x" * 600)),
    ):
        reader = Reader(limits=limits)
        turn = fold(read_in_chunks(reader, body))
        assert turn.outcome is not None
        assert (turn.outcome.ending, turn.outcome.cause) == (Ending.FAILED, "limit_exceeded")
        assert "Raise WireLimits." in turn.outcome.message
        assert turn.answer == "first text"


def test_wire_limit_of_json_body() -> None:
    reader = Reader("openai_chat", limits=WireLimits(event_bytes=500))
    turn = fold(reader.feed(b'{"choices":[{"message":{"content":"' + b"x" * 600 + b'"}}]}') + reader.close())
    assert turn.outcome is not None
    assert turn.outcome.cause == "limit_exceeded"


def test_reader_ignores_bytes_after_the_turn_ended() -> None:
    reader = Reader()
    events = reader.feed(chunk("a") + b"data: [DONE]\n\n" + chunk("b"))
    assert fold(events).answer == "a"
    assert reader.feed(chunk("c")) == reader.close() == reader.close() == []


def test_reader_ignores_bytes_after_close() -> None:
    reader = Reader()
    assert isinstance((reader.feed(chunk("a")) + reader.close())[-1], TurnFailed)
    assert reader.feed(chunk("b")) == []


NOT_UTF8 = [
    (
        "anthropic_messages",
        b'{"type":"message","stop_reason":"end_turn",'
        b'"content":[{"type":"text","text":"a "},{"type":"text","text":"b\xff"}]}',
    ),
    (
        "bedrock_converse",
        b'{"output":{"message":{"content":[{"text":"a "},{"text":"b\xff"}]}},"stopReason":"end_turn"}',
    ),
    ("cohere_v2", b'{"message":{"content":[{"type":"text","text":"a b\xff"}]},"finish_reason":"COMPLETE"}'),
    (
        "gemini",
        b'{"candidates":[{"content":{"parts":[{"text":"a "},{"text":"b\xff"}]},"finishReason":"STOP"}]}',
    ),
    (
        "gemini_interactions",
        b'{"object":"interaction","status":"completed",'
        b'"steps":[{"type":"model_output","content":[{"text":"a b\xff"}]}]}',
    ),
    (
        "ollama",
        b'{"message":{"content":"a "},"done":false}\n'
        b'{"message":{"content":"b\xff"},"done":true,"done_reason":"stop"}\n',
    ),
    (
        "openai_chat",
        b'data: {"choices":[{"delta":{"content":"a "}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"b\xff"},"finish_reason":"stop"}]}\n\n',
    ),
    (
        "openai_responses",
        b'{"object":"response","status":"completed",'
        b'"output":[{"type":"message","content":[{"type":"output_text","text":"a b\xff"}]}]}',
    ),
    ("text", b"a b\xff"),
]


@pytest.mark.parametrize(("dialect", "body"), NOT_UTF8, ids=[dialect for dialect, _ in NOT_UTF8])
def test_invalid_utf8_becomes_a_replacement_character(dialect: str, body: bytes) -> None:
    for data, expected in ((body, "a b\ufffd"), (body.replace(b"\xff", b"\xc3\xa9"), "a bé")):
        turn = thinkaloud.read(data, dialect)
        assert turn.answer == expected
        assert turn.outcome is not None
        assert turn.outcome.ending is Ending.ANSWERED
        assert turn.message is not None
        assert expected[-1] in turn.message.payload


def test_invalid_utf8_in_unknown_field() -> None:
    body = b'{"choices":[{"message":{"content":"a","odd":"\xff\xfe"},"finish_reason":"stop"}]}'
    turn = thinkaloud.read(body)
    assert turn.answer == "a"
    assert turn.message is not None
    assert json.loads(turn.message.payload)["odd"] == "\ufffd\ufffd"


def test_lone_surrogate_escape_becomes_a_replacement_character() -> None:
    text = r"data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d \ud83d\udc4b \uD83D!\"}}]}".replace(
        '\\"', '"'
    )
    turn = thinkaloud.read(text.encode() + b"\n\ndata: [DONE]\n\n")
    assert turn.answer == "\\ud83d \U0001f44b \ufffd!"


def test_escape_in_plain_text_is_unchanged() -> None:
    data = rb"<think>a</think>write \ud83d"
    assert thinkaloud.read(data).answer == r"write \ud83d"


def test_error_after_finish_is_a_notice() -> None:
    notices = [
        turn_event
        for turn_event in RECORDINGS["openai_chat/error_after_finish"].events()
        if isinstance(turn_event, NoticeGiven)
    ]
    assert notices == [NoticeGiven("server_error", "usage backend is down")]


KEPT_ALIVE = [
    pytest.param(b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}', id="json"),
    pytest.param(
        b'{"message":{"content":"H"},"done":false}\n{"message":{"content":"i"},"done":true}', id="ndjson"
    ),
    pytest.param(b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n', id="sse"),
    pytest.param(
        b'[{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}]', id="array"
    ),
    pytest.param(b"<think>hm</think>Hi", id="text"),
]
SPACE = b"\n \r\n\t"


@pytest.mark.parametrize("dialect", ["auto", "named"])
@pytest.mark.parametrize("size", [1, 1023, 1024, 5000, 3_000_000])
@pytest.mark.parametrize("body", KEPT_ALIVE)
def test_white_space_before_a_response_is_dropped(body: bytes, size: int, dialect: str) -> None:
    """Servers send it while a model thinks, and nobody knows for how long."""
    expected = thinkaloud.read(body)
    space = (SPACE * (size // len(SPACE) + 1))[:size]
    for chunk_size in (1, 1000, size + len(body)):
        if chunk_size == 1 and size > 5000:
            continue
        reader = Reader("auto" if dialect == "auto" else expected.dialect)
        data = space + body
        chunks = [data[start : start + chunk_size] for start in range(0, len(data), chunk_size)]
        turn = fold([event for chunk in chunks for event in reader.feed(chunk)] + reader.close())
        assert (turn.answer.strip(), turn.notices) == ("Hi", expected.notices)
        assert turn.outcome == expected.outcome


def test_white_space_of_named_raw_text_is_kept() -> None:
    for size in (1, 1023, 1024, 5000):
        assert thinkaloud.read(b" " * size + b"Hi", dialect="text").answer == " " * size + "Hi"


def test_white_space_between_elements_of_an_array_is_dropped() -> None:
    text = b'{"candidates":[{"content":{"parts":[{"text":"H"}]},"finishReason":"STOP"}]}'
    body = b"[" + SPACE * 1000 + text + SPACE * 1000 + b"," + text + b"]"
    assert thinkaloud.read(body).answer == fold(read_in_bytes(Reader(), body)).answer == "HH"


def test_white_space_counts_towards_the_size_of_a_response() -> None:
    limits = WireLimits(response_bytes=100)
    body = b'{"choices":[{"message":{"content":"Hi"}}]}'
    for data in (b" " * 101, b" " * (101 - len(body)) + body):
        with pytest.raises(NotAResponse, match="response_bytes"):
            read_in_bytes(Reader(limits=limits), data)
        failed = read_in_bytes(Reader("openai_chat", limits=limits), data)[-1]
        assert isinstance(failed, TurnFailed)
        assert "response_bytes" in failed.message
    assert read_in_bytes(Reader(limits=limits), b" " * (100 - len(body)) + body)


def test_message_about_garbage_after_white_space_shows_the_garbage() -> None:
    with pytest.raises(NotAResponse, match="Bad Gateway"):
        thinkaloud.read(b" " * 5000 + b"502 Bad Gateway")


def read_in_bytes(reader: Reader, data: bytes) -> list[Event]:
    return [event for byte in one_by_one(data) for event in reader.feed(byte)] + reader.close()

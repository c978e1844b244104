"""Faults of a stream and its end: lines outside of events, frames of no known shape, cut frames, errors."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from tests.dialects.odd_bodies import DONE, blocks, cause, chat, ending, read, sse

from thinkaloud import Reader, fold
from thinkaloud.core.canon import Finish, NotAResponse, TurnEnded
from thinkaloud.core.transcript import BlockStatus
from thinkaloud.core.wire import Framing, sniff_framing

START = sse({"choices": [{"delta": {"content": "a"}}]})
END = sse({"choices": [{"finish_reason": "stop"}]})


class TestStrayLines:
    def test_bare_json_line_is_read_and_noted(self) -> None:
        turn = read(START + b'{"choices":[{"delta":{"content":"b"}}]}\n\n' + END)
        assert (turn.answer, ending(turn)) == ("ab", ("answered", "stop"))
        assert turn.notices[0].text.startswith("A line is not a field of an event stream but {")

    @pytest.mark.parametrize("line", [b'error: {"code":400,"message":"ctx"}', b'{"error":{"message":"ctx"}}'])
    @pytest.mark.parametrize("rest", [b"", b"\n", b"\n\n" + END])
    def test_error_line_fails_the_turn(self, line: bytes, rest: bytes) -> None:
        turn = read(START + line + rest)
        assert (turn.answer, ending(turn)[0], cause(turn)) == ("a", "failed", "ctx")

    @pytest.mark.parametrize("line", [b"<html>", b"upstream timed out", b'{"choices":[{"delta'])
    def test_other_line_is_noted(self, line: bytes) -> None:
        turn = read(START + END + line + b"\n" + line)
        assert line.decode() in turn.notices[0].text
        assert "1 more" in turn.notices[0].text


class TestUnknownFrames:
    @pytest.mark.parametrize(
        "frame",
        [
            b'event: error\ndata: {"code":"InternalError","message":"boom"}\n\n',
            b'data: {"type":"error","message":"boom"}\n\n',
            b'data: {"someException":{"message":"boom"}}\n\n',
        ],
    )
    @pytest.mark.parametrize(
        "first",
        [
            {"choices": [{"delta": {"content": "a"}}]},
            {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
            {"type": "content_block_delta", "delta": {"text": "a"}},
            {"type": "response.output_text.delta", "delta": "a"},
            {"type": "content-delta", "delta": {"message": {"content": {"text": "a"}}}},
            {"event_type": "step.delta", "delta": {"type": "text", "text": "a"}},
            {"contentBlockDelta": {"delta": {"text": "a"}}},
            {"message": {"content": "a"}, "done": False},
        ],
        ids=lambda frame: next(iter(frame)),
    )
    def test_error_of_another_shape_fails_the_turn(self, first: dict[str, Any], frame: bytes) -> None:
        turn = read(sse(first) + frame)
        assert (turn.answer, ending(turn)[0], cause(turn)) == ("a", "failed", "boom")

    def test_frame_of_no_known_shape_is_noted(self) -> None:
        turn = read(START + sse({"detail": "x"}) + END)
        assert (turn.answer, ending(turn)) == ("a", ("answered", "stop"))
        assert turn.notices[0].text == 'A frame is not part of a response in openai_chat but {"detail": "x"}.'

    def test_exception_in_json_lines(self) -> None:
        lines = b'{"messageStart":{"role":"assistant"}}\n{"modelStreamErrorException":{"message":"boom"}}\n'
        assert ending(read(lines)) == ("failed", "modelStreamErrorException")
        assert cause(read(lines)) == "boom"


class TestCutFrame:
    @pytest.mark.parametrize(
        "body",
        [
            START + END + b'data: {"choices":[{"delta":{"content":"b',
            b'[{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]},\n{"candidates":[{',
        ],
    )
    def test_cut_frame_after_the_finish_is_noted(self, body: bytes) -> None:
        turn = read(body)
        assert (turn.answer, ending(turn)[0]) == ("a", "answered")
        assert turn.notices[0].text.startswith('The last frame is not complete but {"c')


class TestEvents:
    def test_events_one_line_end_apart(self) -> None:
        lines = START.replace(b"\n\n", b"\n") + END.replace(b"\n\n", b"\n")
        for end in (b"", b"\n", b"data: [DONE]\n\n"):
            assert blocks(read(lines + end)) == [("text", "a")]
            assert ending(read(lines + end)) == ("answered", "stop")

    def test_padded_done_and_keep_alives(self) -> None:
        keep_alives = b"event: ping\ndata: ping\n\ndata: null\n\n"
        for body in (START + END + b"data: [DONE] \n\n", START + keep_alives + END + DONE):
            assert ending(read(body)) == ("answered", "stop")

    def test_many_keep_alives_first(self) -> None:
        assert read(b"event: ping\ndata: {}\n\n" * 100 + START + END).answer == "a"


class TestWholeBodyWithoutReason:
    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (b'{"choices":[{"text":"Hi","stop_reason":"stop"}]}', "stop"),
            (b'{"object":"text_completion","choices":[{"text":"Hi"}]}', "unknown"),
            (b'{"object":"text_completion","choices":[{"text":"Hi"}]}\n', "unknown"),
            (b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}', "unknown"),
        ],
    )
    def test_whole_body_is_complete(self, body: bytes, reason: str) -> None:
        turn = read(body)
        assert (turn.answer, ending(turn)) == ("Hi", ("answered", reason))

    def test_stream_without_reason_is_cut_off(self) -> None:
        for chunk in (
            {"choices": [{"text": "a"}]},
            {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
        ):
            assert ending(read(sse(chunk))) == ("cut_off", "cut_off")


class TestErrors:
    @pytest.mark.parametrize(
        "body",
        [
            sse({"type": "response.failed", "error": {"message": "boom"}}),
            sse({"type": "response.created", "response": {}}, {"error": {"message": "boom"}}),
            chat({"content": "a"}, finish=None).removesuffix(DONE) + sse({"error": "boom"}),
        ],
    )
    def test_cause_is_kept(self, body: bytes) -> None:
        turn = read(body)
        assert (ending(turn)[0], cause(turn)) == ("failed", "boom")

    def test_error_that_is_a_status_number(self) -> None:
        turn = read(sse({"error": 500}))
        assert (ending(turn)[0], cause(turn)) == ("failed", "500")

    def test_error_beside_candidates_keeps_the_text(self) -> None:
        candidate = {"content": {"parts": [{"text": "Hi"}]}}
        turn = read(json.dumps({"candidates": [candidate], "error": {"message": "boom"}}).encode())
        assert (turn.answer, ending(turn)[0], cause(turn)) == ("Hi", "failed", "boom")


def feed_all(reader: Reader, reads: Iterable[bytes]) -> None:
    for data in reads:
        reader.feed(data)
    reader.close()


@pytest.mark.parametrize(
    "body", [b"Hello, this is no response", b"data: hello\n\n", b"<html>\n<body>", b"hm"]
)
def test_message_about_an_unknown_format_does_not_depend_on_the_cuts(body: bytes) -> None:
    messages = set()
    for size in (1, 2, 7, len(body)):
        reader = Reader()
        reads = (body[start : start + size] for start in range(0, len(body), size))
        with pytest.raises(NotAResponse) as refused:
            feed_all(reader, reads)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_body_after_a_byte_order_mark_is_not_scanned_at_every_read(monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[int] = []

    def counted(head: bytes, *, final: bool = False) -> Framing | None:
        scans.append(len(head))
        return sniff_framing(head, final=final)

    monkeypatch.setattr("thinkaloud.core.dialects.reader.sniff_framing", counted)
    reader = Reader()
    reader.feed(b'\xef\xbb\xbf{"a":"')
    for _ in range(100):
        reader.feed(b"x" * 64)
    assert len(scans) == 1


class TestBreakingOff:
    """The program stopped reading, so the turn ends as it says, unless the response was complete before."""

    CANCELLED = TurnEnded(Finish.CANCELLED)

    def test_open_block_is_interrupted(self) -> None:
        reader = Reader("openai_chat")
        turn = fold(reader.feed(START) + reader.break_off(self.CANCELLED))
        assert (turn.answer, ending(turn)) == ("a", ("cancelled", "cancelled"))
        assert turn.blocks[0].status is BlockStatus.INTERRUPTED

    def test_complete_response_keeps_its_end(self) -> None:
        reader = Reader("openai_chat")
        turn = fold(reader.feed(START + END) + reader.break_off(self.CANCELLED))
        assert ending(turn) == ("answered", "stop")
        assert turn.blocks[0].status is BlockStatus.DONE

    def test_nothing_recognised_is_a_turn_without_blocks(self) -> None:
        reader = Reader("auto")
        turn = fold(reader.feed(b"da") + reader.break_off(self.CANCELLED))
        assert (turn.blocks, ending(turn)[0]) == ([], "cancelled")

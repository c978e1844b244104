"""Frames that differ in one text: what they say does not depend on whether they are read by their shape."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.core.canon import Entry, Event
from thinkaloud.core.dialects import Reader
from thinkaloud.core.dialects.text_frame import TextFrame
from thinkaloud.core.transcript import fold, unfold

DELTAS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "content": st.one_of(
                st.none(), st.sampled_from(("", "<think>", "</think>", "<th", "ink>")), st.text(max_size=3)
            ),
            "reasoning_content": st.one_of(st.none(), st.text(max_size=3)),
            "reasoning": st.text(max_size=3),
            "refusal": st.text(max_size=2),
        },
    ),
    max_size=12,
)


def stream(deltas: Sequence[dict[str, object]], *, numbered: bool = False) -> list[bytes]:
    """Return a stream. Where frames are numbered, no frame has the shape of another."""
    frames = []
    for number, delta in enumerate([*deltas, {}]):
        reason = "stop" if number == len(deltas) else None
        chunk = {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        made = json.dumps({"created": number, **chunk} if numbered else chunk)
        frames.append(f"data: {made}\n\n".encode())
    return frames


def read(frames: Sequence[bytes], reads: int = 1) -> list[Entry]:
    """Return the turn of these frames as entries, with the text of a block as one. Some arrive together."""
    reader, events = Reader("openai_chat"), list[Event]()
    for start in range(0, len(frames), reads):
        events += reader.feed(b"".join(frames[start : start + reads]))
    return unfold(fold([*events, *reader.close()]))


@given(DELTAS, st.integers(1, 5))
def test_text_is_the_same_by_shape_and_by_field(deltas: list[dict[str, object]], reads: int) -> None:
    assert read(stream(deltas), reads) == read(stream(deltas, numbered=True))


def taken(learned: bytes, field: str, text: str, frame: bytes) -> list[str]:
    """Return the texts that are taken from a frame after another one was learned."""
    texts: list[str] = []
    shape = TextFrame(lambda _, new: texts.extend(new))
    shape.learn(learned, field, text)
    shape.take(frame)
    shape.flush()
    return texts


@pytest.mark.parametrize(
    ("learned", "frame", "texts"),
    [
        (b'{"id":1,"text":"a","end":null}', b'{"id":1,"text":"b\\n\\"","end":null}', ['b\n"']),
        (b'{"id":1,"text": "a"}', b'{"id":1,"text": "\xc3\xa9"}', ["é"]),
        (b'{"id":1,"text":"a"}', b'{"id":2,"text":"b"}', []),
        (b'{"id":1,"text":"a"}', b'{"id":1,"text":""}', []),
        (b'{"id":1,"text":"a"}', b'{"id":1,"text":7}', []),
        (b'{"id":1,"text":"a"}', b'{"id":1,"text":"b","end":"c"}', []),
        (b'{"id":1,"text":"a"}', b'{"id":1,"text":"b}', []),
        # The same name twice, and a name with an escape: which of them was read is not known here.
        (b'{"text":"a","in":{"text":"a"}}', b'{"text":"a","in":{"text":"b"}}', []),
        (b'{"text":"a","in":{"te\\u0078t":"a"}}', b'{"text":"b","in":{"te\\u0078t":"a"}}', []),
        # The text that was read is not the one of this name.
        (b'{"text":"x","in":1}', b'{"text":"b","in":1}', []),
    ],
)
def test_only_a_frame_of_the_same_shape_is_taken(learned: bytes, frame: bytes, texts: list[str]) -> None:
    assert taken(learned, "text", "a", frame) == texts


def test_shapes_that_never_come_again_are_not_learned_for_ever() -> None:
    texts: list[str] = []
    shape = TextFrame(lambda _, new: texts.extend(new))
    for number in range(20):
        shape.learn(b'{"n":%d,"text":"a"}' % number, "text", "a")
    assert not shape.take(b'{"n":19,"text":"b"}')
    assert shape.take(b'{"n":7,"text":"b"}')

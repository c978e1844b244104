"""What is encoded as server-sent events is read back the same, whatever its size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.core.canon import BadPosition
from thinkaloud.core.wire.sse_encoder import CHUNK_BYTES, last_seen_id, sse, sse_chunks, sse_id

SIZES = st.lists(st.sampled_from((0, 1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES)))


def read(stream: bytes) -> list[tuple[str, bytes]]:
    """Read events that have an id and one line of data, as a browser does."""
    events = []
    for event in stream.split(b"\n\n")[:-1]:
        head, _, data = event.partition(b"\ndata: ")
        events.append((head.removeprefix(b"id: ").decode(), data))
    return events


@given(SIZES, st.integers(0, 10**9), st.sampled_from(("", "turn_1")))
def test_chunks_are_the_lines_with_their_ids(sizes: list[int], first: int, stream: str) -> None:
    lines = [b"%d" % index + b"x" * size for index, size in enumerate(sizes)]
    chunks = list(sse_chunks(lines, first, stream))
    prefix = f"{stream}." if stream else ""
    expected = [(f"{prefix}{number}", line) for number, line in enumerate(lines, first)]
    assert read(b"".join(chunks)) == expected


@given(SIZES)
def test_no_chunk_is_much_larger_than_a_send(sizes: list[int]) -> None:
    lines = [b"x" * size for size in sizes]
    heads = 20 * (len(lines) + 1)
    assert all(0 < len(chunk) <= CHUNK_BYTES + heads for chunk in sse_chunks(lines, 0))


def test_an_event_has_a_name_and_json() -> None:
    assert sse({"a": "b\nc"}, "end") == b'event: end\ndata: {"a":"b\\nc"}\n\n'
    assert sse([1]) == b"data: [1]\n\n"
    assert sse_id("turn_1.7") == b"id: turn_1.7\n\n"


@pytest.mark.parametrize(
    ("header", "after", "seen"), [("", None, -1), ("", 4, 4), ("7", None, 7), ("7", 4, 7), ("7", 7, 7)]
)
def test_the_last_id_is_the_newer_position(header: str, after: int | None, seen: int) -> None:
    assert last_seen_id(header, after) == seen


@pytest.mark.parametrize(
    ("header", "after", "message"),
    [
        ("x", None, "ids are numbers"),
        ("٣", None, "ids are numbers"),
        ("9" * 16, None, "ids are numbers"),
        ("-1", 0, "ids are numbers"),
        ("3", 4, "ambiguous"),
    ],
)
def test_a_wrong_position_is_refused(header: str, after: int | None, message: str) -> None:
    with pytest.raises(BadPosition, match=message):
        last_seen_id(header, after)

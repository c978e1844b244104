"""Plain text: frames hold complete characters, however the bytes are chunked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at

from thinkaloud.core.wire import PLAIN_TEXT, TextDecoder

CASES: dict[str, tuple[bytes, str]] = {
    "letters": (b"plain <think>", "plain <think>"),
    "characters of two, three and four bytes": ("é – 💭".encode(), "é – 💭"),
    "joined characters": ("👩🏽‍🚀 e\u0301".encode(), "👩🏽‍🚀 e\u0301"),
    "nul": (b"a\0b", "a\0b"),
    "a byte-order mark goes": (b"\xef\xbb\xbfhi", "hi"),
    "a second one stays": (b"\xef\xbb\xbf\xef\xbb\xbfhi", "\ufeffhi"),
    "one in the middle stays": (b"a\xef\xbb\xbfb", "a\ufeffb"),
    "bytes that are not utf-8": (b"a\xff\xfeb", "a\ufffd\ufffdb"),
    "a character that breaks off": (b"a\xf0\x9f\x92 b", "a\ufffd b"),
    "an overlong form": (b"\xc0\xaf", "\ufffd\ufffd"),
    "a surrogate": (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
    "cut off in a character": (b"a\xf0\x9f\x92", "a\ufffd"),
    "cut off in a byte-order mark": (b"\xef\xbb", "\ufffd"),
    "only a byte-order mark": (b"\xef\xbb\xbf", ""),
    "nothing": (b"", ""),
}


def decode_text(reads: list[bytes]) -> str:
    decoder = TextDecoder()
    frames = [frame for read in reads for frame in decoder.feed(read)] + decoder.close()
    assert all(frame.event == PLAIN_TEXT and frame.data for frame in frames)
    return "".join(
        frame.data.decode() for frame in frames
    )  # decoded one by one: each must hold whole characters


@pytest.mark.parametrize("name", CASES)
def test_text_does_not_depend_on_chunking(name: str) -> None:
    data, expected = CASES[name]
    for reads in all_splits(data):
        assert decode_text(reads) == expected, reads


@given(st.sampled_from(list(CASES.values())), SPLIT_POINTS)
def test_text_with_random_chunks(case: tuple[bytes, str], split_points: list[int]) -> None:
    data, expected = case
    assert decode_text(split_at(data, split_points)) == expected


@given(st.text().map(str.encode) | st.binary(), SPLIT_POINTS)
def test_text_decodes_like_python(data: bytes, split_points: list[int]) -> None:
    assert decode_text(split_at(data, split_points)) == data.decode("utf-8-sig", errors="replace")


def test_complete_characters_are_returned_at_once() -> None:
    decoder = TextDecoder()
    assert [frame.data for frame in decoder.feed("é💭".encode()[:-1])] == ["é".encode()]
    assert [frame.data for frame in decoder.feed("💭".encode()[-1:])] == ["💭".encode()]

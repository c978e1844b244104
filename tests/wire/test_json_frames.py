"""The JSON framings: one value, one value per line, and a streamed array."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at
from tests.wire.decode import Decoded, decode_all, expected_frames

from thinkaloud.core.wire import (
    DEFAULT_LIMITS,
    Frame,
    Framing,
    JsonArrayDecoder,
    JsonDecoder,
    NdjsonDecoder,
    valid_json,
)

BOM = b"\xef\xbb\xbf"
DEEPLY_NESTED = 100_000
"""A nesting depth that exhausts the stack of a recursive parser."""

JSON_CASES: dict[str, tuple[bytes, Decoded]] = {
    "an object": (b'{"a": [1, 2]}', expected_frames(b'{"a": [1, 2]}')),
    "white space round it": (b' \r\n\t{"a": 1}\n\n', expected_frames(b'{"a": 1}')),
    "over several lines": (b'{\n  "a": 1\n}\n', expected_frames(b'{\n  "a": 1\n}')),
    "a byte-order mark": (BOM + b'{"a": 1}', expected_frames(b'{"a": 1}')),
    "an array": (b'[{"a": 1}]', expected_frames(b'[{"a": 1}]')),
    "a string": ('"é💭"'.encode(), expected_frames('"é💭"'.encode())),
    "cut off": (b'{"a": [1, 2', expected_frames()),
    "cut off inside a string": (b'{"a": "b', expected_frames()),
    "two values": (b'{"a": 1}{"b": 2}', expected_frames()),
    "no json": (b"<html>", expected_frames()),
    "nothing": (b"", expected_frames()),
    "white space": (b" \n ", expected_frames()),
}

NDJSON_CASES: dict[str, tuple[bytes, Decoded]] = {
    "lf": (b'{"a":1}\n{"b":2}\n', expected_frames(b'{"a":1}', b'{"b":2}')),
    "crlf": (b'{"a":1}\r\n{"b":2}\r\n', expected_frames(b'{"a":1}', b'{"b":2}')),
    "cr": (b'{"a":1}\r{"b":2}\r', expected_frames(b'{"a":1}', b'{"b":2}')),
    "blank lines": (b'\n \n{"a":1}\n\t\n\r\n{"b":2}\n\n', expected_frames(b'{"a":1}', b'{"b":2}')),
    "the last without its end": (b'{"a":1}\n{"b":2}', expected_frames(b'{"a":1}', b'{"b":2}')),
    "the last cut off": (b'{"a":1}\n{"b":', expected_frames(b'{"a":1}')),
    "one without its end": (b' {"a":1} ', expected_frames(b'{"a":1}')),
    "a line that is not json is returned for the dialect to judge": (
        b'{"a":1}\noops\n',
        expected_frames(b'{"a":1}', b"oops"),
    ),
    "escaped ends of lines": (b'{"a":"1\\n\\r"}\n', expected_frames(b'{"a":"1\\n\\r"}')),
    "characters of many bytes": ('{"a":"é💭"}\n'.encode(), expected_frames('{"a":"é💭"}'.encode())),
    "line separators that json allows": (
        '{"a":"\u2028\u0085"}\n'.encode(),
        expected_frames('{"a":"\u2028\u0085"}'.encode()),
    ),
    "a byte-order mark": (BOM + b'{"a":1}\n{"b":2}\n', expected_frames(b'{"a":1}', b'{"b":2}')),
    "a byte-order mark and one line": (BOM + b'{"a":1}', expected_frames(b'{"a":1}')),
    "nothing": (b"", expected_frames()),
}

UNBALANCED_FAULT = "a JSON array has more closing than opening brackets"
TRAILING_VALUE_FAULT = "a JSON array is followed by another value"

JSON_ARRAY_CASES: dict[str, tuple[bytes, Decoded]] = {
    "two objects": (b'[{"a":1},{"b":2}]', expected_frames(b'{"a":1}', b'{"b":2}')),
    "as gemini sends it": (
        b'[{\n  "a": 1\n}\n,\r\n{\n  "b": 2\n}\n]\n',
        expected_frames(b'{\n  "a": 1\n}', b'{\n  "b": 2\n}'),
    ),
    "a byte-order mark": (BOM + b'[{"a":1}]', expected_frames(b'{"a":1}')),
    "empty": (b" [ ] ", expected_frames()),
    "objects in objects": (b'[{"a":{"b":{}}},{}]', expected_frames(b'{"a":{"b":{}}}', b"{}")),
    "arrays in arrays": (b'[[1,[2,[]]],{"a":[[]]}]', expected_frames(b"[1,[2,[]]]", b'{"a":[[]]}')),
    "brackets in strings": (b'[{"a":"]}[{"},{"}":"]"}]', expected_frames(b'{"a":"]}[{"}', b'{"}":"]"}')),
    "quotes in strings": (b'[{"a":"\\"}\\""},{"b":2}]', expected_frames(b'{"a":"\\"}\\""}', b'{"b":2}')),
    "backslashes before the last quote": (
        b'[{"a":"\\\\"},{"b":"\\\\\\""}]',
        expected_frames(b'{"a":"\\\\"}', b'{"b":"\\\\\\""}'),
    ),
    "other escapes": (b'[{"a":"\\u005d\\n\\/"}]', expected_frames(b'{"a":"\\u005d\\n\\/"}')),
    "characters of many bytes": ('[{"a":"é💭"}]'.encode(), expected_frames('{"a":"é💭"}'.encode())),
    "elements that are not objects or arrays are skipped": (
        b'[1,"]{",null,{"a":1},"\\"["]',
        expected_frames(b'{"a":1}'),
    ),
    "the last cut off": (b'[{"a":1},{"b":"}', expected_frames(b'{"a":1}')),
    "not closed": (b'[{"a":1}', expected_frames(b'{"a":1}')),
    "words after the end": (b'[{"a":1}] and more', expected_frames(b'{"a":1}')),
    "closed twice": (b'[{"a":1}]]', Decoded([Frame(b'{"a":1}')], UNBALANCED_FAULT)),
    "closed before it opens": (b']{"a":1}', Decoded([], UNBALANCED_FAULT)),
    "an object after the end": (
        b'[{"a":1}]{"b":{"c":2}}',
        Decoded([Frame(b'{"a":1}')], TRAILING_VALUE_FAULT),
    ),
    "an array after the end": (b'[{"a":1}]\n[{"b":2}]', Decoded([Frame(b'{"a":1}')], TRAILING_VALUE_FAULT)),
    "nothing": (b"", expected_frames()),
}

CASES_BY_FRAMING: dict[Framing, dict[str, tuple[bytes, Decoded]]] = {
    JsonDecoder: JSON_CASES,
    NdjsonDecoder: NDJSON_CASES,
    JsonArrayDecoder: JSON_ARRAY_CASES,
}
CASES = [(framing, *story) for framing, stories in CASES_BY_FRAMING.items() for story in stories.values()]
NAMES = [f"{framing.__name__}-{name}" for framing, stories in CASES_BY_FRAMING.items() for name in stories]


@pytest.mark.parametrize(("framing", "data", "expected"), CASES, ids=NAMES)
def test_json_frames_do_not_depend_on_chunking(framing: Framing, data: bytes, expected: Decoded) -> None:
    for reads in all_splits(data):
        assert decode_all(framing(DEFAULT_LIMITS), reads) == expected, reads


@given(st.sampled_from(CASES), SPLIT_POINTS)
def test_json_frames_with_random_chunks(
    case: tuple[Framing, bytes, Decoded], split_points: list[int]
) -> None:
    framing, data, expected = case
    assert decode_all(framing(DEFAULT_LIMITS), split_at(data, split_points)) == expected


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(['"', "\\", "]", "}", '\\"', '"]']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=4)


@given(OBJECTS, st.sampled_from([None, 1]), st.booleans(), SPLIT_POINTS)
def test_json_array_returns_its_elements(
    objects: list[dict[str, object]], indent: int | None, ascii_only: bool, split_points: list[int]
) -> None:
    data = json.dumps(objects, indent=indent, ensure_ascii=ascii_only).encode()
    frames_read = decode_all(JsonArrayDecoder(), split_at(data, split_points)).frames
    assert [json.loads(frame.data) for frame in frames_read] == objects


@given(OBJECTS, st.sampled_from([b"\n", b"\r\n"]), st.booleans(), SPLIT_POINTS)
def test_ndjson_returns_its_values(
    objects: list[dict[str, object]], end: bytes, last_end: bool, split_points: list[int]
) -> None:
    data = end.join(json.dumps(value).encode() for value in objects) + (end if last_end else b"")
    frames_read = decode_all(NdjsonDecoder(), split_at(data, split_points)).frames
    assert [json.loads(frame.data) for frame in frames_read] == objects


def test_json_array_element_is_returned_with_its_last_byte() -> None:
    decoder = JsonArrayDecoder()
    assert decoder.feed(b'[{"a":1') == []
    assert decoder.feed(b"}") == [Frame(b'{"a":1}')]
    assert decoder.feed(b',{"b":2},{"c"') == [Frame(b'{"b":2}')]


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        (b"{}", True),
        (b' [1, {"a": null}] ', True),
        (b'"text"', True),
        (b"12", True),
        (b"", False),
        (b"{", False),
        (b"{} {}", False),
        (b"{'a': 1}", False),
        (b'{"a":' * DEEPLY_NESTED, False),
        (b"[" * DEEPLY_NESTED + b"]" * DEEPLY_NESTED, False),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else None,
)
def test_valid_json_accepts_one_complete_value(data: bytes, valid: bool) -> None:
    assert valid_json(data) is valid


@pytest.mark.parametrize("framing", [JsonDecoder, NdjsonDecoder])
def test_deeply_nested_json_is_dropped(framing: Framing) -> None:
    assert (
        decode_all(framing(DEFAULT_LIMITS), [b"[" * DEEPLY_NESTED + b"]" * DEEPLY_NESTED])
        == expected_frames()
    )

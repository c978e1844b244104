"""JSON in three framings: one value, a value a line, and an array that comes in pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cutting import PLACES, cut, every_way
from tests.wire.decoding import Decoded, decoded, frames

from thinkaloud.wire import LIMITS, Frame, Framing, Json, JsonArray, Ndjson, complete

BOM = b"\xef\xbb\xbf"
BEYOND_REASON = 100_000
"""Brackets within brackets that no parser on the stack survives."""

ONE_VALUE: dict[str, tuple[bytes, Decoded]] = {
    "an object": (b'{"a": [1, 2]}', frames(b'{"a": [1, 2]}')),
    "white space round it": (b' \r\n\t{"a": 1}\n\n', frames(b'{"a": 1}')),
    "over several lines": (b'{\n  "a": 1\n}\n', frames(b'{\n  "a": 1\n}')),
    "a byte-order mark": (BOM + b'{"a": 1}', frames(b'{"a": 1}')),
    "an array": (b'[{"a": 1}]', frames(b'[{"a": 1}]')),
    "a string": ('"é💭"'.encode(), frames('"é💭"'.encode())),
    "cut off": (b'{"a": [1, 2', frames()),
    "cut off inside a string": (b'{"a": "b', frames()),
    "two values": (b'{"a": 1}{"b": 2}', frames()),
    "no json": (b"<html>", frames()),
    "nothing": (b"", frames()),
    "white space": (b" \n ", frames()),
}

A_VALUE_A_LINE: dict[str, tuple[bytes, Decoded]] = {
    "lf": (b'{"a":1}\n{"b":2}\n', frames(b'{"a":1}', b'{"b":2}')),
    "crlf": (b'{"a":1}\r\n{"b":2}\r\n', frames(b'{"a":1}', b'{"b":2}')),
    "cr": (b'{"a":1}\r{"b":2}\r', frames(b'{"a":1}', b'{"b":2}')),
    "blank lines": (b'\n \n{"a":1}\n\t\n\r\n{"b":2}\n\n', frames(b'{"a":1}', b'{"b":2}')),
    "the last without its end": (b'{"a":1}\n{"b":2}', frames(b'{"a":1}', b'{"b":2}')),
    "the last cut off": (b'{"a":1}\n{"b":', frames(b'{"a":1}')),
    "one without its end": (b' {"a":1} ', frames(b'{"a":1}')),
    "a line that is no json is for the dialect to judge": (b'{"a":1}\noops\n', frames(b'{"a":1}', b"oops")),
    "escaped ends of lines": (b'{"a":"1\\n\\r"}\n', frames(b'{"a":"1\\n\\r"}')),
    "characters of many bytes": ('{"a":"é💭"}\n'.encode(), frames('{"a":"é💭"}'.encode())),
    "line separators that json allows": (
        '{"a":"\u2028\u0085"}\n'.encode(),
        frames('{"a":"\u2028\u0085"}'.encode()),
    ),
    "a byte-order mark": (BOM + b'{"a":1}\n{"b":2}\n', frames(b'{"a":1}', b'{"b":2}')),
    "a byte-order mark and one line": (BOM + b'{"a":1}', frames(b'{"a":1}')),
    "nothing": (b"", frames()),
}

CLOSED_TWICE = "a JSON array closes more than it opens"
FOLLOWED = "a JSON array is followed by another value"

AN_ARRAY: dict[str, tuple[bytes, Decoded]] = {
    "two objects": (b'[{"a":1},{"b":2}]', frames(b'{"a":1}', b'{"b":2}')),
    "as gemini sends it": (
        b'[{\n  "a": 1\n}\n,\r\n{\n  "b": 2\n}\n]\n',
        frames(b'{\n  "a": 1\n}', b'{\n  "b": 2\n}'),
    ),
    "a byte-order mark": (BOM + b'[{"a":1}]', frames(b'{"a":1}')),
    "empty": (b" [ ] ", frames()),
    "objects in objects": (b'[{"a":{"b":{}}},{}]', frames(b'{"a":{"b":{}}}', b"{}")),
    "arrays in arrays": (b'[[1,[2,[]]],{"a":[[]]}]', frames(b"[1,[2,[]]]", b'{"a":[[]]}')),
    "brackets in strings": (b'[{"a":"]}[{"},{"}":"]"}]', frames(b'{"a":"]}[{"}', b'{"}":"]"}')),
    "quotes in strings": (b'[{"a":"\\"}\\""},{"b":2}]', frames(b'{"a":"\\"}\\""}', b'{"b":2}')),
    "backslashes before the last quote": (
        b'[{"a":"\\\\"},{"b":"\\\\\\""}]',
        frames(b'{"a":"\\\\"}', b'{"b":"\\\\\\""}'),
    ),
    "other escapes": (b'[{"a":"\\u005d\\n\\/"}]', frames(b'{"a":"\\u005d\\n\\/"}')),
    "characters of many bytes": ('[{"a":"é💭"}]'.encode(), frames('{"a":"é💭"}'.encode())),
    "elements that are no objects are passed over": (b'[1,"]{",null,{"a":1},"\\"["]', frames(b'{"a":1}')),
    "the last cut off": (b'[{"a":1},{"b":"}', frames(b'{"a":1}')),
    "not closed": (b'[{"a":1}', frames(b'{"a":1}')),
    "words after the end": (b'[{"a":1}] and more', frames(b'{"a":1}')),
    "closed twice": (b'[{"a":1}]]', Decoded([Frame(b'{"a":1}')], CLOSED_TWICE)),
    "closed before it opens": (b']{"a":1}', Decoded([], CLOSED_TWICE)),
    "an object after the end": (b'[{"a":1}]{"b":{"c":2}}', Decoded([Frame(b'{"a":1}')], FOLLOWED)),
    "an array after the end": (b'[{"a":1}]\n[{"b":2}]', Decoded([Frame(b'{"a":1}')], FOLLOWED)),
    "nothing": (b"", frames()),
}

STORIES: dict[Framing, dict[str, tuple[bytes, Decoded]]] = {
    Json: ONE_VALUE,
    Ndjson: A_VALUE_A_LINE,
    JsonArray: AN_ARRAY,
}
WRITTEN = [(framing, *story) for framing, stories in STORIES.items() for story in stories.values()]
NAMES = [f"{framing.__name__}-{name}" for framing, stories in STORIES.items() for name in stories]


@pytest.mark.parametrize(("framing", "said", "story"), WRITTEN, ids=NAMES)
def test_a_body_tells_its_story_however_it_is_read(framing: Framing, said: bytes, story: Decoded) -> None:
    for reads in every_way(said):
        assert decoded(framing(LIMITS), reads) == story, reads


@given(st.sampled_from(WRITTEN), PLACES)
def test_any_reads_tell_the_story(written: tuple[Framing, bytes, Decoded], places: list[int]) -> None:
    framing, said, story = written
    assert decoded(framing(LIMITS), cut(said, places)) == story


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(['"', "\\", "]", "}", '\\"', '"]']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=4)


@given(OBJECTS, st.sampled_from([None, 1]), st.booleans(), PLACES)
def test_any_array_gives_its_elements(
    objects: list[dict[str, object]], indent: int | None, ascii_only: bool, places: list[int]
) -> None:
    written = json.dumps(objects, indent=indent, ensure_ascii=ascii_only).encode()
    told = decoded(JsonArray(), cut(written, places)).frames
    assert [json.loads(frame.data) for frame in told] == objects


@given(OBJECTS, st.sampled_from([b"\n", b"\r\n"]), st.booleans(), PLACES)
def test_any_lines_give_their_values(
    objects: list[dict[str, object]], end: bytes, last_end: bool, places: list[int]
) -> None:
    written = end.join(json.dumps(value).encode() for value in objects) + (end if last_end else b"")
    told = decoded(Ndjson(), cut(written, places)).frames
    assert [json.loads(frame.data) for frame in told] == objects


def test_an_element_comes_with_its_last_byte() -> None:
    decoder = JsonArray()
    assert decoder.feed(b'[{"a":1') == []
    assert decoder.feed(b"}") == [Frame(b'{"a":1}')]
    assert decoder.feed(b',{"b":2},{"c"') == [Frame(b'{"b":2}')]


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b"{}", True),
        (b' [1, {"a": null}] ', True),
        (b'"text"', True),
        (b"12", True),
        (b"", False),
        (b"{", False),
        (b"{} {}", False),
        (b"{'a': 1}", False),
        (b'{"a":' * BEYOND_REASON, False),
        (b"[" * BEYOND_REASON + b"]" * BEYOND_REASON, False),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else None,
)
def test_complete_knows_one_whole_value(data: bytes, whole: bool) -> None:
    assert complete(data) is whole


@pytest.mark.parametrize("framing", [Json, Ndjson])
def test_nesting_beyond_all_reason_is_no_frame(framing: Framing) -> None:
    assert decoded(framing(LIMITS), [b"[" * BEYOND_REASON + b"]" * BEYOND_REASON]) == frames()

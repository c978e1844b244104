"""The lenient decoder reads what it can of every field, keeps raw bytes, and records what was odd."""

import msgspec
import pytest

from thinkaloud.core.dialects.lenient import Count, LenientDecoder, OddFields, Text, decode_object, type_name


class Inner(msgspec.Struct):
    name: str | None = None
    flag: bool | None = None


class Outer(msgspec.Struct, rename="camel"):
    input_tokens: Count | None = None
    index: int = 0
    text: Text | None = None
    parts: Text | list[Inner] | None = None
    inner: Inner | None = None
    reason: str | int | None = None
    anything: dict[str, object] | None = None
    kept: msgspec.Raw = msgspec.Raw()


DECODER = LenientDecoder(Outer)


def decode(data: bytes) -> tuple[Outer, list[str]]:
    odd_fields = OddFields()
    return DECODER.decode(data, odd_fields), list(map(str, odd_fields.messages()))


@pytest.mark.parametrize(
    ("data", "field", "value"),
    [
        (b'{"inputTokens": 5.0}', "input_tokens", 5),
        (b'{"inputTokens": "5"}', "input_tokens", 5),
        (b'{"inputTokens": 5.5}', "input_tokens", None),
        (b'{"inputTokens": true}', "input_tokens", None),
        (b'{"inputTokens": 1e999}', "input_tokens", None),
        (b'{"inputTokens": []}', "input_tokens", None),
        (b'{"index": 3.0}', "index", 0),
        (b'{"index": "3"}', "index", 0),
        (b'{"text": 6}', "text", "6"),
        (b'{"text": {"a": 1}}', "text", '{"a": 1}'),
        (b'{"text": ["a"]}', "text", '["a"]'),
        (b'{"text": false}', "text", "false"),
        (b'{"text": {}}', "text", None),
        (b'{"parts": 6}', "parts", "6"),
        (b'{"parts": [{"name": "a"}, 5, {"name": 7}]}', "parts", [Inner("a"), Inner("7")]),
        (b'{"inner": "a"}', "inner", None),
        (b'{"inner": {"name": {"a": 1}, "flag": "perhaps"}}', "inner", Inner()),
        (b'{"inner": {"name": "a", "flag": "true"}}', "inner", Inner("a", flag=True)),
        (b'{"inner": {"name": "a", "flag": "yes"}}', "inner", Inner("a", flag=True)),
        (b'{"inner": {"name": "a", "flag": 0}}', "inner", Inner("a", flag=False)),
        (b'{"reason": 1.5}', "reason", "1.5"),
        (b'{"anything": "a"}', "anything", None),
    ],
)
def test_field_of_another_type(data: bytes, field: str, value: object) -> None:
    outer, messages = decode(b'{"kept": {"a" : 1.0},' + data[1:])
    assert getattr(outer, field) == value
    assert bytes(outer.kept) == b'{"a" : 1.0}'
    assert messages


def test_documented_types_and_null_are_not_odd() -> None:
    values = b'"inputTokens":5,"text":"a","parts":[{"name":"b"}],"reason":3'
    outer, messages = decode(b'{%s,"index":null,"inner":null,"kept":null}' % values)
    assert (outer.input_tokens, outer.text, outer.parts) == (5, "a", [Inner("b")])
    assert (outer.reason, outer.index, outer.inner) == (3, 0, None)
    assert messages == []


def test_messages_name_field_type_value_and_count() -> None:
    odd_fields = OddFields()
    for value in (b"5.5", b"6.5", b"7.5"):
        DECODER.decode(b'{"inputTokens": %s}' % value, odd_fields)
    assert list(map(str, odd_fields.messages())) == [
        "inputTokens is not an integer but 5.5 (and so 2 more times)."
    ]


def test_number_of_odd_fields_is_bounded() -> None:
    odd_fields = OddFields()
    for number in range(1_000):
        odd_fields.add(f"field_{number}", "text", "x" * 1_000)
    assert len(odd_fields.messages()) == 20
    assert max(len(str(message)) for message in odd_fields.messages()) < 200


def test_nan_and_infinity_are_read_as_null() -> None:
    outer, messages = decode(
        b'{"text": "NaN \\" -Infinity", "inputTokens": NaN, "kept": [-Infinity, Infinity]}'
    )
    assert (outer.text, outer.input_tokens, bytes(outer.kept)) == ('NaN " -Infinity', None, b"[null, null]")
    assert len(messages) == 1


@pytest.mark.parametrize("data", [b"7", b'"a"', b"[]", b"null", b"{", b'{"a": nan}', b""])
def test_frame_that_is_no_object_is_an_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(data)


@pytest.mark.parametrize("data", [b"7", b'"a"', b"[]", b"null"])
def test_part_that_is_no_object_is_empty(data: bytes) -> None:
    assert LenientDecoder(Inner, "parts[]").decode(data, OddFields()) == Inner()
    assert decode_object(msgspec.Raw(data)) == {}


def test_type_name_is_a_word() -> None:
    assert [type_name(value) for value in ("text", "7", "", None)] == ["text", "", "", ""]

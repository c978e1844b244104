"""The arguments of a call as lines: one for each field of a JSON object, and nothing for any other text."""

import pytest

from thinkaloud.core.view.text import json_fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"city": "Lima", "days": 3}', ["city: Lima", "days: 3"]),
        (' {"a":{"b":[1,{"c":2}],"d":"}"},"e":true}\n', ['a: {"b":[1,{"c":2}],"d":"}"}', "e: true"]),
        ('{"id": 12345678901234567890123, "rate": 1.50}', ["id: 12345678901234567890123", "rate: 1.50"]),
        ('{"path": "C:\\\\a \\"b\\"", "empty": ""}', ['path: C:\\a "b"', "empty: "]),
        ("{}", []),
    ],
)
def test_fields_of_an_object_are_lines(text: str, fields: list[str]) -> None:
    assert json_fields(text) == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Lima",
        "[1]",
        '{"city": "Li',
        '{"rate": NaN}',
        "{'city': 1}",
        '{"half": "\\ud83d"}',
        '{"a":' * 3000,
    ],
    ids=["empty", "text", "list", "cut", "not_a_number", "python", "half_character", "deep"],
)
def test_any_other_text_has_no_fields(text: str) -> None:
    assert json_fields(text) is None

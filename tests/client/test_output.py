"""Answers of a given shape: how they are asked for, and that what does not match is found."""

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import msgspec
import pytest

from thinkaloud.client.json_schema import checked_schema, schema_violation
from thinkaloud.client.output import output_schema, parse_output
from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare
from thinkaloud.core.canon import (
    BadOutput,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    Refused,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import ToolDefinition
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.core.dialects import build_request
from thinkaloud.core.transcript import Turn, fold


@dataclass
class Place:
    name: str
    country: str


class City(msgspec.Struct):
    place: Place
    people: int
    kind: Literal["town", "city"] = "city"


class Flat(TypedDict):
    name: str


class Modelled:
    """A class with the two methods of a Pydantic model that are used."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

    @classmethod
    def model_validate_json(cls, text: str) -> str:
        return str(json.loads(text)["name"])


def answered(text: str) -> Turn:
    block: list[Event] = [BlockStarted(0, Kind.TEXT), BlockGrew(0, text), BlockEnded(0)]
    return fold([TurnStarted(), *block, TurnEnded(Finish.STOP)])


def prepared(model: str, thinking: str | None = None, **options: Any) -> PreparedRequest:
    settings = Options(catalog=builtin_catalog(), **options)
    return prepare("Hi", model=model, thinking=thinking, options=settings, have_key=lambda _: True)


def body(request: PreparedRequest) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(build_request(request.route, request.request).body)
    return decoded


def test_claude_gets_the_schema_while_it_thinks() -> None:
    sent = body(prepared("claude-opus-4.5", "high", output=City))
    schema = sent["output_config"]["format"]["schema"]
    assert sent["thinking"]["type"] == "enabled"
    assert schema["additionalProperties"] is False
    assert schema["properties"]["place"]["additionalProperties"] is False


def test_claude_gets_no_bounds_which_it_refuses() -> None:
    schema = {"type": "object", "properties": {"minimum": {"type": "integer", "minimum": 1}}}
    sent = body(prepared("claude-opus-4.5", output=schema))["output_config"]["format"]["schema"]
    assert sent["properties"] == {"minimum": {"type": "integer"}}


@pytest.mark.parametrize(("shape", "strict"), [(Place, True), (City, False)])
def test_openai_is_strict_where_the_schema_allows_it(shape: type, strict: bool) -> None:
    assert body(prepared("openai/gpt-5", output=shape))["text"]["format"]["strict"] is strict
    sent = body(prepared("openai-chat/gpt-5", output=shape))["response_format"]
    assert sent["json_schema"]["strict"] is strict


@pytest.mark.parametrize(
    ("model", "tools", "field"),
    [
        ("claude-sonnet-4", (), None),
        ("deepseek/deepseek-v4-pro", (), "response_format"),
        ("gemini/gemini-2.5-flash", (ToolDefinition("t"),), None),
    ],
)
def test_models_without_schemas_are_asked_in_the_system_prompt(
    model: str, tools: tuple[ToolDefinition, ...], field: str | None
) -> None:
    request = prepared(model, output=Place, tools=tools, system="Be brief.")
    assert "JSON Schema" in request.request.system
    assert request.request.system.startswith("Be brief.")
    assert any("so the system prompt asks for it" in str(note) for note in request.notes)
    sent = body(request)
    assert sent.get("response_format") == ({"type": "json_object"} if field else None)
    assert "responseJsonSchema" not in sent.get("generationConfig", {})


@pytest.mark.parametrize(
    "text", ['{"name":"Lima","country":"Peru"}', '```json\n{"name":"Lima","country":"Peru"}\n```']
)
def test_answers_are_read_as_the_class_with_or_without_a_fence(text: str) -> None:
    assert parse_output(answered(text), Place) == Place("Lima", "Peru")
    assert parse_output(answered(text), output_schema(Place)) == {"name": "Lima", "country": "Peru"}


def test_typed_dicts_and_pydantic_models_are_shapes() -> None:
    assert parse_output(answered('{"name":"Lima"}'), Flat) == {"name": "Lima"}
    assert parse_output(answered('{"name":"Lima"}'), Modelled) == "Lima"  # type: ignore[comparison-overlap]
    assert output_schema(Modelled)["additionalProperties"] is False


@pytest.mark.parametrize("shape", [Place, output_schema(Place)])
@pytest.mark.parametrize("text", ["", "Lima", '{"name":"Lima"}', '{"name":1,"country":"Peru"}'])
def test_answers_that_do_not_match_are_refused(shape: Any, text: str) -> None:
    with pytest.raises(BadOutput, match="does not have the requested shape"):
        parse_output(answered(text), shape)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"type": "object", "patternProperties": {}}, "patternProperties"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "recursive"),
        ({"properties": {"a": 1}}, "is not of type"),
        ({"properties": []}, r"schema\.properties: \[\] is not"),
        ({"type": 5}, r"schema\.type: 5"),
        ({"type": "text"}, r"schema\.type: 'text'"),
        ({"items": {"required": [[]]}}, r"schema\.items\.required\[0\]"),
        ({"additionalProperties": 1}, r"schema\.additionalProperties: 1"),
        ({"multipleOf": 0}, r"schema\.multipleOf: 0"),
        ({"maximum": "9"}, r"schema\.maximum: '9'"),
        ({"anyOf": {}}, r"schema\.anyOf: \{\}"),
        (complex, "cannot be the shape"),
    ],
)
def test_shapes_that_cannot_be_checked_are_refused(shape: Any, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        output_schema(shape)


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ({"type": "integer"}, True, "the answer: True is not of type 'integer'"),
        ({"enum": [1]}, True, "the answer: True is not one of [1]"),
        ({"properties": {"a": {"items": {"type": "string"}}}}, {"a": ["", 5]}, "the answer.a[1]: 5 is not"),
        ({"type": "object"}, {"a": 1}, "Additional properties are not allowed ('a' was unexpected)"),
        ({"type": "object", "required": ["a"]}, {}, "'a' is a required property"),
        ({"multipleOf": 0.5}, 10**400, "too large"),
        ({"enum": ["a"]}, "x" * 900, "…"),
    ],
)
def test_violations_name_the_place(schema: dict[str, Any], value: Any, reason: str) -> None:
    violation = str(schema_violation(value, checked_schema(schema)))
    assert reason in violation
    assert len(violation) < 250


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 40 + "b"),  # takes years
        ({"uniqueItems": True}, [1, 1]),
        ({"format": "date"}, "soon"),
        ({"type": "integer"}, 1.0),
        ({"additionalProperties": {"type": "null"}}, {"a": None}),
    ],
)
def test_values_that_match_what_is_checked(schema: dict[str, Any], value: Any) -> None:
    assert schema_violation(value, checked_schema(schema)) is None

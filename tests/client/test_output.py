"""Answers of a given shape: how they are asked for, and that what does not match is found."""

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    assert any("so the system prompt asks for it" in note for note in request.notes)
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
        ({"properties": {"a": 1}}, "not an object"),
        ({"properties": []}, "'properties' of the wrong type"),
        ({"type": 5}, "'type' of the wrong type"),
        ({"type": "text"}, "'type' of the wrong type"),
        ({"items": {"required": [[]]}}, "'required' of the wrong type"),
        ({"additionalProperties": 1}, "'additionalProperties' of the wrong type"),
        ({"multipleOf": 0}, "'multipleOf' of the wrong type"),
        ({"maximum": "9"}, "'maximum' of the wrong type"),
        ({"anyOf": {}}, "'anyOf' of the wrong type"),
        (complex, "cannot be the shape"),
    ],
)
def test_shapes_that_cannot_be_checked_are_refused(shape: Any, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        output_schema(shape)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([0.5, 1.0, -2.0])
    | st.sampled_from(["", "a", "abc"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
        | st.just(["string", "null"]),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": st.integers(-3, 3),
        "exclusiveMaximum": st.integers(-3, 3),
        "multipleOf": st.sampled_from([2, 0.5]),
        "minLength": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "minProperties": st.integers(0, 2),
        "required": st.lists(st.sampled_from(["a", "b"]), unique=True, max_size=2),
    },
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_the_check_agrees_with_the_reference_library(schema: dict[str, Any], value: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    closed = checked_schema(schema)
    expected = jsonschema.Draft202012Validator(closed).is_valid(value)
    assert (schema_violation(value, closed) == "") is expected

"""Structured output: what the APIs refuse in the format of an answer, and in its JSON Schema."""

from collections.abc import Iterator
from typing import Any

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, compact_json, mapping, objects

ANY_OBJECT: Json = {"type": "object"}
_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf")
_BOUNDS = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength"),
    "array": ("maxItems",),
}


def chat_format(request: ApiRequest) -> Json:
    """Return the `response_format` of a request of Chat Completions."""
    return mapping(request.body.get("response_format"))


def responses_format(request: ApiRequest) -> Json:
    """Return the `text.format` of a request of the Responses API."""
    return mapping(mapping(request.body.get("text")).get("format"))


def requested_schema(output_format: Json) -> Json | None:
    """Return the JSON Schema of an answer; `ANY_OBJECT` for any JSON, None for text."""
    match output_format.get("type"):
        case "json_schema":
            nested = mapping(output_format.get("json_schema")).get("schema")
            return mapping(nested or output_format.get("schema"))
        case "json_object":
            return mapping(output_format.get("schema")) or ANY_OBJECT
    return None


def strict_violation(output_format: Json, name: str) -> ApiError | None:
    """Refuse a schema that strict mode does not take: open objects, and optional fields."""
    details = mapping(output_format.get("json_schema")) or output_format
    if output_format.get("type") != "json_schema" or details.get("strict") is not True:
        return None
    for place, schema in _schemas(details.get("schema"), ()):
        if schema.get("type") != "object":
            continue
        begin = f"Invalid schema for response_format '{details.get('name')}': In context={place!r}, "
        if schema.get("additionalProperties") is not False:
            message = "'additionalProperties' is required to be supplied and to be false."
            return ApiError(400, begin + message, "invalid_request_error", param=name)
        required = schema.get("required")
        missing = next(
            (key for key in mapping(schema.get("properties")) if key not in (required or ())), None
        )
        if missing is not None:
            message = (
                "'required' is required to be supplied and to be an array including every key in "
                f"properties. Missing '{missing}'."
            )
            return ApiError(400, begin + message, "invalid_request_error", param=name)
    return None


def json_word_violation(output_format: Json, messages: object, name: str) -> ApiError | None:
    """Refuse to write any JSON where no message says the word."""
    if output_format.get("type") != "json_object" or "json" in compact_json(messages).lower():
        return None
    message = f"'messages' must contain the word 'json' in some form, to use '{name}' of type 'json_object'."
    return ApiError(400, message, "invalid_request_error", param=name)


def claude_violation(schema: object, name: str) -> ApiError | None:
    """Refuse a schema that Claude does not take: open objects, and bounds of values."""
    for _, part in _schemas(schema, ()):
        kind = part.get("type")
        if kind == "object" and part.get("additionalProperties") is not False:
            message = f"{name}: For 'object' type, 'additionalProperties' must be explicitly set to false"
            return ApiError(400, message, "invalid_request_error")
        bound = next((word for word in _BOUNDS.get(str(kind), ()) if word in part), None)
        if bound:
            message = f"{name}: For '{kind}' type, property '{bound}' is not supported"
            return ApiError(400, message, "invalid_request_error")
    return None


def _schemas(node: object, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Json]]:
    """Yield a schema and all schemas in it, each with its place."""
    if not isinstance(node, dict):
        return
    yield place, node
    for word in _SCHEMA_MAPS:
        for key, part in mapping(node.get(word)).items():
            yield from _schemas(part, (*place, word, key))
    for word in _SCHEMA_LISTS:
        for index, part in enumerate(objects(node.get(word))):
            yield from _schemas(part, (*place, word, index))
    yield from _schemas(node.get("items"), (*place, "items"))

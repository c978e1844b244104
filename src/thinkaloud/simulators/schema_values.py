"""Generates a value that fits a JSON Schema: always the smallest allowed one, with required fields only."""

from typing import Any

_MAX_DEPTH = 12
_MAX_NUMBER = 10_000


def schema_value(schema: object, root: object = None, depth: int = 0) -> Any:
    """Return a value for this schema; references are resolved in the outermost schema."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {} if depth == 0 else "simulated"
    root = schema if root is None else root
    if "$ref" in schema:
        return schema_value(_resolve_reference(schema["$ref"], root), root, depth + 1)
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    if choices := _as_list(schema.get("enum")):
        return choices[0]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if choices := _as_list(schema.get(keyword)):
            return schema_value(choices[0], root, depth + 1)
    return _value_of_type(_schema_type(schema), schema, root, depth)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_number(value: object, default: float) -> float:
    return value if isinstance(value, int | float) and abs(value) < _MAX_NUMBER else default


def _schema_type(schema: dict[str, Any]) -> str:
    declared = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(declared, list):
        declared = next((name for name in declared if name != "null"), "null")
    return str(declared).lower()


def _value_of_type(kind: str, schema: dict[str, Any], root: object, depth: int) -> Any:
    if kind == "object":
        properties = schema.get("properties")
        known_properties = properties if isinstance(properties, dict) else {}
        required = [
            name
            for name in _as_list(schema.get("required"))
            if isinstance(name, str) and name in known_properties
        ]
        return {name: schema_value(known_properties[name], root, depth + 1) for name in required}
    if kind == "array":
        return [schema_value(schema.get("items"), root, depth + 1)] * int(
            _as_number(schema.get("minItems"), 1)
        )
    if kind in ("integer", "number"):
        return _number_value(kind, schema)
    constants: dict[str, Any] = {"boolean": False, "null": None}
    return constants.get(kind, "simulated".ljust(int(_as_number(schema.get("minLength"), 0)), "."))


def _number_value(kind: str, schema: dict[str, Any]) -> int | float:
    minimum = _as_number(schema.get("minimum"), 0)
    if "exclusiveMinimum" in schema:
        minimum = _as_number(schema["exclusiveMinimum"], 0) + (1 if kind == "integer" else 0.5)
    maximum = _as_number(schema.get("maximum"), minimum)
    return int(min(minimum, maximum)) if kind == "integer" else float(min(minimum, maximum))


def _resolve_reference(path: object, root: object) -> object:
    value: object = root
    for key in str(path).removeprefix("#/").split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value

"""A value that fits a JSON Schema, always the same one: the smallest allowed, with required fields only."""

from typing import Any

_DEEPEST = 12
_LARGEST = 10_000


def fitting(schema: object, root: object = None, depth: int = 0) -> Any:
    """The value for this schema; references are looked up in the outermost one."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {} if depth == 0 else "simulated"
    root = schema if root is None else root
    if "$ref" in schema:
        return fitting(_referred(schema["$ref"], root), root, depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if choices := _list(schema.get("enum")):
        return choices[0]
    for word in ("anyOf", "oneOf", "allOf"):
        if choices := _list(schema.get(word)):
            return fitting(choices[0], root, depth + 1)
    return _of_type(_type(schema), schema, root, depth)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object, otherwise: float) -> float:
    return value if isinstance(value, int | float) and abs(value) < _LARGEST else otherwise


def _type(schema: dict[str, Any]) -> str:
    named = schema.get("type", "object" if "properties" in schema else "string")
    first = next((name for name in named if name != "null"), "null") if isinstance(named, list) else named
    return str(first).lower()


def _of_type(kind: str, schema: dict[str, Any], root: object, depth: int) -> Any:
    if kind == "object":
        offered = schema.get("properties")
        known = offered if isinstance(offered, dict) else {}
        wanted = [name for name in _list(schema.get("required")) if isinstance(name, str) and name in known]
        return {name: fitting(known[name], root, depth + 1) for name in wanted}
    if kind == "array":
        return [fitting(schema.get("items"), root, depth + 1)] * int(_number(schema.get("minItems"), 1))
    if kind in ("integer", "number"):
        return _amount(kind, schema)
    plain: dict[str, Any] = {"boolean": False, "null": None}
    return plain.get(kind, "simulated".ljust(int(_number(schema.get("minLength"), 0)), "."))


def _amount(kind: str, schema: dict[str, Any]) -> int | float:
    least = _number(schema.get("minimum"), 0)
    if "exclusiveMinimum" in schema:
        least = _number(schema["exclusiveMinimum"], 0) + (1 if kind == "integer" else 0.5)
    most = _number(schema.get("maximum"), least)
    return int(min(least, most)) if kind == "integer" else float(min(least, most))


def _referred(path: object, root: object) -> object:
    found: object = root
    for word in str(path).removeprefix("#/").split("/"):
        found = found.get(word) if isinstance(found, dict) else None
    return found

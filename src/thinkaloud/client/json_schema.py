"""JSON Schema: replaces references, closes objects, and checks a value.

The check covers the keywords that providers take for the shape of an answer, except `format`, `pattern` and
`uniqueItems`. A schema with another keyword is refused before anything is sent.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from thinkaloud.core.canon import Refused

MAX_SCHEMA_NODES = 5_000
"""A short schema of nested references can expand exponentially."""

_REFERENCE_KEYWORDS = ("$ref", "$defs", "definitions")
_VALUE_KEYWORDS = ("default", "const", "enum", "examples")
"""JSON Schema keywords that hold values, which may look like schemas."""
_SCHEMA_MAP_KEYWORDS = ("properties", "patternProperties", "dependentSchemas")
"""JSON Schema keywords that hold schemas by name; a name may equal a keyword."""


def inline_references(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with every reference replaced by its target, or raise `Refused`."""
    try:
        return dict(_ReferenceInliner(schema).inline(dict(schema), ("#",)))
    except RecursionError:
        raise Refused("a schema that is nested too deeply. Simplify it.") from None


class _ReferenceInliner:
    """Replaces the references of one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._nodes_left = MAX_SCHEMA_NODES

    def inline(self, node: Any, ancestors: tuple[str, ...]) -> Any:
        """Return the node without references. `ancestors` are the references that led to it."""
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise Refused(f"a schema of more than {MAX_SCHEMA_NODES:,} parts. Simplify it.")
        if isinstance(node, list):
            return [self.inline(item, ancestors) for item in node]
        if not isinstance(node, dict):
            return node
        fields = {
            key: self._inline_value(key, value, ancestors)
            for key, value in node.items()
            if key not in _REFERENCE_KEYWORDS
        }
        if "$ref" not in node:
            return fields
        ref = str(node["$ref"])
        if ref in ancestors:
            raise Refused("a recursive type. Use one that is not, such as a list of names.")
        target = self.inline(self._resolve(ref), (*ancestors, ref))
        return {**target, **fields} if isinstance(target, dict) else target

    def _inline_value(self, key: str, value: Any, ancestors: tuple[str, ...]) -> Any:
        if key in _SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            return {name: self.inline(subschema, ancestors) for name, subschema in value.items()}
        return value if key in _VALUE_KEYWORDS else self.inline(value, ancestors)

    def _resolve(self, ref: str) -> Any:
        node: Any = self._schema
        for step in ref.removeprefix("#/").split("/"):
            node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        if node is None or not ref.startswith("#/"):
            raise Refused(f"a reference to {ref[:100]!r}, which the schema does not contain. Inline it.")
        return node


_UNCHECKED = frozenset(
    [
        "title",
        "description",
        "default",
        "examples",
        "$schema",
        "$id",
        "$comment",
        "format",
        "pattern",
        "uniqueItems",
    ]
)
"""Keywords that say nothing about a value, and those whose check could take very long."""
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int, float),
}


def checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without references, in which objects have no fields but those it names.

    Raises `Refused` for a schema that this module cannot check.
    """
    try:
        closed: dict[str, Any] = _closed(inline_references(schema), "the schema")
    except RecursionError:
        raise Refused("The schema of the answer is nested too deeply. Simplify it.") from None
    except Refused as error:
        raise Refused(f"The schema of the answer cannot be used: {error}") from None
    return closed


def _closed(node: Any, place: str) -> Any:
    if not isinstance(node, dict):
        raise Refused(f"{place} is not an object. Write a JSON Schema object.")
    if unknown := [name for name in node if name not in _CHECKS and name not in _UNCHECKED]:
        raise Refused(
            f"{place} has the keyword {unknown[0]!r}, which cannot be checked. Leave it out, or check the "
            "answer yourself."
        )
    if wrong := [name for name, bound in node.items() if not _well_formed(name, bound)]:
        raise Refused(f"{place} has a {wrong[0]!r} of the wrong type. Correct it.")
    closed = dict(node)
    if "properties" in node:
        closed["properties"] = {
            name: _closed(part, f"{place}.{name}") for name, part in node["properties"].items()
        }
    for name in ("anyOf", "allOf", "oneOf"):
        if name in node:
            closed[name] = [_closed(part, f"{place}.{name}") for part in node[name]]
    if "items" in node:
        closed["items"] = _closed(node["items"], f"{place}.items")
    if isinstance(extra := node.get("additionalProperties"), dict):
        closed["additionalProperties"] = _closed(extra, f"{place}.additionalProperties")
    elif node.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def closed_schema(node: Mapping[str, Any]) -> bool:
    """Return whether no object of a checked schema may have fields besides its own."""
    if node.get("additionalProperties", False) is not False:
        return False
    parts = list(node.get("properties", {}).values())
    parts += [node["items"]] if "items" in node else []
    parts += [part for name in ("anyOf", "allOf", "oneOf") for part in node.get(name, ())]
    return all(map(closed_schema, parts))


def _well_formed(keyword: str, bound: Any) -> bool:
    """Return whether the value of a keyword has the type that JSON Schema demands."""
    if keyword == "type":
        names = bound if isinstance(bound, list) else [bound]
        return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)
    if keyword == "required":
        return isinstance(bound, list) and all(isinstance(name, str) for name in bound)
    if keyword == "multipleOf":
        return _number(bound) and bound > 0
    if keyword.startswith(("min", "max", "exclusive")):
        return _number(bound)
    if keyword in ("enum", "anyOf", "allOf", "oneOf"):
        return isinstance(bound, list)
    if keyword == "additionalProperties":
        return isinstance(bound, bool | dict)
    return keyword != "properties" or isinstance(bound, dict)


def schema_violation(value: Any, schema: Mapping[str, Any]) -> str:
    """Return the first way in which a value does not match a checked schema; empty if it matches."""
    return next(_violations(value, schema, "the answer"), "")


def _violations(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    for keyword, bound in schema.items():
        if keyword in _CHECKS and (reason := _CHECKS[keyword](value, bound)):
            yield f"{place} {reason}"
    yield from _part_violations(value, schema, place)
    for part in schema.get("allOf", ()):
        yield from _violations(value, part, place)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            matches = sum(not any(_violations(value, part, place)) for part in schema[keyword])
            if not matches or (keyword == "oneOf" and matches > 1):
                yield f"{place} matches {matches} of the shapes under {keyword}"


def _part_violations(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yield how the items of an array or the fields of an object do not match."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _violations(item, schema.get("items", {}), f"{place}[{number}]")
    if not isinstance(value, dict):
        return
    properties, extra = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _violations(item, properties[name], f"{place}.{name}")
        elif extra is False:
            yield f"{place} has the field {name!r}, which the schema does not have"
        elif isinstance(extra, dict):
            yield from _violations(item, extra, f"{place}.{name}")


def _check_type(value: Any, types: Any) -> str:
    names = [types] if isinstance(types, str) else types
    return "" if any(_has_type(value, name) for name in names) else f"is not of type {' or '.join(names)}"


def _has_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES.get(name, ()))


def _equal(value: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. `true` is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_equal, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_equal(value[name], other[name]) for name in value)
    return bool(value == other)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _multiple(value: Any, bound: float) -> bool:
    try:
        quotient = value / bound
    except OverflowError:
        return False
    return math.isfinite(quotient) and quotient == int(quotient)


_CHECKS: dict[str, Any] = {
    "type": _check_type,
    "enum": lambda value, options: (
        "" if any(_equal(value, option) for option in options) else f"is none of {str(options)[:200]}"
    ),
    "const": lambda value, bound: "" if _equal(value, bound) else f"is not {str(bound)[:200]}",
    "required": lambda value, names: (
        f"lacks the field {missing[0]!r}"
        if isinstance(value, dict) and (missing := [name for name in names if name not in value])
        else ""
    ),
    "minimum": lambda value, bound: f"is below {bound}" if _number(value) and value < bound else "",
    "maximum": lambda value, bound: f"is above {bound}" if _number(value) and value > bound else "",
    "exclusiveMinimum": lambda value, bound: (
        f"is not above {bound}" if _number(value) and value <= bound else ""
    ),
    "exclusiveMaximum": lambda value, bound: (
        f"is not below {bound}" if _number(value) and value >= bound else ""
    ),
    "multipleOf": lambda value, bound: (
        f"is not a multiple of {bound}" if _number(value) and not _multiple(value, bound) else ""
    ),
    "minLength": lambda value, bound: (
        f"is shorter than {bound} characters" if isinstance(value, str) and len(value) < bound else ""
    ),
    "maxLength": lambda value, bound: (
        f"is longer than {bound} characters" if isinstance(value, str) and len(value) > bound else ""
    ),
    "minItems": lambda value, bound: (
        f"has fewer than {bound} items" if isinstance(value, list) and len(value) < bound else ""
    ),
    "maxItems": lambda value, bound: (
        f"has more than {bound} items" if isinstance(value, list) and len(value) > bound else ""
    ),
    "minProperties": lambda value, bound: (
        f"has fewer than {bound} fields" if isinstance(value, dict) and len(value) < bound else ""
    ),
    "maxProperties": lambda value, bound: (
        f"has more than {bound} fields" if isinstance(value, dict) and len(value) > bound else ""
    ),
    **dict.fromkeys(
        ("properties", "additionalProperties", "items", "anyOf", "allOf", "oneOf"), lambda value, part: ""
    ),
}
"""For each keyword: why a value does not match it, as the end of a sentence; empty if it does."""

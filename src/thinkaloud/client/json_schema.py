"""JSON Schema: replaces references, closes objects, and checks a value.

jsonschema does the checks, and is imported on first use: most runs ask for no shape. The keywords are those
that providers take for the shape of an answer. A schema with another one is refused before anything is sent.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from thinkaloud.core.canon import Refused, Wording, reason_of

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

MAX_SCHEMA_NODES = 5_000
"""A short schema of nested references can expand exponentially."""

_REFERENCE_KEYWORDS = ("$ref", "$defs", "definitions")
_VALUE_KEYWORDS = ("default", "const", "enum", "examples")
"""JSON Schema keywords that hold values, which may look like schemas."""
_SCHEMA_MAP_KEYWORDS = ("properties", "patternProperties", "dependentSchemas")
"""JSON Schema keywords that hold schemas by name; a name may equal a keyword."""
_UNCHECKED = ("format", "pattern", "uniqueItems")
"""Keywords that are sent and not checked, because the check of a long answer could take very long."""
_KEYWORDS = {
    *("type", "enum", "const", "required", "properties", "additionalProperties", "items"),
    *("anyOf", "allOf", "oneOf", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("title", "description", "default", "examples", "$schema", "$id", "$comment"),
    *_UNCHECKED,
}
_REASON_CHARS = 200


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
            raise Refused(
                "a schema of more than {max_schema_nodes} parts. Simplify it.",
                max_schema_nodes=f"{MAX_SCHEMA_NODES:,}",
            )
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
            raise Refused(
                "a reference to {ref}, which the schema does not contain. Inline it.", ref=repr(ref[:100])
            )
        return node


def checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without references, in which objects have no fields but those it names.

    Raises `Refused` for a schema that cannot be checked.
    """
    try:
        closed = _closed(inline_references(schema), "")
        malformed = _first_error(_validator_class().META_SCHEMA, closed)
    except RecursionError:
        raise Refused("The schema of the answer is nested too deeply. Simplify it.") from None
    except Refused as error:
        raise Refused("The schema of the answer cannot be used: {reason}", reason=reason_of(error)) from None
    if malformed is not None:
        reason = _reason(Wording("the schema"), malformed)
        raise Refused("The schema of the answer cannot be used: {reason}. Correct it.", reason=reason)
    return closed


def _closed(node: dict[str, Any], place: str) -> dict[str, Any]:
    """Return a schema whose objects are closed. Parts of a wrong type stay as they are."""
    if unknown := [name for name in node if name not in _KEYWORDS]:
        raise Refused(
            "the schema{place} has the keyword {unknown}, which cannot be checked. Leave it out, or check "
            "the answer yourself.",
            place=place,
            unknown=repr(unknown[0]),
        )
    closed = dict(node)
    if isinstance(properties := node.get("properties"), dict):
        closed["properties"] = {
            name: _closed_part(part, f"{place}.{name}") for name, part in properties.items()
        }
    for name in ("anyOf", "allOf", "oneOf"):
        if isinstance(parts := node.get(name), list):
            closed[name] = [_closed_part(part, f"{place}.{name}") for part in parts]
    for name in ("items", "additionalProperties"):
        if name in node:
            closed[name] = _closed_part(node[name], f"{place}.{name}")
    if node.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _closed_part(part: Any, place: str) -> Any:
    return _closed(part, place) if isinstance(part, dict) else part


def closed_schema(node: Mapping[str, Any] | bool) -> bool:
    """Return whether no object of a checked schema may have fields besides its own."""
    if isinstance(node, bool):
        return not node  # `true` allows anything
    if node.get("additionalProperties", False) is not False:
        return False
    parts = [*node.get("properties", {}).values()]
    if "items" in node:
        parts.append(node["items"])
    for name in ("anyOf", "allOf", "oneOf"):
        parts += node.get(name, ())
    return all(map(closed_schema, parts))


def schema_violation(value: Any, schema: Mapping[str, Any]) -> Wording | None:
    """Return the first way in which a value does not match a checked schema; None if it matches."""
    try:
        error = _first_error(schema, value)
    except OverflowError:  # `multipleOf`, for a number that no float can hold
        return Wording("the answer has a number that is too large to be checked")
    return None if error is None else _reason(Wording("the answer"), error)


def _first_error(schema: Mapping[str, Any], value: Any) -> "ValidationError | None":
    return next(iter(_validator_class()(schema).iter_errors(value)), None)


@cache
def _validator_class() -> "type[Validator]":
    from jsonschema import Draft202012Validator, validators

    checks = dict.fromkeys(_UNCHECKED, _no_check)
    validator: type[Validator] = validators.extend(Draft202012Validator, checks)
    return validator


def _no_check(validator: "Validator", bound: Any, value: Any, schema: Mapping[str, Any]) -> tuple[()]:
    return ()


def _reason(subject: Wording, error: "ValidationError") -> Wording:
    place = error.json_path.removeprefix("$")
    message = error.message
    if len(message) > _REASON_CHARS:
        message = message[: _REASON_CHARS - 1] + "…"
    return Wording("{subject}{place}: {message}", subject=subject, place=place, message=message)

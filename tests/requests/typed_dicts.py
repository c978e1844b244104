"""Checks JSON against a TypedDict of a client library; unknown fields are errors."""

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args, get_origin

import typing_extensions

_LISTS = (list, Iterable, Sequence)
_WRAPPERS = (
    typing.Annotated,
    typing.Required,
    typing.NotRequired,
    typing_extensions.Required,
    typing_extensions.NotRequired,
)
_PLAIN: dict[object, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}


def type_mismatch(value: object, expected_type: Any, path: str = "body") -> str:
    """Return where and how a value does not fit; empty if it fits."""
    origin, inner = get_origin(expected_type), get_args(expected_type)
    if expected_type in (Any, object):
        return ""
    if origin in _WRAPPERS:
        return type_mismatch(value, inner[0], path)
    if origin in (typing.Union, types.UnionType):
        return _mismatch_of_union(value, inner, path)
    if origin is typing.Literal:
        return "" if value in inner else f"{path}: {value!r} is none of {inner}"
    if origin in _LISTS:
        return _mismatch_of_list(value, inner[0], path)
    if origin in (dict, Mapping):
        return "" if isinstance(value, dict) else f"{path}: no object"
    if typing_extensions.is_typeddict(expected_type):
        return _mismatch_of_object(value, expected_type, path)
    fits = isinstance(value, _PLAIN.get(expected_type, ())) or (value is None and expected_type is type(None))
    return "" if fits else f"{path}: {value!r} is no {expected_type}"


def _mismatch_of_union(value: object, kinds: tuple[Any, ...], path: str) -> str:
    """Return the deepest mismatch, because it belongs to the intended member of the union."""
    mismatches = [type_mismatch(value, kind, path) for kind in kinds]
    return "" if "" in mismatches else max(mismatches, key=lambda mismatch: len(mismatch.partition(":")[0]))


def _mismatch_of_list(value: object, kind: Any, path: str) -> str:
    if not isinstance(value, list):
        return f"{path}: no list"
    mismatches = (type_mismatch(item, kind, f"{path}[{index}]") for index, item in enumerate(value))
    return next(filter(None, mismatches), "")


def _mismatch_of_object(value: object, kind: Any, path: str) -> str:
    if not isinstance(value, dict):
        return f"{path}: no object"
    hints = typing_extensions.get_type_hints(kind)
    if missing := kind.__required_keys__ - set(value):
        return f"{path}: without {sorted(missing)}"
    if unknown := set(value) - set(hints):
        return f"{path}: {sorted(unknown)} is not known"
    mismatches = (type_mismatch(item, hints[name], f"{path}.{name}") for name, item in value.items())
    return next(filter(None, mismatches), "")

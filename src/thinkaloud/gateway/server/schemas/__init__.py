"""Request and response structs of the HTTP API, with the bounds of every field."""

from typing import Any, TypeVar

import msgspec

BodyT = TypeVar("BodyT", bound=msgspec.Struct)


def body_of(kind: type[BodyT], source: object, **fields: Any) -> BodyT:
    """Return a body with the fields that are given, and all others as the source has them."""
    for name in kind.__struct_fields__:
        if name not in fields:
            fields[name] = getattr(source, name)
    return kind(**fields)

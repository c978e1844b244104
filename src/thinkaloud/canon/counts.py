"""Reports of counts: of one thing, where the newer stands, and of several things together."""

from typing import TypeVar

import msgspec

Reported = TypeVar("Reported", bound=msgspec.Struct)


def newer(old: Reported, new: Reported) -> Reported:
    """The newer report, and the older one where the newer says nothing."""
    told = {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) is not None}
    return msgspec.structs.replace(old, **told)


def together(one: Reported, other: Reported) -> Reported:
    """Both counts in one; where either is unknown, so is their sum."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in one.__struct_fields__}
    known = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
    return msgspec.structs.replace(one, **known)

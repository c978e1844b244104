"""Reports of counts: of one thing, where the newer stands, and of several things together."""

from typing import TypeVar

import msgspec

CountsT = TypeVar("CountsT", bound=msgspec.Struct)


def merge_usage(older: CountsT, newer_usage: CountsT) -> CountsT:
    """The newer report, and the older one where the newer says nothing."""
    reported = {
        name: value
        for name in newer_usage.__struct_fields__
        if (value := getattr(newer_usage, name)) is not None
    }
    return msgspec.structs.replace(older, **reported)


def add_usage(first: CountsT, second: CountsT) -> CountsT:
    """Both counts in one; where either is unknown, so is their sum."""
    pairs = {name: (getattr(first, name), getattr(second, name)) for name in first.__struct_fields__}
    sums = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
    return msgspec.structs.replace(first, **sums)

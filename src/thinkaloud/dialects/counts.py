"""Token counts as providers report them: in several reports, some of them partial, in two arithmetics."""

from typing import TypeVar

import msgspec

Reported = TypeVar("Reported", bound=msgspec.Struct)


def newer(old: Reported, new: Reported) -> Reported:
    """The newer report, and the older one where the newer says nothing."""
    told = {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) is not None}
    return msgspec.structs.replace(old, **told)


def total(first: int | None, *more: int | None) -> int | None:
    """A sum of counts, unknown when the first is; the others may be missing."""
    if first is None:
        return None
    for count in more:
        first += count or 0
    return first

"""Reports of counts that come several times, some of them partial: what the newer one says stands."""

from typing import TypeVar

import msgspec

Reported = TypeVar("Reported", bound=msgspec.Struct)


def newer(old: Reported, new: Reported) -> Reported:
    """The newer report, and the older one where the newer says nothing."""
    told = {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) is not None}
    return msgspec.structs.replace(old, **told)

"""Token counts as providers report them: some leave out what others include."""


def total(first: int | None, *more: int | None) -> int | None:
    """A sum of counts, unknown when the first is; the others may be missing."""
    if first is None:
        return None
    for count in more:
        first += count or 0
    return first

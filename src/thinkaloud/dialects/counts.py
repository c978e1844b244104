"""Token counts as providers report them: some leave out what others include."""


def add_counts(count: int | None, *others: int | None) -> int | None:
    """A sum of counts, unknown when the first is; the others may be missing."""
    if count is None:
        return None
    for other in others:
        count += other or 0
    return count

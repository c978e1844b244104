"""Splits input into chunks, for tests that the result does not depend on the chunking."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import AnyStr

from hypothesis import strategies as st

SPLIT_POINTS = st.lists(st.integers(0, 2_000), max_size=12)
"""Positions for `split_at`."""


def split_at(data: AnyStr, points: Iterable[int]) -> list[AnyStr]:
    """Split at these positions, taken modulo the length so that every number is valid."""
    positions: list[int] = sorted(point % (len(data) + 1) for point in points)
    return [data[start:end] for start, end in pairwise([0, *positions, len(data)])]


def one_by_one(data: AnyStr) -> list[AnyStr]:
    """Split into single bytes or characters."""
    return [data[index : index + 1] for index in range(len(data))]


def all_splits(data: AnyStr) -> Iterator[list[AnyStr]]:
    """Yield the data whole, between empty chunks, one by one, and split in two at every position."""
    empty = data[:0]
    yield [data]
    yield [empty, data, empty]
    yield one_by_one(data)
    for position in range(1, len(data)):
        yield [data[:position], data[position:]]

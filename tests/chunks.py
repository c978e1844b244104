"""Cutting what is fed, since no reader may care where one piece ends and the next begins."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import AnyStr

from hypothesis import strategies as st

SPLIT_POINTS = st.lists(st.integers(0, 2_000), max_size=12)
"""Where to cut, for `cut`."""


def split_at(data: AnyStr, points: Iterable[int]) -> list[AnyStr]:
    """The pieces between these places, which are counted round and round so that any number is one."""
    positions: list[int] = sorted(point % (len(data) + 1) for point in points)
    return [data[start:end] for start, end in pairwise([0, *positions, len(data)])]


def one_by_one(data: AnyStr) -> list[AnyStr]:
    """Every byte or character by itself."""
    return [data[index : index + 1] for index in range(len(data))]


def all_splits(data: AnyStr) -> Iterator[list[AnyStr]]:
    """Whole, with nothing before and after it, one by one, and in two at every place."""
    empty = data[:0]
    yield [data]
    yield [empty, data, empty]
    yield one_by_one(data)
    for position in range(1, len(data)):
        yield [data[:position], data[position:]]

"""Cutting what is fed, since no reader may care where one piece ends and the next begins."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import AnyStr

from hypothesis import strategies as st

PLACES = st.lists(st.integers(0, 2_000), max_size=12)
"""Where to cut, for `cut`."""


def cut(said: AnyStr, places: Iterable[int]) -> list[AnyStr]:
    """The pieces between these places, which are counted round and round so that any number is one."""
    inside: list[int] = sorted(place % (len(said) + 1) for place in places)
    return [said[start:end] for start, end in pairwise([0, *inside, len(said)])]


def one_by_one(said: AnyStr) -> list[AnyStr]:
    """Every byte or character by itself."""
    return [said[at : at + 1] for at in range(len(said))]


def every_way(said: AnyStr) -> Iterator[list[AnyStr]]:
    """Whole, with nothing before and after it, one by one, and in two at every place."""
    nothing = said[:0]
    yield [said]
    yield [nothing, said, nothing]
    yield one_by_one(said)
    for place in range(1, len(said)):
        yield [said[:place], said[place:]]

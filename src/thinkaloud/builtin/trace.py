"""The steps of a search, as they were taken. The thinking that is shown is told from these alone."""

from datetime import date
from enum import StrEnum
from fractions import Fraction

import msgspec

Number = int | Fraction
"""A whole number stays an int: that is faster, and equal values are equal either way."""


class Combined(msgspec.Struct, frozen=True):
    """Two of the numbers became one; `rest` is what there is to go on with."""

    left: Number
    sign: str
    right: Number
    value: Number
    rest: tuple[Number, ...]


class Why(StrEnum):
    """Why a branch was given up."""

    NOTHING_REACHES = "nothing_reaches"
    SEEN = "seen"
    MISSES = "misses"


class Dropped(msgspec.Struct, frozen=True):
    """The branch of the last combination was given up, after so many more combinations under it."""

    why: Why
    tried: int


class Found(msgspec.Struct, frozen=True):
    """An expression that reaches the target, after so many combinations in all."""

    expression: str
    tried: int


class Exhausted(msgspec.Struct, frozen=True):
    """Everything was tried: there is no way."""

    tried: int


class Stopped(msgspec.Struct, frozen=True):
    """The search was given up before its end: it is not known whether there is a way."""

    tried: int


class Supposed(msgspec.Struct, frozen=True):
    """An islander was taken to be a knight or a knave, after `depth` others were."""

    person: str
    knight: bool
    depth: int


class Contradicted(msgspec.Struct, frozen=True):
    """What was supposed cannot be: the statement of this number would have the wrong truth."""

    told: int
    held: bool
    depth: int


class Fitted(msgspec.Struct, frozen=True):
    """Every statement fits these knights; the others are knaves."""

    knights: frozenset[str]


class Reckoned(msgspec.Struct, frozen=True):
    """A calculation: what it is for (a key of the words), its expression and value, and whose day it is."""

    what: str
    expression: str
    value: Number
    day: date | None = None


Step = Combined | Dropped | Found | Exhausted | Stopped | Supposed | Contradicted | Fitted | Reckoned
Trace = tuple[Step, ...]

"""What may be asked of the solver, once it is understood: plain values, one struct for each kind."""

from datetime import date
from fractions import Fraction

import msgspec

from thinkaloud.builtin.claims import Claim
from thinkaloud.builtin.language import Language
from thinkaloud.builtin.units import Unit


class NumberPuzzle(msgspec.Struct, frozen=True):
    """Reach a target from numbers: all of them with exact fractions, or any with positive whole numbers."""

    target: int
    numbers: tuple[int, ...]
    all_used: bool


class Told(msgspec.Struct, frozen=True):
    """What an islander said, read and in words; without a speaker it is a given fact."""

    speaker: str
    claim: Claim
    words: str


class Island(msgspec.Struct, frozen=True):
    """Knights, who only tell the truth, and knaves, who only lie: who is what?"""

    people: tuple[str, ...]
    told: tuple[Told, ...]


class DaysBetween(msgspec.Struct, frozen=True):
    """How many days lie from one date to another."""

    first: date
    last: date


class WeekdayOf(msgspec.Struct, frozen=True):
    """The day of the week of a date."""

    day: date


class DaysAway(msgspec.Struct, frozen=True):
    """The date so many days after another; before it when negative."""

    day: date
    days: int


class Conversion(msgspec.Struct, frozen=True):
    """An amount of one unit in another of the same dimension."""

    amount: Fraction
    source: Unit
    target: Unit


class Calculation(msgspec.Struct, frozen=True):
    """An arithmetic expression, in digits and signs."""

    expression: str


class Checking(msgspec.Struct, frozen=True):
    """Whether somebody's answer to a question is right."""

    question: str
    answer: str


class Malformed(msgspec.Struct, frozen=True):
    """Understood, but not to be solved as it stands: `why` is a key of the words, the rest fills its gaps."""

    why: str
    said: str = ""
    limit: int = 0


class NotUnderstood(msgspec.Struct, frozen=True):
    """Anything else."""


Puzzle = NumberPuzzle | Island | DaysBetween | WeekdayOf | DaysAway | Conversion | Calculation
Asked = Puzzle | Checking | Malformed | NotUnderstood


class Heard(msgspec.Struct, frozen=True):
    """A question and the language it was asked in."""

    language: Language
    asked: Asked

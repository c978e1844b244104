"""What an islander can claim, as a small logic: counts of knights or knaves, and not, and, or, same.

`truth` answers True, False or None: while some are still unknown, a claim may already be settled or not yet.
"""

from collections.abc import Mapping
from typing import assert_never

import msgspec


class Count(msgspec.Struct, frozen=True, tag="count"):
    """Among these people, the knights (or knaves) number from `least` to `most`."""

    people: tuple[str, ...]
    knights: bool
    least: int
    most: int


class Not(msgspec.Struct, frozen=True, tag="not"):
    """The claim does not hold."""

    claim: "Claim"


class And(msgspec.Struct, frozen=True, tag="and"):
    """Both hold."""

    first: "Claim"
    second: "Claim"


class Or(msgspec.Struct, frozen=True, tag="or"):
    """At least one holds."""

    first: "Claim"
    second: "Claim"


class Same(msgspec.Struct, frozen=True, tag="same"):
    """Both hold, or neither does."""

    first: "Claim"
    second: "Claim"


Claim = Count | Not | And | Or | Same
Known = Mapping[str, bool]
"""Who is known, or supposed, to be a knight (True) or a knave (False)."""


def truth(claim: Claim, known: Known) -> bool | None:
    """Whether a claim holds, as far as what is known settles it."""
    match claim:
        case Count():
            return _counted(claim, known)
        case Not():
            held = truth(claim.claim, known)
            return None if held is None else not held
        case And() | Or():
            settles = isinstance(claim, Or)
            both = {truth(claim.first, known), truth(claim.second, known)}
            return settles if settles in both else None if None in both else not settles
        case Same():
            first, second = truth(claim.first, known), truth(claim.second, known)
            return None if first is None or second is None else first == second
        case _:
            assert_never(claim)


def _counted(claim: Count, known: Known) -> bool | None:
    sure = sum(known.get(person) is claim.knights for person in claim.people)
    possible = sure + sum(person not in known for person in claim.people)
    if claim.least <= sure and possible <= claim.most:
        return True
    return False if sure > claim.most or possible < claim.least else None


def people_in(claim: Claim) -> tuple[str, ...]:
    """Everybody whom a claim is about."""
    match claim:
        case Count():
            return claim.people
        case Not():
            return people_in(claim.claim)
        case _:
            return people_in(claim.first) + people_in(claim.second)

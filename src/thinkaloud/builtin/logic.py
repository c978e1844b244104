"""Knights, who only tell the truth, and knaves, who only lie: their claims, and the search for who is what.

The search assumes that one islander after the other is a knight, then a knave, until a statement contradicts
it. It finds all arrangements, so an answer is final: the whole search is behind it.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec


class Count(msgspec.Struct, frozen=True):
    """A claim: among these people, the knights (or knaves) number from `least` to `most`."""

    people: tuple[str, ...]
    knights: bool
    least: int
    most: int


class Not(msgspec.Struct, frozen=True):
    """A claim: another does not hold."""

    claim: "Claim"


Connective = Literal["and", "or", "same"]


class Joined(msgspec.Struct, frozen=True):
    """A claim made of two; "same" means that both hold or neither does."""

    connective: Connective
    first: "Claim"
    second: "Claim"


Claim = Count | Not | Joined
Kinds = Mapping[str, bool]
"""Who is assumed to be a knight (True) or a knave (False)."""


class Statement(msgspec.Struct, frozen=True):
    """A claim, who made it and in which words; without a speaker it is a given fact."""

    speaker: str
    claim: Claim
    text: str


class Assumed(msgspec.Struct, frozen=True):
    """A step: an islander is assumed to be a knight or a knave, after `depth` others."""

    person: str
    knight: bool
    depth: int


class Contradicted(msgspec.Struct, frozen=True):
    """A step: the assumptions fail, because the statement of this index would have the truth `held`."""

    statement: int
    held: bool
    depth: int


class Consistent(msgspec.Struct, frozen=True):
    """A step: every statement fits if exactly these are knights."""

    knights: frozenset[str]


LogicStep = Assumed | Contradicted | Consistent


class Island(msgspec.Struct, frozen=True):
    """The puzzle: who is a knight and who is a knave, from what they say."""

    people: tuple[str, ...]
    statements: tuple[Statement, ...]

    def steps(self) -> Iterator[LogicStep]:
        """Searches all arrangements; there is a Consistent step for each one that fits."""
        yield from self._search({})

    def _search(self, kinds: Kinds) -> Iterator[LogicStep]:
        depth = len(kinds)
        if depth == len(self.people):
            yield Consistent(frozenset(person for person, knight in kinds.items() if knight))
            return
        person = self.people[depth]
        for knight in (True, False):
            assumed = {**kinds, person: knight}
            yield Assumed(person, knight, depth)
            contradiction = self._contradiction(assumed)
            if contradiction is None:
                yield from self._search(assumed)
            else:
                yield contradiction

    def _contradiction(self, kinds: Kinds) -> Contradicted | None:
        """Finds the first statement whose truth, where it is settled, does not fit its speaker."""
        for index, statement in enumerate(self.statements):
            expected = kinds.get(statement.speaker) if statement.speaker else True
            held = truth(statement.claim, kinds)
            if expected is not None and held is not None and held != expected:
                return Contradicted(index, held, len(kinds) - 1)
        return None


def truth(claim: Claim, kinds: Kinds) -> bool | None:
    """Tells whether a claim holds; None while the people who are known do not settle it."""
    match claim:
        case Count():
            return _count_truth(claim, kinds)
        case Not():
            held = truth(claim.claim, kinds)
            return None if held is None else not held
    first, second = truth(claim.first, kinds), truth(claim.second, kinds)
    if claim.connective == "same":
        return None if first is None or second is None else first == second
    decisive = claim.connective == "or"  # one True decides an "or", one False an "and"
    if decisive in (first, second):
        return decisive
    return None if None in (first, second) else not decisive


def _count_truth(claim: Count, kinds: Kinds) -> bool | None:
    certain = sum(kinds.get(person) is claim.knights for person in claim.people)
    possible = certain + sum(person not in kinds for person in claim.people)
    if claim.least <= certain and possible <= claim.most:
        return True
    return False if certain > claim.most or possible < claim.least else None


def people_in(claim: Claim) -> tuple[str, ...]:
    """Returns everybody whom a claim is about."""
    match claim:
        case Count():
            return claim.people
        case Not():
            return people_in(claim.claim)
    return people_in(claim.first) + people_in(claim.second)

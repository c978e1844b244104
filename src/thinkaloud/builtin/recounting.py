"""A second way to settle a puzzle, for checks: it counts out everything, and shares nothing with the search.

Of an island it tries every arrangement; of numbers it works out what each part of them can make.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from thinkaloud.builtin.claims import And, Claim, Count, Not, Or
from thinkaloud.builtin.questions import Island, NumberPuzzle

Number = int | Fraction


def arrangements(island: Island) -> list[frozenset[str]]:
    """Every set of knights under which knights speak the truth, knaves do not, and facts hold."""
    everyone = island.people
    sets = (frozenset(some) for size in range(len(everyone) + 1) for some in combinations(everyone, size))
    return [
        knights
        for knights in sets
        if all(
            holds(told.claim, knights) == (not told.speaker or told.speaker in knights)
            for told in island.told
        )
    ]


def holds(claim: Claim, knights: frozenset[str]) -> bool:
    """Whether a claim is true when exactly these are knights."""
    if isinstance(claim, Count):
        counted = sum((person in knights) == claim.knights for person in claim.people)
        return claim.least <= counted <= claim.most
    if isinstance(claim, Not):
        return not holds(claim.claim, knights)
    first, second = holds(claim.first, knights), holds(claim.second, knights)
    return (
        (first and second)
        if isinstance(claim, And)
        else (first or second)
        if isinstance(claim, Or)
        else first == second
    )


def reachable(puzzle: NumberPuzzle) -> bool:
    """Whether the target can be made at all."""
    everything = (1 << len(puzzle.numbers)) - 1
    made: dict[int, set[Number]] = {}
    for part in sorted(range(1, everything + 1), key=int.bit_count):
        halves = [(half, part ^ half) for half in range(1, part) if half & part == half]
        if not halves:
            made[part] = {puzzle.numbers[part.bit_length() - 1]}
        elif part == everything:
            return any(_meets(made[a], made[b], puzzle.target) for a, b in halves)
        else:
            made[part] = {
                value for a, b in halves if a < b for value in _made(made[a], made[b], puzzle.all_used)
            }
        if puzzle.target in made[part] and (part == everything or not puzzle.all_used):
            return True
    return False


def _made(some: set[Number], others: set[Number], exact: bool) -> Iterator[Number]:
    """What one of some and one of the others make; positive whole numbers only, unless `exact`."""
    for a in some:
        for b in others:
            yield a + b
            yield a * b
            if exact:
                yield a - b
                yield b - a
                yield from (Fraction(x) / y for x, y in ((a, b), (b, a)) if y)
            elif a != b:
                yield a - b if a > b else b - a
                if max(a, b) % min(a, b) == 0:
                    yield max(a, b) // min(a, b)


def _meets(some: set[Number], others: set[Number], target: int) -> bool:
    """Whether one of some, with the right one of the others, makes the target: worked out backwards."""
    for a in some:
        if target - a in others or a - target in others or (a == 0 == target):
            return True
        if a and (Fraction(target) / a in others or (target and Fraction(a) / target in others)):
            return True
    return False

"""A slow and simple oracle, independent of the solver: what numbers can make, and who may be what."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from random import Random
from typing import NamedTuple

Knights = dict[str, bool]
Numbers = tuple[int, ...]


def value_of(expression: str) -> Fraction:
    """What Python itself makes of an expression, with every number a fraction."""
    typed = expression.replace("×", "*").replace("÷", "/").replace("−", "-").replace("^", "**")
    return Fraction(eval(re.sub(r"\d+(?:\.\d+)?", r"Fraction('\g<0>')", typed)))


@cache
def made_of_all(numbers: Numbers) -> frozenset[Fraction]:
    """Everything that all of these numbers make."""
    if len(numbers) == 1:
        return frozenset([Fraction(numbers[0])])
    pairs = ((a, b) for left, right in splits(numbers) for a in made_of_all(left) for b in made_of_all(right))
    return frozenset(value for a, b in pairs for value in exact(a, b))


def makes(numbers: Numbers, target: int) -> bool:
    """Whether all of these numbers make the target."""
    halves = ((made_of_all(left), made_of_all(right)) for left, right in splits(numbers))
    return any(Fraction(target) in exact(a, b) for left, right in halves for a in left for b in right)


def exact(a: Fraction, b: Fraction) -> Iterator[Fraction]:
    yield from (a + b, a - b, b - a, a * b)
    if b:
        yield a / b
    if a:
        yield b / a


@cache
def whole_of_all(numbers: Numbers) -> frozenset[int]:
    """Every positive whole number that all of these make through positive whole numbers."""
    if len(numbers) == 1:
        return frozenset(numbers)
    pairs = (
        (a, b) for left, right in splits(numbers) for a in whole_of_all(left) for b in whole_of_all(right)
    )
    return frozenset(value for a, b in pairs for value in whole(max(a, b), min(a, b)))


def whole(high: int, low: int) -> Iterator[int]:
    yield from (high + low, high * low)
    if high > low:
        yield high - low
    if high % low == 0:
        yield high // low


def reachable(numbers: Numbers, target: int) -> bool:
    """Whether some of the numbers make the target in a countdown puzzle."""
    parts = {
        tuple(sorted(some)) for size in range(1, len(numbers) + 1) for some in combinations(numbers, size)
    }
    return any(target in whole_of_all(part) for part in parts)


def splits(numbers: Numbers) -> set[tuple[Numbers, Numbers]]:
    """Every split of the numbers in two."""
    places = range(len(numbers))
    halves = (half for size in range(1, len(numbers) // 2 + 1) for half in combinations(places, size))
    return {
        (
            tuple(sorted(numbers[at] for at in half)),
            tuple(sorted(numbers[at] for at in places if at not in half)),
        )
        for half in halves
    }


class SpokenClaim(NamedTuple):
    """A statement in both languages, and what it means, written as Python."""

    english: str
    portuguese: str
    true: Callable[[Knights], bool]


def simple_claims(me: str, people: list[str], random: Random) -> list[SpokenClaim]:
    """One statement of each simple kind, about people drawn at random."""
    x, y = random.sample(people, 2)
    count = random.randint(1, len(people))
    return [
        SpokenClaim(f"{x} is a knave", f"{x} é patife", lambda who: not who[x]),
        SpokenClaim(f"{x} is not a knave", f"{x} não é mentiroso", lambda who: who[x]),
        SpokenClaim("I am a knight", "eu sou cavaleiro", lambda who: who[me]),
        SpokenClaim("I'm a liar", "sou mentiroso", lambda who: not who[me]),
        SpokenClaim(f"{x} and {y} are knights", f"{x} e {y} são cavaleiros", lambda who: who[x] and who[y]),
        SpokenClaim(
            f"neither {x} nor {y} is a knight",
            f"nem {x} nem {y} é cavaleiro",
            lambda who: not who[x] and not who[y],
        ),
        SpokenClaim(f"{x} and {y} are the same", f"{x} e {y} são iguais", lambda who: who[x] == who[y]),
        SpokenClaim(f"{x} and {y} are different", f"{x} e {y} são diferentes", lambda who: who[x] != who[y]),
        SpokenClaim("we are all knaves", "somos todos patifes", lambda who: not any(who.values())),
        SpokenClaim(
            f"at least {count} of us are knights",
            f"pelo menos {count} de nós são cavaleiros",
            lambda who: sum(who.values()) >= count,
        ),
        SpokenClaim(
            f"at most {count} of us are knaves",
            f"no máximo {count} de nós são patifes",
            lambda who: sum(not knight for knight in who.values()) <= count,
        ),
        SpokenClaim(
            f"exactly {count} of us are knaves",
            f"exatamente {count} de nós são patifes",
            lambda who: sum(not knight for knight in who.values()) == count,
        ),
        SpokenClaim("none of us is a knave", "nenhum de nós é patife", lambda who: all(who.values())),
        SpokenClaim(
            f"one of {x} and {y} is a knight", f"um de {x} e {y} é cavaleiro", lambda who: who[x] != who[y]
        ),
    ]


def joined(first: SpokenClaim, second: SpokenClaim, how: int) -> SpokenClaim:
    """Two statements as one."""
    (a, c, one), (b, d, two) = first, second
    return [
        SpokenClaim(f"{a} and {b}", f"{c} e {d}", lambda who: one(who) and two(who)),
        SpokenClaim(f"{a} or {b}", f"{c} ou {d}", lambda who: one(who) or two(who)),
        SpokenClaim(f"if {a}, then {b}", f"se {c}, então {d}", lambda who: not one(who) or two(who)),
        SpokenClaim(f"{a} if and only if {b}", f"{c} se e somente se {d}", lambda who: one(who) == two(who)),
        SpokenClaim(f"it is not true that {a}", f"não é verdade que {c}", lambda who: not one(who)),
    ][how]


class Village(NamedTuple):
    """A puzzle of knights and knaves in words, with everything that fits it."""

    english: str
    portuguese: str
    people: list[str]
    fitting: list[Knights]


def village(random: Random) -> Village:
    """A random village; everybody speaks, so that everybody is counted."""
    people = ["A", "B", "C", "D"][: random.randint(2, 4)]
    statements = []
    for me in people:
        claim = random.choice(simple_claims(me, people, random))
        if random.random() < 0.5:
            claim = joined(claim, random.choice(simple_claims(me, people, random)), random.randrange(5))
        statements.append((me, claim))
    every = [dict(zip(people, kinds, strict=True)) for kinds in product((True, False), repeat=len(people))]
    return Village(
        "Knights tell the truth and knaves lie. "
        + " ".join(f"{me} says {claim.english}." for me, claim in statements),
        "Cavaleiros dizem a verdade e patifes mentem. "
        + " ".join(f"{me} diz que {claim.portuguese}." for me, claim in statements),
        people,
        [who for who in every if all(claim.true(who) == who[me] for me, claim in statements)],
    )

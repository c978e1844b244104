"""Knights and knaves by search: take one after the other to be a knight, then a knave, until one is off.

All arrangements that fit are found, so that "settled" and "impossible" are said only after the whole search.
"""

from collections.abc import Iterator

from thinkaloud.builtin.claims import truth
from thinkaloud.builtin.questions import Island
from thinkaloud.builtin.trace import Contradicted, Fitted, Step, Supposed


def suppose(island: Island) -> Iterator[Step]:
    """The search as it goes: what was supposed, what contradicted it, and what fits."""
    yield from _under(island, {})


def _under(island: Island, known: dict[str, bool]) -> Iterator[Step]:
    depth = len(known)
    if depth == len(island.people):
        yield Fitted(frozenset(person for person, knight in known.items() if knight))
        return
    person = island.people[depth]
    for knight in (True, False):
        supposed = {**known, person: knight}
        yield Supposed(person, knight, depth)
        contradicted = contradiction(island, supposed)
        if contradicted is None:
            yield from _under(island, supposed)
        else:
            yield contradicted


def contradiction(island: Island, known: dict[str, bool]) -> Contradicted | None:
    """The first statement whose truth does not fit its speaker, as far as that is settled."""
    for at, told in enumerate(island.told):
        due = known.get(told.speaker) if told.speaker else True
        held = truth(told.claim, known)
        if due is not None and held is not None and held != due:
            return Contradicted(at, held, len(known) - 1)
    return None

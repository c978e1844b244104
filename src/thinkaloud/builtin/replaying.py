"""A trace done again, step by step: what it says happened must come out the same, or the trace is untrue."""

from fractions import Fraction

from thinkaloud.builtin.evaluation import evaluated
from thinkaloud.builtin.language import exact_text
from thinkaloud.builtin.questions import Island, NumberPuzzle, Puzzle
from thinkaloud.builtin.recounting import arrangements, holds
from thinkaloud.builtin.trace import (
    Combined,
    Contradicted,
    Dropped,
    Fitted,
    Found,
    Number,
    Reckoned,
    Supposed,
    Trace,
)

Result = Fraction | frozenset[frozenset[str]] | None
"""A value, the sets of knights that fit, or nothing: there is no way, or none was found."""


class Untrue(Exception):
    """A step that does not come out as it says."""


def replay(puzzle: Puzzle, trace: Trace) -> Result:
    """The result, from the steps alone."""
    match puzzle:
        case NumberPuzzle():
            return _replay_numbers(puzzle, trace)
        case Island():
            return _replay_island(puzzle, trace)
    result = None
    for step in trace:
        if not isinstance(step, Reckoned):
            raise Untrue(step)
        result = _same(step.expression, step.value, step)
    return result


def _replay_numbers(puzzle: NumberPuzzle, trace: Trace) -> Fraction | None:
    held: list[tuple[Number, ...]] = [tuple(sorted(puzzle.numbers))]
    for step in trace:
        match step:
            case Combined():
                held.append(_combine(held[-1], step))
            case Dropped():
                held.pop()
            case Found(expression):
                if puzzle.target not in held[-1]:
                    raise Untrue(step)
                return _same(expression, puzzle.target, step)
    return None


def _combine(numbers: tuple[Number, ...], step: Combined) -> tuple[Number, ...]:
    _same(f"({exact_text(step.left)}) {step.sign} ({exact_text(step.right)})", step.value, step)
    rest = list(numbers)
    try:
        rest.remove(step.left)
        rest.remove(step.right)
    except ValueError:
        raise Untrue(step) from None
    if sorted([*rest, step.value]) != list(step.rest):
        raise Untrue(step)
    return step.rest


def _replay_island(island: Island, trace: Trace) -> frozenset[frozenset[str]]:
    supposed: list[tuple[str, bool]] = []
    fitting = set()
    for step in trace:
        match step:
            case Supposed(person, knight, depth):
                supposed[depth:] = [(person, knight)]
            case Contradicted(at, held, _):
                told = island.told[at]
                if any(holds(told.claim, knights) != held for knights in _completed(island, supposed)):
                    raise Untrue(step)
            case Fitted(knights):
                if knights not in arrangements(island) or dict(supposed) != {
                    person: person in knights for person in island.people
                }:
                    raise Untrue(step)
                fitting.add(knights)
    return frozenset(fitting)


def _completed(island: Island, supposed: list[tuple[str, bool]]) -> list[frozenset[str]]:
    """Every set of knights that agrees with what was supposed."""
    known = dict(supposed)
    sets = [frozenset(person for person, knight in supposed if knight)]
    for person in island.people:
        if person not in known:
            sets += [knights | {person} for knights in sets]
    return sets


def _same(expression: str, value: Number, step: object) -> Fraction:
    result = evaluated(expression)[-1]
    if result != value:
        raise Untrue(step)
    return result

"""Replays a trace: every step is worked out again and must have the result that it says."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from thinkaloud.builtin.arithmetic import Calculated, evaluate
from thinkaloud.builtin.puzzle import Puzzle
from thinkaloud.builtin.skills.knights import (
    Assumed,
    Consistent,
    Contradicted,
    KnightsPuzzle,
    arrangements,
    holds,
)
from thinkaloud.builtin.skills.number_puzzle import Combined, Dropped, Found, Number, NumberPuzzle
from thinkaloud.builtin.words import exact_text

Trace = Sequence[Any]
Result = Fraction | frozenset[frozenset[str]] | None
"""A value, the sets of knights that fit, or None: there is no solution, or none was found."""


class FalseStep(Exception):
    """A step does not have the result that it says."""


def replay(puzzle: Puzzle, trace: Trace | None = None) -> Result:
    """Returns the result, from the steps alone; without a trace, those of the puzzle's own search."""
    trace = tuple(puzzle.steps()) if trace is None else trace
    match puzzle:
        case NumberPuzzle():
            return _replay_numbers(puzzle, trace)
        case KnightsPuzzle():
            return _replay_island(puzzle, trace)
    result = None
    for step in trace:
        if not isinstance(step, Calculated):
            raise FalseStep(step)
        result = _same(step.expression, step.value, step)
    return result


def _replay_numbers(puzzle: NumberPuzzle, trace: Trace) -> Fraction | None:
    numbers: list[tuple[Number, ...]] = [tuple(sorted(puzzle.numbers))]
    for step in trace:
        match step:
            case Combined():
                numbers.append(_combine(numbers[-1], step))
            case Dropped():
                numbers.pop()
            case Found(expression):
                if puzzle.target not in numbers[-1]:
                    raise FalseStep(step)
                return _same(expression, puzzle.target, step)
    return None


def _combine(numbers: tuple[Number, ...], step: Combined) -> tuple[Number, ...]:
    _same(f"({exact_text(step.left)}) {step.sign} ({exact_text(step.right)})", step.value, step)
    rest = list(numbers)
    try:
        rest.remove(step.left)
        rest.remove(step.right)
    except ValueError:
        raise FalseStep(step) from None
    if sorted([*rest, step.value]) != list(step.rest):
        raise FalseStep(step)
    return step.rest


def _replay_island(island: KnightsPuzzle, trace: Trace) -> frozenset[frozenset[str]]:
    assumed: list[tuple[str, bool]] = []
    fitting = set()
    for step in trace:
        match step:
            case Assumed(person, knight, depth):
                assumed[depth:] = [(person, knight)]
            case Contradicted(index, held, _):
                claim = island.statements[index].claim
                if any(holds(claim, knights) != held for knights in _completed(island, assumed)):
                    raise FalseStep(step)
            case Consistent(knights):
                if knights not in arrangements(island) or dict(assumed) != {
                    person: person in knights for person in island.people
                }:
                    raise FalseStep(step)
                fitting.add(knights)
    return frozenset(fitting)


def _completed(island: KnightsPuzzle, assumed: list[tuple[str, bool]]) -> list[frozenset[str]]:
    """Returns every set of knights that agrees with what was assumed."""
    known = dict(assumed)
    sets = [frozenset(person for person, knight in assumed if knight)]
    for person in island.people:
        if person not in known:
            sets += [knights | {person} for knights in sets]
    return sets


def _same(expression: str, value: Number, step: object) -> Fraction:
    result = evaluate(expression)[-1]
    if result != value:
        raise FalseStep(step)
    return result

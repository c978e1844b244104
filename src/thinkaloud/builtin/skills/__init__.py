"""The skills of the solver, in the order in which they are tried: the first that recognises has it.

A skill is a function that makes a puzzle of a question. It returns None for a question of another kind, and
raises `Unsolvable` for one that it recognises and cannot solve.
"""

from collections.abc import Callable

from thinkaloud.builtin.puzzle import Puzzle, Reading
from thinkaloud.builtin.skills import (
    calculation,
    dates,
    knights,
    letters,
    number_puzzle,
    primes,
    talk,
    units,
    word_problem,
)

SKILLS: tuple[Callable[[Reading], Puzzle | None], ...] = (
    talk.recognise_saying,
    number_puzzle.recognise,
    knights.recognise,
    dates.recognise,
    word_problem.recognise,
    calculation.recognise_root,
    primes.recognise,
    calculation.recognise_comparison,
    letters.recognise,
    word_problem.recognise_stock,
    units.recognise,
    calculation.recognise,
    talk.recognise_connection,
)


def recognise(reading: Reading) -> Puzzle | None:
    """Returns what the first skill makes of a question; None if no skill recognises it."""
    for skill in SKILLS:
        puzzle = skill(reading)
        if puzzle is not None:
            return puzzle
    return None

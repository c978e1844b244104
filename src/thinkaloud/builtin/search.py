"""Number puzzles by search: combine two numbers into one until the target is reached or everything was tried.

The trace has every step of the first level, and those of the second level that lead to the target; what was
tried under a dropped step is only counted. Numbers that were seen before are not searched again: they did
not reach the target then.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import msgspec

PLUS, MINUS, TIMES, OVER = "+", "−", "×", "÷"
MAX_TRIED = 1_000_000
"""Combinations before the search stops: about two seconds. Six numbers were seen to need 160,000."""
NARRATED_LEVELS = 2

Number = int | Fraction
"""A whole number stays an int: that is faster, and equal values are equal either way."""
Numbers = tuple[Number, ...]
Move = tuple[Number, str, Number, Number]
"""Left operand, sign, right operand and value."""


class Combined(msgspec.Struct, frozen=True):
    """A step: two of the numbers became one; `rest` is what is left to combine."""

    left: Number
    sign: str
    right: Number
    value: Number
    rest: Numbers


class DropReason(StrEnum):
    """Why a combination does not lead to the target."""

    NOTHING_REACHES = "nothing_reaches"
    SEEN = "seen"
    MISSES = "misses"


class Dropped(msgspec.Struct, frozen=True):
    """A step: the last combination was dropped, after so many more combinations under it."""

    reason: DropReason
    tried: int


class Found(msgspec.Struct, frozen=True):
    """The last step: an expression reaches the target, after so many combinations in all."""

    expression: str
    tried: int


class Exhausted(msgspec.Struct, frozen=True):
    """The last step: everything was tried, and nothing reaches the target."""

    tried: int


class Stopped(msgspec.Struct, frozen=True):
    """The last step: the search stopped early, so it is unknown whether the target can be reached."""

    tried: int


SearchStep = Combined | Dropped | Found | Exhausted | Stopped


def search(
    target: int, numbers: tuple[int, ...], all_used: bool, max_tried: int = MAX_TRIED
) -> Iterator[SearchStep]:
    """Searches for the target: from all numbers with fractions, or from any without them.

    The last step is Found, Exhausted or Stopped.
    """
    ordered: Numbers = tuple(sorted(numbers))
    if target in ordered and (not all_used or len(ordered) == 1):
        yield Found(str(target), 0)
        return
    tries = _Search(target, all_used, max_tried)
    path: list[Combined] = []
    try:
        for step in tries.level(ordered, NARRATED_LEVELS):
            if isinstance(step, Combined):
                path.append(step)
            else:
                path.pop()
            yield step
    except _OutOfBudget:
        yield Stopped(max_tried)
        return
    yield Found(path_expression(ordered, path), tries.tried) if path else Exhausted(tries.tried)


class _OutOfBudget(Exception):
    pass


class _Search:
    """One search: the numbers that were seen, and the count of combinations that were tried."""

    def __init__(self, target: int, all_used: bool, max_tried: int) -> None:
        self.tried = 0
        self._target = target
        self._all_used = all_used
        self._moves = exact_moves if all_used else whole_moves
        self._max_tried = max_tried
        self._seen: set[Numbers] = set()

    def level(self, numbers: Numbers, levels: int) -> Iterator[Combined | Dropped]:
        """Yields each combination and why it was dropped, until one is not."""
        for move, rest in self._combinations(numbers):
            self._count(1)
            combined = Combined(*move, rest)
            yield combined
            tried_before = self.tried
            steps = self._continue(combined, levels - 1)
            if not isinstance(steps, DropReason):
                yield from steps
                return
            yield Dropped(steps, self.tried - tried_before)

    def _continue(self, combined: Combined, levels: int) -> Sequence[Combined | Dropped] | DropReason:
        """Returns the steps from here to the target, or why there are none."""
        if combined.value == self._target and (not self._all_used or len(combined.rest) == 1):
            return []
        if len(combined.rest) == 1:
            return DropReason.MISSES
        if combined.rest in self._seen:
            return DropReason.SEEN
        self._seen.add(combined.rest)
        if not levels:
            return self._path(combined.rest) or DropReason.NOTHING_REACHES
        steps = list(self.level(combined.rest, levels))
        return DropReason.NOTHING_REACHES if isinstance(steps[-1], Dropped) else steps

    def _path(self, numbers: Numbers) -> list[Combined] | None:
        """Searches below the narrated levels."""
        if len(numbers) == 2:
            return self._last_move(numbers)
        for move, rest in self._combinations(numbers):
            self._count(1)
            if move[3] == self._target and not self._all_used:
                return [Combined(*move, rest)]
            if rest not in self._seen:
                self._seen.add(rest)
                path = self._path(rest)
                if path is not None:
                    return [Combined(*move, rest), *path]
        return None

    def _last_move(self, numbers: Numbers) -> list[Combined] | None:
        moves = self._moves(*numbers)
        self._count(len(moves))
        for move in moves:
            if move[3] == self._target:
                return [Combined(*move, (move[3],))]
        return None

    def _combinations(self, numbers: Numbers) -> Iterator[tuple[Move, Numbers]]:
        """Yields every move and the numbers after it; equal pairs are taken once."""
        pairs = set()
        for j in range(1, len(numbers)):
            for i in range(j):
                low, high = numbers[i], numbers[j]
                if (low, high) in pairs:
                    continue
                pairs.add((low, high))
                others = numbers[:i] + numbers[i + 1 : j] + numbers[j + 1 :]
                for move in self._moves(low, high):
                    yield move, tuple(sorted((*others, move[3])))

    def _count(self, tried: int) -> None:
        self.tried += tried
        if self.tried > self._max_tried:
            raise _OutOfBudget


def whole_moves(low: Number, high: Number) -> list[Move]:
    """Returns the moves to positive whole numbers, without those whose value equals an operand."""
    moves: list[Move] = [(high, PLUS, low, high + low)]
    if high != low and high - low != low:
        moves.append((high, MINUS, low, high - low))
    if low != 1:
        moves.append((high, TIMES, low, high * low))
        if high % low == 0 and high // low != low:
            moves.append((high, OVER, low, high // low))
    return moves


def exact_moves(low: Number, high: Number) -> list[Move]:
    """Returns every move, also to fractions and negative numbers."""
    moves: list[Move] = [
        (high, PLUS, low, high + low),
        (high, MINUS, low, high - low),
        (high, TIMES, low, high * low),
    ]
    if high != low:
        moves.append((low, MINUS, high, low - high))
    if low != 0:
        moves.append((high, OVER, low, Fraction(high) / Fraction(low)))
    if high not in (0, low):
        moves.append((low, OVER, high, Fraction(low) / Fraction(high)))
    return [(left, sign, right, _whole_if_possible(value)) for left, sign, right, value in moves]


def _whole_if_possible(value: Number) -> Number:
    return value if isinstance(value, int) or value.denominator != 1 else value.numerator


class _Term(NamedTuple):
    value: Number
    text: str
    sign: str = ""


def path_expression(numbers: Numbers, path: Sequence[Combined]) -> str:
    """Writes the combinations as one expression, with only the brackets that it needs."""
    terms = [_Term(number, str(number)) for number in numbers]
    for step in path:
        left = terms.pop(next(index for index, term in enumerate(terms) if term.value == step.left))
        right = terms.pop(next(index for index, term in enumerate(terms) if term.value == step.right))
        text = f"{_bracketed(left, step.sign)} {step.sign} {_bracketed(right, step.sign, right=True)}"
        terms.append(_Term(step.value, text, step.sign))
    return terms[-1].text


def _bracketed(term: _Term, sign: str, *, right: bool = False) -> str:
    weaker = sign in (TIMES, OVER) and term.sign in (PLUS, MINUS)
    inverted = right and sign in (MINUS, OVER) and (term.sign in (TIMES, OVER)) == (sign == OVER)
    return f"({term.text})" if term.sign and (weaker or inverted) else term.text

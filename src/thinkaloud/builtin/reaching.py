"""Number puzzles by search: combine two numbers into one until the target is there or everything was tried.

The steps of the first level are told one by one, and of the second where it led to the target; what lies
under a step that was dropped is counted. Numbers that were left over once before are not tried again: what
they did not reach then, they do not reach now.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from thinkaloud.builtin.questions import NumberPuzzle
from thinkaloud.builtin.trace import Combined, Dropped, Exhausted, Found, Number, Step, Stopped, Why

PLUS, MINUS, TIMES, OVER = "+", "−", "×", "÷"
MOST_TRIED = 1_000_000
"""Combinations before the search gives up: some two seconds. Six numbers were seen to need 160,000."""

TOLD_LEVELS = 2

Move = tuple[Number, str, Number, Number]
"""Left, sign, right and value."""


class _OutOfBudget(Exception):
    pass


def search(puzzle: NumberPuzzle, most_tried: int = MOST_TRIED) -> Iterator[Step]:
    """The search as it goes; its last step is Found, Exhausted or Stopped."""
    numbers = tuple(sorted(puzzle.numbers))
    if puzzle.target in numbers and (not puzzle.all_used or len(numbers) == 1):
        yield Found(str(puzzle.target), 0)
        return
    seeking = _Seeking(puzzle, most_tried)
    standing: list[Combined] = []
    try:
        for step in seeking.level(numbers, TOLD_LEVELS):
            if isinstance(step, Combined):
                standing.append(step)
            else:
                standing.pop()
            yield step
    except _OutOfBudget:
        yield Stopped(most_tried)
        return
    yield Found(expression(numbers, standing), seeking.tried) if standing else Exhausted(seeking.tried)


class _Seeking:
    """One search: what was left over before, and how many combinations were tried."""

    def __init__(self, puzzle: NumberPuzzle, most_tried: int) -> None:
        self.tried = 0
        self._target = puzzle.target
        self._all_used = puzzle.all_used
        self._moves = exact_moves if puzzle.all_used else whole_moves
        self._most_tried = most_tried
        self._seen: set[tuple[Number, ...]] = set()

    def level(self, numbers: tuple[Number, ...], told: int) -> Iterator[Combined | Dropped]:
        """Each combination with what came of it, until one is not dropped."""
        for move, rest in self._each(numbers):
            self._count(1)
            combined = Combined(*move, rest)
            yield combined
            before = self.tried
            under = self._under(combined, told - 1)
            if not isinstance(under, Why):
                yield from under
                return
            yield Dropped(under, self.tried - before)

    def _under(self, combined: Combined, told: int) -> Sequence[Combined | Dropped] | Why:
        """The steps that lead on from here to the target, or why there are none."""
        if combined.value == self._target and (not self._all_used or len(combined.rest) == 1):
            return []
        if len(combined.rest) == 1:
            return Why.MISSES
        if combined.rest in self._seen:
            return Why.SEEN
        self._seen.add(combined.rest)
        if not told:
            return self._way(combined.rest) or Why.NOTHING_REACHES
        steps = list(self.level(combined.rest, told))
        return Why.NOTHING_REACHES if isinstance(steps[-1], Dropped) else steps

    def _way(self, numbers: tuple[Number, ...]) -> list[Combined] | None:
        if len(numbers) == 2:
            return self._last(numbers)
        for move, rest in self._each(numbers):
            self._count(1)
            if move[3] == self._target and not self._all_used:
                return [Combined(*move, rest)]
            if rest not in self._seen:
                self._seen.add(rest)
                way = self._way(rest)
                if way is not None:
                    return [Combined(*move, rest), *way]
        return None

    def _last(self, numbers: tuple[Number, ...]) -> list[Combined] | None:
        moves = self._moves(*numbers)
        self._count(len(moves))
        for move in moves:
            if move[3] == self._target:
                return [Combined(*move, (move[3],))]
        return None

    def _each(self, numbers: tuple[Number, ...]) -> Iterator[tuple[Move, tuple[Number, ...]]]:
        """Every way to make one of two, and what is left then; equal numbers are taken once."""
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

    def _count(self, more: int) -> None:
        self.tried += more
        if self.tried > self._most_tried:
            raise _OutOfBudget


def whole_moves(low: Number, high: Number) -> list[Move]:
    """Results that are positive and whole; one that equals a number it is made of brings nothing new."""
    moves: list[Move] = [(high, PLUS, low, high + low)]
    if high != low and high - low != low:
        moves.append((high, MINUS, low, high - low))
    if low != 1:
        moves.append((high, TIMES, low, high * low))
        if high % low == 0 and high // low != low:
            moves.append((high, OVER, low, high // low))
    return moves


def exact_moves(low: Number, high: Number) -> list[Move]:
    """Every result, fractions and negative numbers too."""
    moves: list[Move] = [
        (high, PLUS, low, high + low),
        (high, MINUS, low, high - low),
        (high, TIMES, low, high * low),
    ]
    if high != low:
        moves.append((low, MINUS, high, low - high))
    if low != 0:
        moves.append((high, OVER, low, _ratio(high, low)))
    if high not in (0, low):
        moves.append((low, OVER, high, _ratio(low, high)))
    return [(left, sign, right, _lean(value)) for left, sign, right, value in moves]


def _ratio(left: Number, right: Number) -> Number:
    return Fraction(left) / Fraction(right)


def _lean(value: Number) -> Number:
    return value if isinstance(value, int) or value.denominator != 1 else value.numerator


class _Term(NamedTuple):
    value: Number
    words: str
    sign: str = ""


def expression(numbers: Sequence[Number], way: Sequence[Combined]) -> str:
    """The combinations of a way as one expression, with no more brackets than it needs."""
    terms = [_Term(number, str(number)) for number in numbers]
    for step in way:
        left = terms.pop(next(at for at, term in enumerate(terms) if term.value == step.left))
        right = terms.pop(next(at for at, term in enumerate(terms) if term.value == step.right))
        words = f"{_bracketed(left, step.sign)} {step.sign} {_bracketed(right, step.sign, right=True)}"
        terms.append(_Term(step.value, words, step.sign))
    return terms[-1].words


def _bracketed(term: _Term, sign: str, *, right: bool = False) -> str:
    weaker = sign in (TIMES, OVER) and term.sign in (PLUS, MINUS)
    turned = right and sign in (MINUS, OVER) and (term.sign in (TIMES, OVER)) == (sign == OVER)
    return f"({term.words})" if term.sign and (weaker or turned) else term.words

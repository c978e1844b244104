"""Number puzzles: "make 24 from 4 7 8 8" uses all numbers, "reach 952 from 25 50 75 100 3 6" any of them.

Two numbers become one until the target is reached or everything was tried. The trace has every step of the
first level, and those of the second level that lead to the target; what was tried under a dropped step is
only counted. Numbers that were seen before are not searched again: they did not reach the target then.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise, product
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict

from thinkaloud.builtin.arithmetic import NotAnExpression, evaluate, typed
from thinkaloud.builtin.puzzle import Conclusion, GivenAnswer, Reading, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, bracketed, phrase

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
        for combined in self._combinations(numbers):
            yield combined
            tried_before = self.tried
            steps = self._continue(combined, levels - 1)
            if not isinstance(steps, DropReason):
                yield from steps
                return
            yield Dropped(steps, self.tried - tried_before)

    def _continue(self, combined: Combined, levels: int) -> Sequence[Combined | Dropped] | DropReason:
        """Returns the steps from here to the target, or why there are none; below `levels` only those."""
        if combined.value == self._target and (not self._all_used or len(combined.rest) == 1):
            return []
        if len(combined.rest) == 1:
            return DropReason.MISSES
        if combined.rest in self._seen:
            return DropReason.SEEN
        self._seen.add(combined.rest)
        if levels:
            steps = list(self.level(combined.rest, levels))
            return DropReason.NOTHING_REACHES if isinstance(steps[-1], Dropped) else steps
        for deeper in self._combinations(combined.rest):
            following = self._continue(deeper, 0)
            if not isinstance(following, DropReason):
                return [deeper, *following]
        return DropReason.NOTHING_REACHES

    def _combinations(self, numbers: Numbers) -> Iterator[Combined]:
        """Yields and counts what two of the numbers can become; equal pairs are taken once."""
        pairs = set()
        for j in range(1, len(numbers)):
            for i in range(j):
                low, high = numbers[i], numbers[j]
                if (low, high) in pairs:
                    continue
                pairs.add((low, high))
                others = numbers[:i] + numbers[i + 1 : j] + numbers[j + 1 :]
                for move in self._moves(low, high):
                    self._count()
                    yield Combined(*move, tuple(sorted((*others, move[3]))))

    def _count(self) -> None:
        self.tried += 1
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
    needed = sign in (TIMES, OVER) and term.sign in (PLUS, MINUS)
    if right and sign == MINUS:
        needed = term.sign in (PLUS, MINUS)
    elif right and sign == OVER:
        needed = term.sign != ""
    return f"({term.text})" if needed else term.text


MAX_NUMBERS_ALL_USED = 5
MAX_NUMBERS = 6
MAX_NUMBER = 10_000
MAX_TARGET = 1_000_000

_REACH = (
    r"(?P<reach>make|makes|making|get|getting|form|obtain|reach|countdown:?|solve"
    r"|faca|fazer|forme|formar|obtenha|obter|consiga|resolva|chegue a|chegar a|chego a|alcance|alcancar)"
)
_FROM = r"(?:from|with|using|out of|by using|com|usando|a partir de|de)"
_LIST = (
    r"(?:(?:the |these |os |estes )?(?:numbers|digits|numeros|algarismos):? )?"
    r"(?P<numbers>\d+(?:(?:, ?|; ?| )(?:and |e )?\d+)+|\d+)"
)
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_REACH} (?:to )?(?P<target>\d+),? {_FROM}:? {_LIST}",
        rf"\b(?:use|using|with|from|usando|com):? {_LIST},? (?:to |para |e |and )?{_REACH} (?P<target>\d+)",
        rf"(?:i have|given|tenho|dados):? {_LIST}[.,;:]? (?:and |e )?(?:can you |please |i want to |how do i "
        rf"|quero |como )?{_REACH} (?P<target>\d+)",
        rf"(?:the )?(?P<target>\d+),? {_FROM}:? {_LIST}",
        rf"(?:solve |play )?(?:the |o )?(?:jogo do )?(?P<target>24)(?: game| puzzle)?(?: with| for| com)? "
        rf"?[:-]? ?{_LIST}",
        rf"{_LIST} ?(?:->|=>|→|to make|to get|to|para|para fazer|para obter) ?(?P<target>\d+)",
    )
)
_ANY_WILL_DO = ("reach", "countdown", "cheg", "alcan")
_CONDITION = re.compile(
    r"\d|\b(?:without|except|not|never|sem|exceto|nao|nunca"
    r"|(?:only|apenas|somente) (?:add|sub|mul|div|som|adi))"
)
"""What would make it another puzzle than the one that is solved here."""
_EXPRESSION = re.compile(r"[\d(−-][\d+\-*/^().,\s−×÷]*")
_INDENT = "  "
_END_KEYS = {Found: "think.found", Exhausted: "think.exhausted", Stopped: "think.stopped"}


class NumberPuzzle(msgspec.Struct, frozen=True):
    """The puzzle: reach a target from numbers, using all of them with fractions, or any without."""

    target: int
    numbers: tuple[int, ...]
    all_used: bool

    def steps(self, max_tried: int = MAX_TRIED) -> Iterator[SearchStep]:
        """Searches; the last step is Found, Exhausted or Stopped."""
        return search(self.target, self.numbers, self.all_used, max_tried)

    def narrate(self, trace: Sequence[SearchStep], language: Language) -> Iterator[str]:
        key = "think.all_used" if self.all_used else "think.any_used"
        yield phrase(language, key, numbers=_list(self.numbers), target=self.target)
        depth = 0
        for step, following in pairwise((*trace, trace[-1])):
            match step:
                case Combined():
                    yield _INDENT * depth + self._combined_line(step, following, language)
                    depth += not isinstance(following, Dropped)
                case Found() | Exhausted() | Stopped():
                    yield phrase(language, _END_KEYS[type(step)], target=self.target, **asdict(step))

    def _combined_line(self, step: Combined, following: object, language: Language) -> str:
        if isinstance(following, Dropped):
            key, tried = following.reason.value, following.tried
        else:
            reached = step.value == self.target and isinstance(following, Found)
            key, tried = "reaches" if reached else "leaves", 0
        values = {
            "left": bracketed(str(step.left)),
            "right": bracketed(str(step.right)),
            "rest": _list(step.rest),
        }
        return phrase(language, f"think.{key}", target=self.target, tried=tried, **{**asdict(step), **values})

    def conclude(self, trace: Sequence[SearchStep], language: Language) -> Conclusion:
        match trace[-1]:
            case Found(expression):
                answer = phrase(language, "answer.expression", expression=expression, target=self.target)
                return Conclusion(answer, typed(expression), Fraction(self.target))
            case Stopped(tried):
                return Conclusion(phrase(language, "answer.stopped", tried=tried), known=False)
            case Exhausted(tried):
                values = {"target": self.target, "numbers": _list(self.numbers), "tried": tried}
                return Conclusion(phrase(language, "answer.impossible", **values))
        raise AssertionError("a search ends with Found, Exhausted or Stopped")

    def check(self, answer: GivenAnswer) -> Verdict:
        """Evaluates the expression, or combines the numbers from all their parts."""
        if answer.impossible:
            possible = reachable(self)
            key = "reachable" if possible else "unreachable"
            return answer.verdict(not possible, key, target=self.target)
        expressions = [text.strip(" .,\n") for text in _EXPRESSION.findall(answer.text)]
        if not expressions:
            return answer.verdict(False, "no_expression")
        expression = max(expressions, key=lambda text: (bool(re.search(r"[-+*/−×÷]", text)), len(text)))
        try:
            results = evaluate(expression)
        except NotAnExpression:
            return answer.verdict(False, "bad_expression", text=expression)
        return self._reached(answer, expression, results)

    def _reached(self, answer: GivenAnswer, expression: str, results: list[Fraction]) -> Verdict:
        given = Counter(map(Fraction, self.numbers))
        used = Counter(map(Fraction, re.findall(r"\d+(?:\.\d+)?", expression)))
        not_whole = next((value for value in results if value.denominator != 1 or value <= 0), None)
        key, value = "gives", results[-1]
        if value != self.target:
            key = "wanted"
        elif used - given or (self.all_used and used != given):
            key = "other_numbers"
        elif not_whole is not None and not self.all_used:
            key, value = "not_whole", not_whole
        return answer.verdict(key == "gives", key, expression=expression, value=value, target=self.target)


def _list(numbers: tuple[object, ...]) -> str:
    return " ".join(map(str, numbers))


def recognise(reading: Reading) -> NumberPuzzle | None:
    """Recognises a target with a list of numbers. Raises `Unsolvable` where they are beyond the limits."""
    text = reading.normalized
    for pattern in _PATTERNS:
        named = "reach" in pattern.groupindex
        match = pattern.search(text) if named else pattern.fullmatch(reading.bare)
        if match and not _CONDITION.search(text[: match.start()] + " " + text[match.end() :]):
            numbers = tuple(map(int, re.findall(r"\d+", match["numbers"])))
            if not named and len(numbers) < 2:
                continue  # "10 to 20" is no puzzle
            reach = match["reach"] if named else ""
            all_used = not reach.startswith(_ANY_WILL_DO) and "countdown" not in text
            return _bounded_puzzle(NumberPuzzle(int(match["target"]), numbers, all_used))
    return None


def _bounded_puzzle(puzzle: NumberPuzzle) -> NumberPuzzle:
    count, largest = len(puzzle.numbers), max(puzzle.numbers)
    if puzzle.all_used and count > MAX_NUMBERS_ALL_USED:
        raise Unsolvable("many_numbers_all_used", str(count), MAX_NUMBERS_ALL_USED)
    if count > MAX_NUMBERS:
        raise Unsolvable("many_numbers", str(count), MAX_NUMBERS)
    if largest > MAX_NUMBER:
        raise Unsolvable("large_number", str(largest)[:40], MAX_NUMBER)
    if puzzle.target > MAX_TARGET:
        raise Unsolvable("large_target", str(puzzle.target)[:40], MAX_TARGET)
    if not puzzle.all_used and 0 in (puzzle.target, *puzzle.numbers):
        raise Unsolvable("zero")
    return puzzle


def reachable(puzzle: NumberPuzzle) -> bool:
    """Tells whether the target can be made, from what every part of the numbers makes.

    A part is a bit mask.
    """
    everything = (1 << len(puzzle.numbers)) - 1
    moves = exact_moves if puzzle.all_used else whole_moves
    values: dict[int, set[Number]] = {1 << index: {number} for index, number in enumerate(puzzle.numbers)}
    for part in sorted(range(1, everything + 1), key=int.bit_count):
        made = values.setdefault(part, set())
        halves = [half for half in range(1, part) if half & part == half and half < part ^ half]
        for half in halves:
            for low, high in map(sorted, product(values[half], values[part ^ half])):
                made.update(value for *_, value in moves(low, high))
        if puzzle.target in made and (part == everything or not puzzle.all_used):
            return True
    return False

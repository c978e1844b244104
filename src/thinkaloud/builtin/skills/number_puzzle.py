"""Number puzzles: "make 24 from 4 7 8 8" uses all numbers, "reach 952 from 25 50 75 100 3 6" any of them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product

import msgspec
from msgspec.structs import asdict

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import NotAnExpression, evaluate, typed
from thinkaloud.builtin.question import Conclusion, Reading, Skill, Verdict
from thinkaloud.builtin.search import (
    MAX_TRIED,
    Combined,
    Dropped,
    Exhausted,
    Found,
    Number,
    SearchStep,
    Stopped,
    search,
)
from thinkaloud.builtin.words import Language, Unsolvable, phrase

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
        """Writes what was combined, what was left, and why it was dropped."""
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
        values = {"left": _operand(step.left), "right": _operand(step.right), "rest": _list(step.rest)}
        return phrase(language, f"think.{key}", target=self.target, tried=tried, **{**asdict(step), **values})

    def conclude(self, trace: Sequence[SearchStep], language: Language) -> Conclusion:
        """Writes the expression, or that there is none."""
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
        elif used != given if self.all_used else used - given:
            key = "other_numbers"
        elif not_whole is not None and not self.all_used:
            key, value = "not_whole", not_whole
        return answer.verdict(key == "gives", key, expression=expression, value=value, target=self.target)


def _list(numbers: tuple[object, ...]) -> str:
    return " ".join(map(str, numbers))


def _operand(value: object) -> str:
    return f"({value})" if str(value).startswith("-") or "/" in str(value) else str(value)


def recognise(reading: Reading) -> NumberPuzzle | None:
    """Recognises a target with a list of numbers. Raises `Unsolvable` where they are beyond the limits."""
    text = reading.normalized
    for pattern in _PATTERNS:
        named = "reach" in pattern.groupindex
        match = pattern.search(text) if named else pattern.fullmatch(text.rstrip("?.! "))
        if match and not _CONDITION.search(text[: match.start()] + " " + text[match.end() :]):
            numbers = re.findall(r"\d+", match["numbers"])
            if not named and len(numbers) < 2:
                continue  # "10 to 20" is no puzzle
            reach = match["reach"] if named else ""
            all_used = not reach.startswith(_ANY_WILL_DO) and "countdown" not in text
            return _bounded_puzzle(match["target"], numbers, all_used)
    return None


def _bounded_puzzle(target: str, numbers: list[str], all_used: bool) -> NumberPuzzle:
    most = MAX_NUMBERS_ALL_USED if all_used else MAX_NUMBERS
    if len(numbers) > most:
        reason = "many_numbers_all_used" if all_used else "many_numbers"
        raise Unsolvable(reason, str(len(numbers)), most)
    largest = max(numbers, key=_size)
    if _size(largest) > _size(str(MAX_NUMBER)):
        raise Unsolvable("large_number", largest[:40], MAX_NUMBER)
    if _size(target) > _size(str(MAX_TARGET)):
        raise Unsolvable("large_target", target[:40], MAX_TARGET)
    puzzle = NumberPuzzle(int(target), tuple(map(int, numbers)), all_used)
    if not all_used and 0 in (puzzle.target, *puzzle.numbers):
        raise Unsolvable("zero")
    return puzzle


def _size(digits: str) -> tuple[int, str]:
    """Orders numbers by their digits, so that one of a thousand digits is never converted."""
    bare = digits.lstrip("0")
    return len(bare), bare


def reachable(puzzle: NumberPuzzle) -> bool:
    """Tells whether the target can be made; parts of the numbers are bit masks."""
    everything = (1 << len(puzzle.numbers)) - 1
    values: dict[int, set[Number]] = {}
    for part in sorted(range(1, everything + 1), key=int.bit_count):
        halves = [(half, part ^ half) for half in range(1, part) if half & part == half]
        if not halves:
            values[part] = {puzzle.numbers[part.bit_length() - 1]}
        elif part == everything:
            return any(_makes(values[a], values[b], puzzle.target) for a, b in halves)
        else:
            values[part] = {
                value
                for half, other in halves
                if half < other
                for value in _combined(values[half], values[other], puzzle.all_used)
            }
        if puzzle.target in values[part] and (part == everything or not puzzle.all_used):
            return True
    return False


def _combined(values: set[Number], others: set[Number], exact: bool) -> Iterator[Number]:
    """Yields what a value and one of the others make; positive whole numbers only, unless `exact`."""
    for a, b in product(values, others):
        yield a + b
        yield a * b
        if exact:
            yield a - b
            yield b - a
            yield from (Fraction(x) / y for x, y in ((a, b), (b, a)) if y)
        elif a != b:
            low, high = (a, b) if a < b else (b, a)
            yield high - low
            if high % low == 0:
                yield high // low


def _makes(values: set[Number], others: set[Number], target: int) -> bool:
    """Tells whether a value with one of the others makes the target, calculated backwards from it."""
    for value in values:
        if target - value in others or value - target in others or (value == 0 == target):
            return True
        if value and (Fraction(target) / value in others or (target and Fraction(value) / target in others)):
            return True
    return False


ALL_NUMBERS = Skill(
    "number puzzle",
    recognise,
    {Language.EN: "make 24 from 4 7 8 8", Language.PT: "faça 24 com 4 7 8 8"},
    "make form obtain from using numbers faca forme obtenha usando numeros",
)
COUNTDOWN = Skill(
    "countdown",
    recognise,
    {Language.EN: "reach 952 from 25 50 75 100 3 6", Language.PT: "chegue a 952 usando 25 50 75 100 3 6"},
    "reach countdown chegue chegar alcance",
)

"""The thinking that is shown: a trace in words, line by line, and nothing that is not in the trace.

A long trace is told from both ends, with the number of lines left out in between.
"""

from collections.abc import Iterator
from itertools import pairwise

from thinkaloud.builtin.language import Language, exact_text, write_date
from thinkaloud.builtin.questions import Conversion, Island, NumberPuzzle, Puzzle
from thinkaloud.builtin.trace import (
    Combined,
    Contradicted,
    Dropped,
    Exhausted,
    Fitted,
    Found,
    Reckoned,
    Stopped,
    Supposed,
    Trace,
)
from thinkaloud.builtin.units import first_of
from thinkaloud.builtin.words import WORDS, Words

MOST_LINES = 200
_LAST_LINES = 40
_INDENT = "  "


def tell(puzzle: Puzzle, trace: Trace, language: Language) -> tuple[str, ...]:
    """The trace as lines, at most `MOST_LINES` of them."""
    words = WORDS[language]
    match puzzle:
        case NumberPuzzle():
            lines = [*_tell_numbers(puzzle, trace, words)]
        case Island():
            lines = [*_tell_island(puzzle, trace, words)]
        case _:
            lines = [_tell_reckoned(puzzle, step, language) for step in trace if isinstance(step, Reckoned)]
    untold = len(lines) - MOST_LINES + 1
    if untold > 1:
        lines[MOST_LINES - 1 - _LAST_LINES : -_LAST_LINES] = [words["think.untold"].format(n=untold)]
    return tuple(lines)


def listed(numbers: tuple[object, ...]) -> str:
    """Numbers side by side."""
    return " ".join(map(str, numbers))


def people_as(island: Island, knights: frozenset[str], words: Words) -> str:
    """Who is what: "A is a knight, B is a knave and C is a knave"."""
    told = [kind_of(person, person in knights, words) for person in island.people]
    return words["and"].join(part for part in (", ".join(told[:-1]), told[-1]) if part)


def kind_of(person: str, knight: bool, words: Words) -> str:
    """Who is what, of one."""
    return words["is"].format(person=person, kind=words["knight" if knight else "knave"])


def shown(expression: str, language: Language) -> str:
    """An expression with the signs and the decimal comma that people read."""
    for typed, sign in (("*", "×"), (" / ", " ÷ "), ("-", "−")):
        expression = expression.replace(typed, sign)
    return expression.replace(".", ",") if language is Language.PT else expression


def _tell_numbers(puzzle: NumberPuzzle, trace: Trace, words: Words) -> Iterator[str]:
    opening = words["think.all_used" if puzzle.all_used else "think.any_used"]
    yield opening.format(numbers=listed(puzzle.numbers), target=puzzle.target)
    depth = 0
    for step, after in pairwise((*trace, trace[-1])):
        match step:
            case Combined():
                key, tried, deeper = _came_of(step, after, puzzle)
                said = words[f"think.{key}"].format(
                    left=_operand(step.left),
                    sign=step.sign,
                    right=_operand(step.right),
                    value=step.value,
                    rest=listed(step.rest),
                    target=puzzle.target,
                    tried=tried,
                )
                yield _INDENT * depth + said
                depth += deeper
            case Found():
                found = words["think.found"]
                yield found.format(expression=step.expression, target=puzzle.target, tried=step.tried)
            case Exhausted():
                yield words["think.exhausted"].format(tried=step.tried, target=puzzle.target)
            case Stopped():
                yield words["think.stopped"].format(tried=step.tried)


def _came_of(step: Combined, after: object, puzzle: NumberPuzzle) -> tuple[str, int, int]:
    """Which words tell a combination, what was tried under it, and whether what follows lies under it."""
    if isinstance(after, Dropped):
        return after.why, after.tried, 0
    return ("reaches" if step.value == puzzle.target and isinstance(after, Found) else "leaves"), 0, 1


def _operand(value: object) -> str:
    return f"({value})" if str(value).startswith("-") or "/" in str(value) else str(value)


def _tell_island(island: Island, trace: Trace, words: Words) -> Iterator[str]:
    for told in island.told:
        yield words["think.said" if told.speaker else "think.fact"].format(
            person=told.speaker, words=told.words
        )
    for step in trace:
        match step:
            case Supposed(person, knight, depth):
                kind = words["knight" if knight else "knave"]
                yield _INDENT * depth + words["think.suppose"].format(person=person, kind=kind)
            case Contradicted(at, held, depth):
                told = island.told[at]
                key = "fact_fails" if not told.speaker else "knave_tells" if held else "knight_lies"
                said = words[f"think.{key}"].format(person=told.speaker, words=told.words)
                yield _INDENT * (depth + 1) + said
            case Fitted(knights):
                people = people_as(island, knights, words)
                yield _INDENT * len(island.people) + words["think.fits"].format(people=people)


def _tell_reckoned(puzzle: Puzzle, step: Reckoned, language: Language) -> str:
    words = WORDS[language]
    units = {"amount_unit": "", "first": "", "target": ""}
    if isinstance(puzzle, Conversion):
        amount = shown(exact_text(puzzle.amount), language)
        units = {
            "amount_unit": f"{amount} {puzzle.source.name(language, puzzle.amount)}",
            "first": first_of(puzzle.source.dimension).name(language),
            "target": puzzle.target.name(language),
        }
    day = write_date(step.day, language) if step.day else ""
    expression, value = shown(step.expression, language), shown(exact_text(step.value), language)
    return words[f"reckon.{step.what}"].format(day=day, expression=expression, value=value, **units)

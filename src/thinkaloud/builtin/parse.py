"""Parses a question in English or Portuguese. What it does not recognise, it does not guess at."""

import re
from datetime import date, timedelta
from fractions import Fraction

import msgspec

from thinkaloud.builtin.arithmetic import MAX_EXPRESSION_CHARACTERS, Calculation
from thinkaloud.builtin.dates import DATE, DaysAway, DaysBetween, WeekdayOf, read_dates
from thinkaloud.builtin.island import parse_island
from thinkaloud.builtin.logic import Island
from thinkaloud.builtin.search import NumberPuzzle
from thinkaloud.builtin.units import UNITS, Conversion
from thinkaloud.builtin.words import Language, Unsolvable, detect_language, normalize, plain_number

MAX_QUESTION_CHARACTERS = 2000
MAX_TASK_CHARACTERS = 8000
"""Characters of a question and an answer to check."""
MAX_NUMBERS_ALL_USED = 5
MAX_NUMBERS = 6
MAX_NUMBER = 10_000
MAX_TARGET = 1_000_000
MAX_AMOUNT_CHARACTERS = 30
ABSOLUTE_ZERO = Fraction("-273.15")


class AnswerCheck(msgspec.Struct, frozen=True):
    """The question whether an answer to another question is right."""

    question: str
    answer: str


class Malformed(msgspec.Struct, frozen=True):
    """A recognised question that cannot be solved: `reason` is a key of the phrases, the rest fills it in."""

    reason: str
    text: str = ""
    limit: int = 0


class NotUnderstood(msgspec.Struct, frozen=True):
    """Any other question."""


Puzzle = NumberPuzzle | Island | DaysBetween | WeekdayOf | DaysAway | Conversion | Calculation
Question = Puzzle | AnswerCheck | Malformed | NotUnderstood


class ParsedQuestion(msgspec.Struct, frozen=True):
    """A question and the language it is in."""

    language: Language
    question: Question


_ANSWER_CHECK = re.compile(
    r"(?:check|confira)\b[^\n]*\n(?:question|pergunta): ?(.*)\n(?:answer|resposta): ?(.*)",
    re.I | re.S,
)
_REACH = (
    r"(?P<reach>make|get|form|obtain|reach|countdown:?"
    r"|faca|forme|obtenha|consiga|chegue a|chegar a|alcance|alcancar)"
)
_FROM = r"(?:from|with|using|out of|by using|com|usando|a partir de|de)"
_LIST = r"(?:the numbers |os numeros )?(?P<numbers>\d+(?:(?:, ?|; ?| )(?:and |e )?\d+)*)"
_NUMBER_PUZZLES = (
    re.compile(rf"\b{_REACH} (?P<target>\d+),? {_FROM}:? {_LIST}"),
    re.compile(
        rf"\b(?:use|using|with|from|usando|com):? {_LIST},? (?:to |para |e |and )?{_REACH} (?P<target>\d+)"
    ),
)
_ANY_WILL_DO = ("reach", "countdown", "chegue", "chegar", "alcan")
_CONDITION = re.compile(
    r"\d|\b(?:without|except|not|never|sem|exceto|nao|nunca"
    r"|(?:only|apenas|somente) (?:add|sub|mul|div|som|adi))"
)
"""What would make it another puzzle than the one that is solved here."""
_OTHER_DAYS = re.compile(r"\d|\b(?:business|working|work|weekdays|inclu|holidays|uteis|feriados)")
_ASKS_WEEKDAY = re.compile(
    r"day of the week|weekday|(?:what|which) day|dia da semana|(?:que|qual) dia",
)
_DAYS = r"(?P<days>\d+) (?P<unit>days?|dias?|weeks?|semanas?)"
_DAYS_AWAY = re.compile(rf"{_DAYS} (?:(?P<back>before|antes)|after|from|later|depois|apos|a partir)\b")
_PLUS_DAYS = re.compile(rf"\s*(?:\+|plus|mais|(?P<back>-|−|minus|menos)) ?{_DAYS}")
_AMOUNT = r"(?P<amount>[-−]?\d[\d.,]*)"
_UNIT = r"[^\d\s?!,;][^\d?!,;]*?"
_CONVERSIONS = (
    re.compile(
        rf"(?:\D*? )?{_AMOUNT} ?(?P<source>{_UNIT}) (?:to|in|into|em|para) (?P<target>{_UNIT})[?.! ]*"
    ),
    re.compile(
        rf"(?:how many|quant[ao]s) (?P<target>{_UNIT}) (?:is|are|are there in|are in|in|sao|ha em|tem|em) "
        rf"{_AMOUNT} ?(?P<source>{_UNIT})[?.! ]*"
    ),
)
_ASKS_VALUE = re.compile(
    r"(?:please )?(?:how much is|what is|what's|calculate|compute|evaluate|solve"
    r"|quanto (?:e|da|sao)|calcule|calcular|resolva)[: ]+(.+?)[?=. ]*"
)
_SIGN_WORDS = (
    (r"\b(?:plus|mais)\b|＋", "+"),
    (r"\b(?:minus|menos)\b|[−–]", "-"),
    (r"\b(?:times|multiplied by|vezes|multiplicado por)\b|[×·]|(?<=[\d) ])x(?=[\d( ])|\*", "*"),
    (r"\b(?:divided by|over|dividido por|sobre)\b|[÷:]", "/"),
    (r"\*\s*\*|\bto the power of\b|\belevado a\b", "^"),
)
_ARITHMETIC = re.compile(r"(?=.*\d)(?=.*[-+*/^])[\d.+\-*/^() ]+")


def parse(text: str) -> ParsedQuestion:
    """Parses a question, whatever it is."""
    text = text.strip()
    language = detect_language(text[:MAX_QUESTION_CHARACTERS])
    if len(text) <= MAX_TASK_CHARACTERS and (match := _ANSWER_CHECK.fullmatch(text)):
        return ParsedQuestion(language, AnswerCheck(match[1].strip(), match[2].strip()))
    try:
        return ParsedQuestion(language, _puzzle(text, language) or NotUnderstood())
    except Unsolvable as error:
        return ParsedQuestion(language, Malformed(error.reason, error.text, error.limit))


def _puzzle(text: str, language: Language) -> Puzzle | None:
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise Unsolvable("too_long", limit=MAX_QUESTION_CHARACTERS)
    normalized = normalize(text)
    return (
        parse_island(text)
        or _number_puzzle(normalized)
        or _date_puzzle(normalized, language)
        or _conversion(normalized, language)
        or _calculation(normalized, language)
    )


def _number_puzzle(text: str) -> NumberPuzzle | None:
    for pattern in _NUMBER_PUZZLES:
        match = pattern.search(text)
        if match and not _CONDITION.search(text[: match.start()] + " " + text[match.end() :]):
            all_used = not match["reach"].startswith(_ANY_WILL_DO) and "countdown" not in text
            return _bounded_puzzle(match["target"], re.findall(r"\d+", match["numbers"]), all_used)
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


def _date_puzzle(text: str, language: Language) -> DaysBetween | WeekdayOf | DaysAway | None:
    days = read_dates(text, language)
    rest = DATE.sub("#", text)
    if len(days) == 2 and re.search(r"\b(?:days|dias)\b", rest) and not _OTHER_DAYS.search(rest):
        return DaysBetween(*days)
    if len(days) != 1:
        return None
    if _ASKS_WEEKDAY.search(rest) and not re.search(r"\d", rest):
        return WeekdayOf(days[0])
    return _days_away(rest, days[0])


def _days_away(text: str, day: date) -> DaysAway | None:
    match = _DAYS_AWAY.search(text) or _PLUS_DAYS.match(text.partition("#")[2])
    if not match or len(re.findall(r"\d+", text)) != 1:
        return None
    days = int(match["days"][:12]) * (7 if match["unit"].startswith(("week", "semana")) else 1)
    days = -days if match["back"] else days
    try:
        day + timedelta(days)
    except OverflowError:
        raise Unsolvable("out_of_calendar") from None
    return DaysAway(day, days)


def _conversion(text: str, language: Language) -> Conversion | None:
    for pattern in _CONVERSIONS:
        if (match := pattern.fullmatch(text)) and (conversion := _bounded_conversion(match, language)):
            return conversion
    return None


def _bounded_conversion(match: re.Match[str], language: Language) -> Conversion | None:
    amount = plain_number(match["amount"][:MAX_AMOUNT_CHARACTERS], language)
    source_name, target_name = (
        match[side].strip().removeprefix("degrees ").removeprefix("graus ") for side in ("source", "target")
    )
    source, target = UNITS.get(source_name), UNITS.get(target_name)
    if amount is None or (source is None and target is None):
        return None
    if len(match["amount"]) > MAX_AMOUNT_CHARACTERS:
        raise Unsolvable("long_amount", limit=MAX_AMOUNT_CHARACTERS)
    if source is None or target is None:
        raise Unsolvable("unknown_unit", source_name if source is None else target_name)
    if source.dimension != target.dimension:
        raise Unsolvable("unlike_units", f"{source_name} / {target_name}")
    if source.dimension == "temperature" and source.to_reference(Fraction(amount)) < ABSOLUTE_ZERO:
        raise Unsolvable("too_cold")
    return Conversion(Fraction(amount), source, target)


def _calculation(text: str, language: Language) -> Calculation | None:
    if DATE.search(text):
        return None  # 2026-11-15 is no subtraction
    match = _ASKS_VALUE.fullmatch(text)
    expression = match[1] if match else text.rstrip("=?. ")
    expression = re.sub(
        r"\d[\d.,]*(?<=\d)", lambda number: plain_number(number[0], language) or number[0], expression
    )
    for words, sign in _SIGN_WORDS:
        expression = re.sub(words, sign, expression)
    expression = " ".join(expression.split())
    if not _ARITHMETIC.fullmatch(expression):
        return None
    if len(expression) > MAX_EXPRESSION_CHARACTERS:
        raise Unsolvable("long_sum", limit=MAX_EXPRESSION_CHARACTERS)
    return Calculation(expression)

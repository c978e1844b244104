"""From a question in English or Portuguese to what is asked. What is no such question is not guessed at."""

import re
from datetime import date, timedelta
from fractions import Fraction

from thinkaloud.builtin.arithmetic import LONGEST
from thinkaloud.builtin.calendar_words import DATE, Unclear, read_date
from thinkaloud.builtin.island import read_island
from thinkaloud.builtin.language import Language, figures, language_of, plain, read_number
from thinkaloud.builtin.questions import (
    Asked,
    Calculation,
    Checking,
    Conversion,
    DaysAway,
    DaysBetween,
    Heard,
    Malformed,
    NotUnderstood,
    NumberPuzzle,
    WeekdayOf,
)
from thinkaloud.builtin.units import UNITS

LONGEST_QUESTION = 2000
LONGEST_TASK = 8000
"""Characters of a question and an answer to be checked."""
MOST_NUMBERS_ALL_USED = 5
MOST_NUMBERS = 6
LARGEST_NUMBER = 10_000
LARGEST_TARGET = 1_000_000
LARGEST_AMOUNT_DIGITS = 30
ABSOLUTE_ZERO = Fraction("-273.15")

_CHECKING = re.compile(
    r"(?:check|confira)\b[^\n]*\n(?:question|pergunta): ?(.*)\n(?:answer|resposta): ?(.*)",
    re.I | re.S,
)
_REACH = (
    r"(?P<reach>make|get|form|obtain|reach|countdown:?"
    r"|faca|forme|obtenha|consiga|chegue a|chegar a|alcance|alcancar)"
)
_FROM = r"(?:from|with|using|out of|by using|com|usando|a partir de|de)"
_LIST = r"(?:the numbers |os numeros )?(?P<numbers>\d+(?:(?:, ?|; ?| )(?:and |e )?\d+)*)"
_REACHING = (
    re.compile(rf"\b{_REACH} (?P<target>\d+),? {_FROM}:? {_LIST}"),
    re.compile(
        rf"\b(?:use|using|with|from|usando|com):? {_LIST},? (?:to |para |e |and )?{_REACH} (?P<target>\d+)"
    ),
)
_ANY_WILL_DO = ("reach", "countdown", "chegue", "chegar", "alcan")
_CONDITION = re.compile(
    r"\b(?:without|except|not|never|sem|exceto|nao|nunca|(?:only|apenas|somente) (?:add|sub|mul|div|som|adi))"
)
"""What would make it another puzzle than the one that is solved here."""
_OTHER_DAYS = re.compile(r"\d|\b(?:business|working|work|weekdays|inclu|holidays|uteis|feriados)")
_AWAY = re.compile(
    r"(?P<days>\d+) (?P<unit>days?|dias?|weeks?|semanas?)"
    r" (?:(?P<back>before|antes)|after|from|later|depois|apos|a partir)\b"
)
_PLUS_DAYS = re.compile(
    r"\s*(?:\+|plus|mais|(?P<back>-|−|minus|menos)) ?(?P<days>\d+) (?P<unit>days?|dias?|weeks?|semanas?)"
)
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
_SPOKEN_SIGNS = (
    (r"\b(?:plus|mais)\b|＋", "+"),
    (r"\b(?:minus|menos)\b|[−–]", "-"),
    (r"\b(?:times|multiplied by|vezes|multiplicado por)\b|[×·]|(?<=[\d) ])x(?=[\d( ])|\*", "*"),
    (r"\b(?:divided by|over|dividido por|sobre)\b|[÷:]", "/"),
    (r"\*\s*\*|\bto the power of\b|\belevado a\b", "^"),
)
_ARITHMETIC = re.compile(r"[\d.+\-*/^() ]+")


def understand(text: str) -> Heard:
    """What is asked, and in which language."""
    text = text.strip()
    language = language_of(text[:LONGEST_QUESTION])
    if len(text) <= LONGEST_TASK and (checking := _CHECKING.fullmatch(text)):
        return Heard(language, Checking(checking[1].strip(), checking[2].strip()))
    if len(text) > LONGEST_QUESTION:
        return Heard(language, Malformed("too_long", limit=LONGEST_QUESTION))
    return Heard(language, _understood(text, language))


def _understood(text: str, language: Language) -> Asked:
    said = plain(text)
    for asked in (
        read_island(text),
        _numbers(said),
        _dates(said, language),
        _conversion(said, language),
        _calculation(said, language),
    ):
        if asked is not None:
            return asked
    return NotUnderstood()


def _numbers(said: str) -> Asked | None:
    for pattern in _REACHING:
        found = pattern.search(said)
        around = said[: found.start()] + " " + said[found.end() :] if found else ""
        if found and not re.search(r"\d", around) and not _CONDITION.search(around):
            any_will_do = found["reach"].startswith(_ANY_WILL_DO) or "countdown" in said
            return _puzzle(found["target"], re.findall(r"\d+", found["numbers"]), not any_will_do)
    return None


def _puzzle(target: str, numbers: list[str], all_used: bool) -> NumberPuzzle | Malformed:
    most = MOST_NUMBERS_ALL_USED if all_used else MOST_NUMBERS
    if len(numbers) > most:
        return Malformed("many_numbers_all_used" if all_used else "many_numbers", str(len(numbers)), most)
    largest = max(numbers, key=_size)
    if _size(largest) > _size(str(LARGEST_NUMBER)):
        return Malformed("large_number", largest[:40], LARGEST_NUMBER)
    if _size(target) > _size(str(LARGEST_TARGET)):
        return Malformed("large_target", target[:40], LARGEST_TARGET)
    if not all_used and (int(target) == 0 or any(int(number) == 0 for number in numbers)):
        return Malformed("zero")
    return NumberPuzzle(int(target), tuple(map(int, numbers)), all_used)


def _size(digits: str) -> tuple[int, str]:
    """Orders numbers by their digits, so that one of a thousand digits is never read."""
    bare = digits.lstrip("0")
    return len(bare), bare


def _dates(said: str, language: Language) -> Asked | None:
    found = list(DATE.finditer(said))
    if not found:
        return None
    try:
        days = [read_date(one[0], language) for one in found]
    except Unclear as unclear:
        return Malformed(unclear.why, unclear.said)
    around = DATE.sub("#", said)
    if len(days) == 2 and re.search(r"\b(?:days|dias)\b", around) and not _OTHER_DAYS.search(around):
        return DaysBetween(*days)
    if len(days) == 1:
        return _away(around, days[0]) or _weekday(around, days[0])
    return None


def _weekday(around: str, day: date) -> WeekdayOf | None:
    asks = re.search(r"day of the week|weekday|(?:what|which) day|dia da semana|(?:que|qual) dia", around)
    return WeekdayOf(day) if asks and not re.search(r"\d", around) else None


def _away(around: str, day: date) -> DaysAway | Malformed | None:
    found = _AWAY.search(around) or _PLUS_DAYS.match(around.partition("#")[2])
    if not found or len(re.findall(r"\d+", around)) != 1:
        return None
    days = int(found["days"][:12]) * (7 if found["unit"].startswith(("week", "semana")) else 1)
    days = -days if found["back"] else days
    try:
        day + timedelta(days)
    except OverflowError:
        return Malformed("out_of_calendar")
    return DaysAway(day, days)


def _conversion(said: str, language: Language) -> Asked | None:
    for pattern in _CONVERSIONS:
        found = pattern.fullmatch(said)
        if not found:
            continue
        amount = read_number(found["amount"][:LARGEST_AMOUNT_DIGITS], language)
        names = [
            found[side].strip().removeprefix("degrees ").removeprefix("graus ")
            for side in ("source", "target")
        ]
        source, target = (UNITS.get(name) for name in names)
        if amount is None or (source is None and target is None):
            continue
        if len(found["amount"]) > LARGEST_AMOUNT_DIGITS:
            return Malformed("long_amount", limit=LARGEST_AMOUNT_DIGITS)
        if source is None or target is None:
            return Malformed("unknown_unit", names[0] if source is None else names[1])
        if source.dimension != target.dimension:
            return Malformed("unlike_units", f"{names[0]} / {names[1]}")
        conversion = Conversion(amount, source, target)
        too_cold = source.dimension == "temperature" and source.to_first(amount) < ABSOLUTE_ZERO
        return Malformed("too_cold") if too_cold else conversion
    return None


def _calculation(said: str, language: Language) -> Asked | None:
    if DATE.search(said):
        return None  # 2026-11-15 is no subtraction
    asks = _ASKS_VALUE.fullmatch(said)
    words = asks[1] if asks else said.rstrip("=?. ")
    words = re.sub(r"\d[\d.,]*(?<=\d)", lambda found: figures(found[0], language) or found[0], words)
    for spoken, sign in _SPOKEN_SIGNS:
        words = re.sub(spoken, sign, words)
    words = " ".join(words.split())
    if not _ARITHMETIC.fullmatch(words) or not re.search(r"\d", words) or not re.search(r"[-+*/^]", words):
        return None
    return Malformed("long_sum", limit=LONGEST) if len(words) > LONGEST else Calculation(words)

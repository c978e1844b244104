"""Word problems: sentences of a known form, and things that come and go.

Every number and every part of a question must be understood, or it is not answered. A word with a stroke,
such as "hour/hours", has a singular and a plural: the answer takes the one for its value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

import msgspec

from thinkaloud.builtin.arithmetic import Calculated, calculate, evaluate
from thinkaloud.builtin.puzzle import Conclusion, GivenAnswer, Reading, Verdict, calculated_lines
from thinkaloud.builtin.readings import asked_value, plain_numbers
from thinkaloud.builtin.words import (
    Language,
    Unsolvable,
    bracketed,
    exact_text,
    normalize,
    number_text,
    phrase,
    value_text,
)
from thinkaloud.builtin.words.forms import FORMS, Form
from thinkaloud.builtin.words.units import UNITS
from thinkaloud.builtin.words.vocabulary import CHANGE_VERBS

MAX_STORY_CHARACTERS = 400
MAX_STORY_DIGITS = 15
MAX_CHANGES = 6

_NUMBER = r"\d+(?:\.\d+)?"
_WORDS = r"[a-z'-]+(?: [a-z'-]+){0,2}?"
_PLACE = re.compile(r"([#@~&])(\w+)")
_CURRENCY = re.compile(
    r"(r\$|us\$|\$|€|£) ?(?=\d)|(?<=\d) ?(dollars?|euros?|reais|bucks|usd|brl|€|£)(?![a-z])"
)
_SIGNS = {"r$": "R$ ", "reais": "R$ ", "brl": "R$ ", "€": "€", "euro": "€", "euros": "€", "£": "£"}
_OPENING = re.compile(r"(?:(?:if|suppose|imagine|say|se|suponha que|imagine que|hey|please|por favor),? )*")
_DIMENSIONS = {"length": "length", "duration": "time", "rate": "speed", "own_rate": "speed"}
"""What the units of a form measure."""
_LENGTH_PER_TIME = {
    "kilometer per hour": ("kilometer", "hour"),
    "meter per second": ("meter", "second"),
    "mile per hour": ("mile", "hour"),
    "knot": ("nautical mile", "hour"),
    "foot per second": ("foot", "second"),
}


class WordProblem(msgspec.Struct, frozen=True):
    """The puzzle: a form with the numbers and words of a question."""

    form: Form
    numbers: Mapping[str, Fraction]
    words: Mapping[str, str]

    def steps(self) -> Iterator[Calculated]:
        """Calculates one expression after the other; the last value is the answer."""
        values = dict(self.numbers)
        for label, template in self.form.steps:
            expression = _filled(template, values)
            values[label] = _value(expression)
            yield Calculated(label, expression, values[label])
        if self.form.least is not None and values[label] < self.form.least:
            raise Unsolvable("story_makes_no_sense", exact_text(values[label]))

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        return calculated_lines(trace, language, **self._fields(language))

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        value = Fraction(trace[-1].value)
        text = value_text(value, language)
        fields = {
            **self._fields(language, value),
            "value": text,
            "money": self.words.get("currency", "") + text,
        }
        answer = phrase(language, f"answer.{self.form.name}", **fields)
        return Conclusion(answer, trace[-1].expression, value)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Solves the equation of the form: it is linear, so two values of it are enough."""
        at_zero = self._difference(Fraction(0))
        at_one = self._difference(Fraction(1))
        return answer.expect_value(at_zero / (at_zero - at_one))

    def _difference(self, value: Fraction) -> Fraction:
        values = {**self.numbers, "answer": value}
        left, right = (evaluate(_filled(side, values))[-1] for side in self.form.equation)
        return left - right

    def _fields(self, language: Language, value: Fraction | None = None) -> dict[str, object]:
        """Returns what fills in the phrases; words that have both are in the number of the value."""
        words = {name: _numbered(text, value) for name, text in self.words.items()}
        numbers = {name: number_text(number, language) for name, number in self.numbers.items()}
        return {**words, **numbers}


def _numbered(words: str, value: Fraction | None) -> str:
    """Returns the singular or the plural of words that have both."""
    singular, _, plural = words.partition("/")
    return singular if value == 1 else plural or singular


def _filled(template: str, values: Mapping[str, Fraction]) -> str:
    return template.format(**{name: bracketed(exact_text(value)) for name, value in values.items()})


def _value(expression: str) -> Fraction:
    steps = calculate(expression)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return Fraction(end.value)


def recognise(reading: Reading) -> WordProblem | None:
    """Recognises a question that has the form of a word problem."""
    story = _story_text(reading)
    for form in FORMS:
        for pattern in form.patterns:
            if match := _compiled(pattern).fullmatch(story):
                return _problem(form, match, reading)
    return None


def _story_text(reading: Reading) -> str:
    """Returns the question with plain numbers, without currencies, its sentences separated by commas."""
    if len(reading.normalized) > MAX_STORY_CHARACTERS:
        return ""
    text = plain_numbers(asked_value(reading.normalized), reading.language)
    text = re.sub(r"[.;:!?]+(?=\s|$)", ",", _CURRENCY.sub("", text))
    text = re.sub(r"[\"“”()]", "", re.sub(r"\s*,[\s,]*", ", ", text))
    return _OPENING.sub("", " ".join(text.split()).strip(", "), count=1)


def _currency(text: str) -> str:
    match = _CURRENCY.search(text)
    written = (match[1] or match[2]) if match else ""
    return _SIGNS.get(written, "$") if written else ""


def _problem(form: Form, match: re.Match[str], reading: Reading) -> WordProblem:
    """Takes the numbers and words of a question, the words as they were written."""
    written = {normalize(word): word for word in re.findall(r"[^\W\d_]+", reading.text)}
    numbers: dict[str, Fraction] = {}
    words = {"currency": _currency(reading.normalized)}
    for name, text in match.groupdict().items():
        if text is None:
            continue
        if not text[0].isdigit():
            words[name] = " ".join(written.get(word, word) for word in text.split())
        elif len(text) > MAX_STORY_DIGITS:
            raise Unsolvable("long_amount", limit=MAX_STORY_DIGITS)
        else:
            numbers[name] = Fraction(text)
    return WordProblem(form, numbers, {**words, **_unit_names(words, reading.language)})


def _unit_names(words: Mapping[str, str], language: Language) -> dict[str, str]:
    """Returns the names of the units. Raises `Unsolvable` where a speed is in other units than the rest."""
    units = {name: UNITS[normalize(text)] for name, text in words.items() if name in _DIMENSIONS}
    if "rate" in units:
        fitting = _LENGTH_PER_TIME[units["rate"].english.partition("/")[0]]
        expected = dict(zip(("length", "duration"), map(UNITS.__getitem__, fitting), strict=True))
        expected["own_rate"] = units["rate"]
        for name, unit in expected.items():
            if units.setdefault(name, unit) != unit:
                raise Unsolvable("mixed_units", f"{words[name]}, {words['rate']}")
    names = {name: unit.names(language) for name, unit in units.items()}
    if "duration" in units:
        names["per"] = units["duration"].name(language, Fraction(1))
    return names


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    seen: set[str] = set()

    def place(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        again = name in seen
        seen.add(name)
        if kind == "#":
            return rf"(?P<{name}>{_NUMBER})"
        if kind == "&":
            return rf"(?P<{name}>{_unit_pattern(_DIMENSIONS[name])})"
        if kind == "~":
            return rf"(?P<{name}_again>(?P={name})(?:e?s)?)" if again else rf"(?P<{name}>[a-z'-]+?)(?:e?s)?"
        return rf"(?P={name})" if again else rf"(?P<{name}>{_WORDS})"

    return re.compile(_PLACE.sub(place, pattern))


@cache
def _unit_pattern(dimension: str) -> str:
    """Returns a pattern of all spellings of the units of a dimension, the longest first."""
    spellings = [name for name, unit in UNITS.items() if unit.dimension == dimension]
    return "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))


_CLAUSE_END = re.compile(r", | and (?=(?:\w+ )?(?:\w+ )?\d)| e (?=(?:\w+ )?\d)")
_START = re.compile(
    r"(?:there (?:are|were)|(?:[a-z]+ )?(?:have|has|had|tinha|tenho|tem|havia|ha)) "
    r"(?P<number>\d+) (?P<thing>[a-z'-]+)"
)
_CHANGE = re.compile(
    r"(?:(?:then|and|depois|e) )*(?:[a-z]+ )?(?:then |depois )?(?P<verb>"
    rf"{'|'.join(CHANGE_VERBS)}) (?:away |me )?(?P<number>\d+)(?: more| mais)?(?P<rest>(?: [a-z'-]+)*)"
)
_HOW_MANY = re.compile(
    r"how many(?: (?P<thing>[a-z'-]+))? (?:are (?:left|there)(?: now)?|have i got(?: left)?|remain"
    r"|(?:do|does|did) [a-z]+ (?:still )?have(?: left| now)?)"
    r"|(?:com )?quant[ao]s(?: (?P<coisa>[a-z'-]+))? (?:sobram|sobraram|restam"
    r"|(?:eu |ele |ela )?(?:tenho|tem|fico|ficou|fica|fiquei)(?: [a-z]+)?(?: agora| ainda)?"
    r"|[a-z]+ (?:tem|fica|ficou)(?: agora)?)"
)
_OTHER_QUANTITY = re.compile(
    r"\b(?:each|every|per|times|half|twice|all|dozen|cada|vezes|metade|dobro|todos|duzia)\b"
)
_AFTER_NUMBER = {"to", "of", "for", "from", "away", "para", "pra", "ao", "a", "deles", "delas", "de", "por"}


class Stock(msgspec.Struct, frozen=True):
    """The puzzle: how many there are after things came and went."""

    thing: str
    start: int
    changes: tuple[int, ...]

    def steps(self) -> Iterator[Calculated]:
        """Adds or subtracts one change after the other. Raises `Unsolvable` where too many are taken."""
        count = self.start
        for change in self.changes:
            label = "gained" if change > 0 else "lost"
            yield Calculated(label, f"{count} {_signed(change)}", count + change)
            count += change
            if count < 0:
                raise Unsolvable("story_makes_no_sense", exact_text(count))

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        yield phrase(language, "think.stock", n=self.start, thing=self.thing)
        yield from calculated_lines(trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        value = Fraction(trace[-1].value)
        key, thing = ("stock_one", self.thing.rstrip("s")) if value == 1 else ("stock", self.thing)
        answer = phrase(language, f"answer.{key}", value=number_text(value, language), thing=thing)
        return Conclusion(answer, " ".join([str(self.start), *map(_signed, self.changes)]), value)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Adds up everything that came, and subtracts everything that went."""
        gained = sum(change for change in self.changes if change > 0)
        lost = -sum(change for change in self.changes if change < 0)
        return answer.expect_value(Fraction(self.start + gained - lost))


def _signed(change: int) -> str:
    return f"+ {change}" if change > 0 else f"- {-change}"


def recognise_stock(reading: Reading) -> Stock | None:
    """Recognises a beginning, changes by known verbs, and a question; every clause must be understood."""
    story = _story_text(reading)
    clauses = [clause for clause in _CLAUSE_END.split(story) if clause]
    if _OTHER_QUANTITY.search(story) or not 3 <= len(clauses) <= MAX_CHANGES + 2:
        return None
    start = _START.fullmatch(clauses[0])
    question = _HOW_MANY.fullmatch(clauses[-1])
    if not start or not question:
        return None
    changes = []
    for clause in clauses[1:-1]:
        change = _CHANGE.fullmatch(clause)
        if change is None or not _same_thing(change["rest"], start["thing"]):
            return None
        changes.append(CHANGE_VERBS[change["verb"]] * _count(change["number"]))
    asked = question["thing"] or question["coisa"] or start["thing"]
    if asked.rstrip("s") != start["thing"].rstrip("s"):
        return None
    return Stock(start["thing"], _count(start["number"]), tuple(changes))


def _count(digits: str) -> int:
    if len(digits) > MAX_STORY_DIGITS:
        raise Unsolvable("long_amount", limit=MAX_STORY_DIGITS)
    return int(digits)


def _same_thing(rest: str, thing: str) -> bool:
    """Tells whether what follows a number is about the same thing: "5", "5 apples" or "5 to Ana"."""
    words = rest.split()
    return not words or words[0].rstrip("s") == thing.rstrip("s") or words[0] in _AFTER_NUMBER

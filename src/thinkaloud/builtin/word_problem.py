"""Word problems: forms of sentences with numbers in them, and the calculation that each form asks for.

A form matches a whole question or nothing, so that no number and no condition is overlooked. Its pattern is a
regular expression with these additions: `#name` is a number, `@name` one to three words, `~name` a noun in
the singular or the plural.

A name that was used before stands for the same words again; a noun is then also known as `name_again`. A word
with a stroke, such as "hour/hours", has a singular and a plural: the answer takes the one for its value.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import Calculated, calculate, evaluate
from thinkaloud.builtin.asked import asked_value, plain_numbers
from thinkaloud.builtin.narrate import calculated_lines, number_text, value_text
from thinkaloud.builtin.question import Conclusion, Reading, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, exact_text, normalize, phrase

MAX_STORY_CHARACTERS = 400
MAX_STORY_DIGITS = 15

_NUMBER = r"\d+(?:\.\d+)?"
_WORDS = r"[a-z'-]+(?: [a-z'-]+){0,2}?"
_PLACE = re.compile(r"([#@~])(\w+)")
_CURRENCY = re.compile(
    r"(r\$|us\$|\$|€|£) ?(?=\d)|(?<=\d) ?(dollars?|euros?|reais|bucks|usd|brl|€|£)(?![a-z])"
)
_SIGNS = {"r$": "R$ ", "reais": "R$ ", "brl": "R$ ", "€": "€", "euro": "€", "euros": "€", "£": "£"}
_OPENING = re.compile(r"(?:(?:if|suppose|imagine|say|se|suponha que|imagine que|hey|please|por favor),? )*")


class Form(msgspec.Struct, frozen=True):
    """One form of word problem. `name` is the key of its answer, the labels of its steps those of theirs.

    The expressions use the numbers of the question and the values of earlier steps by name. The equation is
    linear in `answer` and holds for the right one.
    """

    name: str
    patterns: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    equation: tuple[str, str]
    least: int | None = 0
    """No answer below this makes sense; None where any does."""


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
        """Writes what is given, and each calculation with what it stands for."""
        yield from calculated_lines(trace, language, **self._fields(language))

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes the last value in a sentence."""
        value = Fraction(trace[-1].value)
        text = value_text(value, language)
        words = {name: _numbered(words, value) for name, words in self.words.items()}
        money = self.words.get("currency", "") + text
        fields = {**self._fields(language), **words, "value": text, "money": money}
        answer = phrase(language, f"answer.{self.form.name}", **fields)
        return Conclusion(answer, trace[-1].expression, value)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Solves the equation of the form: it is linear, so two values of it are enough."""
        at_zero, at_one = (self._difference(Fraction(value)) for value in (0, 1))
        return answer.expect_value(at_zero / (at_zero - at_one))

    def _difference(self, value: Fraction) -> Fraction:
        left, right = (
            evaluate(_filled(side, {**self.numbers, "answer": value}))[-1] for side in self.form.equation
        )
        return left - right

    def _fields(self, language: Language) -> dict[str, object]:
        numbers = {name: number_text(number, language) for name, number in self.numbers.items()}
        return {**{name: _numbered(words) for name, words in self.words.items()}, **numbers}


def _numbered(words: str, value: Fraction | None = None) -> str:
    """Returns the singular or the plural of words that have both."""
    singular, _, plural = words.partition("/")
    return singular if value == 1 else plural or singular


def _filled(template: str, values: Mapping[str, Fraction]) -> str:
    return template.format(**{name: _operand(value) for name, value in values.items()})


def _operand(value: Fraction) -> str:
    text = exact_text(value)
    return f"({text})" if value < 0 or "/" in text else text


def _value(expression: str) -> Fraction:
    steps = calculate(expression)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return Fraction(end.value)


def recogniser(*forms: Form) -> Callable[[Reading], WordProblem | None]:
    """Returns the function that recognises these forms."""

    def recognise(reading: Reading) -> WordProblem | None:
        story = story_text(reading)
        for form in forms:
            for pattern in form.patterns:
                if match := _compiled(pattern).fullmatch(story):
                    return _problem(form, match, reading)
        return None

    return recognise


def story_text(reading: Reading) -> str:
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
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    numbers = {name: text for name, text in groups.items() if text[0].isdigit()}
    if any(len(text) > MAX_STORY_DIGITS for text in numbers.values()):
        raise Unsolvable("long_amount", limit=MAX_STORY_DIGITS)
    written = {normalize(word): word for word in re.findall(r"[^\W\d_]+", reading.text)}
    words = {
        name: " ".join(written.get(word, word) for word in text.split())
        for name, text in groups.items()
        if name not in numbers
    }
    words["currency"] = _currency(reading.normalized)
    return WordProblem(form, {name: Fraction(text) for name, text in numbers.items()}, words)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    seen: set[str] = set()

    def place(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        again = name in seen
        seen.add(name)
        if kind == "#":
            return rf"(?P<{name}>{_NUMBER})"
        if kind == "~":
            return rf"(?P<{name}_again>(?P={name})(?:e?s)?)" if again else rf"(?P<{name}>[a-z'-]+?)(?:e?s)?"
        return rf"(?P={name})" if again else rf"(?P<{name}>{_WORDS})"

    return re.compile(_PLACE.sub(place, pattern))

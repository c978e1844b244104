"""The skills of the solver, in the order in which they are tried: the first that recognises has it."""

import re

from thinkaloud.builtin.question import Puzzle, Reading, Skill
from thinkaloud.builtin.skills.ages import AGES
from thinkaloud.builtin.skills.calculation import CALCULATION
from thinkaloud.builtin.skills.compare import COMPARE
from thinkaloud.builtin.skills.connect import CONNECT
from thinkaloud.builtin.skills.conversion import CONVERSION
from thinkaloud.builtin.skills.dates import DAYS_BETWEEN, WEEKDAYS
from thinkaloud.builtin.skills.knights import KNIGHTS
from thinkaloud.builtin.skills.letters import LETTERS
from thinkaloud.builtin.skills.number_puzzle import ALL_NUMBERS, COUNTDOWN
from thinkaloud.builtin.skills.percent import PERCENT
from thinkaloud.builtin.skills.prices import PRICES
from thinkaloud.builtin.skills.primes import PRIMES
from thinkaloud.builtin.skills.rates import RATES
from thinkaloud.builtin.skills.root import ROOT
from thinkaloud.builtin.skills.stock import STOCK
from thinkaloud.builtin.skills.talk import TALK
from thinkaloud.builtin.words import Language, normalize

SKILLS: tuple[Skill, ...] = (
    TALK,
    ALL_NUMBERS,
    COUNTDOWN,
    KNIGHTS,
    DAYS_BETWEEN,
    WEEKDAYS,
    PERCENT,
    ROOT,
    PRIMES,
    COMPARE,
    LETTERS,
    RATES,
    PRICES,
    AGES,
    STOCK,
    CONVERSION,
    CALCULATION,
    CONNECT,
)


_WORD = re.compile(r"[a-z]{3,}")
_ENGLISH = "what which how when who why where many much more each have has the and for with are was"
_PORTUGUESE = "que qual quais como quando quem onde quanto quantos quantas mais cada com para uma dos das tem"
_QUESTION_WORDS = frozenset(f"{_ENGLISH} {_PORTUGUESE}".split())
"""Say that something is asked, and not which kind of thing."""


def recognise(reading: Reading) -> Puzzle | None:
    """Returns what the first skill makes of a question; None if no skill recognises it."""
    functions = dict.fromkeys(skill.recognise for skill in SKILLS)
    return next((puzzle for function in functions if (puzzle := function(reading)) is not None), None)


def all_examples(language: Language) -> str:
    """Writes one example of every skill, as a list."""
    return _listed([skill.examples[language] for skill in SKILLS if skill.examples])


def three_examples(language: Language) -> str:
    """Writes three examples to begin with, as a list."""
    return _listed([skill.examples[language] for skill in (ALL_NUMBERS, KNIGHTS, CONNECT)])


def fitting_examples(text: str, language: Language) -> str:
    """Writes three examples for a text that no skill recognises, as a list.

    Kinds of question that share words with the text come first, then a sum if it has a number. A text that
    is like none of them is for a real model, so that comes first.
    """
    typed = frozenset(_WORD.findall(normalize(text))) - _QUESTION_WORDS

    def shared_words(skill: Skill) -> int:
        known = f"{skill.words} {normalize(skill.examples[language])}"
        return len(typed.intersection(_WORD.findall(known)))

    suggested = [skill for skill in SKILLS if skill.examples]
    closest = sorted(suggested, key=shared_words, reverse=True)[:2]
    fitting = [skill for skill in closest if shared_words(skill)]
    if any(letter.isdigit() for letter in text):
        fitting.append(CALCULATION)
    offered = (*fitting[:2], CONNECT, ALL_NUMBERS, KNIGHTS)
    return _listed([*dict.fromkeys(skill.examples[language] for skill in offered)][:3])


def _listed(examples: list[str]) -> str:
    return "\n".join(f"- {example}" for example in examples)

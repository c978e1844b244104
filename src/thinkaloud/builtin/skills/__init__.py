"""The skills of the solver, in the order in which they are tried: the first that recognises has it."""

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
from thinkaloud.builtin.words import Language

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


def _listed(examples: list[str]) -> str:
    return "\n".join(f"- {example}" for example in examples)

"""What a skill reads and returns: a reading of a question, a puzzle, its conclusion, and a verdict.

A skill recognises one kind of question and makes a puzzle of it. The puzzle yields the steps of its solution,
writes them as thinking and their result as an answer, and checks an answer by another method than its steps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from thinkaloud.builtin.words import Language, phrase

if TYPE_CHECKING:
    from thinkaloud.builtin.answer import GivenAnswer


class LocalServer(msgspec.Struct, frozen=True):
    """A model server that answers on this machine, and the models that it lists."""

    provider: str
    url: str
    models: tuple[str, ...]


class ProviderKey(msgspec.Struct, frozen=True):
    """A provider that has a key: where it comes from, never the key itself, and a model to ask."""

    provider: str
    source: str
    model: str


class Connections(msgspec.Struct, frozen=True):
    """The real models that could be asked from this machine."""

    servers: tuple[LocalServer, ...] = ()
    keys: tuple[ProviderKey, ...] = ()


class SolverEnvironment(msgspec.Struct, frozen=True):
    """What the solver can look up besides the question: the local time, and which models could be asked."""

    now: Callable[[], datetime] = datetime.now
    connections: Callable[[], Connections] = Connections


class Reading(msgspec.Struct, frozen=True):
    """One way to read a question: the text as it was written, and normalized for matching."""

    text: str
    normalized: str
    language: Language
    environment: SolverEnvironment

    @property
    def today(self) -> date:
        """The present date."""
        return self.environment.now().date()


class Conclusion(msgspec.Struct, frozen=True):
    """An answer in words; a calculator should find `value` for `expression`, where there is one."""

    answer: str
    expression: str = ""
    value: Fraction = Fraction(0)
    known: bool = True


class Verdict(msgspec.Struct, frozen=True):
    """Whether an answer is right, and the reason in the language of the question."""

    right: bool
    reason: str


class Puzzle(Protocol):
    """A question that was recognised. Its trace is the tuple of its steps."""

    def steps(self) -> Iterator[Any]:
        """Solves the puzzle step by step. Raises `Unsolvable`."""

    def narrate(self, trace: Sequence[Any], language: Language) -> Iterator[str]:
        """Writes a trace as thinking, line by line."""

    def conclude(self, trace: Sequence[Any], language: Language) -> Conclusion:
        """Writes the answer that a trace leads to."""

    def check(self, answer: "GivenAnswer") -> Verdict:
        """Checks an answer by another method than `steps`."""


class Skill(msgspec.Struct, frozen=True):
    """One kind of question. `recognise` returns None for any other kind, and raises `Unsolvable`."""

    name: str
    recognise: Callable[[Reading], Puzzle | None]
    examples: Mapping[Language, str]
    """A question of this kind in each language; empty if it should not be suggested."""
    words: str = ""
    """The words that the skill looks for, in both languages: typing errors are corrected towards them."""


class Remark(msgspec.Struct, frozen=True):
    """A question that needs no calculation: the answer is a phrase. `thought` and `answer` are their keys."""

    thought: str
    answer: str
    values: Mapping[str, object] = {}

    def steps(self) -> Iterator[Any]:
        """There is nothing to solve."""
        return iter(())

    def narrate(self, trace: Sequence[Any], language: Language) -> Iterator[str]:
        """Writes what kind of question it is."""
        yield phrase(language, self.thought, **self.values)

    def conclude(self, trace: Sequence[Any], language: Language) -> Conclusion:
        """Writes the phrase."""
        return Conclusion(phrase(language, self.answer, **self.values), known=False)

    def check(self, answer: "GivenAnswer") -> Verdict:
        """There is nothing to check."""
        return answer.verdict(False, "unreadable")

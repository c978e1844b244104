"""Things that come and go: "I have 12 apples and give 5 to Ana. How many are left?"."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.narrate import calculated_lines, number_text
from thinkaloud.builtin.question import Conclusion, Reading, Skill, Verdict
from thinkaloud.builtin.word_problem import story_text
from thinkaloud.builtin.words import Language, Unsolvable, exact_text, phrase

MAX_CHANGES = 6
_MAX_DIGITS = 9

_MORE = """get gets got find finds found buy buys bought receive receives received pick picks picked win wins
    won collect collects collected make makes made bake bakes baked compra compro comprou comprei ganha ganho
    ganhou ganhei recebe recebo recebeu recebi acha acho achou achei colhe colhi colheu"""
_LESS = """eat eats ate give gives gave lose loses lost sell sells sold use uses used spend spends spent throw
    throws threw drop drops dropped break breaks broke come comi como comeu da dou deu dei perde perco perdeu
    perdi vende vendo vendeu vendi gasta gasto gastou gastei usa uso usou usei"""
_SIGNS = {**dict.fromkeys(_MORE.split(), 1), **dict.fromkeys(_LESS.split(), -1)}
_START = re.compile(
    r"(?:there (?:are|were)|(?:[a-z]+ )?(?:have|has|had|tinha|tenho|tem|havia|ha)) "
    r"(?P<number>\d+) (?P<thing>[a-z'-]+)"
)
_CHANGE = re.compile(
    r"(?:(?:then|and|depois|e) )*(?:(?:i|he|she|we|they|you|eu|ele|ela|[a-z]+) )?(?:then |depois )?"
    rf"(?P<verb>{'|'.join(_SIGNS)}) (?:away |me )?(?P<number>\d+)(?: more| mais)?(?P<rest>(?: [a-z'-]+)*)"
)
_QUESTION = re.compile(
    r"how many(?: (?P<thing>[a-z'-]+))? (?:are (?:left|there)(?: now)?|(?:do|does|did) [a-z]+ (?:still "
    r")?have(?: left| now)?|remain"
    r"|are there now|have i got(?: left)?)|(?:com )?quant[ao]s(?: (?P<coisa>[a-z'-]+))? (?:sobram|sobraram"
    r"|restam|"
    r"(?:eu |ele |ela )?(?:tenho|tem|fico|ficou|fica|fiquei)(?: [a-z]+)?(?: agora| ainda)?|[a-z]+ (?:tem"
    r"|fica|ficou)(?: agora)?)"
)
_OTHER_QUANTITY = re.compile(
    r"\b(?:each|every|per|times|half|twice|all|dozen|cada|vezes|metade|dobro|todos|duzia)\b"
)


class Stock(msgspec.Struct, frozen=True):
    """The puzzle: how many there are after things came and went."""

    thing: str
    start: int
    changes: tuple[int, ...]

    def steps(self) -> Iterator[Calculated]:
        """Adds or subtracts one change after the other. Raises `Unsolvable` where too many are taken."""
        count = self.start
        for change in self.changes:
            sign, label = ("+", "gained") if change > 0 else ("-", "lost")
            yield Calculated(label, f"{count} {sign} {abs(change)}", count + change)
            count += change
            if count < 0:
                raise Unsolvable("story_makes_no_sense", exact_text(count))

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        """Writes the beginning and every change."""
        yield phrase(language, "think.stock", n=self.start, thing=self.thing)
        yield from calculated_lines(trace, language)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        """Writes how many there are."""
        signs = (f"{'+' if change > 0 else '-'} {abs(change)}" for change in self.changes)
        value = Fraction(trace[-1].value)
        key, thing = ("stock_one", self.thing.rstrip("s")) if value == 1 else ("stock", self.thing)
        answer = phrase(language, f"answer.{key}", value=number_text(value, language), thing=thing)
        return Conclusion(answer, " ".join([str(self.start), *signs]), value)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Adds up everything that came, and subtracts everything that went."""
        gained = sum(change for change in self.changes if change > 0)
        lost = -sum(change for change in self.changes if change < 0)
        return answer.expect_value(Fraction(self.start + gained - lost))


def recognise(reading: Reading) -> Stock | None:
    """Recognises a beginning, changes by known verbs, and a question; every clause must be understood."""
    story = story_text(reading)
    if _OTHER_QUANTITY.search(story):
        return None
    *clauses, question = [
        clause for clause in re.split(r", | and (?=(?:\w+ )?(?:\w+ )?\d)| e (?=(?:\w+ )?\d)", story) if clause
    ] or [""]
    asked = _QUESTION.fullmatch(question)
    start = _START.fullmatch(clauses[0]) if clauses else None
    changes = [_CHANGE.fullmatch(clause) for clause in clauses[1:]]
    if not asked or not start or not 1 <= len(changes) <= MAX_CHANGES:
        return None
    numbers = [start["number"]]
    signs = []
    for change in changes:
        if change is None or not _same_thing(change["rest"], start["thing"]):
            return None
        numbers.append(change["number"])
        signs.append(_SIGNS[change["verb"]])
    thing = asked["thing"] or asked["coisa"] or start["thing"]
    if thing.rstrip("s") != start["thing"].rstrip("s"):
        return None
    if any(len(number) > _MAX_DIGITS for number in numbers):
        raise Unsolvable("long_amount", limit=_MAX_DIGITS)
    amounts = [int(number) for number in numbers]
    return Stock(start["thing"], amounts[0], tuple(s * n for s, n in zip(signs, amounts[1:], strict=True)))


def _same_thing(rest: str, thing: str) -> bool:
    """Tells whether what follows a number is about the same thing: "5", "5 apples" or "5 to Ana"."""
    words = rest.split()
    return not words or words[0].rstrip("s") == thing.rstrip("s") or words[0] in _AFTER_NUMBER


_AFTER_NUMBER = {"to", "of", "for", "from", "away", "para", "pra", "ao", "a", "deles", "delas", "de", "por"}

STOCK = Skill(
    "things that come and go",
    recognise,
    {
        Language.EN: "I have 12 apples and give 5 to Ana. How many are left?",
        Language.PT: "Tenho 12 balas e dou 5 para Ana. Quantas sobram?",
    },
    "have give gives left many apples tenho sobram quantas restam",
)

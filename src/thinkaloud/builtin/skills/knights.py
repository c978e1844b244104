"""Knights and knaves: "A says B is a knave. B says we are both knights."."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.island import parse_island
from thinkaloud.builtin.logic import Assumed, Claim, Consistent, Contradicted, Count, Island, LogicStep, Not
from thinkaloud.builtin.question import Conclusion, Reading, Skill, Verdict
from thinkaloud.builtin.words import Language, normalize, phrase

_INDENT = "  "
_UNDECIDED = re.compile(
    r"not settle|cannot be (?:told|decided)|undetermined"
    r"|nao decide|nao (?:se )?pode (?:saber|decidir)|nao da para saber"
)


class KnightsPuzzle(msgspec.Struct, frozen=True):
    """The puzzle: who is a knight and who is a knave, from what they say."""

    island: Island

    def steps(self) -> Iterator[LogicStep]:
        """Searches all arrangements."""
        return self.island.steps()

    def narrate(self, trace: Sequence[LogicStep], language: Language) -> Iterator[str]:
        """Writes what was said, what was assumed, and what contradicted it."""
        statements = self.island.statements
        for statement in statements:
            key = "think.statement" if statement.speaker else "think.fact"
            yield phrase(language, key, person=statement.speaker, text=statement.text)
        for step in trace:
            match step:
                case Assumed(person, knight, depth):
                    kind = phrase(language, "knight" if knight else "knave")
                    yield _INDENT * depth + phrase(language, "think.assume", person=person, kind=kind)
                case Contradicted(index, held, depth):
                    statement = statements[index]
                    key = "knave_truthful" if held else "knight_lying" if statement.speaker else "fact_false"
                    line = phrase(language, f"think.{key}", person=statement.speaker, text=statement.text)
                    yield _INDENT * (depth + 1) + line
                case Consistent(knights):
                    people = self._people(knights, language)
                    yield _INDENT * len(self.island.people) + phrase(
                        language, "think.consistent", people=people
                    )
        fitting = sum(isinstance(step, Consistent) for step in trace)
        key = "think.one_fits" if fitting == 1 else "think.several_fit"
        yield phrase(language, key, n=fitting, people=len(self.island.people))

    def conclude(self, trace: Sequence[LogicStep], language: Language) -> Conclusion:
        """Writes who is what, or what is certain."""
        fitting = [step.knights for step in trace if isinstance(step, Consistent)]
        if not fitting:
            return Conclusion(phrase(language, "answer.contradiction"))
        first = fitting[0]
        if len(fitting) == 1:
            people = self._people(first, language)
            return Conclusion(phrase(language, "answer.people", people=people))
        answer = phrase(language, "answer.undecided", n=len(fitting))
        certain = [
            _kind(person, person in first, language)
            for person in self.island.people
            if len({person in knights for knights in fitting}) == 1
        ]
        if certain:
            answer += " " + phrase(language, "answer.certain", people=", ".join(certain))
        return Conclusion(answer)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Tries every arrangement."""
        fitting = arrangements(self.island)
        claimed = self._claimed_kinds(answer)
        kinds = [{person: person in knights for person in self.island.people} for knights in fitting]
        if _UNDECIDED.search(answer.normalized) and len(fitting) > 1:
            right = all(claimed.items() <= fit.items() for fit in kinds)
        elif answer.impossible:
            right = not fitting
        else:
            right = kinds == [claimed]
        return answer.verdict(right, "arrangements", n=len(fitting))

    def _claimed_kinds(self, answer: GivenAnswer) -> dict[str, bool]:
        """Reads who is what."""
        kinds = {normalize(phrase(answer.language, key)): key == "knight" for key in ("knight", "knave")}
        claimed = {}
        for person in self.island.people:
            pattern = rf"\b{re.escape(normalize(person))} (?:is|e) ({'|'.join(kinds)})\b"
            if match := re.search(pattern, answer.normalized):
                claimed[person] = kinds[match[1]]
        return claimed

    def _people(self, knights: frozenset[str], language: Language) -> str:
        """Writes who is what: "A is a knight, B is a knave and C is a knave"."""
        *others, last = [_kind(person, person in knights, language) for person in self.island.people]
        return phrase(language, "and").join([*([", ".join(others)] if others else []), last])


def _kind(person: str, knight: bool, language: Language) -> str:
    return phrase(language, "is", person=person, kind=phrase(language, "knight" if knight else "knave"))


def arrangements(island: Island) -> list[frozenset[str]]:
    """Returns every set of knights under which knights tell the truth, knaves lie, and facts hold."""
    everyone = island.people
    sets = (frozenset(some) for size in range(len(everyone) + 1) for some in combinations(everyone, size))
    return [
        knights
        for knights in sets
        if all(
            holds(statement.claim, knights) == (not statement.speaker or statement.speaker in knights)
            for statement in island.statements
        )
    ]


def holds(claim: Claim, knights: frozenset[str]) -> bool:
    """Tells whether a claim is true when exactly these are knights."""
    if isinstance(claim, Count):
        count = sum((person in knights) == claim.knights for person in claim.people)
        return claim.least <= count <= claim.most
    if isinstance(claim, Not):
        return not holds(claim.claim, knights)
    both = [holds(claim.first, knights), holds(claim.second, knights)]
    if claim.connective == "same":
        return both[0] == both[1]
    return all(both) if claim.connective == "and" else any(both)


def recognise(reading: Reading) -> KnightsPuzzle | None:
    """Recognises statements about knights and knaves."""
    island = parse_island(reading.text)
    return KnightsPuzzle(island) if island else None


KNIGHTS = Skill(
    "knights and knaves",
    recognise,
    {
        Language.EN: "A says B is a knave. B says we are both knights.",
        Language.PT: "A diz que B é patife. B diz que somos ambos cavaleiros.",
    },
    "knight knights knave knaves liar liars says both exactly least cavaleiro cavaleiros patife patifes "
    "mentiroso mentirosos ambos exatamente",
)

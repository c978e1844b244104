"""Knights, who tell the truth, and knaves, who lie: "A says B is a knave. B says we are both knights."

A claim is one of these, or `and`, `or`, `if` and `not` of them; Portuguese has the same claims:
    I am a knave · B is not a knight · B and C are knaves · neither B nor C is a knight · we are both knights
    at least, at most or exactly two of us are knaves · one of B and C is a knight · B and I are the same
The search assumes that one islander after the other is a knight, then a knave, until a statement contradicts
it. It finds all arrangements, so an answer is final: the whole search is behind it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from typing import Literal

import msgspec

from thinkaloud.builtin.puzzle import Conclusion, GivenAnswer, Reading, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, normalize, phrase
from thinkaloud.builtin.words.vocabulary import NUMBER_WORDS


class Count(msgspec.Struct, frozen=True):
    """A claim: among these people, the knights (or knaves) number from `least` to `most`."""

    people: tuple[str, ...]
    knights: bool
    least: int
    most: int


class Not(msgspec.Struct, frozen=True):
    """A claim: another does not hold."""

    claim: "Claim"


Connective = Literal["and", "or", "same"]


class Joined(msgspec.Struct, frozen=True):
    """A claim made of two; "same" means that both hold or neither does."""

    connective: Connective
    first: "Claim"
    second: "Claim"


Claim = Count | Not | Joined
Kinds = Mapping[str, bool]
"""Who is assumed to be a knight (True) or a knave (False)."""


class Statement(msgspec.Struct, frozen=True):
    """A claim, who made it and in which words; without a speaker it is a given fact."""

    speaker: str
    claim: Claim
    text: str


class Assumed(msgspec.Struct, frozen=True):
    """A step: an islander is assumed to be a knight or a knave, after `depth` others."""

    person: str
    knight: bool
    depth: int


class Contradicted(msgspec.Struct, frozen=True):
    """A step: the assumptions fail, because the statement of this index would have the truth `held`."""

    statement: int
    held: bool
    depth: int


class Consistent(msgspec.Struct, frozen=True):
    """A step: every statement fits if exactly these are knights."""

    knights: frozenset[str]


LogicStep = Assumed | Contradicted | Consistent


def people_in(claim: Claim) -> tuple[str, ...]:
    """Returns everybody whom a claim is about."""
    match claim:
        case Count():
            return claim.people
        case Not():
            return people_in(claim.claim)
    return people_in(claim.first) + people_in(claim.second)


_INDENT = "  "
_UNDECIDED = re.compile(
    r"not settle|cannot be (?:told|decided)|undetermined"
    r"|nao decide|nao (?:se )?pode (?:saber|decidir)|nao da para saber"
)


class KnightsPuzzle(msgspec.Struct, frozen=True):
    """The puzzle: who is a knight and who is a knave, from what they say."""

    people: tuple[str, ...]
    statements: tuple[Statement, ...]

    def steps(self) -> Iterator[LogicStep]:
        """Searches all arrangements; there is a Consistent step for each one that fits."""
        return self._search({}, subsets(self.people))

    def _search(self, kinds: Kinds, possible: Sequence[frozenset[str]]) -> Iterator[LogicStep]:
        """Searches below some assumptions; `possible` are the sets of knights that agree with them."""
        depth = len(kinds)
        if depth == len(self.people):
            yield Consistent(possible[0])
            return
        person = self.people[depth]
        for knight in (True, False):
            assumed = {**kinds, person: knight}
            left = [knights for knights in possible if (person in knights) == knight]
            yield Assumed(person, knight, depth)
            contradiction = self._contradiction(assumed, left)
            if contradiction is None:
                yield from self._search(assumed, left)
            else:
                yield contradiction

    def _contradiction(self, kinds: Kinds, possible: Sequence[frozenset[str]]) -> Contradicted | None:
        """Finds the first statement that does not fit its speaker, whatever the others are."""
        for index, statement in enumerate(self.statements):
            if statement.speaker and statement.speaker not in kinds:
                continue
            expected = kinds.get(statement.speaker, True)  # a given fact is true
            if not any(holds(statement.claim, knights) == expected for knights in possible):
                return Contradicted(index, not expected, len(kinds) - 1)
        return None

    def narrate(self, trace: Sequence[LogicStep], language: Language) -> Iterator[str]:
        statements = self.statements
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
                    key = "think.knave_truthful" if held else "think.knight_lying"
                    if not statement.speaker:
                        key = "think.fact_false"
                    line = phrase(language, key, person=statement.speaker, text=statement.text)
                    yield _INDENT * (depth + 1) + line
                case Consistent(knights):
                    people = self._people(knights, language)
                    yield _INDENT * len(self.people) + phrase(language, "think.consistent", people=people)
        fitting = sum(isinstance(step, Consistent) for step in trace)
        key = "think.one_fits" if fitting == 1 else "think.several_fit"
        yield phrase(language, key, n=fitting, people=len(self.people))

    def conclude(self, trace: Sequence[LogicStep], language: Language) -> Conclusion:
        fitting = [step.knights for step in trace if isinstance(step, Consistent)]
        if not fitting:
            return Conclusion(phrase(language, "answer.contradiction"))
        first = fitting[0]
        if len(fitting) == 1:
            people = self._people(first, language)
            return Conclusion(phrase(language, "answer.people", people=people))
        answer = phrase(language, "answer.undecided", n=len(fitting))
        certain = []
        for person in self.people:
            if len({person in knights for knights in fitting}) == 1:
                certain.append(_kind(person, person in first, language))
        if certain:
            answer += " " + phrase(language, "answer.certain", people=", ".join(certain))
        return Conclusion(answer)

    def check(self, answer: GivenAnswer) -> Verdict:
        """Tries every arrangement."""
        fitting = arrangements(self)
        claimed = self._claimed_kinds(answer)
        kinds = [dict.fromkeys(self.people, False) | dict.fromkeys(knights, True) for knights in fitting]
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
        for person in self.people:
            pattern = rf"\b{re.escape(normalize(person))} (?:is|e) ({'|'.join(kinds)})\b"
            if match := re.search(pattern, answer.normalized):
                claimed[person] = kinds[match[1]]
        return claimed

    def _people(self, knights: frozenset[str], language: Language) -> str:
        """Writes who is what: "A is a knight, B is a knave and C is a knave"."""
        *others, last = [_kind(person, person in knights, language) for person in self.people]
        return phrase(language, "and").join([", ".join(others), last]) if others else last


def _kind(person: str, knight: bool, language: Language) -> str:
    return phrase(language, "is", person=person, kind=phrase(language, "knight" if knight else "knave"))


def subsets(people: Sequence[str]) -> list[frozenset[str]]:
    """Returns every set of these people."""
    sizes = range(len(people) + 1)
    return [frozenset(some) for size in sizes for some in combinations(people, size)]


def arrangements(puzzle: KnightsPuzzle) -> list[frozenset[str]]:
    """Returns every set of knights under which knights tell the truth, knaves lie, and facts hold."""
    fitting = []
    for knights in subsets(puzzle.people):
        if all(_fits(statement, knights) for statement in puzzle.statements):
            fitting.append(knights)
    return fitting


def _fits(statement: Statement, knights: frozenset[str]) -> bool:
    truthful = not statement.speaker or statement.speaker in knights
    return holds(statement.claim, knights) == truthful


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


MAX_PEOPLE = 8
MAX_STATEMENT_CHARACTERS = 300
MAX_CONNECTIVES = 6
"""How many times `and` and `or` may join one statement."""

_KNIGHT = r"(?:knights?|truth[- ]?tellers?|cavaleir[oa]s?)"
_KNAVE = r"(?:knaves?|liars?|patifes?|mentiros[oa]s?)"
_EITHER = re.compile(rf"\b(?:{_KNIGHT}|{_KNAVE})\b")
_KIND = rf"(?:an? |uma? )?(?P<kind>{_KNIGHT}|{_KNAVE})"
_NAME = r"[^\W\d_]+"
_BETWEEN_NAMES = r", and |, e |, | and | e | nor | nem "
_GROUP = rf"(?P<group>{_NAME}(?:(?:{_BETWEEN_NAMES}){_NAME})*)"
_BE = r"(?:is|are|am|e|eh|sao|sou|somos)"
_ALL = r"(?:both |all |ambos |todos )?"
_WE = (
    r"(?:we are|they are|(?:all|both) of (?:us|them) are|every(?:one|body) is"
    r"|(?:(?:todos|ambos) )?(?:nos )?(?:dois |ambos |todos )?somos|todos sao|todos eles sao)"
)
_OF_THEM = rf" (?:of|among|de|entre) (?:us|them|nos|eles|{_GROUP})"
_BOUND = r"(?:(?P<bound>at least|at most|exactly|only|pelo menos|ao menos|no maximo|exatamente|apenas) )?"
_COUNTS = {word: value for word, value in NUMBER_WORDS.items() if 0 < value <= MAX_PEOPLE}
_COUNTS.update((str(digit), digit) for digit in range(10))
_COUNT = rf"(?P<count>{'|'.join(_COUNTS)})"
_SAYS = re.compile(
    rf"\b({_NAME}) (?:says|said|claims|claimed|diz|disse|afirma|afirmou)\b(?:[ ,:]*(?:that|que)\b)?[ ,:]*",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    rf"\b(?:people|persons|islanders|inhabitants|natives|men|pessoas|habitantes|meet|met|encontra|encontrou)"
    rf"[,:]? (?:called |named |chamad[oa]s )?([A-Z]\w*(?:(?:{_BETWEEN_NAMES})[A-Z]\w*)+)"
)
"""Who is named before anybody speaks: "There are two people, A and B."."""
_TWO_OF_US = re.compile(r"\b(?:we are both|both of us|nos dois|somos ambos|ambos somos)\b")
_MYSELF = ("i", "me", "myself", "eu")
_PRONOUNS = """he she it they we you us them who what everyone everybody someone nobody none neither both all
    that this there not if one ele ela eles elas nos quem todos alguem ninguem nenhum ambos nao se um"""
_NO_NAMES = frozenset(_PRONOUNS.split())
_LIES = re.compile(r"\b(?:(?:is|are|am) lying|(?:always )?lies?|(?:esta|estao|estou) mentindo|mentem?)\b")
_TELLS_TRUTH = re.compile(
    r"\b(?:(?:is |are |am )?(?:always )?(?:tells?|telling) the truth|(?:is|are|am) honest"
    r"|(?:diz|dizem|fala|falam) a verdade)\b"
)
_DIFFERENT = r"(?:different|tipos diferentes|diferentes)(?: kinds?| types?)?"

_SIMPLE_CLAIMS = (
    (re.compile(rf"(?:neither|nem) {_GROUP} {_BE} {_KIND}"), "none"),
    (re.compile(rf"(?:neither|none|nenhum){_OF_THEM} {_BE} {_KIND}"), "none"),
    (re.compile(rf"{_GROUP} (?:{_BE} not|nao {_BE}) {_KIND}"), "none"),
    (re.compile(rf"{_BOUND}{_COUNT}{_OF_THEM} {_BE} {_KIND}"), "count"),
    (re.compile(rf"{_WE} {_ALL}{_KIND}"), "all"),
    (re.compile(rf"{_GROUP} {_BE} {_ALL}{_KIND}"), "all"),
    (re.compile(rf"(?:{_GROUP} {_BE}|{_WE}) (?:of |de )?{_DIFFERENT}"), "mixed"),
)
"""Patterns, and how many of the people they are about are of the kind."""
_ALIKE = re.compile(
    rf"(?:{_GROUP} {_BE}|{_WE}) (?:of |do )?(?:the )?(?:same|mesmo|iguais)(?: kind| type| tipo)?"
)
_SAME = re.compile(r"(.+?),? (?:if and only if|iff|se e somente se) (.+)")
_IF = re.compile(r"(?:if|se) (.+?)(?:,? (?:then|entao)|,) (.+)")
_UNTRUE = re.compile(
    r"(?:it is not (?:true|the case) that|it is false that|not"
    r"|nao (?:e|eh) verdade que|(?:e|eh) falso que|nao) (.+)"
)
_OR = re.compile(r",? (?:or|ou) ")
_AND = re.compile(r",? (?:and|e) ")


def recognise(reading: Reading) -> KnightsPuzzle | None:
    """Recognises people who speak of knights or knaves."""
    text, normalized = reading.text, reading.normalized
    speakers = len(_SAYS.findall(normalized))
    truth = _LIES.search(normalized) or _TELLS_TRUTH.search(normalized)
    if not speakers or not (_EITHER.search(normalized) or (truth and speakers > 1)):
        return None
    puzzle = _parse(text, ())
    if not any(statement.speaker for statement in puzzle.statements):
        return None
    if len(puzzle.people) > MAX_PEOPLE:
        raise Unsolvable("many_people", limit=MAX_PEOPLE)
    if len(puzzle.people) != 2 and _TWO_OF_US.search(normalized):
        raise Unsolvable("not_two", str(len(puzzle.people)))
    return _parse(text, puzzle.people)  # once more, because who "we" are is known only at the end


def _parse(text: str, everyone: tuple[str, ...]) -> KnightsPuzzle:
    spellings = sorted(re.findall(_NAME, text), key=lambda word: word[0].isupper())
    names = {normalize(word): word for word in spellings}  # with a capital letter, if it ever has one
    speakers = [match[1] for match in _SAYS.finditer(text)]
    statements = []
    for name, words, sentence in _split(text):
        speaker = names.get(normalize(name), name)
        claim = _ClaimParser(speaker, everyone, names).parse(words)
        if claim is not None:
            statements.append(Statement(speaker, claim, words))
        elif speaker or _describes(sentence, speakers):  # unlike "On an island live …"
            raise Unsolvable("unread", words[:MAX_STATEMENT_CHARACTERS])
    people: list[str] = []
    for statement in statements:
        people += [statement.speaker] if statement.speaker else []
        people += people_in(statement.claim)
    if statements and (introduced := _INTRODUCED.search(text)):
        people += re.split(_BETWEEN_NAMES, introduced[1])
    return KnightsPuzzle(tuple(dict.fromkeys(people)), tuple(statements))


def _split(text: str) -> Iterator[tuple[str, str, str]]:
    """Yields speaker, words and sentence of each statement; questions are left out."""
    for sentence in re.findall(r"[^.;!?\n]+[.;!?\n]?", text):
        line = " ".join(re.sub(r'["“”.;!]', " ", sentence).split())
        if not line or sentence.endswith("?"):
            continue
        matches = list(_SAYS.finditer(line))
        if not matches:
            yield "", line, sentence
        for match, following in zip_longest(matches, matches[1:]):
            words = line[match.end() : following.start() if following else None]
            yield match[1], re.sub(r"[ ,]*(?: (?:and|while|but|e|enquanto|mas))?[ ,]*$", "", words), sentence


def _describes(sentence: str, people: list[str]) -> bool:
    """Tells whether a sentence says what somebody is; "A knight never lies" is not about A."""
    named = any(re.search(rf"\b{person}\b(?! (?:{_KNIGHT}|{_KNAVE}))", sentence) for person in people)
    return named and bool(_EITHER.search(normalize(sentence)))


class _ClaimParser:
    """Parses one statement, given its speaker, who "we" are, and how names are spelled."""

    def __init__(self, speaker: str, everyone: tuple[str, ...], names: dict[str, str]) -> None:
        self._speaker = speaker
        self._everyone = everyone
        self._names = names

    def parse(self, words: str) -> Claim | None:
        text = normalize(re.sub(r"\b[éÉ]\b", "eh", words))
        if (
            len(_OR.findall(text)) + len(_AND.findall(text)) > MAX_CONNECTIVES
            or len(text) > MAX_STATEMENT_CHARACTERS
        ):
            return None
        text = text.replace("i'm ", "i am ").replace("we're ", "we are ").replace("n't ", " not ")
        text = re.sub(rf"{_LIES.pattern}$", "is a knave", text)
        text = re.sub(rf"{_TELLS_TRUTH.pattern}$", "is a knight", text)
        return self._claim(re.sub(r"\b(?<!eu )(?<!nao )((?:nao )?sou) ", r"eu \1 ", text))

    def _claim(self, text: str) -> Claim | None:
        if match := _SAME.fullmatch(text):
            return self._pair("same", match[1], match[2])
        if match := _IF.fullmatch(text):
            both = self._pair("or", match[1], match[2])
            return both and Joined("or", Not(both.first), both.second)
        claim = self._simple(text) or self._joined(re.sub(r"^(?:either|ou) ", "", text))
        if claim is None and (match := _UNTRUE.fullmatch(text)):
            denied = self._claim(match[1])
            return denied and Not(denied)
        return claim

    def _joined(self, text: str) -> Claim | None:
        """Splits at a connective, the weakest first, where both sides can be parsed."""
        connectives: tuple[tuple[re.Pattern[str], Connective], ...] = ((_OR, "or"), (_AND, "and"))
        for pattern, connective in connectives:
            for match in pattern.finditer(text):
                if claim := self._pair(connective, text[: match.start()], text[match.end() :]):
                    return claim
        return None

    def _pair(self, connective: Connective, first_text: str, second_text: str) -> Joined | None:
        first = self._claim(first_text)
        second = self._claim(second_text) if first else None
        return Joined(connective, first, second) if first and second else None

    def _simple(self, text: str) -> Claim | None:
        for pattern, quantity in _SIMPLE_CLAIMS:
            if claim := self._count(pattern.fullmatch(text), quantity):
                return claim
        mixed = self._count(_ALIKE.fullmatch(text), "mixed")
        return mixed and Not(mixed)

    def _count(self, match: re.Match[str] | None, quantity: str) -> Count | None:
        groups = match.groupdict() if match else {}
        people = self._people(groups.get("group"))
        if match is None or people is None:
            return None
        knights = bool(re.fullmatch(_KNIGHT, groups.get("kind", "knight")))
        return Count(people, knights, *_bounds(quantity, groups, len(people)))

    def _people(self, group: str | None) -> tuple[str, ...] | None:
        if group is None:
            return self._everyone
        names = re.split(_BETWEEN_NAMES, group)
        if any(name in _NO_NAMES or _EITHER.fullmatch(name) for name in names):
            return None
        people = [self._speaker if name in _MYSELF else self._names.get(name, name) for name in names]
        return None if "" in people else tuple(dict.fromkeys(people))


def _bounds(quantity: str, groups: Mapping[str, str], people: int) -> tuple[int, int]:
    """Returns the least and the most of the people who are of the kind."""
    match quantity:
        case "none":
            return 0, 0
        case "all":
            return people, people
        case "mixed":
            return 1, people - 1
    count = _COUNTS[groups["count"]]
    if groups["bound"] in ("at least", "pelo menos", "ao menos"):
        return count, people
    return (0 if groups["bound"] in ("at most", "no maximo") else count), count

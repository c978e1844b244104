"""Reads knights and knaves. What is said of somebody is one of these, or `and`, `or`, `if` and `not` of them:

    I am a knave · B is not a knight · B and C are knaves · neither B nor C is a knight · we are both knights
    at least, at most or exactly two of us are knaves · one of B and C is a knight · B and I are the same

Portuguese says the same: "B é patife", "somos ambos cavaleiros", "exatamente um de nós é mentiroso".
"""

import re
from collections.abc import Callable, Iterator

from thinkaloud.builtin.claims import And, Claim, Count, Not, Or, Same, people_in
from thinkaloud.builtin.language import plain
from thinkaloud.builtin.questions import Island, Malformed, Told

MOST_PEOPLE = 8
LONGEST_STATEMENT = 300
MOST_JOINED = 6
"""How many times `and`, `or` and their like may join one statement."""

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
    r"(?:we are|(?:all|both) of (?:us|them) are|every(?:one|body) is"
    r"|(?:(?:todos|ambos) )?(?:nos )?(?:dois |ambos |todos )?somos|todos sao|todos eles sao)"
)
_OF_THEM = rf" (?:of|among|de|entre) (?:us|them|nos|eles|{_GROUP})"
_BOUND = r"(?:(?P<bound>at least|at most|exactly|only|pelo menos|ao menos|no maximo|exatamente|apenas) )?"
_COUNTS = {
    "one": 1, "um": 1, "uma": 1, "two": 2, "dois": 2, "duas": 2, "three": 3, "tres": 3, "four": 4,
    "quatro": 4, "five": 5, "cinco": 5, "six": 6, "seis": 6, "seven": 7, "sete": 7, "eight": 8, "oito": 8,
    **{str(digit): digit for digit in range(10)},
}  # fmt: skip
_COUNT = rf"(?P<count>{'|'.join(_COUNTS)})"
_SAYS = re.compile(
    rf"\b({_NAME}) (?:says|said|claims|claimed|diz|disse|afirma|afirmou)\b(?:[ ,:]*(?:that|que)\b)?[ ,:]*",
    re.IGNORECASE,
)
_TWO_OF_US = re.compile(r"\b(?:we are both|both of us|nos dois|somos ambos|ambos somos)\b")
_MYSELF = ("i", "me", "myself", "eu")
_NO_NAMES = """he she it they we you us them who what everyone everybody someone nobody none neither both all
    that this there not if one ele ela eles elas nos quem todos alguem ninguem nenhum ambos nao se um"""
_NOBODY = frozenset(_NO_NAMES.split())

_DIFFERENT = r"(?:different|tipos diferentes|diferentes)(?: kinds?| types?)?"

Bounds = tuple[int, int]
Bound = Callable[[re.Match[str], int], Bounds]


def _everybody(_: re.Match[str], people: int) -> Bounds:
    return people, people


def _nobody(_: re.Match[str], people: int) -> Bounds:
    return 0, 0


def _so_many(found: re.Match[str], people: int) -> Bounds:
    count = _COUNTS[found["count"]]
    match found["bound"]:
        case "at least" | "pelo menos" | "ao menos":
            return count, people
        case "at most" | "no maximo":
            return 0, count
    return count, count


def _mixed(_: re.Match[str], people: int) -> Bounds:
    return 1, people - 1


_LEAVES: tuple[tuple[re.Pattern[str], Bound], ...] = (
    (re.compile(rf"(?:neither|nem) {_GROUP} {_BE} {_KIND}"), _nobody),
    (re.compile(rf"(?:neither|none|nenhum){_OF_THEM} {_BE} {_KIND}"), _nobody),
    (re.compile(rf"{_GROUP} (?:{_BE} not|nao {_BE}) {_KIND}"), _nobody),
    (re.compile(rf"{_BOUND}{_COUNT}{_OF_THEM} {_BE} {_KIND}"), _so_many),
    (re.compile(rf"{_WE} {_ALL}{_KIND}"), _everybody),
    (re.compile(rf"{_GROUP} {_BE} {_ALL}{_KIND}"), _everybody),
    (re.compile(rf"(?:{_GROUP} {_BE}|{_WE}) (?:of |de )?{_DIFFERENT}"), _mixed),
)
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


class Unread(Exception):
    """A statement that the grammar does not have."""


def read_island(text: str) -> Island | Malformed | None:
    """The puzzle, what is wrong with it, or None where nobody says anything of knights or knaves."""
    told = plain(text)
    if not _SAYS.search(told) or not _EITHER.search(told):
        return None
    try:
        first = _read(text, ())
        people = first.people
        if not any(told.speaker for told in first.told):
            return None
        if len(people) > MOST_PEOPLE:
            return Malformed("many_people", limit=MOST_PEOPLE)
        if len(people) != 2 and _TWO_OF_US.search(told):
            return Malformed("not_two", said=str(len(people)))
        return _read(text, people)  # a second time, for who "we" are is known only at the end
    except Unread as unread:
        return Malformed("unread", said=str(unread))


def _read(text: str, everyone: tuple[str, ...]) -> Island:
    spelled = sorted(re.findall(_NAME, text), key=lambda word: word[0].isupper())
    names = {plain(word): word for word in spelled}  # with a capital letter, if it ever has one
    speakers = [found[1] for found in _SAYS.finditer(text)]
    told = []
    for said_by, words, sentence in _statements(text):
        speaker = names.get(plain(said_by), said_by)
        try:
            claim = _Reading(speaker, everyone, names).read(words)
        except Unread:
            if speaker or _speaks_of(sentence, speakers):
                raise Unread(words[:LONGEST_STATEMENT]) from None
            continue  # "On an island live …" says nothing of these people
        told.append(Told(speaker, claim, words))
    named = [person for one in told for person in (one.speaker, *people_in(one.claim)) if person]
    return Island(tuple(dict.fromkeys(named)), tuple(told))


def _statements(text: str) -> Iterator[tuple[str, str, str]]:
    """Who says what, and the sentence it stands in; questions say nothing."""
    for sentence in re.findall(r"[^.;!?\n]+[.;!?\n]?", text):
        said = " ".join(re.sub(r'["“”.;!]', " ", sentence).split())
        if not said or sentence.endswith("?"):
            continue
        marks = list(_SAYS.finditer(said))
        if not marks:
            yield "", said, sentence
        for at, mark in enumerate(marks):
            words = said[mark.end() : marks[at + 1].start() if mark is not marks[-1] else None]
            yield mark[1], re.sub(r"[ ,]*(?: (?:and|while|but|e|enquanto|mas))?[ ,]*$", "", words), sentence


def _speaks_of(sentence: str, people: list[str]) -> bool:
    """Whether a sentence says of somebody what they are; "A knight never lies" is not about A."""
    named = any(re.search(rf"\b{person}\b(?! (?:{_KNIGHT}|{_KNAVE}))", sentence) for person in people)
    return named and bool(_EITHER.search(plain(sentence)))


class _Reading:
    """One statement: who says it, who "we" are, and how the names it has are written."""

    def __init__(self, speaker: str, everyone: tuple[str, ...], names: dict[str, str]) -> None:
        self._speaker = speaker
        self._everyone = everyone
        self._names = names

    def read(self, words: str) -> Claim:
        said = plain(re.sub(r"\b[éÉ]\b", "eh", words))
        if len(_OR.findall(said)) + len(_AND.findall(said)) > MOST_JOINED or len(said) > LONGEST_STATEMENT:
            raise Unread(words)
        said = said.replace("i'm ", "i am ").replace("we're ", "we are ").replace("n't ", " not ")
        return self._claim(re.sub(r"\b(?<!eu )(?<!nao )((?:nao )?sou) ", r"eu \1 ", said))

    def _claim(self, words: str) -> Claim:
        if found := _SAME.fullmatch(words):
            return Same(self._claim(found[1]), self._claim(found[2]))
        if found := _IF.fullmatch(words):
            return Or(Not(self._claim(found[1])), self._claim(found[2]))
        claim = self._leaf(words) or self._joined(re.sub(r"^(?:either|ou) ", "", words))
        if claim is None and (found := _UNTRUE.fullmatch(words)):
            claim = Not(self._claim(found[1]))
        if claim is None:
            raise Unread(words)
        return claim

    def _joined(self, words: str) -> Claim | None:
        """Split at a word that joins, the weakest first, where both sides can be read."""
        for word, join in ((_OR, Or), (_AND, And)):
            for found in word.finditer(words):
                try:
                    return join(self._claim(words[: found.start()]), self._claim(words[found.end() :]))
                except Unread:
                    continue
        return None

    def _leaf(self, words: str) -> Claim | None:
        for pattern, bound in _LEAVES:
            if claim := self._counted(pattern.fullmatch(words), bound):
                return claim
        mixed = self._counted(_ALIKE.fullmatch(words), _mixed)
        return None if mixed is None else Not(mixed)

    def _counted(self, found: re.Match[str] | None, bound: Bound) -> Count | None:
        people = None if found is None else self._people(found.groupdict().get("group"))
        if found is None or people is None:
            return None
        kind = found.groupdict().get("kind", "knight")
        return Count(people, bool(re.fullmatch(_KNIGHT, kind)), *bound(found, len(people)))

    def _people(self, group: str | None) -> tuple[str, ...] | None:
        if group is None:
            return self._everyone
        named = re.split(_BETWEEN_NAMES, group)
        people = [self._speaker if name in _MYSELF else self._names.get(name, name) for name in named]
        strange = any(name in _NOBODY or _EITHER.fullmatch(name) for name in named)
        return None if strange or "" in people else tuple(dict.fromkeys(people))

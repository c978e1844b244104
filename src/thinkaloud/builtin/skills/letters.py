"""Letters: "how many r's are in strawberry?", "reverse hello"."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from thinkaloud.builtin.arithmetic import Calculated
from thinkaloud.builtin.puzzle import Conclusion, GivenAnswer, Puzzle, Reading, Verdict
from thinkaloud.builtin.words import Language, Unsolvable, normalize, phrase

MAX_WORD_CHARACTERS = 60

_QUOTE = "[\"'“”‘’]?"
_WORD = rf"{_QUOTE}(?P<word>[^\W\d_]+){_QUOTE}"
_IN_WORD = rf"(?:the word |the name |a palavra |na palavra |o nome )?{_WORD}[?.! ]*"
_LETTER = rf"(?:the )?(?:letters? |letras? )?{_QUOTE}(?P<letter>[^\W\d_]){_QUOTE}(?:'?s)?"
_COUNT = re.compile(
    r"(?:how many(?: times)?(?: does)?|count(?: the)?|quant[ao]s(?: vezes)?(?: aparece a)?|conte(?: [ao]s)?) "
    rf"{_LETTER} (?:letters |letras )?(?:are there in|are in|does|appears? in|in|is in|occurs? in"
    rf"|tem|h[aá] em|h[aá] na|existem em|aparecem em|em|na) {_IN_WORD}",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"(?:how many letters (?:are there in|are in|does|in|has)"
    rf"|quantas letras (?:tem|h[aá] em|h[aá] na|existem em)) {_IN_WORD}(?: have)?[?.! ]*",
    re.IGNORECASE,
)
_REVERSE = re.compile(
    rf"(?:reverse|spell backwards|inverta|escreva ao contr[aá]rio) {_IN_WORD}"
    rf"|(?:spell|write|escreva) {_IN_WORD.replace('<word>', '<other>')} "
    r"(?:backwards|in reverse|ao contr[aá]rio|de tr[aá]s para frente)[?.! ]*",
    re.IGNORECASE,
)


class LetterCount(msgspec.Struct, frozen=True):
    """The puzzle: how often a letter is in a word; without a letter, how many letters the word has."""

    word: str
    letter: str

    def steps(self) -> Iterator[Calculated]:
        """Looks at each letter, and counts."""
        count = 0
        for index, letter in enumerate(self.word, 1):
            if not self.letter or normalize(letter) == self.letter:
                count += 1
                yield Calculated("letter", f"{index} {letter}", count)
        yield Calculated("letters", self.word, count)

    def narrate(self, trace: Sequence[Calculated], language: Language) -> Iterator[str]:
        yield phrase(language, "think.spelled", word=self.word, letters=" ".join(self.word))
        for step in trace[:-1]:
            index, letter = step.expression.split()
            yield phrase(language, "think.letter_at", index=index, letter=letter, count=step.value)
        yield phrase(language, "think.letters", word=self.word, count=trace[-1].value)

    def conclude(self, trace: Sequence[Calculated], language: Language) -> Conclusion:
        count = int(trace[-1].value)
        key = "answer.letter" if self.letter else "answer.length"
        key += "_once" if count == 1 else ""
        return Conclusion(phrase(language, key, word=self.word, letter=self.letter, value=count))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Counts with the standard library."""
        plain = normalize(self.word)
        count = plain.count(self.letter) if self.letter else len(self.word)
        return answer.expect_value(Fraction(count))


class Reversal(msgspec.Struct, frozen=True):
    """The puzzle: a word spelled backwards."""

    word: str

    def steps(self) -> Iterator[str]:
        """Takes the letters from the end; each step is what is written so far."""
        written = ""
        for letter in reversed(self.word):
            written += letter
            yield written

    def narrate(self, trace: Sequence[str], language: Language) -> Iterator[str]:
        yield phrase(language, "think.spelled", word=self.word, letters=" ".join(self.word))
        yield phrase(language, "think.backwards", letters=", ".join(trace))

    def conclude(self, trace: Sequence[str], language: Language) -> Conclusion:
        return Conclusion(phrase(language, "answer.reversed", word=self.word, value=trace[-1]))

    def check(self, answer: GivenAnswer) -> Verdict:
        """Reverses the word at once."""
        expected = self.word[::-1]
        return answer.expect(expected, bool(re.search(rf"\b{expected}\b", answer.text)))


def recognise(reading: Reading) -> Puzzle | None:
    """Recognises a question about the letters of a word."""
    for pattern in (_COUNT, _LENGTH, _REVERSE):
        if match := pattern.fullmatch(reading.text):
            groups = match.groupdict()
            word = groups["word"] or groups["other"]
            if len(word) > MAX_WORD_CHARACTERS:
                raise Unsolvable("long_word", limit=MAX_WORD_CHARACTERS)
            if pattern is _REVERSE:
                return Reversal(word)
            return LetterCount(word, normalize(groups.get("letter") or ""))
    return None

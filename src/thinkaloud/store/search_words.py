"""What a person types into a search field: words, "phrases in quotes", and beginnings of words with a `*`.

All of them must be there. Nothing else has a meaning, so nobody can type an operator of an engine.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.store.search_folding import one_letter_words, words

MOST_CHARACTERS = 1_000
MOST_PHRASES = 32
FEWEST_LETTERS_BEGUN = 2
"""One letter begins half of all words, which takes long to find and tells nobody anything."""

_TYPED = re.compile(r'"(?P<phrase>[^"]*)"?(?P<more>\*?)|(?P<word>[^\s"]+)')


class Phrase(msgspec.Struct, frozen=True):
    """Folded words that stand in a row; `begun` when the last one is only the beginning of a word."""

    words: tuple[str, ...]
    begun: bool = False


def read_words(typed: str) -> tuple[Phrase, ...]:
    """What to look for."""
    if len(typed) > MOST_CHARACTERS:
        raise Refused(
            f"A search has at most {MOST_CHARACTERS} characters, and this has {len(typed)}. Shorten it."
        )
    phrases = tuple(dict.fromkeys(phrase for match in _TYPED.finditer(typed) for phrase in _phrase(match)))
    if not phrases:
        raise Refused("There is nothing to search for: give at least one word.")
    if len(phrases) > MOST_PHRASES:
        raise Refused(f"A search has at most {MOST_PHRASES} words and phrases, and this has {len(phrases)}.")
    return phrases


def places(text: str, phrases: Sequence[Phrase]) -> Iterator[tuple[int, int]]:
    """Where in a text the phrases stand, by where they end; no more is read than somebody asks for."""
    said: deque[tuple[str, int]] = deque(maxlen=max(len(phrase.words) for phrase in phrases))
    for word, start, end in words(text):
        said.append((word, start))
        for phrase in phrases:
            *before, last = phrase.words
            if word != last and not (phrase.begun and word.startswith(last)):
                continue
            at = len(said) - len(phrase.words)
            if at >= 0 and all(said[at + place][0] == wanted for place, wanted in enumerate(before)):
                yield said[at][1], end


def _phrase(match: re.Match[str]) -> Iterator[Phrase]:
    typed = match["phrase"] if match["word"] is None else match["word"]
    wanted = tuple(word.text for word in words(typed))
    if not wanted:
        return
    begun = bool(match["more"]) or (match["word"] or "").endswith("*")
    begun = begun and not one_letter_words(wanted[-1])
    if begun and len(wanted[-1]) < FEWEST_LETTERS_BEGUN:
        raise Refused(f"{wanted[-1]}* is too short: give at least {FEWEST_LETTERS_BEGUN} letters before a *.")
    yield Phrase(wanted, begun)

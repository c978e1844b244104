"""What a person types into a search field: words, "phrases in quotes", and beginnings of words with a `*`.

All of them must be there. Nothing else has a meaning, so nobody can type an operator of an engine.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.store.search_normalize import single_character_word, words

MAX_QUERY_CHARACTERS = 1_000
MAX_PHRASES = 32
MIN_PREFIX_LETTERS = 2
"""One letter begins half of all words, which takes long to find and tells nobody anything."""

_QUERY_TERM = re.compile(r'"(?P<phrase>[^"]*)"?(?P<more>\*?)|(?P<word>[^\s"]+)')


class Phrase(msgspec.Struct, frozen=True):
    """Folded words that stand in a row; `begun` when the last one is only the beginning of a word."""

    words: tuple[str, ...]
    prefix: bool = False


def parse_query(query: str) -> tuple[Phrase, ...]:
    """What to look for."""
    if len(query) > MAX_QUERY_CHARACTERS:
        raise Refused(
            f"A search has at most {MAX_QUERY_CHARACTERS} characters, and this has {len(query)}. Shorten it."
        )
    phrases = tuple(
        dict.fromkeys(phrase for match in _QUERY_TERM.finditer(query) for phrase in _parse_phrase(match))
    )
    if not phrases:
        raise Refused("There is nothing to search for: give at least one word.")
    if len(phrases) > MAX_PHRASES:
        raise Refused(f"A search has at most {MAX_PHRASES} words and phrases, and this has {len(phrases)}.")
    return phrases


def find_phrases(text: str, phrases: Sequence[Phrase]) -> Iterator[tuple[int, int]]:
    """Where in a text the phrases stand, by where they end; no more is read than somebody asks for."""
    recent_words: deque[tuple[str, int]] = deque(maxlen=max(len(phrase.words) for phrase in phrases))
    for word, start, end in words(text):
        recent_words.append((word, start))
        for phrase in phrases:
            *leading_words, last = phrase.words
            if word != last and not (phrase.prefix and word.startswith(last)):
                continue
            first_index = len(recent_words) - len(phrase.words)
            if first_index >= 0 and all(
                recent_words[first_index + offset][0] == expected
                for offset, expected in enumerate(leading_words)
            ):
                yield recent_words[first_index][1], end


def _parse_phrase(match: re.Match[str]) -> Iterator[Phrase]:
    term = match["phrase"] if match["word"] is None else match["word"]
    phrase_words = tuple(word.text for word in words(term))
    if not phrase_words:
        return
    prefix = bool(match["more"]) or (match["word"] or "").endswith("*")
    prefix = prefix and not single_character_word(phrase_words[-1])
    if prefix and len(phrase_words[-1]) < MIN_PREFIX_LETTERS:
        raise Refused(
            f"{phrase_words[-1]}* is too short: give at least {MIN_PREFIX_LETTERS} letters before a *."
        )
    yield Phrase(phrase_words, prefix)

"""Parses a search query: words, "phrases in quotes", and prefixes with a `*`.

All terms must match. Nothing else has a meaning, so a query cannot contain an operator of the engine.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.search.normalize import single_character_word, words

MAX_QUERY_CHARACTERS = 1_000
MAX_PHRASES = 32
MIN_PREFIX_LETTERS = 2
"""A prefix of one letter matches too many words to be fast or useful."""

_QUERY_TERM = re.compile(r'"(?P<phrase>[^"]*)"?(?P<more>\*?)|(?P<word>[^\s"]+)')


class Phrase(msgspec.Struct, frozen=True):
    """Consecutive normalized words. With `prefix` the last one is the beginning of a word."""

    words: tuple[str, ...]
    prefix: bool = False


def parse_query(query: str) -> tuple[Phrase, ...]:
    """Return the phrases of a query."""
    if len(query) > MAX_QUERY_CHARACTERS:
        raise Refused(
            "A search may have at most {max_query_characters} characters; this has {count}. Shorten it.",
            max_query_characters=MAX_QUERY_CHARACTERS,
            count=len(query),
        )
    terms = map(_parse_phrase, _QUERY_TERM.finditer(query))
    phrases = tuple(dict.fromkeys(chain.from_iterable(terms)))  # each once, in their order
    if not phrases:
        raise Refused("The search has no word. Give at least one.")
    if len(phrases) > MAX_PHRASES:
        raise Refused(
            "A search may have at most {max_phrases} words and phrases; this has {count}. Use fewer.",
            max_phrases=MAX_PHRASES,
            count=len(phrases),
        )
    return phrases


def find_phrases(text: str, phrases: Sequence[Phrase]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the phrases in a text, ordered by their end. Lazy: reads only as far as needed."""
    return ((start, end) for start, end, _ in match_phrases(text, phrases))


def match_phrases(
    text: str, phrases: Sequence[Phrase], reach: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """Yield the ranges of the phrases in a text, each with the index of its phrase, ordered by their end.

    With `reach`, only so many characters after the start of the first match are read.
    """
    limit: int | None = None
    recent_words: deque[tuple[str, int]] = deque(maxlen=max(len(phrase.words) for phrase in phrases))
    for word, start, end in words(text):
        if limit is not None and end > limit:
            return
        recent_words.append((word, start))
        for index, phrase in enumerate(phrases):
            *leading_words, last = phrase.words
            if word != last and not (phrase.prefix and word.startswith(last)):
                continue
            first_index = len(recent_words) - len(phrase.words)
            if first_index >= 0 and all(
                recent_words[first_index + offset][0] == expected
                for offset, expected in enumerate(leading_words)
            ):
                match_start = recent_words[first_index][1]
                if reach is not None and limit is None:
                    limit = match_start + reach
                yield match_start, end, index


def _parse_phrase(match: re.Match[str]) -> Iterator[Phrase]:
    term = match["phrase"] if match["word"] is None else match["word"]
    phrase_words = tuple(word.text for word in words(term))
    if not phrase_words:
        return
    prefix = bool(match["more"]) or (match["word"] or "").endswith("*")
    prefix = prefix and not single_character_word(phrase_words[-1])
    if prefix and len(phrase_words[-1]) < MIN_PREFIX_LETTERS:
        raise Refused(
            "{phrase_words}* is too short: give at least {min_prefix_letters} letters before a *.",
            phrase_words=phrase_words[-1],
            min_prefix_letters=MIN_PREFIX_LETTERS,
        )
    yield Phrase(phrase_words, prefix)

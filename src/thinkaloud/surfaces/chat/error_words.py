"""Errors in the person's language.

Errors are raised in English by every package, with the sentences put together where they are raised. Each
sentence of `error_words.toml` is found by its fixed words. `{}` is a gap of any text, kept in order. The page
translates the errors of the gateway with the same table and rule (`web/page/translate.ts`).
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib.resources import files

Patterns = tuple[tuple[re.Pattern[str], str], ...]
"""Sentences as patterns, with their translations."""


def error_text(text: str, locale: str) -> str:
    """Return an error in a language. A sentence that is not known there stays as it is."""
    for pattern, translation in _patterns(locale):
        text = pattern.sub(partial(filled, translation), text)
    return text


def filled(translation: str, match: re.Match[str]) -> str:
    """Return a translation with what was found in the gaps."""
    return translation.format(*match.groups())


def sentence_patterns(sentences: Iterable[tuple[str, str]]) -> Patterns:
    """Return sentences as patterns, the longest first: a short one may be part of a long one."""
    ordered = sorted(sentences, key=lambda pair: -len(pair[0]))
    return tuple((_pattern(english), translation) for english, translation in ordered)


def error_tables(locale: str) -> Mapping[str, Mapping[str, str]]:
    """Return the sentences with their translations, by who raises them: `gateway` or `others`."""
    file = files("thinkaloud.surfaces.chat").joinpath("error_words.toml")
    tables: Mapping[str, Mapping[str, Mapping[str, str]]] = tomllib.loads(file.read_text("utf-8"))
    return tables.get(locale, {})


@cache
def _patterns(locale: str) -> Patterns:
    sentences: dict[str, str] = {}
    for table in error_tables(locale).values():
        sentences |= table
    return sentence_patterns(sentences.items())


def _pattern(english: str) -> re.Pattern[str]:
    fixed = (re.escape(part) for part in english.split("{}"))
    return re.compile(r"(.+?)".join(fixed) + ("$" if english.endswith("{}") else ""), re.DOTALL)

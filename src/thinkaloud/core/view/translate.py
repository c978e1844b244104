"""Translates wordings: looks their templates up in the catalog of a language, and fills in the fields.

The catalogs are gettext files, one for each language, in `locales`. They are read as translators edit them,
so that there is no compiled file to build, to ship or to forget. A text without a translation stays English.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from thinkaloud.core.canon import Wording
from thinkaloud.core.canon.template import fill
from thinkaloud.core.view.words import find_locale

_CONTEXT_END = "\x04"
"""Separates a context from its text, as in compiled catalogs."""


def translate(wording: Wording | str, locale: str, *, context: str = "") -> str:
    """Return a wording, or a text that is a template without fields, in a language.

    A text that has another meaning elsewhere, or belongs to another program, has a context.
    """
    template = wording.template if isinstance(wording, Wording) else wording
    translation = catalog(locale).get(f"{context}{_CONTEXT_END}{template}" if context else template, template)
    if isinstance(wording, str):
        return translation
    fields = {
        name: translate(value, locale) if isinstance(value, Wording) else value
        for name, value in wording.fields.items()
    }
    return fill(translation, fields)


def translate_received(text: str, wording: Wording | None, locale: str) -> str:
    """Return a text that was sent or stored, with its wording if it has one, in a language."""
    return translate(Wording.received(text, wording), locale) if catalog(locale) else text


def catalog(locale: str) -> Mapping[str, str]:
    """Return the translations of a language by their English templates; none for English."""
    return _read_catalog(find_locale(locale).name)


@cache
def _read_catalog(name: str) -> Mapping[str, str]:
    file = resources.files("thinkaloud.core.view.locales").joinpath(f"{name}.po")
    return dict(read_catalog(file.read_text("utf-8"))) if file.is_file() else {}


def read_catalog(text: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a gettext catalog with their translations; a text with a context starts with it.

    Only what our catalogs have is read: no plurals, and no texts that wait for a translator.
    """
    entry: dict[str, str] = {}
    keyword, fuzzy = "", False
    for line in (*text.splitlines(), ""):
        if not line and entry.get("msgid") and entry.get("msgstr") and not fuzzy:
            context = entry["msgctxt"] + _CONTEXT_END if "msgctxt" in entry else ""
            yield context + entry["msgid"], entry["msgstr"]
        if not line:
            entry, fuzzy = {}, False
        elif line.startswith("#, fuzzy"):
            fuzzy = True
        elif not line.startswith("#"):
            start, quote, rest = line.partition('"')
            keyword = start.strip() or keyword
            entry[keyword] = entry.get(keyword, "") + json.loads(quote + rest)

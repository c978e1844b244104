"""The localized words on the screen: one key for each text, with numbers formatted for the language.

Code says "reasoning" and the screen says "Thinking"; this module translates. An unknown or negative
duration becomes an empty text.
"""

import re
from collections.abc import Mapping

from thinkaloud.core.canon import UnknownLocale
from thinkaloud.core.view.locales import EN_US, PT_BR, Locale

LOCALES: Mapping[str, Locale] = {locale.name: locale for locale in (EN_US, PT_BR)}

_BY_LANGUAGE = {name.partition("-")[0]: locale for name, locale in LOCALES.items()}


class Words:
    """The texts of one language: `Words("pt-BR").text("ai.thinking.words", n=3)`."""

    def __init__(self, locale: str = "en-US") -> None:
        self._table = find_locale(locale)

    @property
    def locale(self) -> str:
        """The full name of the locale, such as "pt-BR"."""
        return self._table.name

    def text(
        self, key: str, *, n: int | None = None, name: str = "", duration: str = "", reason: str = ""
    ) -> str:
        """Return the text of a key with its placeholders filled in; a text with a plural needs `n`."""
        text = self._table.words[key]
        if not isinstance(text, str):
            text = text.one if n in self._table.singular_counts else text.other
        count = "" if n is None else self.count(n)
        return text.format(n=count, name=name, duration=duration, reason=reason)

    def count(self, n: int) -> str:
        """Return a whole number with thousands separators."""
        return f"{n:,}".replace(",", self._table.thousands)

    def duration(self, ms: int | None) -> str:
        """Return a duration in at most two units: "850 ms", "4.2s", "1m 20s", "1h 2m"."""
        if ms is None or ms < 0:
            return ""
        if ms < 1000:
            return f"{ms} ms"
        tenths = (ms + 50) // 100
        if tenths < 600:
            return self._seconds(tenths)
        seconds = (ms + 500) // 1000
        if seconds < 3600:
            return _two_units(seconds, "m", "s")
        return _two_units((ms + 30_000) // 60_000, "h", "m")

    def _seconds(self, tenths: int) -> str:
        whole, tenth = divmod(tenths, 10)
        return f"{whole}{self._table.decimal}{tenth}s" if tenth else f"{whole}s"


def find_locale(name: str) -> Locale:
    """Return the locale for "pt", "pt-br", "pt_BR" or "pt_BR.UTF-8"; only the language part is compared."""
    language = re.split(r"[-_.@]", name.strip().lower(), maxsplit=1)[0]
    if language not in _BY_LANGUAGE:
        raise UnknownLocale(
            "Unknown language: {name}. Use one of: {locales}.", name=repr(name), locales=", ".join(LOCALES)
        )
    return _BY_LANGUAGE[language]


def _two_units(amount: int, large: str, small: str) -> str:
    high, low = divmod(amount, 60)
    return f"{high}{large} {low}{small}" if low else f"{high}{large}"

"""The words on the screen: one key for each, in every language, with numbers as that language writes them.

Code says "reasoning", the screen says "Thinking"; this is where one becomes the other. A time that is
unknown or makes no sense is said as nothing at all.
"""

import re
from collections.abc import Mapping

from thinkaloud.canon import UnknownLocale
from thinkaloud.view.locales import EN_US, PT_BR, Locale

LOCALES: Mapping[str, Locale] = {locale.name: locale for locale in (EN_US, PT_BR)}

_BY_LANGUAGE = {name.partition("-")[0]: locale for name, locale in LOCALES.items()}


class Words:
    """One language, ready to speak: `Words("pt-BR").say("ai.thinking.words", n=3)`."""

    def __init__(self, locale: str = "en-US") -> None:
        self._table = find_locale(locale)

    @property
    def locale(self) -> str:
        """The full name of the language spoken, such as "pt-BR"."""
        return self._table.name

    def text(
        self, key: str, *, n: int | None = None, name: str = "", duration: str = "", reason: str = ""
    ) -> str:
        """The text of a key with its gaps filled; a text with a plural needs `n`."""
        text = self._table.words[key]
        if not isinstance(text, str):
            text = text.one if n in self._table.singular_counts else text.other
        count = "" if n is None else self.count(n)
        return text.format(n=count, name=name, duration=duration, reason=reason)

    def count(self, n: int) -> str:
        """A whole number with its thousands apart."""
        return f"{n:,}".replace(",", self._table.thousands)

    def duration(self, ms: int | None) -> str:
        """A time in the two units that matter: "850 ms", "4.2s", "1m 20s", "1h 2m"."""
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
    """The locale for "pt", "pt-br", "pt_BR" or "pt_BR.UTF-8": its first part, the language, decides."""
    language = re.split(r"[-_.@]", name.strip().lower(), maxsplit=1)[0]
    if language not in _BY_LANGUAGE:
        raise UnknownLocale(f"There are no words for {name!r}. Choose one of: {', '.join(LOCALES)}.")
    return _BY_LANGUAGE[language]


def _two_units(amount: int, large: str, small: str) -> str:
    high, low = divmod(amount, 60)
    return f"{high}{large} {low}{small}" if low else f"{high}{large}"

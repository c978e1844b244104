"""One table of words per language. Every table has the same keys and the same placeholders."""

from thinkaloud.core.view.locales.en_us import EN_US
from thinkaloud.core.view.locales.pt_br import PT_BR
from thinkaloud.core.view.locales.table import Locale, Plural

__all__ = ["EN_US", "PT_BR", "Locale", "Plural"]

"""What the solver says, one table of words for each language, with the same keys and the same gaps."""

from collections.abc import Mapping

from thinkaloud.builtin.language import Language
from thinkaloud.builtin.words.en_us import EN_US
from thinkaloud.builtin.words.pt_br import PT_BR

Words = Mapping[str, str]

WORDS: Mapping[Language, Words] = {Language.EN: EN_US, Language.PT: PT_BR}

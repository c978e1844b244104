"""What a question asks for, once the words of asking are removed."""

import re

from thinkaloud.builtin.words import Language, plain_number

_ASKS_VALUE = (
    r"(?:(?:please|hey|ok|so|and|then|can you|could you|tell me|por favor|e|me diga),? )*"
    r"(?:how much is|how much are|what is the (?:result|value) of|what is|what's|whats|what are|what do you "
    r"get for|calculate|compute|evaluate|solve|work out|find|quanto (?:e|eh|da|sao|fica|vale)|qual e"
    r"|qual o (?:valor|resultado) de|calcule|calcular|resolva)"
)
_QUESTION = re.compile(rf"{_ASKS_VALUE}[: ]+(.+?)[?=. ]*")
_NUMBER = re.compile(r"\d[\d.,]*(?<=\d)")


def asked_value(text: str) -> str:
    """Returns what a normalized question asks the value of; the whole question where it is no question."""
    match = _QUESTION.fullmatch(text)
    return match[1] if match else text.rstrip("=?. ")


def plain_numbers(text: str, language: Language) -> str:
    """Rewrites every number of a text in plain digits with a decimal point."""
    return _NUMBER.sub(lambda number: plain_number(number[0], language) or number[0], text)

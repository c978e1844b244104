"""Text from outside, made fit to be kept: every engine takes it, and it is as long as it should be."""

import re

import msgspec

from thinkaloud.canon import Refused

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_QUOTED_CHARACTERS = 80


def storable(text: str) -> str:
    """The text with a mark in place of what no engine keeps: NUL, and halves of surrogate pairs."""
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def bounded_text(text: str, label: str, max_characters: int) -> str:
    """A storable text of at most so many characters."""
    if len(text) > max_characters:
        raise Refused(
            f"{label} has at most {max_characters} characters, and this one has {len(text)}. Shorten it."
        )
    return storable(text)


def quoted(text: str) -> str:
    """A text as a refusal quotes it: in one line, and not all of a long one."""
    return repr(text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…")


def json_text(value: msgspec.Struct | tuple[msgspec.Struct, ...], label: str) -> str:
    """A value as JSON text, in which NUL is written as an escape and does no harm."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        raise Refused(f"{label} cannot be kept: it holds half of a surrogate pair. Take it out.") from None

"""Checks and conversions of text before it is stored."""

import re

import msgspec

from thinkaloud.core.canon import Refused

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_QUOTED_CHARACTERS = 80


def storable(text: str) -> str:
    """Replace what a database cannot store, NUL and lone surrogates, with U+FFFD."""
    if text.isascii() and "\0" not in text:  # most texts: looking twice is faster than one search by pattern
        return text
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def bounded_text(text: str, label: str, max_characters: int) -> str:
    """Return the text as `storable`; refuse it if it is too long."""
    if len(text) > max_characters:
        raise Refused(
            f"{label} may have at most {max_characters} characters; this one has {len(text)}. Shorten it."
        )
    return storable(text)


def quoted(text: str) -> str:
    """Quote a text in an error message: on one line, and shortened."""
    return repr(text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…")


def json_text(value: msgspec.Struct | tuple[msgspec.Struct, ...], label: str) -> str:
    """Encode a value as JSON text. JSON escapes NUL, so only lone surrogates are refused."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        raise Refused(f"{label} cannot be stored: it contains half of a surrogate pair. Remove it.") from None

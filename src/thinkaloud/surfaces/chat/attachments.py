"""Reads images that a person attaches to a question by their path.

The type comes from the first bytes of the file, because names are often wrong and providers refuse an image
whose type does not match.
"""

import base64
import os
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.canon.requests import Image, media_type_of

MAX_BYTES = 5 * 1024 * 1024
"""The most that common providers accept for one image; base64 makes it a third larger."""

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Attachment(msgspec.Struct, frozen=True):
    """An image, and the name of the file that it came from."""

    name: str
    image: Image


def read_attachment(text: str) -> Attachment:
    """Return the image at a path, which may be quoted, start with `~`, or be a `file:` address."""
    path = _path(text)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Refused(
                "Cannot attach {name}: it is larger than {max_bytes} MB. Make it smaller.",
                name=path.name,
                max_bytes=MAX_BYTES // 1024 // 1024,
            )
        content = path.read_bytes()
    except OSError as error:
        raise Refused(
            "Cannot attach {path}: {reason}. Give the path of an image.", path=path, reason=reason_of(error)
        ) from None
    media_type = media_type_of(content)
    if not media_type.startswith("image/"):
        raise Refused("Cannot attach {name}: it is not a PNG, JPEG, GIF or WebP image.", name=path.name)
    return Attachment(path.name, Image(media_type, base64.b64encode(content).decode()))


def image_path(text: str) -> str:
    """Return a pasted text if it is nothing but the path of an existing image file, else an empty text."""
    text = text.strip()
    if not text or "\n" in text or not text.lower().rstrip("'\"").endswith(_SUFFIXES):
        return ""
    try:
        return text if _path(text).is_file() else ""
    except (OSError, ValueError):  # a text that cannot be a path: too long, or with a null character
        return ""


def _path(text: str) -> Path:
    text = text.strip()
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    else:
        try:
            words = shlex.split(text)
        except ValueError:  # an apostrophe in a file name
            words = []
        if not os.path.exists(os.path.expanduser(text)) and len(words) == 1:
            text = words[0]
    return Path(text).expanduser()

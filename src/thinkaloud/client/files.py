"""Reads files that a person attaches to a question: images, PDF files, recordings and text.

The type comes from the content, because names are often wrong and providers refuse a type that does not
match. Text goes into the message, so every model can read it.
"""

import base64
from collections.abc import Iterable
from pathlib import Path

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.canon.requests import File, Image, UserMessage, media_type_of, message_parts

MAX_BYTES = 20 * 1024 * 1024
"""About the most that providers accept in one request; base64 makes a file a third larger."""


def user_message(text: str, attached: Iterable[str | Path | Image | File] = ()) -> UserMessage:
    """Return a message with these files, given by path or as values."""
    texts, files = [text] if text else [], []
    for item in attached:
        file = File(item.media_type, item.data) if isinstance(item, Image) else item
        if isinstance(file, str | Path):
            content = _read(Path(file).expanduser())
            if isinstance(content, str):
                texts.append(content)
                continue
            file = content
        files.append(file)
    return UserMessage("\n\n".join(texts), *message_parts(files))


def _read(path: Path) -> File | str:
    """Return a file, or a text with its name and content."""
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
            "Cannot attach {path}: {reason}. Give the path of a file.", path=path, reason=reason_of(error)
        ) from None
    if media_type := media_type_of(content):
        return File(media_type, base64.b64encode(content).decode(), path.name)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise Refused(
            "Cannot attach {name}: it is not text, nor a PNG, JPEG, GIF or WebP image, a PDF, MP3 or "
            "WAV file. Convert it to one of them.",
            name=path.name,
        )
    return f"{path.name}:\n\n{text}"

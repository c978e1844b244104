"""Reads what a user sent: text, images and files in the parts of OpenAI's and Anthropic's messages."""

from collections.abc import Callable
from typing import Any, TypeVar

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import File, Image, ToolMessage, UserMessage
from thinkaloud.core.dialects.client_request import checked_image, checked_pdf, image_from_url, joined_message
from thinkaloud.importers.json_values import mapping, string
from thinkaloud.importers.source_conversation import UnreadCounter

T = TypeVar("T")
_TEXT_TYPES = ("text", "input_text", "output_text")


def read_prompt(content: Any, unread: UnreadCounter) -> UserMessage | None:
    """Return the message in a text or a list of parts; None if nothing of it can be read."""
    if isinstance(content, str):
        return UserMessage(content) if content else None
    texts: list[str] = []
    images: list[Image] = []
    files: list[File] = []
    for part in content if isinstance(content, list) else ():
        kind = string(part, "type")
        if isinstance(part, str):
            texts.append(part)
        elif kind in _TEXT_TYPES:
            texts.append(string(part, "text"))
        elif kind in ("image", "image_url", "input_image"):
            _add_read(images, _image, part, unread, "image that is not in the file")
        elif kind == "document":
            _add_read(files, _document, part, unread, "document that is not a PDF in the file")
        elif kind != "tool_result":
            unread.add(f"part of type {kind[:40]!r} of a prompt")
    if any(texts) or images or files:
        return joined_message(texts, images, files)
    return None


def joined_parts(parts: list[Any], unread: UnreadCounter) -> UserMessage | None:
    """Return the message in parts of Gemini's form; None if nothing of it can be read."""
    texts: list[str] = []
    images: list[Image] = []
    for part in parts:
        text = part if isinstance(part, str) else string(part, "text")
        data = mapping(part, "inlineData")
        if text:
            texts.append(text)
        elif string(data, "mimeType").startswith("image/"):
            _add_read(images, _inline_image, data, unread, "image that is not in the file")
        elif isinstance(part, dict) and part:
            unread.add(f"part {sorted(part)[0][:40]!r} of a prompt")
    return joined_message(texts, images) if texts or images else None


def read_results(content: Any, unread: UnreadCounter) -> tuple[ToolMessage, ...]:
    """Return the tool results in the parts of an Anthropic message."""
    parts = content if isinstance(content, list) else ()
    return tuple(
        ToolMessage(
            string(part, "tool_use_id"),
            result_text(part.get("content"), unread),
            failed=part.get("is_error") is True,
        )
        for part in parts
        if isinstance(part, dict) and part.get("type") == "tool_result"
    )


def result_text(content: Any, unread: UnreadCounter) -> str:
    """Return the text of a tool result: a text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else ():
        text = part if isinstance(part, str) else string(part, "text")
        if text:
            texts.append(text)
        elif isinstance(part, dict):
            unread.add(f"part of type {string(part, 'type')[:40]!r} of a tool result")
    return "\n\n".join(texts)


def _add_read(
    target: list[T], read: Callable[[dict[str, Any]], T], part: Any, unread: UnreadCounter, what: str
) -> None:
    try:
        target.append(read(part))
    except Refused:
        unread.add(what)


def _image(part: dict[str, Any]) -> Image:
    url = part.get("image_url")
    if url is not None:
        return image_from_url(string(url, "url") if isinstance(url, dict) else str(url))
    source = mapping(part, "source")
    if string(source, "url"):
        return image_from_url(string(source, "url"))
    return checked_image(string(source, "media_type"), string(source, "data"))


def _inline_image(data: dict[str, Any]) -> Image:
    return checked_image(string(data, "mimeType"), string(data, "data"))


def _document(part: dict[str, Any]) -> File:
    return checked_pdf(string(mapping(part, "source"), "data"), string(part, "title"))


def text_of_parts(content: Any) -> str:
    """Return a text, or the joined texts of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n\n".join(filter(None, (string(part, "text") for part in parts)))

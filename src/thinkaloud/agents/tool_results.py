"""What tools return: text, and images for models that see.

The text names each image where it belongs, so that people and models without sight know that there was one.
The type of an image comes from its content, because providers refuse a type that does not match.
"""

import base64
import binascii

import msgspec

from thinkaloud.core.canon.requests import Image, media_type_of

MAX_IMAGES = 20
"""In one result. Some providers take no more in a request."""
MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""For all images of one result together: the most that most providers accept for a single one."""


class ToolReturn(msgspec.Struct, frozen=True):
    """The result of a call."""

    text: str = ""
    images: tuple[Image, ...] = ()


class ResultParts:
    """Collects the parts of a result in their order."""

    def __init__(self, *, max_images: int = MAX_IMAGES) -> None:
        self._max_images = max_images
        self._bytes_left = MAX_IMAGE_BYTES
        self._texts: list[str] = []
        self._images: list[Image] = []

    def add_text(self, text: str) -> None:
        """Add a text as a line of its own."""
        self._texts.append(text)

    def add_file(self, label: str, data: str) -> None:
        """Add a file, as base64. A line of text takes the place of one that is no image, or too many."""
        size = len(data.rstrip("=")) * 3 // 4
        content = _decoded(data)
        media_type = media_type_of(content)
        if not media_type.startswith("image/"):
            self._texts.append(f"[{label[:100]}, {size} bytes, not shown]")
        elif len(self._images) >= self._max_images or size > self._bytes_left:
            self._texts.append(f"[{media_type}, {size} bytes, left out]")
        else:
            self._bytes_left -= size
            self._images.append(Image(media_type, data))
            self._texts.append(f"[image {len(self._images)}: {media_type}, {size} bytes]")

    def result(self) -> ToolReturn:
        """Return all parts as one result."""
        return ToolReturn("\n".join(self._texts), tuple(self._images))


def python_result(value: object) -> ToolReturn:
    """Return what a Python function returned as a result.

    Images are `Image` values, bytes of an image file, and objects that draw themselves (`_repr_png_`), as
    those of Pillow and matplotlib do; alone or in a list. Everything else that is not text becomes JSON.
    """
    values = value if type(value) in (list, tuple) else [value]
    assert isinstance(values, list | tuple)
    files = [_image_file(part) for part in values]
    if not any(files):
        return ToolReturn(_text(value))
    parts = ResultParts()
    for part, file in zip(values, files, strict=True):
        if file is not None:
            parts.add_file(file.media_type, file.data)
        elif part is not None:
            parts.add_text(_text(part))
    return parts.result()


def _image_file(value: object) -> Image | None:
    if isinstance(value, Image):
        return value
    draw = getattr(value, "_repr_png_", None)
    content = draw() if callable(draw) else value
    if not isinstance(content, bytes | bytearray) or not media_type_of(bytes(content[:16])).startswith(
        "image/"
    ):
        return None
    return Image(media_type_of(bytes(content[:16])), base64.b64encode(content).decode())


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""

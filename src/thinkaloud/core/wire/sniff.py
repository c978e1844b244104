"""Detects the framing of a response from its first bytes.

`sniff_framing` returns None while the bytes so far fit more than one framing. A framing, once returned, never
changes when more bytes arrive.
"""

import re

from thinkaloud.core.wire.aws import AwsEventStreamDecoder, valid_prelude
from thinkaloud.core.wire.frames import Framing
from thinkaloud.core.wire.json_frames import JsonArrayDecoder, JsonDecoder, NdjsonDecoder, complete_json
from thinkaloud.core.wire.lines import BOM
from thinkaloud.core.wire.sse import SseDecoder
from thinkaloud.core.wire.text import TextDecoder

_SSE_START = re.compile(rb"(?:data|event|id|retry)?:|(?:data|event|id|retry)[\r\n]")
_SSE_PREFIX = re.compile(
    rb"(?:d(?:a(?:t(?:a)?)?)?|e(?:v(?:e(?:n(?:t)?)?)?)?|i(?:d)?|r(?:e(?:t(?:r(?:y)?)?)?)?)\Z"
)
_AWS_PRELUDE_BYTES = 12
_ARRAY_START = re.compile(rb"\[\s*[{\]]")
_ARRAY_PREFIX = re.compile(rb"\[\s*\Z")


def sniff_framing(head: bytes, *, final: bool = False) -> Framing | None:
    """Return the framing of a body that starts with `head`; `final` means that `head` is the whole body."""
    if head[:1] == b"\0":
        if valid_prelude(head):
            return AwsEventStreamDecoder
        return None if len(head) < _AWS_PRELUDE_BYTES and not final else TextDecoder
    if BOM.startswith(head) and not final:
        return None
    stripped = head.removeprefix(BOM).lstrip()
    if stripped[:1] == b"{":
        return _sniff_json(stripped, final=final)
    if _SSE_START.match(stripped):
        return SseDecoder
    if _ARRAY_START.match(stripped):
        return JsonArrayDecoder
    if not final and (not stripped or _SSE_PREFIX.match(stripped) or _ARRAY_PREFIX.match(stripped)):
        return None
    return TextDecoder


def _sniff_json(body: bytes, *, final: bool) -> Framing | None:
    """Return NDJSON if the first line is a complete value, else JSON; None until the first line ends."""
    line, newline, _ = body.partition(b"\n")
    if newline:
        return NdjsonDecoder if complete_json(line) else JsonDecoder
    return JsonDecoder if final else None


def drop_blank_start(head: bytearray) -> None:
    """Drop the white space at the start of a body, and after the bracket of an array.

    Servers send it to keep a connection open, for as long as a model thinks.
    """
    start = len(BOM) if head.startswith(BOM) else 0
    _drop_space(head, start)
    if head[start : start + 1] == b"[":
        _drop_space(head, start + 1)


def _drop_space(head: bytearray, start: int) -> None:
    if head[start : start + 1].isspace():
        del head[start : len(head) - len(head[start:].lstrip())]

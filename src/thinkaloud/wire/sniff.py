"""Detects the framing of a response from its first bytes.

`sniff_framing` returns None while the bytes so far fit more than one framing. A framing, once returned, never
changes when more bytes arrive.
"""

import re

from thinkaloud.wire.aws import AwsEventStreamDecoder, valid_prelude
from thinkaloud.wire.frames import KIB, Framing
from thinkaloud.wire.json_frames import JsonArrayDecoder, JsonDecoder, NdjsonDecoder, complete_json
from thinkaloud.wire.lines import BOM
from thinkaloud.wire.sse import SseDecoder
from thinkaloud.wire.text import TextDecoder

_SSE_START = re.compile(rb"(?:data|event|id|retry)?:|(?:data|event|id|retry)[\r\n]")
_SSE_PREFIX = re.compile(
    rb"(?:d(?:a(?:t(?:a)?)?)?|e(?:v(?:e(?:n(?:t)?)?)?)?|i(?:d)?|r(?:e(?:t(?:r(?:y)?)?)?)?)\Z"
)
_AWS_PRELUDE_BYTES = 12
_MAX_LEADING_SPACE = KIB
"""A body that starts with this much white space is text, whatever follows."""
_ARRAY_START = re.compile(rb"\[\s{0,%d}[{\]]" % _MAX_LEADING_SPACE)
_ARRAY_PREFIX = re.compile(rb"\[\s{0,%d}\Z" % _MAX_LEADING_SPACE)


def sniff_framing(head: bytes, *, final: bool = False) -> Framing | None:
    """Return the framing of a body that starts with `head`; `final` means that `head` is the whole body."""
    if head[:1] == b"\0":
        if valid_prelude(head):
            return AwsEventStreamDecoder
        return None if len(head) < _AWS_PRELUDE_BYTES and not final else TextDecoder
    if BOM.startswith(head) and not final:
        return None
    body = head.removeprefix(BOM)
    stripped = body.lstrip()
    if len(body) - len(stripped) >= _MAX_LEADING_SPACE:
        return TextDecoder
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

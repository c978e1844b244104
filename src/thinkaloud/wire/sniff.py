"""Which framing the first bytes are in: they say it themselves, so nobody needs to be told.

`sniff` answers None while the bytes seen so far could still be more than one thing.
"""

import re

from thinkaloud.wire.aws import AwsEventStream, prelude_is_sound
from thinkaloud.wire.frames import KIB, Framing
from thinkaloud.wire.json_values import Json, JsonArray, Ndjson, complete
from thinkaloud.wire.lines import BOM
from thinkaloud.wire.sse import Sse
from thinkaloud.wire.text import Text

_SSE = re.compile(rb"(?:data|event|id|retry)?:|(?:data|event|id|retry)[\r\n]")
_SSE_SO_FAR = re.compile(
    rb"(?:d(?:a(?:t(?:a)?)?)?|e(?:v(?:e(?:n(?:t)?)?)?)?|i(?:d)?|r(?:e(?:t(?:r(?:y)?)?)?)?)\Z"
)
_AWS_PRELUDE = 12
_MOST_BLANKS = KIB
"""White space for this long at the start is text, whatever follows it."""
_ARRAY = re.compile(rb"\[\s{0,%d}[{\]]" % _MOST_BLANKS)
_ARRAY_SO_FAR = re.compile(rb"\[\s{0,%d}\Z" % _MOST_BLANKS)


def sniff(head: bytes, *, final: bool = False) -> Framing | None:
    """The decoder for a body that starts with `head`; `final` when no more bytes will come."""
    if head[:1] == b"\0":
        if prelude_is_sound(head):
            return AwsEventStream
        return None if len(head) < _AWS_PRELUDE and not final else Text
    if BOM.startswith(head) and not final:
        return None
    body = head.removeprefix(BOM)
    start = body.lstrip()
    if len(body) - len(start) >= _MOST_BLANKS:
        return Text
    if start[:1] == b"{":
        return _json(start, final=final)
    if _SSE.match(start):
        return Sse
    if _ARRAY.match(start):
        return JsonArray
    if not final and (not start or _SSE_SO_FAR.match(start) or _ARRAY_SO_FAR.match(start)):
        return None
    return Text


def _json(start: bytes, *, final: bool) -> Framing | None:
    """One value, unless the first line is a whole value by itself."""
    line, end, _ = start.partition(b"\n")
    if end:
        return Ndjson if complete(line) else Json
    return Json if final else None

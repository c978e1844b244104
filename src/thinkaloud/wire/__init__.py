"""Bytes into frames: SSE, NDJSON, JSON, a JSON array in pieces, AWS event stream, plain text; with limits."""

from thinkaloud.wire.aws import AwsEventStream
from thinkaloud.wire.frames import LIMITS, BrokenFrame, Decoder, Frame, Framing, Limits, Metered, TooLarge
from thinkaloud.wire.json_values import Json, JsonArray, Ndjson, complete
from thinkaloud.wire.lines import BOM
from thinkaloud.wire.sniff import sniff
from thinkaloud.wire.sse import Sse
from thinkaloud.wire.text import PLAIN, Text

__all__ = [
    "BOM",
    "LIMITS",
    "PLAIN",
    "AwsEventStream",
    "BrokenFrame",
    "Decoder",
    "Frame",
    "Framing",
    "Json",
    "JsonArray",
    "Limits",
    "Metered",
    "Ndjson",
    "Sse",
    "Text",
    "TooLarge",
    "complete",
    "sniff",
]

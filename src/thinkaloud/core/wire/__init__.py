"""Decoders from bytes to frames: SSE, JSON, NDJSON, JSON array, AWS event stream and plain text."""

from thinkaloud.core.wire.aws import AwsEventStreamDecoder
from thinkaloud.core.wire.frames import (
    DEFAULT_LIMITS,
    BrokenFrame,
    Decoder,
    Frame,
    Framing,
    MeteredDecoder,
    WireLimitExceeded,
    WireLimits,
)
from thinkaloud.core.wire.json_frames import (
    JsonArrayDecoder,
    JsonDecoder,
    NdjsonDecoder,
    replace_non_json_numbers,
    valid_json,
)
from thinkaloud.core.wire.lines import BOM
from thinkaloud.core.wire.pieces import LineEnds, frame_of, readable
from thinkaloud.core.wire.sniff import drop_blank_start, sniff_framing
from thinkaloud.core.wire.sse import STRAY_LINE, SseDecoder
from thinkaloud.core.wire.text import PLAIN_TEXT, TextDecoder, repaired_json

__all__ = [
    "BOM",
    "DEFAULT_LIMITS",
    "PLAIN_TEXT",
    "STRAY_LINE",
    "AwsEventStreamDecoder",
    "BrokenFrame",
    "Decoder",
    "Frame",
    "Framing",
    "JsonArrayDecoder",
    "JsonDecoder",
    "LineEnds",
    "MeteredDecoder",
    "NdjsonDecoder",
    "SseDecoder",
    "TextDecoder",
    "WireLimitExceeded",
    "WireLimits",
    "drop_blank_start",
    "frame_of",
    "readable",
    "repaired_json",
    "replace_non_json_numbers",
    "sniff_framing",
    "valid_json",
]

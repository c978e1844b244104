"""Decoders from bytes to frames: SSE, JSON, NDJSON, JSON array, AWS event stream, plain text. SSE encoded."""

from thinkaloud.core.wire.aws import AwsEventStreamDecoder as AwsEventStreamDecoder
from thinkaloud.core.wire.frames import DEFAULT_LIMITS as DEFAULT_LIMITS
from thinkaloud.core.wire.frames import BrokenFrame as BrokenFrame
from thinkaloud.core.wire.frames import Decoder as Decoder
from thinkaloud.core.wire.frames import Frame as Frame
from thinkaloud.core.wire.frames import Framing as Framing
from thinkaloud.core.wire.frames import MeteredDecoder as MeteredDecoder
from thinkaloud.core.wire.frames import WireLimitExceeded as WireLimitExceeded
from thinkaloud.core.wire.frames import WireLimits as WireLimits
from thinkaloud.core.wire.json_frames import JsonArrayDecoder as JsonArrayDecoder
from thinkaloud.core.wire.json_frames import JsonDecoder as JsonDecoder
from thinkaloud.core.wire.json_frames import NdjsonDecoder as NdjsonDecoder
from thinkaloud.core.wire.json_frames import replace_non_json_numbers as replace_non_json_numbers
from thinkaloud.core.wire.json_frames import valid_json as valid_json
from thinkaloud.core.wire.lines import BOM as BOM
from thinkaloud.core.wire.pieces import LineEnds as LineEnds
from thinkaloud.core.wire.pieces import frame_of as frame_of
from thinkaloud.core.wire.pieces import readable as readable
from thinkaloud.core.wire.sniff import drop_blank_start as drop_blank_start
from thinkaloud.core.wire.sniff import sniff_framing as sniff_framing
from thinkaloud.core.wire.sse import STRAY_LINE as STRAY_LINE
from thinkaloud.core.wire.sse import SseDecoder as SseDecoder
from thinkaloud.core.wire.sse_encoder import sse as sse
from thinkaloud.core.wire.text import PLAIN_TEXT as PLAIN_TEXT
from thinkaloud.core.wire.text import TextDecoder as TextDecoder
from thinkaloud.core.wire.text import repaired_json as repaired_json

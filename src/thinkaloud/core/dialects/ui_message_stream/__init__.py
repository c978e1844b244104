"""The UI message stream of the Vercel AI SDK: `parse` and `write` for front ends. No provider speaks it."""

from thinkaloud.core.dialects.ui_message_stream.parse import parse_request
from thinkaloud.core.dialects.ui_message_stream.write import NAME, RESPONSE_FORMAT

__all__ = ["NAME", "RESPONSE_FORMAT", "parse_request"]

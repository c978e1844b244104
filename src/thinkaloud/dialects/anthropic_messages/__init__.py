"""Anthropic Messages: `read` parses responses, `ask` builds requests, `write` writes responses."""

from thinkaloud.dialects.anthropic_messages.ask import build_request
from thinkaloud.dialects.anthropic_messages.read import NAME, Reader
from thinkaloud.dialects.anthropic_messages.write import RESPONSE_FORMAT

__all__ = ["NAME", "RESPONSE_FORMAT", "Reader", "build_request"]

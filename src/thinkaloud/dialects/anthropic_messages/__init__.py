"""Anthropic Messages: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.anthropic_messages.ask import build_request
from thinkaloud.dialects.anthropic_messages.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

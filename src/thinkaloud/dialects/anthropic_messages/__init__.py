"""Anthropic Messages: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.anthropic_messages.ask import PARAMETER_PATHS, build_request
from thinkaloud.dialects.anthropic_messages.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

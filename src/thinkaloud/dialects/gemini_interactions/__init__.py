"""Gemini Interactions: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.gemini_interactions.ask import build_request
from thinkaloud.dialects.gemini_interactions.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

"""Gemini generateContent: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.gemini.ask import build_request
from thinkaloud.dialects.gemini.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

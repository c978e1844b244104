"""Gemini Interactions: `read` parses responses, `ask` builds requests."""

from thinkaloud.core.dialects.gemini_interactions.ask import PARAMETER_PATHS, build_request
from thinkaloud.core.dialects.gemini_interactions.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

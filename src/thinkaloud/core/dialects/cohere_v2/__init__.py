"""Cohere v2 Chat: `read` parses responses, `ask` builds requests."""

from thinkaloud.core.dialects.cohere_v2.ask import PARAMETER_PATHS, build_request
from thinkaloud.core.dialects.cohere_v2.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

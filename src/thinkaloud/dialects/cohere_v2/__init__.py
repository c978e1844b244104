"""Cohere v2 Chat: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.cohere_v2.ask import build_request
from thinkaloud.dialects.cohere_v2.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

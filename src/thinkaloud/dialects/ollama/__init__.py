"""Ollama chat: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.ollama.ask import build_request
from thinkaloud.dialects.ollama.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

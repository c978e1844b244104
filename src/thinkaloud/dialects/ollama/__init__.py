"""Ollama chat: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.ollama.ask import PARAMETER_PATHS, build_request
from thinkaloud.dialects.ollama.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

"""OpenAI Chat Completions: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.openai_chat.ask import PARAMETER_PATHS, build_request
from thinkaloud.dialects.openai_chat.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

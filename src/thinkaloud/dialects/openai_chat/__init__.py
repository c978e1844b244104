"""OpenAI Chat Completions: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.openai_chat.ask import build_request
from thinkaloud.dialects.openai_chat.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

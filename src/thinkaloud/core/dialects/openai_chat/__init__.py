"""OpenAI Chat Completions: `read` and `ask` for providers, `parse` and `write` for clients."""

from thinkaloud.core.dialects.openai_chat.ask import PARAMETER_PATHS, build_request
from thinkaloud.core.dialects.openai_chat.parse import parse_request
from thinkaloud.core.dialects.openai_chat.read import NAME, Reader
from thinkaloud.core.dialects.openai_chat.write import RESPONSE_FORMAT

__all__ = ["NAME", "PARAMETER_PATHS", "RESPONSE_FORMAT", "Reader", "build_request", "parse_request"]

"""OpenAI Responses: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.openai_responses.ask import build_request
from thinkaloud.dialects.openai_responses.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

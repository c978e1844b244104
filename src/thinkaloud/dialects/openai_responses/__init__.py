"""OpenAI Responses: `read` parses responses, `ask` builds requests, `write` writes responses."""

from thinkaloud.dialects.openai_responses.ask import build_request
from thinkaloud.dialects.openai_responses.read import NAME, Reader
from thinkaloud.dialects.openai_responses.write import RESPONSE_FORMAT

__all__ = ["NAME", "RESPONSE_FORMAT", "Reader", "build_request"]

"""OpenAI Responses: `read` and `ask` for providers, `parse` and `write` for clients."""

from thinkaloud.core.dialects.openai_responses.ask import PARAMETER_PATHS, build_request
from thinkaloud.core.dialects.openai_responses.parse import parse_request
from thinkaloud.core.dialects.openai_responses.read import NAME, Reader
from thinkaloud.core.dialects.openai_responses.write import RESPONSE_FORMAT

__all__ = ["NAME", "PARAMETER_PATHS", "RESPONSE_FORMAT", "Reader", "build_request", "parse_request"]

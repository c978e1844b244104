"""OpenAI Responses: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.openai_responses.ask import PARAMETER_PATHS, build_request
from thinkaloud.dialects.openai_responses.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

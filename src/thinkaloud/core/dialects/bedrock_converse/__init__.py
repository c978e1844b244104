"""Amazon Bedrock Converse: `read` parses responses, `ask` builds requests."""

from thinkaloud.core.dialects.bedrock_converse.ask import PARAMETER_PATHS, build_request
from thinkaloud.core.dialects.bedrock_converse.read import NAME, Reader

__all__ = ["NAME", "PARAMETER_PATHS", "Reader", "build_request"]

"""Amazon Bedrock Converse: `read` parses responses, `ask` builds requests."""

from thinkaloud.dialects.bedrock_converse.ask import build_request
from thinkaloud.dialects.bedrock_converse.read import NAME, Reader

__all__ = ["NAME", "Reader", "build_request"]

"""Estimates the tokens of a request, for clients of Anthropic Messages that ask before they send it.

No tokenizer is the same for all models, so the count is an estimate from the length of the text. A header
says so.
"""

import msgspec

from thinkaloud.agents.watchers import BYTES_PER_TOKEN
from thinkaloud.core.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.core.dialects.anthropic_messages import parse_request
from thinkaloud.core.dialects.client_request import ClientRequest, ClientStep
from thinkaloud.gateway.server.http.request_parts import decode_large
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse

IMAGE_TOKENS = 1600
"""About the most that Anthropic counts for one image."""
ESTIMATED_HEADER = "x-thinkaloud-estimated"
_encode = msgspec.json.Encoder().encode


async def count_tokens(request: RouteRequest) -> RouteResponse:
    """Return the estimate, in Anthropic's format."""
    tokens = estimated_tokens(await decode_large(request.raw_body, parse_request))
    return RouteResponse(
        content=_encode({"input_tokens": tokens}), headers=((ESTIMATED_HEADER, "input_tokens"),)
    )


def estimated_tokens(request: ClientRequest) -> int:
    """Return about how many tokens a request has."""
    texts = [request.system, *(text for step in request.steps for text in _texts(step))]
    texts += (tool.name + tool.description + tool.parameters for tool in request.tools)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    images = sum(len(_images(step)) for step in request.steps)
    return -(-size // BYTES_PER_TOKEN) + IMAGE_TOKENS * images


def _texts(step: ClientStep) -> list[str]:
    match step:
        case UserMessage():
            return [step.text]
        case ToolMessage():
            return [step.result]
    calls = [call.name + call.arguments for call in step.calls]
    return [step.text, *calls, *(thought.text for thought in step.thoughts)]


def _images(step: ClientStep) -> tuple[Image, ...]:
    return step.images if isinstance(step, UserMessage | ToolMessage) else ()

"""Anthropic's prompt cache: what a request stores, what it reads, and how its input is billed.

The request is a row of blocks: tools, system prompt, messages. A mark stores everything up to its block. A
later request reads the longest stored beginning that ends at one of its marks or up to 20 blocks before it.
"""

import hashlib
from typing import NamedTuple

from thinkaloud.simulators.anthropic.history import content_blocks, without_cache_marks
from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, compact_json, objects
from thinkaloud.simulators.script import count_tokens

MAX_MARKS = 4
LOOKBACK_BLOCKS = 20
MIN_TOKENS = 1024
"""A shorter beginning is not stored."""
_SOURCE = "vendor docs: prompt caching"


class _Block(NamedTuple):
    """A block, and everything before it: whether it has a mark, a hash and the number of tokens."""

    marked: bool
    prefix: str
    tokens: int


def input_tokens(request: ApiRequest) -> int:
    """Return the size of the input, whatever is cached."""
    blocks = _blocks(request)
    return blocks[-1].tokens if blocks else 0


def billed_input(request: ApiRequest) -> Json:
    """Return the input part of the usage, and store what the marks say."""
    blocks = _blocks(request)
    cached = request.state.cached
    marks = [number for number, block in enumerate(blocks) if block.marked]
    read = 0
    for mark in marks:
        for block in blocks[max(0, mark - LOOKBACK_BLOCKS) : mark + 1]:
            if block.prefix in cached:
                read = max(read, block.tokens)
    # Only now: a request does not read what it stores itself.
    written = 0
    for mark in marks:
        if blocks[mark].tokens >= MIN_TOKENS:
            cached.add(blocks[mark].prefix)
            written = max(written, blocks[mark].tokens)
    return {
        "input_tokens": input_tokens(request) - max(written, read),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": max(0, written - read),
    }


def _blocks(request: ApiRequest) -> list[_Block]:
    system = request.body.get("system") or []
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    parts = [
        *objects(request.body.get("tools")),
        *objects(system),
        *(block for message in objects(request.body["messages"]) for block in content_blocks(message)),
    ]
    blocks, digest, tokens = [], hashlib.sha256(request.model.encode()), 0
    for part in parts:
        text = compact_json(without_cache_marks(part))
        digest.update(text.encode())
        tokens += count_tokens(text)
        blocks.append(_Block("cache_control" in part, digest.copy().hexdigest(), tokens))
    return blocks


def _check_marks(request: ApiRequest) -> ApiError | None:
    marks = sum(block.marked for block in _blocks(request))
    if marks <= MAX_MARKS:
        return None
    message = f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {marks}."
    return ApiError(400, message, "invalid_request_error")


def _check_empty(request: ApiRequest) -> ApiError | None:
    for message in objects(request.body["messages"]):
        for block in content_blocks(message):
            if "cache_control" in block and block.get("type") == "text" and not block.get("text"):
                return ApiError(
                    400, "cache_control cannot be set for empty text blocks", "invalid_request_error"
                )
    return None


RULES = (
    Rule("anthropic.cache-marks", "more than four cache marks", _SOURCE, _check_marks),
    Rule("anthropic.cache-empty", "a cache mark on an empty text", _SOURCE, _check_empty),
)

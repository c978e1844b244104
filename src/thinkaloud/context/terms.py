"""On what terms a request is made: how much thought goes back, and how the model is asked."""

from enum import StrEnum

import msgspec

from thinkaloud.canon.requests import ThinkingParameters


class ContextMode(StrEnum):
    """How much thought goes back."""

    KEEP = "keep"
    """As much as the provider accepts."""
    STRIP = "strip"
    """Only what the provider demands."""
    PROVIDER_DEFAULT = "provider_default"
    """What the provider recommends."""


class UnsupportedThoughts(StrEnum):
    """What becomes of thoughts that the model cannot take."""

    STRIP = "strip"
    METADATA = "metadata"
    """They are kept with the conversation, and nothing is sent."""
    NOTE = "note"
    """A short note goes with the next user message."""


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about the next request that is not the conversation."""

    mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    unsupported: UnsupportedThoughts = UnsupportedThoughts.METADATA
    ask: ThinkingParameters = ThinkingParameters()
    max_tokens: int | None = None
    tool_choice: str = ""
    stream: bool = True

"""How far an agent may go: its limits, what it has spent, and the word for it when it is enough."""

from collections.abc import Sequence

import msgspec

from thinkaloud.agents.prices import price_of
from thinkaloud.transcript import Reply


class RunLimits(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How far an agent may go, with all that its assistants do; None is no limit."""

    replies: int = 50
    output_tokens: int | None = None
    """As far as providers report them."""
    seconds: float | None = 600.0
    """Time spent waiting for an approval does not count."""
    usd: float | None = None
    """As far as prices are known."""


class LimitReached(Exception):
    """An agent may go no further; `whose` says which one, `code` which limit it is."""

    def __init__(self, loop: object, limit_name: str, name: str, limits: RunLimits) -> None:
        self.loop = loop
        self.code = f"limit_{limit_name}"
        limit = f"{getattr(limits, limit_name):,}"
        super().__init__(
            f"{name} was stopped by its limit on {_LIMIT_LABELS[limit_name]}, {limit} (limits.{limit_name}). What was said until "
            "then stands; raise the limit to let it go further."
        )


_LIMIT_LABELS = {
    "replies": "replies",
    "output_tokens": "output tokens",
    "seconds": "seconds",
    "usd": "US dollars",
}


def exceeded_limit(limits: RunLimits, replies: Sequence[Reply], pending: int = 0) -> str:
    """Which limit leaves no room for another reply beside those under way; empty where none does."""
    if len(replies) + pending >= limits.replies:
        return "replies"
    tokens = sum(reply.usage.output or 0 for reply in replies)
    if limits.output_tokens is not None and tokens >= limits.output_tokens:
        return "output_tokens"
    if limits.usd is not None and sum(float(price_of(reply) or 0) for reply in replies) >= limits.usd:
        return "usd"
    return ""

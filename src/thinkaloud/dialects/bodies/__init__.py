"""A request into each provider's JSON body: one module per wire format, `write` for all of them."""

from collections.abc import Callable

from thinkaloud.canon import UnknownDialect
from thinkaloud.canon.requests import Request
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies import (
    anthropic_messages,
    bedrock_converse,
    cohere_v2,
    gemini,
    gemini_interactions,
    ollama,
    openai_chat,
    openai_responses,
)
from thinkaloud.dialects.bodies.outgoing import Outgoing

__all__ = ["BODIES", "Outgoing", "write"]

BODIES: dict[str, Callable[[Route, Request], Outgoing]] = {
    body.NAME: body.write
    for body in (
        anthropic_messages,
        bedrock_converse,
        cohere_v2,
        gemini,
        gemini_interactions,
        ollama,
        openai_chat,
        openai_responses,
    )
}
"""The dialects in which something can be asked; raw text is only read."""


def write(route: Route, request: Request) -> Outgoing:
    """The request in the dialect of the route's provider."""
    dialect = route.provider.dialect
    if dialect not in BODIES:
        known = ", ".join(sorted(BODIES))
        raise UnknownDialect(
            f"Nothing can be asked in the dialect {dialect!r} of {route.provider.name}. Use one of: {known}."
        )
    return BODIES[dialect](route, request)

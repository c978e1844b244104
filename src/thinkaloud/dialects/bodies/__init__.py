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
from thinkaloud.dialects.bodies.outgoing import ProviderRequest

__all__ = ["REQUEST_BUILDERS", "ProviderRequest", "build_request"]

REQUEST_BUILDERS: dict[str, Callable[[Route, Request], ProviderRequest]] = {
    dialect.NAME: dialect.write
    for dialect in (
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


def build_request(route: Route, request: Request) -> ProviderRequest:
    """The request in the dialect of the route's provider."""
    dialect = route.provider.dialect
    if dialect not in REQUEST_BUILDERS:
        names = ", ".join(sorted(REQUEST_BUILDERS))
        raise UnknownDialect(
            f"Nothing can be asked in the dialect {dialect!r} of {route.provider.name}. Use one of: {names}."
        )
    return REQUEST_BUILDERS[dialect](route, request)

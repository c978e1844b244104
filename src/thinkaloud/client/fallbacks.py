"""Requests to send instead if a provider refuses the first one with known words.

Whether an account may see thoughts, and whether a local model can think, is known to the provider only. The
words of its refusal are in its row.
"""

import msgspec

from thinkaloud.core.canon.requests import Request, ThinkingParameters
from thinkaloud.core.catalog.rows import Route


class Fallback(msgspec.Struct, frozen=True):
    """What to do if the provider refuses a request with these words."""

    refusal: str
    note: str
    request: Request | None = None
    """The request to send instead; None to raise `ThinkingNotOffered` with the note."""


def fallbacks_for(route: Route, request: Request, *, warn: bool) -> tuple[Fallback, ...]:
    """Return the fallbacks of a request. `warn` allows an answer without the requested thinking."""
    provider, thinking = route.provider, request.thinking
    fallbacks = []
    if provider.display_refusal and thinking.display:
        shown_nothing = msgspec.structs.replace(thinking, display="")
        note = f"{provider.name} returns no thoughts to this account, so the question was asked without them."
        fallbacks.append(Fallback(provider.display_refusal, note, _with_thinking(request, shown_nothing)))
    if provider.thinking_refusal and (thinking.toggle or thinking.effort):
        note = f"Thinking is on, but {route.model_id} does not support thinking at {provider.name}."
        without_thinking = ThinkingParameters(max_tokens=thinking.max_tokens)
        fallbacks.append(
            Fallback(
                provider.thinking_refusal,
                f"{note} It was asked without."
                if warn
                else f"{note} Turn thinking off, or choose another model.",
                _with_thinking(request, without_thinking) if warn else None,
            )
        )
    return tuple(fallbacks)


def _with_thinking(request: Request, thinking: ThinkingParameters) -> Request:
    return msgspec.structs.replace(request, thinking=thinking)

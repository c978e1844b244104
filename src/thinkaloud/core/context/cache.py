"""Places cache marks, so that the next request of a conversation pays for its new input only.

A provider stores the request up to a mark and bills the same beginning at a lower price the next time.
Storing costs extra, so a request gets marks only if another one will probably begin with it.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from thinkaloud.core.canon.requests import AssistantMessage, CacheMarks, Message
from thinkaloud.core.catalog.rows import CacheForm, Route
from thinkaloud.core.context.context import Context

MESSAGE_MARKS = 2
"""With those after tools and system prompt this makes four, the most that Anthropic allows.

The last mark is what the next request reads. The one before is what this request reads; the provider would
not find it by itself behind a reply of many blocks.
"""
_KEY_CHARACTERS = 32
_encoder = msgspec.json.Encoder(order="deterministic")


def place_marks(context: Context, messages: Sequence[Message], route: Route) -> CacheMarks:
    """Return the marks for a request with these messages, in the form that the provider takes."""
    form = route.model.cache.get(route.provider.name, route.provider.cache)
    repeated = bool(context.tools) or any(isinstance(message, AssistantMessage) for message in messages)
    if not repeated or form is CacheForm.NONE:
        return CacheMarks()
    if form is CacheForm.KEY:
        start = _encoder.encode((context.system, context.tools, messages[:1]))
        return CacheMarks(key=hashlib.sha256(start).hexdigest()[:_KEY_CHARACTERS])
    if form is CacheForm.AUTOMATIC:
        return CacheMarks(automatic=True)
    return CacheMarks(
        tools=bool(context.tools),
        system=bool(context.system),
        messages=tuple(_run_ends(messages)[-MESSAGE_MARKS:]),
    )


def _run_ends(messages: Sequence[Message]) -> list[int]:
    """Return the positions of the last message before each answer, and of the last message of all."""
    from_user = [not isinstance(message, AssistantMessage) for message in messages]
    return [
        position
        for position, (own, following) in enumerate(zip(from_user, [*from_user[1:], False], strict=True))
        if own and not following
    ]

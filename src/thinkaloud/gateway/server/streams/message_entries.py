"""Turns a stored message into what a user may see of it, and into entries that a page folds.

Seals stay in the store: a page has no use for them, and only their issuer may see them.
"""

import msgspec

from thinkaloud.core.canon import Entry
from thinkaloud.core.export.record import entry_without_seals
from thinkaloud.core.transcript import unfold
from thinkaloud.gateway.server.streams.thought_filter import hide_thoughts
from thinkaloud.gateway.store.queries.messages import timestamps_of, turn_of
from thinkaloud.gateway.store.rows import Role, StoredMessage, ThinkingShown


def message_entries(message: StoredMessage) -> tuple[Entry, ...]:
    """Return entries that fold to the turn of an assistant message, without the contents of seals."""
    if message.role is not Role.ASSISTANT:
        return ()
    return tuple(map(entry_without_seals, unfold(turn_of(message))))


def hide_in_message(message: StoredMessage, shown: ThinkingShown) -> StoredMessage:
    """Return a message as a user may see it."""
    if message.role is not Role.ASSISTANT or shown is ThinkingShown.ALL:
        return message
    turn = hide_thoughts(turn_of(message), shown)
    return msgspec.structs.replace(
        message,
        thinking=None,
        stamps=timestamps_of(turn),
        usage=turn.usage,
        raw=None,
        outcome=turn.outcome,
        summary="",
        summary_by="",
        notices=tuple(turn.notices),
        replies=tuple(turn.replies),
        started_ms=turn.started_ms,
        ended_ms=turn.ended_ms,
        parts=tuple(turn.blocks),
    )

"""Turns a stored message into what a user may see of it, and into entries that a page folds."""

import msgspec

from thinkaloud.core.canon import BlockSealed, Entry, ReplyEnded, TurnEnded
from thinkaloud.core.transcript import unfold
from thinkaloud.gateway.server.streams.thought_filter import hide_thoughts
from thinkaloud.gateway.store.queries.messages import timestamps_of, turn_of
from thinkaloud.gateway.store.rows import Role, StoredMessage, ThinkingShown


def message_entries(message: StoredMessage) -> tuple[Entry, ...]:
    """Return entries that fold to the turn of an assistant message, without the contents of seals."""
    if message.role is not Role.ASSISTANT:
        return ()
    return tuple(map(_without_seals, unfold(turn_of(message))))


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


def _without_seals(entry: Entry) -> Entry:
    """Return the entry without the contents of seals, which only their issuer may see."""
    event = entry.event
    if isinstance(event, BlockSealed):
        seal = msgspec.structs.replace(event.seal, payload="")
        return msgspec.structs.replace(entry, event=BlockSealed(event.block, seal))
    if isinstance(event, ReplyEnded | TurnEnded) and event.message is not None:
        return msgspec.structs.replace(entry, event=msgspec.structs.replace(event, message=None))
    return entry

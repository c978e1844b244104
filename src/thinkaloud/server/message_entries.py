"""Turns a stored message back into entries, which a page folds like a stream."""

import msgspec

from thinkaloud.canon import BlockSealed, Entry, ReplyEnded, TurnEnded
from thinkaloud.store.messages import turn_of
from thinkaloud.store.rows import Role, StoredMessage
from thinkaloud.transcript import unfold


def message_entries(message: StoredMessage) -> tuple[Entry, ...]:
    """Return entries that fold to the turn of an assistant message, without the contents of seals."""
    if message.role is not Role.ASSISTANT:
        return ()
    return tuple(map(_without_seals, unfold(turn_of(message))))


def _without_seals(entry: Entry) -> Entry:
    """Return the entry without the contents of seals, which only their issuer may see."""
    event = entry.event
    if isinstance(event, BlockSealed):
        seal = msgspec.structs.replace(event.seal, payload="")
        return msgspec.structs.replace(entry, event=BlockSealed(event.block, seal))
    if isinstance(event, ReplyEnded | TurnEnded) and event.message is not None:
        return msgspec.structs.replace(entry, event=msgspec.structs.replace(event, message=None))
    return entry

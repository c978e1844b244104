"""The entries that a stored message amounts to: what a page folds instead of the log that was streamed."""

import msgspec

from thinkaloud.canon import BlockSealed, Entry, ReplyEnded, TurnEnded
from thinkaloud.store.messages import turn_of
from thinkaloud.store.rows import Message, Role
from thinkaloud.transcript import unfold


def message_entries(message: Message) -> tuple[Entry, ...]:
    """Entries that fold to the turn of an assistant's message; what its seals hold is left out."""
    if message.role is not Role.ASSISTANT:
        return ()
    return tuple(map(_without_seals, unfold(turn_of(message))))


def _without_seals(entry: Entry) -> Entry:
    """The entry as a page may have it: what a seal holds goes back to its issuer only."""
    event = entry.event
    if isinstance(event, BlockSealed):
        seal = msgspec.structs.replace(event.seal, payload="")
        return msgspec.structs.replace(entry, event=BlockSealed(event.block, seal))
    if isinstance(event, ReplyEnded | TurnEnded) and event.message is not None:
        return msgspec.structs.replace(entry, event=msgspec.structs.replace(event, message=None))
    return entry

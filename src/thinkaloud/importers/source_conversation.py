"""A conversation as another program kept it: a tree of prompts, replies and tool results.

The readers of all formats produce this, and `exchanges` turns it into a session.
"""

from collections.abc import Iterable

import msgspec

from thinkaloud.core.canon import Event
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.record import Exchange

TimedEvent = tuple[Event, int | None]
"""An event and its time, None if it is unknown."""


class SourceReply(msgspec.Struct, frozen=True):
    """The events of one reply of a model, from `TurnStarted` to its end."""

    events: tuple[TimedEvent, ...]


SourceContent = UserMessage | SourceReply | tuple[ToolMessage, ...] | None
"""None is a message that only connects others."""


class SourceNode(msgspec.Struct, frozen=True):
    """One message; `parent` is the id of the message before it, empty for the first one."""

    id: str
    parent: str
    content: SourceContent
    at_ms: int | None = None


class SourceConversation(msgspec.Struct, frozen=True, kw_only=True):
    """All messages of a conversation.

    `id` identifies it in its source, also after it has grown. `leaf` is the id of the last message of the
    branch that its program showed; empty means the last message.
    """

    id: str
    nodes: tuple[SourceNode, ...]
    title: str = ""
    created_ms: int | None = None
    model: str = ""
    """The model of replies that name none."""
    leaf: str = ""
    belongs_to: str = ""
    """The id of the conversation whose agent started this one; empty for none."""
    exchanges: tuple[Exchange, ...] = ()
    """Its turns, if the file has them as they are stored. Then there are no `nodes`."""


class UnreadItem(msgspec.Struct, frozen=True):
    """What is in a file and does not come into a session, how often, and the first line with it."""

    what: str
    count: int
    line: int


_MAX_UNREAD_KINDS = 1_000
_MORE_KINDS = "other things of many kinds"


class UnreadCounter:
    """Counts what a reader leaves out. A file may name its fields as it likes, so the kinds are bounded."""

    def __init__(self) -> None:
        self.line = 1
        """The line of the item that is read now."""
        self._items: dict[str, UnreadItem] = {}

    def add(self, what: str, count: int = 1) -> None:
        """Count something that is left out, at the present line."""
        if what not in self._items and len(self._items) >= _MAX_UNREAD_KINDS:
            what = _MORE_KINDS
        before = self._items.get(what, UnreadItem(what, 0, self.line))
        self._items[what] = msgspec.structs.replace(before, count=before.count + count)

    def add_fields(self, where: str, value: object, known: Iterable[str]) -> None:
        """Count the fields of an object that the reader does not know and that hold something."""
        if isinstance(value, dict):
            for name in value.keys() - known:
                if value[name] not in (None, "", [], {}, False):
                    self.add(f"field {name!r} of {where}"[:120])

    def items(self) -> tuple[UnreadItem, ...]:
        """Return what was left out, the most frequent first."""
        return tuple(sorted(self._items.values(), key=lambda item: (-item.count, item.what)))

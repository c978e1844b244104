"""Questions that wait in a session until the turn before them has ended.

They are sent in order, one at a time, and only after a turn that ended normally. After one that failed or was
cancelled they stay until the person sends, edits or removes them. `ChatState` follows this rule.
"""

import secrets
from collections.abc import Callable
from typing import Protocol

import msgspec

from thinkaloud.surfaces.chat.attachments import Attachment
from thinkaloud.surfaces.chat.chat_session import Answerer


class WaitingQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that waits. The gateway knows it by its key: sent twice, it is asked once."""

    prompt: str
    attachments: tuple[Attachment, ...] = ()
    answerer: Answerer = Answerer()
    key: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(16))
    held: bool = False
    """Whether only the person sends it: it was refused, or is being edited."""


Questions = list[WaitingQuestion]
Change = Callable[[Questions], Questions]


class WaitingStore(Protocol):
    """Keeps the questions that wait, for each session."""

    def read(self, session: str) -> Questions:
        """Return the questions of a session, the first one first."""

    def change(self, session: str, change: Change) -> Questions:
        """Replace the questions of a session by what `change` makes of them, and return that."""


class WaitingInMemory:
    """Keeps the questions until the surface closes."""

    def __init__(self) -> None:
        self._sessions: dict[str, Questions] = {}

    def read(self, session: str) -> Questions:
        """Return the questions of a session."""
        return self._sessions.get(session, [])

    def change(self, session: str, change: Change) -> Questions:
        """Replace the questions of a session."""
        self._sessions[session] = change(self.read(session))
        return self.read(session)

"""The query and the response of imports."""

from typing import Annotated

import msgspec
from msgspec import Meta

from thinkaloud.gateway.server.schemas.sessions import SessionBody


class ImportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a file is imported."""

    format: Annotated[str, Meta(max_length=20)] = ""
    """The format of the file. Empty means that its content tells it."""
    dry_run: bool = False
    """Only tell what would be added."""


class ImportedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation of an imported file."""

    session: str
    """The id of its session. Empty if a dry run would create it."""
    title: str
    new: bool
    """Whether there was no session of it before."""
    turns: int
    turns_added: int
    thoughts: int
    calls: int


class UnreadPart(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file and in no session: how often, and the line of the first one."""

    what: str
    count: int
    line: int


class ImportBody(SessionBody, frozen=True, kw_only=True):
    """The last session of an import, and what the whole file holds."""

    format: str
    conversations: list[ImportedConversation]
    unread: list[UnreadPart]

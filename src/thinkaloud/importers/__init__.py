"""Imports conversations that other programs kept, with their thoughts.

One module per format, all into `SourceConversation`. Nothing here needs the gateway, and only the core is
imported. Read first: `source_conversation.py`, `formats.py`, `claude_code.py`.
"""

from thinkaloud.importers.files import HistoryFile, ImportedSession, open_history
from thinkaloud.importers.formats import FORMAT_NAMES
from thinkaloud.importers.json_items import DamagedFile, UnknownFormat
from thinkaloud.importers.source_conversation import UnreadItem

__all__ = [
    "FORMAT_NAMES",
    "DamagedFile",
    "HistoryFile",
    "ImportedSession",
    "UnknownFormat",
    "UnreadItem",
    "open_history",
]

"""Imports conversations that other programs kept, with their thoughts."""

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

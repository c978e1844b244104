"""Imports conversations that other programs kept, with their thoughts."""

from thinkaloud.importers.conversation import UnreadItem
from thinkaloud.importers.files import HistoryFile, ImportedSession, open_history
from thinkaloud.importers.formats import FORMAT_NAMES
from thinkaloud.importers.json_items import DamagedFile, UnknownFormat

__all__ = [
    "FORMAT_NAMES",
    "DamagedFile",
    "HistoryFile",
    "ImportedSession",
    "UnknownFormat",
    "UnreadItem",
    "open_history",
]

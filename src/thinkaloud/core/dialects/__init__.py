"""The wire formats: one folder per dialect, the registry, and the `Reader` that detects the dialect."""

from thinkaloud.core.dialects.reader import Piece, Reader
from thinkaloud.core.dialects.registry import AUTO, CLIENT_FORMATS, DIALECTS, build_request, find_dialect
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile

__all__ = [
    "AUTO",
    "CLIENT_FORMATS",
    "DIALECTS",
    "PROFILES",
    "Piece",
    "Reader",
    "TagProfile",
    "build_request",
    "find_dialect",
]

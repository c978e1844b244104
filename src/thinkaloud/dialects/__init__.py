"""One module per wire format, and the reader that finds out by itself which one it is reading."""

from thinkaloud.dialects.profiles import PROFILES, TagProfile
from thinkaloud.dialects.reading import AUTO, DIALECTS, Reader

__all__ = ["AUTO", "DIALECTS", "PROFILES", "Reader", "TagProfile"]

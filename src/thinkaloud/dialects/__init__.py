"""One folder per wire format, one table of all of them, and the reader that finds out which one it reads."""

from thinkaloud.dialects.reader import AUTO, Reader
from thinkaloud.dialects.registry import DIALECTS, build_request
from thinkaloud.dialects.tags.profiles import PROFILES, TagProfile

__all__ = ["AUTO", "DIALECTS", "PROFILES", "Reader", "TagProfile", "build_request"]

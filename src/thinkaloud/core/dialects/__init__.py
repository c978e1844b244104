"""The wire formats: one folder per dialect, the registry, and the `Reader` that detects the dialect."""

from thinkaloud.core.dialects.reader import AUTO, Reader
from thinkaloud.core.dialects.registry import CLIENT_FORMATS, DIALECTS, build_request
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile

__all__ = ["AUTO", "CLIENT_FORMATS", "DIALECTS", "PROFILES", "Reader", "TagProfile", "build_request"]

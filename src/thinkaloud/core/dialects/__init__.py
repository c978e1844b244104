"""The wire formats: one folder per dialect, the registry, and the `Reader` that detects the dialect."""

from thinkaloud.core.dialects.reader import Piece as Piece
from thinkaloud.core.dialects.reader import Reader as Reader
from thinkaloud.core.dialects.registry import AUTO as AUTO
from thinkaloud.core.dialects.registry import CLIENT_FORMATS as CLIENT_FORMATS
from thinkaloud.core.dialects.registry import DIALECTS as DIALECTS
from thinkaloud.core.dialects.registry import build_request as build_request
from thinkaloud.core.dialects.registry import find_dialect as find_dialect
from thinkaloud.core.dialects.tags.profiles import PROFILES as PROFILES
from thinkaloud.core.dialects.tags.profiles import TagProfile as TagProfile

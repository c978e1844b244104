"""Where a user's own files live: settings, credentials, and what the gateway keeps."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """`THINKALOUD_HOME`, else the folder for data that this platform gives to programs."""
    if chosen := environ.get("THINKALOUD_HOME"):
        return Path(chosen).expanduser()
    return _platform_data_folder(environ) / "thinkaloud"


def _platform_data_folder(environ: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")

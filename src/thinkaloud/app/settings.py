"""What a user has set: where their files are, the model to ask, and a catalog file of their own."""

import os
import sys
from pathlib import Path

from thinkaloud.canon import BadCatalog, Refused
from thinkaloud.catalog import Catalog, builtin, builtin_texts, parse
from thinkaloud.catalog.book import FILES


def home() -> Path:
    """Where a user's own files live: `THINKALOUD_HOME`, else the folder that the platform has for data."""
    if chosen := os.environ.get("THINKALOUD_HOME"):
        return Path(chosen).expanduser()
    return _data_folder() / "thinkaloud"


def database_path() -> Path:
    """Where the gateway keeps sessions."""
    return home() / "thinkaloud.db"


def _data_folder() -> Path:
    match sys.platform:
        case "darwin":
            return Path.home() / "Library" / "Application Support"
        case "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def user_catalog() -> Catalog:
    """The catalog, with the user's own `catalog.toml` on top of it where there is one."""
    mine = home() / "catalog.toml"
    if not mine.is_file():
        return builtin()
    try:
        rows = mine.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "it is not UTF-8 text"
        raise BadCatalog(f"{mine} cannot be read: {why}. Correct it, or move it away.") from None
    return parse(*builtin_texts(), rows, names=(*FILES, str(mine)))


def model_name(given: str) -> str:
    """The model to ask: as given, else what `THINKALOUD_MODEL` says."""
    if name := given or os.environ.get("THINKALOUD_MODEL", ""):
        return name
    raise Refused(
        "No model was named. Use --model NAME or set THINKALOUD_MODEL; `thinkaloud models` lists those "
        "known, and `thinkaloud simulate` runs one to try without a key."
    )

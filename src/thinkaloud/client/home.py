"""The folder for the user's own files: settings, credentials, the catalog and the gateway's database."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return `THINKALOUD_HOME` if it is set, else the platform's folder for application data."""
    if folder := environ.get("THINKALOUD_HOME"):
        return Path(folder).expanduser()
    return user_data_path("thinkaloud", appauthor=False)

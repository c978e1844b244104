"""Writes the manual page that is part of the package: `python scripts/manual.py`."""

import os
from pathlib import Path

PAGE = Path(__file__).parents[1] / "src" / "thinkaloud" / "cli" / "thinkaloud.1"

if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    from thinkaloud import __version__
    from thinkaloud.cli.manual import manual_page

    PAGE.write_text(manual_page(__version__), "utf-8")

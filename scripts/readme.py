"""The README as the package index shows it: a link to a file of the repository leads to the forge."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

FORGE = "https://github.com/thinkaloud/thinkaloud"
_FILE = re.compile(r"(!?\[[^\]]*\]\()(?!https?://|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Called by hatchling for each build."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the field `readme`."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": _FILE.sub(_on_the_forge, text)}


def _on_the_forge(link: re.Match[str]) -> str:
    kind = "raw" if link[1].startswith("!") else "blob"
    return f"{link[1]}{FORGE}/{kind}/main/{link[2]})"

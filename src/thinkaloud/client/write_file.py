"""Writes a small file of the user at once: readers see the old text or the new one, never half of it."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from thinkaloud.canon import Refused


def replace_file(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file, or create it; a link stays a link. Without a mode it keeps its own, 600 if new."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if mode is None:
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise
    except OSError as error:
        raise Refused(
            f"{path} cannot be written: {error.strerror}. Check the permissions of its folder."
        ) from None

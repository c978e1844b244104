"""The user's own files: the folder that holds them, and how a small one is written.

A file is written at once: readers see the old text or the new one, never half of it.
"""

import errno
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_data_path

from thinkaloud.core.canon import Refused, Wording, reason_of

_REMEDIES = {
    errno.ENOSPC: Wording("Free some disk space."),
    errno.EDQUOT: Wording("Free some disk space."),
    errno.EROFS: Wording("Make the file system writable, or set THINKALOUD_HOME to another folder."),
}


def write_remedy(error: OSError) -> Wording:
    """Return what to do about a file that could not be written."""
    return _REMEDIES.get(error.errno or 0, Wording("Check the permissions of its folder."))


def replace_file(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file, or create it; a link stays a link. Without a mode it keeps its own, 600 if new."""
    target = path.resolve()
    with _refuse_unwritable(path):
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


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a file's folder, so that of several changes of the file at once none is lost.

    The lock is on the folder, because the file is replaced by each change.
    """
    folder = path.resolve().parent
    with _refuse_unwritable(path):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = _open_lock(folder)
    try:
        yield
    finally:
        os.close(file)


@contextmanager
def _refuse_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refused(
            "{path} cannot be written: {reason}. {remedy}",
            path=path,
            reason=reason_of(error),
            remedy=write_remedy(error),
        ) from None


if sys.platform == "win32":
    import msvcrt

    def _open_lock(folder: Path) -> int:
        # Windows cannot lock a folder.
        file = os.open(folder / ".settings.lock", os.O_CREAT | os.O_RDWR, 0o600)
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
        return file

else:
    import fcntl

    def _open_lock(folder: Path) -> int:
        file = os.open(folder, os.O_RDONLY)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return `THINKALOUD_HOME` if it is set, else the platform's folder for application data."""
    if folder := environ.get("THINKALOUD_HOME"):
        return Path(folder).expanduser()
    return user_data_path("thinkaloud", appauthor=False)

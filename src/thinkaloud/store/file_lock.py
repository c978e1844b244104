"""A file lock that its process holds until it exits. The operating system releases it, also after a crash."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self


class FileLock:
    """Tries once to take the lock. `held` says whether it succeeded, `holder` which process has it."""

    def __init__(self, path: Path, *, enabled: bool = True) -> None:
        self._path = path
        self._enabled = enabled
        self._file = -1
        self.held = False

    def __enter__(self) -> Self:
        if self._enabled:
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            self.held = _try_lock(self._file)
            if self.held:
                os.ftruncate(self._file, 0)
                os.write(self._file, f"process {os.getpid()}".encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            os.close(self._file)

    @property
    def holder(self) -> str:
        """The process that wrote its id into the file."""
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.read(self._file, 64).decode(errors="replace") or "unknown"


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int) -> bool:
        # Locks a byte far behind the holder's name: Windows lets no other process read a locked range.
        os.lseek(file, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

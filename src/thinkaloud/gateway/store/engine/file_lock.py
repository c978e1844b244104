"""The lock of a database: held by the process that writes turns, with the address at which it serves.

The operating system releases the lock when the process ends, also after a crash. So a file that nobody holds
is stale, whatever is written in it.
"""

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from thinkaloud.core.canon import Refused, reason_of

_RETRIES = 20
_RETRY_S = 0.01
"""Readers hold the lock for some microseconds to learn whether it is free, so the first try may fail."""


class LockHolder(msgspec.Struct, frozen=True, omit_defaults=True):
    """The process that holds a lock. `url` is empty until it serves; `token` authenticates the local user."""

    pid: int
    url: str = ""
    token: str = ""
    inside: bool = False
    """Whether the gateway is inside another command and ends with it."""


_holder_decoder = msgspec.json.Decoder(LockHolder)


class FileLock:
    """Takes the lock if it is free. `held` says whether it succeeded."""

    def __init__(self, path: Path, *, enabled: bool = True) -> None:
        self._path = path
        self._enabled = enabled
        self._file = -1
        self.held = False

    def __enter__(self) -> Self:
        if self._enabled:
            try:
                self._take()
            except OSError as error:
                self._close()
                raise Refused(
                    "The lock {path} cannot be written: {reason}. Free some disk space if the disk "
                    "is full; move away whatever has this name if it is not a file.",
                    path=self._path,
                    reason=reason_of(error),
                ) from None
        return self

    def _take(self) -> None:
        self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        for _ in range(_RETRIES):
            self.held = _try_lock(self._file, shared=False)
            if self.held:
                _write(self._file, LockHolder(os.getpid()))
                break
            time.sleep(_RETRY_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            if self.held:
                os.ftruncate(self._file, 0)  # it held the token of a gateway that has stopped
            os.close(self._file)


def lock_path(database: Path) -> Path:
    """Return the path of the lock of a database."""
    return database.with_name(database.name + ".lock")


def publish_address(path: Path, url: str = "", token: str = "", *, inside: bool = False) -> None:
    """Write the address of this process into the lock that it holds. Only the file's owner can read it."""
    file = os.open(path, os.O_RDWR)
    try:
        os.chmod(path, 0o600)  # the file may have been made by an earlier version
        _write(file, LockHolder(os.getpid(), url, token, inside))
    finally:
        os.close(file)


def lock_holder(path: Path) -> LockHolder | None:
    """Return the process that holds the lock; None if nobody does."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:  # it does not exist, or nobody may open the folder: `open_database` then says which
        return None
    try:
        if _try_lock(file, shared=True):
            return None
        return _read(file)
    finally:
        os.close(file)


def _write(file: int, holder: LockHolder) -> None:
    content = msgspec.json.encode(holder)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, content)
    os.ftruncate(file, len(content))


def _read(file: int) -> LockHolder:
    """Return the holder. A file that is being written has none yet: process 0 without an address."""
    os.lseek(file, 0, os.SEEK_SET)
    try:
        return _holder_decoder.decode(os.read(file, 4096))
    except msgspec.MsgspecError:
        return LockHolder(0)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int, *, shared: bool) -> bool:
        # Locks a byte far behind the content: Windows lets no other process read a locked range. It has no
        # shared locks here, so two readers may see each other.
        os.lseek(file, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(file: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

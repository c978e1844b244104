"""Names the cause when SQLite cannot use its file: a full disk, a read-only file system, another process.

SQLite reports some of them as an error of the disk or of the file. The file system knows better.
"""

import os
import shutil
import sqlite3
from pathlib import Path

from thinkaloud.core.canon import Wording

FULL = Wording("the disk is full")
READ_ONLY = Wording("the file system is read-only")
REMEDIES = {
    str(FULL): Wording("Free some disk space, then try again."),
    str(READ_ONLY): Wording("Make it writable, or set THINKALOUD_HOME to another folder."),
}
_REASONS = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: Wording("the file or its folder is read-only"),
    sqlite3.SQLITE_IOERR: Wording("the disk reported an error"),
    sqlite3.SQLITE_CANTOPEN: Wording("the file cannot be opened"),
    sqlite3.SQLITE_BUSY: Wording("another process holds the file for too long"),
    sqlite3.SQLITE_LOCKED: Wording("another process holds the file for too long"),
}
PRIMARY_CODE_MASK = 0xFF
_AMBIGUOUS = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_FEW_BYTES = 256 * 1024
"""With less free space SQLite cannot create its write-ahead log and the index of it."""


def disk_problem(error: BaseException | None, path: Path) -> Wording | None:
    """Return why SQLite could not use a file; None if the disk is not the cause."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    primary_code = code & PRIMARY_CODE_MASK
    file_system = _file_system_problem(path) if primary_code in _AMBIGUOUS else None
    return file_system or _REASONS.get(primary_code)


def disk_remedy(reason: Wording | str) -> Wording:
    """Return what to do about a problem of the disk."""
    return REMEDIES.get(str(reason), Wording("Free some disk space, or make the file writable."))


def _file_system_problem(path: Path) -> Wording | None:
    try:
        if hasattr(os, "statvfs") and os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return READ_ONLY
        return FULL if shutil.disk_usage(path.parent).free < _FEW_BYTES else None
    except OSError:  # the folder is gone; SQLite's own reason stays
        return None

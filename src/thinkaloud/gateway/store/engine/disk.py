"""Names the cause when SQLite cannot use its file: a full disk, a read-only file system, another process.

SQLite reports some of them as an error of the disk or of the file. The file system knows better.
"""

import os
import shutil
import sqlite3
from pathlib import Path

FULL = "the disk is full"
READ_ONLY = "the file system is read-only"
REMEDIES = {
    FULL: "Free some disk space, then try again.",
    READ_ONLY: "Make it writable, or set THINKALOUD_HOME to another folder.",
}
_REASONS = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_BUSY: "another process holds the file for too long",
    sqlite3.SQLITE_LOCKED: "another process holds the file for too long",
}
PRIMARY_CODE_MASK = 0xFF
_AMBIGUOUS = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_FEW_BYTES = 256 * 1024
"""With less free space SQLite cannot create its write-ahead log and the index of it."""


def disk_problem(error: BaseException | None, path: Path) -> str:
    """Return why SQLite could not use a file; empty if the disk is not the cause."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return ""
    primary_code = code & PRIMARY_CODE_MASK
    file_system = _file_system_problem(path) if primary_code in _AMBIGUOUS else ""
    return file_system or _REASONS.get(primary_code, "")


def disk_remedy(reason: str) -> str:
    """Return what to do about a problem of the disk."""
    return REMEDIES.get(reason, "Free some disk space, or make the file writable.")


def _file_system_problem(path: Path) -> str:
    try:
        if hasattr(os, "statvfs") and os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return READ_ONLY
        return FULL if shutil.disk_usage(path.parent).free < _FEW_BYTES else ""
    except OSError:  # the folder is gone; SQLite's own reason stays
        return ""

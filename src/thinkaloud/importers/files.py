"""Reads files of other programs into sessions.

A zip file is read as people download it: its `conversations.json` is unpacked as a stream, nothing is written
to the disk. A database is opened read-only, with bounds on what its queries may do.
"""

import os
import sqlite3
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote

import msgspec

from thinkaloud.core.canon import Kind, Refused, reason_of
from thinkaloud.core.export.record import SessionRecord, Source, block_kinds, turns_of
from thinkaloud.core.wire.frames import MIB
from thinkaloud.importers.exchanges import exchanges_of
from thinkaloud.importers.formats import CLIENTS, DATABASE_FORMATS, FORMAT_NAMES, JSON_FORMATS, JsonFormat
from thinkaloud.importers.json_items import MAX_ITEM_BYTES, DamagedFile, Item, UnknownFormat, read_items
from thinkaloud.importers.source_conversation import SourceConversation, UnreadCounter, UnreadItem

MAX_UNPACKED_BYTES = 8 * 1024 * MIB
"""All conversations of a zip file, unpacked. The largest account export seen had 2 GiB."""
MAX_UNPACKED_RATIO = 200
"""How many times larger they may be than the zip file. Text is packed to a tenth, seldom to less."""
_RATIO_FREE_BYTES = MIB
"""A zip file may unpack to this, however small it is."""
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What account exports use. Others can ask for gigabytes of memory to unpack anything."""
MAX_ZIP_ENTRIES = 200_000
_CONVERSATION_FILES = ("conversations", ".json")
_MAX_SQLITE_STEPS = 2_000_000_000
"""Steps of the database's virtual machine. A log with a million rows takes a hundredth of it."""
_SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_ITEM_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MIB,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
"""A value and a row have at most the size of an item of JSON."""
_SQLITE_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
MAX_TITLE_CHARACTERS = 200
MAX_ID_CHARACTERS = 200
_SQLITE_MAGIC = b"SQLite format 3\0"
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)
"""What unpacking raises: damage, and what the zip module does not read."""
_ZIP_MAGIC = b"PK\x03\x04"
_DETECTION_ITEMS = 50
"""The first items in which a file's format is looked for."""


class ImportedSession(msgspec.Struct, frozen=True):
    """A session from a file of another program, and the number of its thoughts and calls."""

    record: SessionRecord
    thoughts: int
    calls: int

    @property
    def turns(self) -> int:
        """The number of its turns, in all branches."""
        return len(self.record.exchanges)


class HistoryFile:
    """Reads one file. `sessions` yields them one by one; `format` and `unread` are known at its end."""

    def __init__(
        self,
        file: BinaryIO,
        *,
        format_name: str = "",
        path: Path | None = None,
        max_unpacked_bytes: int = MAX_UNPACKED_BYTES,
    ) -> None:
        if format_name and format_name not in FORMAT_NAMES:
            raise Refused(
                "Unknown format {format_name}. Use one of: {format_names}.",
                format_name=repr(format_name),
                format_names=", ".join(FORMAT_NAMES),
            )
        self.format = format_name
        self._file = file
        self._path = path
        self._max_unpacked_bytes = max_unpacked_bytes
        self._unread = UnreadCounter()

    @property
    def unread(self) -> tuple[UnreadItem, ...]:
        """What was in the file and is in no session."""
        return self._unread.items()

    def sessions(self) -> Iterator[ImportedSession]:
        """Yield the sessions. Raises `DamagedFile` with the line of the first error."""
        for conversation in self._conversations():
            if not conversation.id:
                raise DamagedFile("Line {line}: the conversation has no id.", line=self._unread.line)
            exchanges = conversation.exchanges or exchanges_of(conversation, self._unread)
            if exchanges:
                yield _session(self.format, conversation, SessionRecord(exchanges=exchanges))

    def _conversations(self) -> Iterator[SourceConversation]:
        magic = self._file.read(16)
        self._file.seek(0)
        if not magic:
            raise UnknownFormat("The file is empty.")
        if magic.startswith(_ZIP_MAGIC):
            yield from self._read_zip()
        elif magic == _SQLITE_MAGIC:
            yield from self._read_database()
        else:
            yield from self._read_json(self._file)

    def _read_json(self, file: BinaryIO) -> Iterator[SourceConversation]:
        items = read_items(file)
        first = list(islice(items, _DETECTION_ITEMS))
        self._unread.line = first[0].line if first else 1
        row = self._json_format(first)
        self.format = row.name
        return row.read(self._counted(chain(first, items)), self._unread)

    def _json_format(self, first: list[Item]) -> JsonFormat:
        for row in JSON_FORMATS:
            if self.format == row.name or (
                not self.format and any(row.recognises(item.value) for item in first)
            ):
                return row
        if self.format:
            raise DamagedFile(
                "The file is JSON, but the format {format} is a database.", format=repr(self.format)
            )
        raise UnknownFormat(
            "The format is not known: no part of the file looks like a conversation. Formats: "
            "{format_names}. If the file is in one of them, name its format.",
            format_names=", ".join(FORMAT_NAMES),
        )

    def _counted(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if item.repaired:
                self._unread.line = item.line
                self._unread.add("half of a character, replaced by U+FFFD")
            if isinstance(item.value, dict):
                yield item
            else:
                self._unread.line = item.line
                self._unread.add("line that is no object")

    def _read_zip(self) -> Iterator[SourceConversation]:
        try:
            with zipfile.ZipFile(self._file) as archive:
                entries = archive.infolist()
                if len(entries) > MAX_ZIP_ENTRIES:
                    raise DamagedFile(
                        "The zip file has more than {max_zip_entries} entries.",
                        max_zip_entries=f"{MAX_ZIP_ENTRIES:,}",
                    )
                histories = [entry for entry in entries if _holds_conversations(entry.filename)]
                if not histories:
                    raise UnknownFormat("The zip file holds no conversations.json. Import what is in it.")
                if left := len(entries) - len(histories):
                    self._unread.add("other file in the zip file", left)
                self._check_unpacked_size(histories)
                for entry in histories:
                    yield from self._read_entry(archive, entry)
        except _ZIP_ERRORS as error:
            raise DamagedFile(
                "The zip file is damaged: {reason}. Download it again.", reason=reason_of(error)
            ) from None

    def _check_unpacked_size(self, entries: Iterable[zipfile.ZipInfo]) -> None:
        """Refuse a zip file that unpacks to too much. No entry gives more than the size that it states."""
        unpacked_bytes = sum(entry.file_size for entry in entries)
        packed_bytes = self._file.seek(0, os.SEEK_END)
        if unpacked_bytes > self._max_unpacked_bytes:
            raise DamagedFile(
                "The conversations in the zip file have {unpacked_bytes} MiB. The limit is "
                "{max_unpacked_bytes} MiB.",
                unpacked_bytes=f"{unpacked_bytes // MIB:,}",
                max_unpacked_bytes=f"{self._max_unpacked_bytes // MIB:,}",
            )
        if unpacked_bytes > max(_RATIO_FREE_BYTES, packed_bytes * MAX_UNPACKED_RATIO):
            raise DamagedFile(
                "The conversations in the zip file are more than {max_unpacked_ratio} times as large "
                "as the zip file. Unpack it first.",
                max_unpacked_ratio=MAX_UNPACKED_RATIO,
            )

    def _read_entry(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[SourceConversation]:
        if entry.flag_bits & 1:
            raise DamagedFile(
                "{filename} in the zip file is encrypted. Unpack it first.", filename=entry.filename[:80]
            )
        if entry.compress_type not in _ZIP_METHODS:
            raise DamagedFile(
                "{filename} in the zip file is packed in an unusual way. Unpack it first.",
                filename=entry.filename[:80],
            )
        try:
            with archive.open(entry) as file:
                yield from self._read_json(cast(BinaryIO, file))
        except DamagedFile as error:
            raise DamagedFile(
                "{filename} in the zip file: {reason}", filename=entry.filename[:80], reason=reason_of(error)
            ) from None

    def _read_database(self) -> Iterator[SourceConversation]:
        if self._path is None:
            raise DamagedFile("A database must be a file of its own.")
        address = f"file:{quote(str(self._path.resolve()))}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                _restrict(connection)
                row = next((row for row in DATABASE_FORMATS if row.recognises(connection)), None)
                if row is None or self.format not in ("", row.name):
                    raise UnknownFormat(
                        "The database is no log of a known program. Formats of databases: {names}.",
                        names=", ".join(row.name for row in DATABASE_FORMATS),
                    )
                self.format = row.name
                yield from row.read(connection, self._unread)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise DamagedFile("The database cannot be read: {reason}.", reason=reason_of(error)) from None


def open_history(path: Path, format_name: str = "") -> tuple[BinaryIO, HistoryFile]:
    """Open a file. Only a regular file is opened, so that a pipe or a device does not block."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Refused("{path} is not a regular file.", path=path)
        file = path.open("rb")
    except OSError as error:
        raise Refused("Cannot read {path}: {reason}.", path=path, reason=reason_of(error)) from None
    return file, HistoryFile(file, format_name=format_name, path=path)


def _holds_conversations(name: str) -> bool:
    """Return whether an entry of a zip file is a list of conversations, which large exports divide."""
    start, end = _CONVERSATION_FILES
    stem = name.rpartition("/")[2].removesuffix(end)
    numbered = stem.removeprefix(start).lstrip("-_").isdecimal()
    return name.endswith(end) and stem.startswith(start) and (stem == start or numbered)


def _restrict(connection: sqlite3.Connection) -> None:
    """Bound what a hostile database can make the queries do."""
    connection.execute("PRAGMA query_only = 1")
    connection.execute("PRAGMA trusted_schema = 0")
    connection.execute("PRAGMA cell_size_check = 1")
    for limit, value in _SQLITE_LIMITS.items():
        connection.setlimit(limit, value)
    connection.set_authorizer(_authorize)
    steps = iter(range(_MAX_SQLITE_STEPS // 100_000))
    connection.set_progress_handler(lambda: next(steps, -1) < 0, 100_000)


def _authorize(
    action: int, name: str | None, _argument: str | None, _schema: str | None, source: str | None
) -> int:
    """Allow to read tables: no function, and nothing on behalf of a view or a trigger (`source`)."""
    reads_columns = action == sqlite3.SQLITE_PRAGMA and name == "table_xinfo"
    allowed = source is None and (action in _SQLITE_READS or reads_columns)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _session(format_name: str, source: SourceConversation, record: SessionRecord) -> ImportedSession:
    turns_of(record)  # a turn that cannot be folded is an error of a reader, and is found here
    kinds = block_kinds(record)
    return ImportedSession(
        SessionRecord(
            title=" ".join(source.title.split())[:MAX_TITLE_CHARACTERS],
            created_ms=source.created_ms,
            exchanges=record.exchanges,
            source=Source(
                CLIENTS[format_name],
                f"{format_name}:{_short_id(source.id)}",
                f"{format_name}:{_short_id(source.belongs_to)}" if source.belongs_to else "",
            ),
        ),
        thoughts=kinds.count(Kind.REASONING),
        calls=kinds.count(Kind.TOOL_CALL),
    )


def _short_id(name: str) -> str:
    return name if len(name) <= MAX_ID_CHARACTERS else sha256(name.encode(errors="replace")).hexdigest()

"""Files and responses that are small or quick to send, and large to read: one for each way that is known.

Each must be refused or ended within the bounds of SECURITY.md, and cost nobody else anything.
"""

import io
import json
import random
import sqlite3
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

MIB = 1024 * 1024
ZIP, JSON, MARKDOWN = "application/zip", "application/json", "text/markdown"
_COMPUTED = "printf('%.*c', 200000000, 'x')"
_NAME = "conversations.json"


class Upload(NamedTuple):
    """A file for `POST /api/import`, made when it is needed."""

    make: Callable[[], bytes]
    media_type: str = "application/octet-stream"


def _database(*statements: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bomb.db"
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        return path.read_bytes()


def _zipped(*entries: tuple[str, bytes], stored: bytes = b"") -> bytes:
    """Return a zip file. `stored` is a part that cannot be packed, so that the ratio looks innocent."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
        if stored:
            archive.writestr(zipfile.ZipInfo("photo.png"), stored)
    return buffer.getvalue()


def _overlapping_zip() -> bytes:
    """Return a zip file whose 50 entries all lead to the same data."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_NAME, b"[" + b" " * 4 * MIB + b"]")
        archive.filelist *= 50
    return buffer.getvalue()


def _tar_gz() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo(_NAME)
        info.size = 50 * MIB
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    return buffer.getvalue()


def _turns(count: int, blocks: int) -> bytes:
    """Return a file of our own format with this many turns of this many blocks."""
    grown: list[dict[str, object]] = []
    for block in range(blocks):
        grown.append({"type": "block.started", "block": block, "kind": "text"})
        grown.append({"type": "block.ended", "block": block})
    events = [{"type": "turn.started"}, *grown, {"type": "turn.ended"}]
    entries = [{"seq": seq, "event": event} for seq, event in enumerate(events)]
    exchange = {"asked": [{"role": "user", "text": "Again?"}], "entries": entries}
    record = {"thinkaloud": 1, "title": "", "created_ms": 1, "exchanges": [exchange] * count}
    return json.dumps(record).encode()


def _spaces() -> bytes:
    return _zipped((_NAME, b"[" + b" " * 30 * MIB + b"]"))


def _wide_zip() -> bytes:
    """Return a zip file of 30 MiB of empty conversations, beside a photo that makes its ratio innocent."""
    photo = random.Random(1).randbytes(MIB)
    return _zipped((_NAME, b"[" + b'{"mapping":{}},' * (2 * MIB) + b"{}]"), stored=photo)


UPLOADS: dict[str, Upload] = {
    "database with a computed column": Upload(
        lambda: _database(
            f"CREATE TABLE responses (id, prompt, response AS ({_COMPUTED}))",
            "INSERT INTO responses VALUES (1, 2)",
        )
    ),
    "database with a stored computed column": Upload(
        lambda: _database("CREATE TABLE responses (id, response AS (printf('%.*c', 20000, 'x')) STORED)")
    ),
    "database with a view": Upload(
        lambda: _database(f"CREATE VIEW responses AS SELECT 1 AS id, {_COMPUTED} AS response")
    ),
    "database with an endless view": Upload(
        lambda: _database(
            "CREATE VIEW responses AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
            "SELECT id FROM n"
        )
    ),
    "flat zip": Upload(_spaces, ZIP),
    "flat zip beside a photo": Upload(_wide_zip, ZIP),
    "nested zip": Upload(lambda: _zipped((_NAME, _spaces())), ZIP),
    "overlapping zip": Upload(_overlapping_zip, ZIP),
    "deep JSON": Upload(lambda: b'[{"mapping":' + b"[" * 4_000_000 + b"]" * 4_000_000 + b"}]"),
    "deep JSON of our own": Upload(
        lambda: b'{"thinkaloud":' + b"[" * 4_000_000 + b"]" * 4_000_000 + b"}", JSON
    ),
    "many lists": Upload(lambda: b'[{"mapping": [' + b"[]," * 3_000_000 + b"[]]}]"),
    "one huge line": Upload(lambda: b'{"type":"user","message":"' + b"x" * (9 * MIB)),
    "tar.gz": Upload(_tar_gz),
    "deep markdown": Upload(lambda: b"> " * (4 * MIB), MARKDOWN),
    "markdown of tags": Upload(lambda: b"<details>" * MIB, MARKDOWN),
    "too many turns": Upload(lambda: _turns(2_001, 0), JSON),
    "too many blocks": Upload(lambda: _turns(1, 10_001), JSON),
}


def _delta(**fields: object) -> bytes:
    choice = {"choices": [{"delta": fields}]}
    return b"data: " + json.dumps(choice).encode() + b"\n\n"


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_THOUGHT = _delta(reasoning_content="thinking " * 100_000)

RESPONSES: dict[str, tuple[bytes, ...]] = {
    "500,000 headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 500_000, b"\r\n"),
    "100 MB of thoughts": (_HEAD, *[_THOUGHT] * 110),
    "one event of 15 MB": (_HEAD, _delta(reasoning_content="x" * 15_000_000)),
    "12,000 blocks": (_HEAD, (_delta(reasoning_content="a") + _delta(content="b")) * 6_000),
    "endless line": (_HEAD, b"data: ", *[b"x" * MIB] * 600),
    "deep JSON": (_HEAD, b"data: " + b"[" * 4_000_000 + b"\n\n"),
}
"""By name: the parts of a response of a provider, from its first byte."""

"""`thinkaloud backup`: a copy of the database while the gateway writes."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.environment import UserHome
from tests.store.log_fixtures import append_all, entries, new_turn, turn_events

from thinkaloud.cli import main
from thinkaloud.gateway.store.engine import sqlite
from thinkaloud.gateway.store.log.event_log import EventLog

Output = pytest.CaptureFixture[str]


def test_backup_finishes_while_turns_are_written(tmp_path: Path) -> None:
    """SQLite's own backup starts again at each write; this one copies a snapshot."""
    copies = [tmp_path / f"copy{number}.db" for number in range(3)]

    async def scenario() -> None:
        async with sqlite.open_database(tmp_path / "thinkaloud.db") as database, EventLog(database) as log:
            row = await new_turn(database)
            writer = log.writer(row.key, row.epoch)
            turn_entries = entries(turn_events(*("word " * 400 for _ in range(300))))
            append_all(writer, turn_entries[:10])
            await writer.flush()
            for copy in copies:
                copying = asyncio.create_task(asyncio.to_thread(sqlite.back_up, database.path, copy))
                append_all(writer, turn_entries[writer._live.last + 1 :][:50])
                assert await copying == copy.stat().st_size
            await writer.flush()

    asyncio.run(scenario())
    for copy in copies:
        assert copy.stat().st_mode & 0o777 == 0o600
        with closing(sqlite3.connect(copy)) as conn:
            assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert conn.execute("SELECT max(last_seq) FROM log").fetchone()[0] >= 9


def test_backup_command_reports_and_refuses(home: UserHome, capsys: Output, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert main(["backup", str(copy)]) == 2
    assert "There is no database" in capsys.readouterr().err
    assert not copy.exists()
    assert main(["users", "add", "ana"]) == 0
    capsys.readouterr()
    assert main(["backup", str(copy)]) == 0
    assert f"({copy.stat().st_size:,} bytes)" in capsys.readouterr().err
    assert main(["backup", str(copy)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "missing" / "copy.db")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    with closing(sqlite3.connect(copy)) as conn:
        assert ("ana",) in conn.execute("SELECT name FROM users").fetchall()


def test_growing_write_ahead_log_is_reported_and_cut_when_the_reader_has_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAL_LIMIT_BYTES", 200_000)

    async def scenario() -> None:
        async with sqlite.open_database(tmp_path / "thinkaloud.db") as database, EventLog(database) as log:
            row = await new_turn(database)
            with closing(sqlite3.connect(database.path, isolation_level=None)) as foreign:
                foreign.execute("BEGIN")
                foreign.execute("SELECT count(*) FROM turns").fetchone()
                writer = log.writer(row.key, row.epoch)
                *first, before_last, last = entries(turn_events(*("word " * 2_000 for _ in range(300))))[:-1]
                for entry in first:
                    writer.append(entry)
                    await writer.flush()
                grown_bytes = database.wal_bytes()
            for entry in (before_last, last):  # one commit empties the log, the next one cuts it
                writer.append(entry)
                await writer.flush()
            assert grown_bytes > 200_000 >= database.wal_bytes()

    asyncio.run(scenario())
    warnings = [record.getMessage() for record in caplog.records if "write-ahead log" in record.getMessage()]
    assert 1 <= len(warnings) < 10, "at each doubling only"
    assert "thinkaloud backup" in warnings[0]

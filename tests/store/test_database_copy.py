"""`thinkaloud db copy`: a database moves from SQLite to PostgreSQL and back, with every row."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, insert
from tests.patience import PATIENCE_S
from tests.postgres_server import shared_server
from tests.store.copy_and_die import RANGE_ROWS
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import ask, exchange, finish, new_owner, new_session, tool_call

from thinkaloud.cli import main
from thinkaloud.cli.database import open_home_database
from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.engine.copy import (
    TableDigest,
    copied_tables,
    refuse_incomplete_copy,
    table_digest,
)
from thinkaloud.gateway.store.engine.database import Batch, T
from thinkaloud.gateway.store.engine.postgres import open_postgres, open_postgres_snapshot
from thinkaloud.gateway.store.engine.sqlite import open_database, open_sqlite_snapshot
from thinkaloud.gateway.store.log import nodes
from thinkaloud.gateway.store.queries import agents, preferences, sessions, users
from thinkaloud.gateway.store.queries.keys import key_counters
from thinkaloud.gateway.store.rows import AgentSpec, Owner, Preferences, SearchKind, ThinkingShown
from thinkaloud.gateway.store.schema import turn_figures, unindexed
from thinkaloud.gateway.store.search.find import find_hits

Output = pytest.CaptureFixture[str]
AWKWARD = "null \x00 and noncharacter \U0010ffff and 日本語 and é"
MANY = 3 * RANGE_ROWS


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a new PostgreSQL database without tables."""
    name = shared_server().new_database()
    yield shared_server().url(name)
    shared_server().drop_database(name)


def fill(conn: Connection) -> None:
    """Write something into every table that is copied."""
    owner, other = users.ensure_local(conn, NOW_MS), new_owner(conn, "ana", "team")
    users.create_token(conn, other.user, "laptop", NOW_MS)
    users.set_thinking_rule(conn, users.user_named(conn, "ana"), "", ThinkingShown.LENGTH)
    agents.create(conn, owner, AgentSpec(name="Planner", model="demo"), NOW_MS)
    preferences.write(conn, other, Preferences(), NOW_MS)
    made = [new_session(conn, other if n % 2 else owner, NOW_MS + n) for n in range(MANY)]
    ended = [exchange(conn, session, "prompt of ação", AWKWARD, "answer 1") for session in made]
    calls = [event for number in range(MANY) for event in tool_call(number, "look", AWKWARD, "seen")]
    finish(conn, ask(conn, made[0], "with tools", key="once").turn, *calls)
    sessions.pin(conn, made[1], pinned=True)
    deleted = new_session(conn, owner)
    exchange(conn, deleted, "gone", "gone", "gone")
    sessions.delete(conn, owner, deleted.id)
    conn.execute(insert(unindexed).values(message=1, after=-1))
    figures = {"created_ms": NOW_MS, "turn": ended[0].key, "thought": True, "stalls": 0, "loops": 0}
    conn.execute(insert(turn_figures).values(user=owner.user, workspace=owner.workspace, **figures))


def make_file(path: Path) -> None:
    """Make a database with a turn that still runs."""

    async def scenario() -> None:
        async with open_database(path) as database:
            await database.write(fill)
            session = await database.write(lambda conn: new_session(conn, users.ensure_local(conn, NOW_MS)))
            turn = (await database.write(lambda conn: ask(conn, session, "running"))).turn
            lines = [Batch(turn.key, turn.epoch, n, n, b"\x00\xff\n") for n in range(MANY)]
            assert await database.append(lines) == ()

    asyncio.run(scenario())


def contents(conn: Connection) -> list[TableDigest]:
    return [table_digest(conn, table) for table in copied_tables()]


def search_results(conn: Connection) -> list[list[str]]:
    """Return the snippets that searches find."""
    owner = Owner(1, 1)
    questions = "acao", '"answer 1"', "日本", "prom*", "seen", "gone"
    pages = [find_hits(conn, owner, words, kinds=frozenset(SearchKind), limit=99) for words in questions]
    return [[hit.snippet for hit in page.items] for page in pages]


def read_url(url: str, query: Callable[[Connection], T]) -> T:
    with open_postgres_snapshot(url) as conn:
        return query(conn)


def read_file(path: Path, query: Callable[[Connection], T]) -> T:
    with open_sqlite_snapshot(path) as conn:
        return query(conn)


def test_round_trip_through_postgresql_keeps_every_row(tmp_path: Path, url: str, capsys: Output) -> None:
    first, folder = tmp_path / "first.db", tmp_path / "back"
    folder.mkdir()
    make_file(first)
    original = read_file(first, contents)
    assert [digest.table for digest in original if not digest.rows] == []

    assert main(["db", "copy", str(first), url, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == msgspec.to_builtins(original) == msgspec.to_builtins(read_url(url, contents))
    assert main(["db", "copy", url, str(folder)]) == 0
    output = capsys.readouterr()
    rows_of = {digest.table: digest.rows for digest in original}
    assert re.search(rf"^messages +{rows_of['messages']} +[0-9a-f]{{64}}$", output.out, re.MULTILINE)
    assert "rows, compared." in output.err
    assert "\r" not in output.err

    copy = folder / "thinkaloud.db"
    assert read_file(copy, contents) == original
    found = read_file(first, search_results)
    assert found == read_url(url, search_results) == read_file(copy, search_results)
    assert [bool(snippets) for snippets in found] == [True] * 5 + [False]
    assert read_file(first, key_counters) == read_url(url, key_counters) == read_file(copy, key_counters)


def test_keys_of_deleted_rows_are_not_used_again_in_the_copy(tmp_path: Path, url: str) -> None:
    file, copy = tmp_path / "thinkaloud.db", tmp_path / "copy.db"
    make_file(file)
    with closing(sqlite3.connect(file)) as conn, conn:
        conn.execute("UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'sessions'")
    assert main(["db", "copy", str(file), url]) == 0
    assert main(["db", "copy", url, str(copy)]) == 0

    def new_key(conn: Connection) -> int:
        return new_session(conn, Owner(1, 1)).key

    async def scenario() -> None:
        async with open_postgres(url) as shared, open_database(copy) as database:
            assert await shared.write(new_key) == await database.write(new_key) == 5001

    asyncio.run(scenario())


def test_copy_that_is_killed_goes_on_and_the_unfinished_target_is_refused(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    file = tmp_path / "thinkaloud.db"
    make_file(file)
    other = tmp_path / "other.db"
    make_file(other)
    for table, rows in (("sessions", 1), ("log", RANGE_ROWS + 1), ("parts", 1), ("found", RANGE_ROWS + 1)):
        command = [sys.executable, "-m", "tests.store.copy_and_die", str(file), url, table, str(rows)]
        assert subprocess.run(command, timeout=PATIENCE_S, check=False).returncode == -signal.SIGKILL

    async def open_home() -> None:
        async with open_home_database(url):
            raise AssertionError("opened")

    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path / "home"))
    with pytest.raises(Refused, match=r"unfinished copy of .*thinkaloud\.db\. Finish it"):
        asyncio.run(open_home())
    assert main(["db", "copy", str(other), url]) == 2
    assert "unfinished copy of" in capsys.readouterr().err
    assert main(["db", "copy", url, str(tmp_path / "third.db")]) == 2

    assert main(["db", "copy", str(file), url]) == 0
    assert read_url(url, contents) == read_file(file, contents)
    assert read_url(url, search_results) == read_file(file, search_results)
    assert read_url(url, refuse_incomplete_copy) is None


def test_source_that_changed_during_the_copy_is_noticed(tmp_path: Path, url: str, capsys: Output) -> None:
    file = tmp_path / "thinkaloud.db"
    make_file(file)
    command = [sys.executable, "-m", "tests.store.copy_and_die", str(file), url, "found", "1"]
    assert subprocess.run(command, timeout=PATIENCE_S, check=False).returncode == -signal.SIGKILL
    with closing(sqlite3.connect(file)) as conn, conn:
        conn.execute("UPDATE sessions SET title = 'changed' WHERE key = 1")
    assert main(["db", "copy", str(file), url]) == 1
    assert "The copy of sessions differs" in capsys.readouterr().err
    with pytest.raises(Refused, match="unfinished"):
        read_url(url, refuse_incomplete_copy)


def test_what_cannot_be_copied_is_refused(tmp_path: Path, url: str, capsys: Output) -> None:
    file = tmp_path / "thinkaloud.db"
    make_file(file)
    text = tmp_path / "notes.txt"
    text.write_text("This is not a database, but a text that is long enough to look like one." * 20)
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    empty.touch()

    def refusal(source: str, target: str) -> str:
        assert main(["db", "copy", source, target]) == 2
        return capsys.readouterr().err

    assert "the same database" in refusal(str(file), str(tmp_path))
    assert "There is no database" in refusal(str(tmp_path / "missing.db"), url)
    assert "is not a database" in refusal(str(text), url)
    assert "have the version none" in refusal(str(empty), url)
    damaged = tmp_path / "damaged.db"
    pages = bytearray(file.read_bytes())
    pages[4096:] = b"\xff" * len(pages[4096:])
    damaged.write_bytes(pages)
    assert "is damaged" in refusal(str(damaged), url)
    assert "must begin with postgresql://" in refusal("mysql://host/name", url)
    assert "Cannot use the database nothing at" in refusal(str(file), shared_server().url("nothing"))
    assert "Cannot use the database nothing at" in refusal(shared_server().url("nothing"), str(file))
    assert not (tmp_path / "missing.db").exists()

    assert main(["db", "copy", str(file), url]) == 0
    capsys.readouterr()
    assert "The target is not empty: it has rows in users, workspaces" in refusal(str(file), url)
    assert main(["db", "copy", str(file), str(tmp_path / "second.db")]) == 0


def test_databases_that_gateways_use_are_refused(tmp_path: Path, url: str, capsys: Output) -> None:
    file, used = tmp_path / "thinkaloud.db", tmp_path / "used.db"
    make_file(file)

    async def scenario() -> None:
        async with open_database(used):
            for source, target in ((str(used), url), (str(file), str(used))):
                assert await asyncio.to_thread(main, ["db", "copy", source, target]) == 2
                assert "is in use by another gateway" in capsys.readouterr().err
        async with open_postgres(url) as shared:
            await shared.write(lambda conn: nodes.renew_lease(conn, "n1", "berlin", 3_600_000))
            for source, target in ((url, str(tmp_path / "copy.db")), (str(file), url)):
                assert await asyncio.to_thread(main, ["db", "copy", source, target]) == 2
                assert "Gateways use the " in capsys.readouterr().err

    asyncio.run(scenario())

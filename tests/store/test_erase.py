"""Deleted words are erased from the files: database, write-ahead log, and copies made afterwards."""

import asyncio
import errno
import random
import sqlite3
from contextlib import closing, suppress
from functools import partial
from io import FileIO
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.patience import PATIENCE_S
from tests.store.engines import POSTGRES, TEMPORARY
from tests.store.log_fixtures import NOW_MS, append_all, entries, new_turn, temporary_database, turn_events
from tests.store.query_fixtures import exchange, new_owner, new_session

from thinkaloud.gateway.store.engine.database import Database, NotSaved
from thinkaloud.gateway.store.engine.postgres import PostgresDatabase
from thinkaloud.gateway.store.engine.postgres_connect import TimeLimits, connect
from thinkaloud.gateway.store.engine.sqlite import back_up, open_database
from thinkaloud.gateway.store.engine.sqlite_pages import pages_with_remains, zero_unused_space
from thinkaloud.gateway.store.log.event_log import EventLog
from thinkaloud.gateway.store.queries import agents, sessions, users
from thinkaloud.gateway.store.queries.delete import delete_session, erase_deleted, erase_once
from thinkaloud.gateway.store.queries.values import DELETION_FACT, note_deletion, read_fact
from thinkaloud.gateway.store.rows import AgentSpec, Owner, SearchKind, Session
from thinkaloud.gateway.store.search import sqlite as search_sqlite
from thinkaloud.gateway.store.search.find import find_hits

LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMMON_WORDS = (
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "you",
    "that",
    "it",
    "he",
    "was",
    "for",
    "on",
    "are",
    "as",
)


class Sentences:
    """Texts of common words and of words that no other text has."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self, own_words: int = 8) -> str:
        words = self._random.choices(COMMON_WORDS, k=5 * own_words)
        words += ["".join(self._random.choices(LETTERS, k=12)) for _ in range(own_words)]
        self._random.shuffle(words)
        return " ".join(words)


def words_in_files(database: Path, sentences: list[str]) -> list[str]:
    """Return which of the texts' own words are in the database, its log or a copy that is made now."""
    copy = database.with_name("copy.db")
    copy.unlink(missing_ok=True)
    back_up(database, copy)
    content = b"".join(path.read_bytes() for path in sorted(database.parent.iterdir()))
    own_words = set(" ".join(sentences).split()).difference(COMMON_WORDS)
    # The index leaves out the letters that a word shares with the one before it.
    return [word for word in sorted(own_words) if word[4:].encode() in content]


def fill(
    conn: Connection, name: str, sentences: Sentences, conversations: list[int]
) -> tuple[Owner, list[Session], list[list[str]]]:
    """Make conversations of a new user with these numbers of turns; return also the texts of each."""
    owner = new_owner(conn, name)
    made: list[Session] = []
    texts: list[list[str]] = []
    for turn_count in conversations:
        session = new_session(conn, owner)
        made.append(session)
        texts.append([sentences.sentence() for _ in range(3 * turn_count)])
        for number in range(turn_count):
            exchange(conn, session, *texts[-1][3 * number : 3 * number + 3])
    return owner, made, texts


async def erase(database: Database) -> None:
    """Erase, as often as it needs: a read may hold it up."""
    async with asyncio.timeout(PATIENCE_S):
        while not await erase_deleted(database):
            await asyncio.sleep(0.01)


def test_deleted_words_are_erased_while_turns_run_and_readers_read(tmp_path: Path) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(1)
    lengths = [1] * 30 + [40] + [2] * 30

    async def scenario() -> None:
        async with open_database(path) as database, EventLog(database) as log:
            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=lengths)
            )
            busy = asyncio.gather(
                *(run_turns(database, log, sentences) for _ in range(4)), read_often(database)
            )
            gone = [0, 29, 30, 31, 59]
            for index in gone:
                assert words_in_files(path, texts[index])
                assert await delete_session(database, owner, made[index].id)
                await erase(database)
                assert not words_in_files(path, texts[index])
            assert not busy.done()
            busy.cancel()
            with suppress(asyncio.CancelledError):
                await busy
            await erase(database)
            assert not words_in_files(path, [text for index in gone for text in texts[index]])
            found = await database.read(lambda conn: found_sentences(conn, owner, texts))
            assert found == [index not in gone for index in range(len(texts))]
        with closing(sqlite3.connect(path)) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    asyncio.run(scenario())


def found_sentences(conn: Connection, owner: Owner, texts: list[list[str]]) -> list[bool]:
    """Return for each conversation whether the search finds its last answer."""
    kinds = frozenset({SearchKind.ANSWER})
    return [bool(find_hits(conn, owner, f'"{group[-1]}"', kinds=kinds, limit=1).items) for group in texts]


async def run_turns(database: Database, log: EventLog, sentences: Sentences) -> None:
    while True:
        turn = await new_turn(database)
        writer = log.writer(turn.key, turn.epoch)
        for entry in entries(turn_events(*(sentences.sentence() for _ in range(20)))):
            append_all(writer, [entry])
            await asyncio.sleep(0.002)
        await writer.close()


async def read_often(database: Database) -> None:
    while True:
        await database.read(lambda conn: conn.scalar(text("SELECT sum(length(content)) FROM messages")))
        await asyncio.sleep(0)


@pytest.mark.parametrize("pages_per_step", [500, 4])
def test_turns_that_end_between_the_steps_do_not_keep_deleted_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages_per_step: int
) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(10)
    monkeypatch.setattr(search_sqlite, "_MERGED_PAGES", pages_per_step)

    async def scenario() -> None:
        async with open_database(path) as database:
            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[2, 60])
            )

            async def end_turns() -> None:
                while True:
                    said = sentences.sentence()
                    await database.write(
                        partial(exchange, session=made[1], prompt="Why?", thought="So.", answer=said)
                    )

            # The deleted words are in one large segment, the marks of their deletion in small ones.
            assert await database.erase_deleted("before")
            assert await delete_session(database, owner, made[0].id)
            # The writer thread always has a turn to save between two steps.
            busy = asyncio.gather(end_turns(), end_turns(), end_turns())
            await erase(database)
            assert not busy.done()
            busy.cancel()
            with suppress(asyncio.CancelledError):
                await busy
            assert not words_in_files(path, texts[0])
        with closing(sqlite3.connect(path)) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            raw.execute("INSERT INTO search_text (search_text) VALUES ('integrity-check')")

    asyncio.run(scenario())


def test_index_that_cannot_be_merged_is_an_error_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(12)

    async def scenario() -> None:
        async with open_database(path) as database:
            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[2, 20])
            )
            assert await delete_session(database, owner, made[0].id)
            monkeypatch.setattr(search_sqlite, "_MERGED_PAGES", 0)
            with pytest.raises(sqlite3.DatabaseError, match="were not merged"):
                await erase_deleted(database)
            monkeypatch.setattr(search_sqlite, "_MERGED_PAGES", 1)
            with closing(sqlite3.connect(path, isolation_level=None)) as raw:
                assert search_sqlite.join_levels(raw)
                monkeypatch.setattr(search_sqlite, "_MERGED_PAGES", 0)
                with pytest.raises(sqlite3.DatabaseError, match="cannot be merged"):
                    search_sqlite.merge(raw)
            monkeypatch.undo()
            await erase(database)
            assert not words_in_files(path, texts[0])

    asyncio.run(scenario())


def test_reader_of_an_old_state_delays_the_erasure_but_no_write(tmp_path: Path) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(2)

    async def scenario() -> None:
        async with open_database(path) as database:
            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[3, 3])
            )
            with closing(sqlite3.connect(path, isolation_level=None)) as reader:
                reader.execute("BEGIN")
                assert reader.execute("SELECT count(*) FROM turns").fetchone() == (6,)
                assert await delete_session(database, owner, made[0].id)
                assert not await erase_deleted(database)
                await database.write(lambda conn: exchange(conn, made[1], "more", "of", "it"))
                assert reader.execute("SELECT count(*) FROM turns").fetchone() == (6,)
            await erase(database)
            assert not words_in_files(path, texts[0])
            assert words_in_files(path, texts[1])

    asyncio.run(scenario())


def test_erasure_goes_on_after_a_restart(tmp_path: Path) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(3)

    async def scenario() -> None:
        async with open_database(path) as database:
            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[3, 3])
            )
            assert await delete_session(database, owner, made[0].id)
        assert words_in_files(path, texts[0])
        async with open_database(path) as database:
            await erase(database)
            assert not words_in_files(path, texts[0])

    asyncio.run(scenario())


def test_guest_erases_only_without_a_gateway(tmp_path: Path) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(4)

    async def scenario() -> None:
        async with open_database(path) as database:
            _, _, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[3, 40])
            )
            async with open_database(path, guest=True) as guest:
                await guest.write(lambda conn: users.remove_user(conn, "ana"))
                assert not await erase_deleted(guest)
        async with open_database(path, guest=True) as guest:
            assert await erase_deleted(guest)
        assert not words_in_files(path, texts[0] + texts[1])

    asyncio.run(scenario())


def test_disk_that_hangs_or_fails_during_the_erasure_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(11)

    async def scenario() -> None:
        async with open_database(path) as database:
            stuck_s: list[float] = []

            def fail(file: int) -> None:
                stuck_s.append(database.stuck_s)
                raise OSError(errno.EIO, "Input/output error")

            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[20, 20])
            )
            assert await delete_session(database, owner, made[0].id)
            with monkeypatch.context() as failing:
                failing.setattr("os.fsync", fail)
                with pytest.raises(NotSaved, match="Input/output error"):
                    await erase_deleted(database)
            assert min(stuck_s) > 0
            await erase(database)
            assert not words_in_files(path, texts[0])

    asyncio.run(scenario())


@pytest.mark.parametrize("structure", [b"", b"\0\0\0\0", b"\0\0\0\0\x02\x01\x05\0\x01\x01"])
def test_list_of_segments_that_is_cut_off_is_a_database_error(tmp_path: Path, structure: bytes) -> None:
    path = tmp_path / "thinkaloud.db"

    async def scenario() -> None:
        async with open_database(path) as database:

            def damage(conn: Connection) -> None:
                update = "UPDATE search_text_data SET block = :structure WHERE id = 10"
                conn.execute(text(update), {"structure": structure})

            await database.write(damage)
            with pytest.raises(sqlite3.DatabaseError, match="list of the segments"):
                await database.erase_deleted("mark")

    asyncio.run(scenario())


def test_words_of_a_deleted_agent_are_erased(tmp_path: Path) -> None:
    path, prompt = tmp_path / "thinkaloud.db", Sentences(5).sentence()

    async def scenario() -> None:
        async with open_database(path) as database:
            owner = await database.write(lambda conn: users.ensure_local(conn, NOW_MS))
            spec = AgentSpec(name="Private", model="demo", system=prompt)
            agent = await database.write(lambda conn: agents.create(conn, owner, spec, now_ms=NOW_MS))
            assert words_in_files(path, [prompt])
            await database.write(lambda conn: agents.delete(conn, owner, agent.id))
            await erase(database)
            assert not words_in_files(path, [prompt])

    asyncio.run(scenario())


def test_what_earlier_versions_left_is_erased_once(tmp_path: Path) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(6)

    async def scenario() -> None:
        async with open_database(path) as database:
            owner, made, texts = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[20, 3])
            )

            def delete_as_before(conn: Connection) -> None:
                sessions.delete(conn, owner, made[0].id)
                conn.execute(text("DELETE FROM facts WHERE name IN ('deletion', 'erases_deleted')"))

            await database.write(lambda conn: conn.execute(text("PRAGMA secure_delete=OFF")))
            await database.write(delete_as_before)
        assert words_in_files(path, texts[0])
        async with open_database(path) as database:
            assert await erase_once(database)
            assert not words_in_files(path, texts[0])
            assert words_in_files(path, texts[1])
            file_number = path.stat().st_mtime_ns
            assert await erase_once(database)
            assert path.stat().st_mtime_ns == file_number

    asyncio.run(scenario())


def test_index_keeps_its_levels_over_many_erasures(tmp_path: Path) -> None:
    path, sentences = tmp_path / "thinkaloud.db", Sentences(7)

    async def scenario() -> None:
        async with open_database(path) as database:
            for number in range(12):
                owner, made, _ = await database.write(
                    partial(fill, name=f"user{number}", sentences=sentences, conversations=[1])
                )
                assert await delete_session(database, owner, made[0].id)
                await erase(database)
        with closing(sqlite3.connect(path)) as raw:
            (structure,) = raw.execute("SELECT block FROM search_text_data WHERE id = 10").fetchone()
            assert structure[4] == 10

    asyncio.run(scenario())


def test_unused_space_of_pages_is_zeroed(tmp_path: Path) -> None:
    path, chance = tmp_path / "some.db", random.Random(8)
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA secure_delete=ON")
        raw.execute(
            "CREATE TABLE rows (key INTEGER, part INTEGER, words, PRIMARY KEY (key, part)) WITHOUT ROWID"
        )
        keys = [(key, part) for key in range(100) for part in range(20)]
        chance.shuffle(keys)
        raw.execute("BEGIN")
        for key, part in keys:
            word = "removed" if key % 2 else "kept"
            raw.execute("INSERT INTO rows VALUES (?, ?, ?)", (key, part, f"{word} " * chance.randint(1, 100)))
        raw.execute("DELETE FROM rows WHERE key % 2 = 1")
        raw.execute("COMMIT")
    assert b"removed" in path.read_bytes()
    with FileIO(path, "r+") as file:
        zero_unused_space(file, pages_with_remains(file))
        assert pages_with_remains(file) == []
    assert b"removed" not in path.read_bytes()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("SELECT count(*) FROM rows WHERE words LIKE 'kept%'").fetchone() == (1000,)


@pytest.mark.usefixtures("each_engine")
def test_erasure_is_done_once_for_a_deletion(tmp_path: Path) -> None:
    sentences = Sentences(9)

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            owner, made, _ = await database.write(
                partial(fill, name="ana", sentences=sentences, conversations=[3])
            )
            before = await database.read(dead_rows)
            assert await delete_session(database, owner, made[0].id)
            await erase(database)
            assert await database.read(dead_rows) <= before
            marks = text("SELECT count(*) FROM facts WHERE name = 'deletion'")
            assert await database.read(lambda conn: conn.scalar(marks)) == 0

    asyncio.run(scenario())


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("each_engine", [POSTGRES], indirect=True)
def test_table_that_is_locked_delays_the_erasure_on_postgresql(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            assert isinstance(database, PostgresDatabase)
            await database.write(note_deletion)
            with connect(database.url, TimeLimits(), name="tests") as other:
                other.execute("LOCK TABLE messages IN SHARE UPDATE EXCLUSIVE MODE")
                assert not await erase_deleted(database)
            await erase(database)
            assert await database.read(partial(read_fact, name=DELETION_FACT)) is None

    asyncio.run(scenario())


def dead_rows(conn: Connection) -> int:
    """Return how many deleted rows PostgreSQL has not removed from `messages`; 0 on SQLite."""
    if TEMPORARY.engine != POSTGRES:
        return 0
    conn.execute(text("SELECT pg_stat_clear_snapshot()"))
    query = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'messages'"
    return conn.scalar(text(query)) or 0

"""Damaged and hostile files: an error that names the line, bounded work, and nothing imported."""

import io
import os
import random
import re
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.importers.outline import FILES, outline_of_bytes, outline_of_file, zipped
from tests.importers.test_llm_logs import MESSAGE_TABLES, RESPONSE_TABLES, database

from thinkaloud.core.canon import Refused
from thinkaloud.importers import DamagedFile, HistoryFile, llm_logs, open_history
from thinkaloud.importers import files as files_module
from thinkaloud.importers import json_items as items_module
from thinkaloud.importers.source_conversation import UnreadCounter

JSON_FILES = sorted(FILES.glob("*.json"))
LINE_FILES = sorted(FILES.glob("*.jsonl"))


@given(st.data())
def test_cut_json_file_gives_the_line_of_the_cut(data: st.DataObject) -> None:
    """A JSON file cut anywhere gives an error with the line in which it ends, and no session before it."""
    whole = data.draw(st.sampled_from(JSON_FILES)).read_bytes().rstrip()
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    with pytest.raises(DamagedFile) as failure:
        list(HistoryFile(io.BytesIO(cut)).sessions())
    line = re.match(r"Line (\d+): ", str(failure.value))
    assert line is not None, failure.value
    assert int(line[1]) == len(cut.rstrip().splitlines())


@given(st.data())
def test_cut_log_gives_the_line_of_the_cut_or_the_lines_before_it(data: st.DataObject) -> None:
    """A log cut within a line names this line. Cut between lines, it is a shorter log."""
    whole = data.draw(st.sampled_from(LINE_FILES)).read_bytes().rstrip()
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    lines = cut.split(b"\n")
    complete = lines[-1] == b"" or msgspec_valid(lines[-1])
    failure = ""
    try:
        list(HistoryFile(io.BytesIO(cut)).sessions())
    except DamagedFile as error:
        failure = str(error)
    if complete:
        assert failure == "" or failure.startswith("The format is not known")
    else:
        assert failure.startswith(f"Line {len(lines)}: ")


def msgspec_valid(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return True


@given(st.data())
def test_garbage_in_a_file_never_breaks_a_reader(data: st.DataObject) -> None:
    """Values of other types and lost fields give sessions or a `Refused`, and no other error."""
    path = data.draw(st.sampled_from([*JSON_FILES, *LINE_FILES]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        position = data.draw(st.integers(0, len(content) - 1))
        replaced = data.draw(st.sampled_from([b"null", b"[]", b"{}", b"7", b'"x"', b"\xff", b"", b"true"]))
        length = data.draw(st.integers(0, 12))
        content[position : position + length] = replaced
    with suppress(Refused):
        outline_of_bytes(bytes(content))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_fields_of_any_type_never_break_a_reader(data: st.DataObject) -> None:
    """Any field of a file may hold any value."""
    path = data.draw(st.sampled_from([*JSON_FILES, *LINE_FILES]))
    lines = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
    values = [msgspec.json.decode(line) for line in lines]
    for _ in range(data.draw(st.integers(1, 3))):
        _replace_somewhere(data, values)
    with suppress(Refused):
        outline_of_bytes(b"\n".join(map(msgspec.json.encode, values)))


def _replace_somewhere(data: st.DataObject, value: object) -> None:
    """Replace one value somewhere within lists and objects."""
    while isinstance(value, list | dict) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = data.draw(st.sampled_from(keys))
        inner = value[key]  # type-checked by the branch above
        if not isinstance(inner, list | dict) or not inner or data.draw(st.integers(0, 4)) == 0:
            value[key] = data.draw(VALUES)
            return
        value = inner


def test_errors_name_the_line_and_say_what_is_wrong() -> None:
    cases = {
        b'[\n{"mapping": {}},\n{"mapping": }\n]': "Line 3: this is not valid JSON at column 13",
        b'[\n{"mapping": {}}\n{"mapping": {}}]': "Line 3: the list must hold objects, separated by commas",
        b'[\n{"mapping": {}},\n"x"]': "Line 3: the list must hold objects",
        b'[\n{"mapping": {}}]\n[]': "Line 3: the file goes on after the end of its list",
        b'{"role": "user",\n "content": "a"\n "x": 1}': "Line 3: this is not valid JSON",
        b'{"type":"user"}\n{"type":': "Line 2: this is not valid JSON at column 9",
        b"hello": "The file begins with 'hello', so it is neither JSON",
        b"": "The file is empty",
        b'{"a": 1}': "The format is not known",
        b"[]": "The format is not known",
        b"PK\x03\x04 no zip": "The zip file is damaged",
        zipped(photo__png=b"x"): "holds no conversations.json",
        zipped(conversations__json=b"[{]"): "conversations.json in the zip file: Line 1: ",
    }
    for content, message in cases.items():
        with pytest.raises(DamagedFile, match=re.escape(message)):
            outline_of_bytes(content)


def test_half_characters_are_replaced_and_counted() -> None:
    story = outline_of_bytes(b'[{"role":"user","content":"gull \\ud83d"}]')
    assert "asked 'gull \ufffd'" in story
    assert "1 x half of a character" in story


def test_deep_json_is_refused() -> None:
    for content in (
        b'[{"mapping":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
        b'{"mapping":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ):
        with pytest.raises(DamagedFile, match=r"Line 1: the JSON is nested more than 900 levels deep"):
            outline_of_bytes(content)


def test_huge_item_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_module, "MAX_ITEM_BYTES", 1_000_000)
    long_text = b"x" * 3_000_000
    for content in (b'[{"mapping": "' + long_text, b'{"type": "user"}\n"' + long_text):
        with pytest.raises(DamagedFile, match=r"Line \d: one item has more than"):
            outline_of_bytes(content)


def test_zip_bomb_is_read_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small zip file with a huge item is refused at the limit, not after it was unpacked."""
    monkeypatch.setattr(items_module, "MAX_ITEM_BYTES", 1_000_000)
    monkeypatch.setattr(files_module, "MAX_UNPACKED_RATIO", 2_000)
    bomb = zipped(conversations__json=b'[{"mapping": "' + b"x" * 50_000_000)
    assert len(bomb) < 100_000
    with pytest.raises(DamagedFile, match="one item has more than"):
        outline_of_bytes(bomb)


def test_zip_file_that_unpacks_to_too_much_is_refused_unread() -> None:
    bomb = zipped(conversations__json=b"[" + b" " * 30_000_000 + b"]")
    with pytest.raises(DamagedFile, match="more than 200 times as large"):
        outline_of_bytes(bomb)
    entries = {
        f"conversations-{number}__json": b"[" + os.urandom(600_000).hex().encode() for number in (1, 2)
    }
    archive = HistoryFile(io.BytesIO(zipped(**entries)), max_unpacked_bytes=2_000_000)
    with pytest.raises(DamagedFile, match="The limit is 1 MiB"):
        list(archive.sessions())


def test_zip_file_with_too_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_ZIP_ENTRIES", 2)
    archive = zipped(conversations__json=b"[]", photo__png=b"x", sound__wav=b"x")
    with pytest.raises(DamagedFile, match="more than 2 entries"):
        outline_of_bytes(archive)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_zip_file_with_a_method_that_needs_much_memory_is_refused(method: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("conversations.json", b"[]")
    with pytest.raises(DamagedFile, match="packed in an unusual way"):
        outline_of_bytes(buffer.getvalue())


def test_names_in_a_zip_file_are_never_paths(tmp_path: Path) -> None:
    data = (FILES / "claude.json").read_bytes()
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("../../../../tmp/escaped/conversations.json", data)
    assert outline_of_file(archive) == (FILES / "claude.story").read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["export.zip"]


def test_tree_with_a_circle_or_endless_branches_ends() -> None:
    def node(parent: str, role: str) -> dict[str, object]:
        message = {"author": {"role": role}, "content": {"content_type": "text", "parts": ["x"]}}
        return {"parent": parent, "message": message}

    circle = {"a": node("b", "user"), "b": node("a", "assistant"), "c": node("", "user")}
    content = msgspec.json.encode([{"id": "1", "mapping": circle}])
    assert "2 x message that follows itself" in outline_of_bytes(content)
    comb = {f"a{index}": node(f"a{index - 1}", "assistant") for index in range(1, 500)}
    comb |= {f"u{index}": node(f"a{index}", "user") for index in range(500)}
    content = msgspec.json.encode([{"id": "1", "mapping": {"a0": node("", "user"), **comb}}])
    with pytest.raises(DamagedFile, match="divides so often"):
        outline_of_bytes(content)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing"):
        with pytest.raises(Refused):
            open_history(path)


def test_database_of_another_program_and_hostile_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (id)")
    with pytest.raises(DamagedFile, match="no log of a known program"):
        outline_of_file(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW responses AS SELECT load_extension('x')")
    with pytest.raises(DamagedFile, match="no log of a known program"):
        outline_of_file(path)
    path.write_bytes(path.read_bytes()[:2000] + b"\xff" * 3000)
    with pytest.raises(DamagedFile, match="database"):
        outline_of_file(path)
    with pytest.raises(DamagedFile, match="a file of its own"):
        outline_of_bytes(path.read_bytes())


COMPUTED = "printf('%.*c', 200000000, 'x')"


@pytest.mark.parametrize(
    "script",
    [
        f"CREATE TABLE responses (id, prompt, response AS ({COMPUTED}))",
        f"CREATE TABLE responses (id, prompt, response AS ({COMPUTED}) STORED)",
    ],
)
def test_database_with_computed_columns_is_refused(tmp_path: Path, script: str) -> None:
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(script)
    with pytest.raises(DamagedFile, match="computed columns"):
        outline_of_file(path)


@pytest.mark.parametrize(
    "disguised",
    [
        f"CREATE VIEW responses AS SELECT 1 AS id, {COMPUTED} AS response",
        "CREATE  VIRTUAL TABLE responses USING fts5(id, response)",
    ],
)
def test_view_that_claims_to_be_a_table_is_not_read(tmp_path: Path, disguised: str) -> None:
    """The schema of a database is a table, and a hostile file may say anything in it."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute(
            "INSERT INTO sqlite_master VALUES ('table', 'responses', 'responses', 0, ?)", (disguised,)
        )
        connection.commit()
    with pytest.raises(DamagedFile):
        outline_of_file(path)


def test_queries_of_a_foreign_database_can_only_read_tables(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "logs.db")) as connection:
        connection.execute("CREATE TABLE notes (id)")
        connection.execute("CREATE VIEW titles AS SELECT id FROM notes")
        files_module._restrict(connection)
        assert connection.execute("SELECT id FROM notes").fetchall() == []
        functions, views = "SELECT upper(id) FROM notes", "SELECT id FROM titles"
        for query in (functions, views, "ATTACH 'x' AS y", "DELETE FROM notes"):
            with pytest.raises(sqlite3.Error):
                connection.execute(query).fetchall()


def test_text_that_a_database_repeats_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fragment may be in every prompt, so a small file may hold a very long conversation."""
    path = database(tmp_path / "logs.db", RESPONSE_TABLES)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE fragments SET content = ?", ("x" * 1_000,))
        connection.executemany("INSERT INTO prompt_fragments VALUES ('r1', 1, ?)", ((n,) for n in range(100)))
        connection.commit()
    monkeypatch.setattr(llm_logs, "MAX_ITEM_BYTES", 50_000)
    with pytest.raises(DamagedFile, match="One conversation of the database"):
        outline_of_file(path)


def test_fields_without_end_are_counted_as_one_kind() -> None:
    unread = UnreadCounter()
    unread.add_fields("a message", {f"field {number}": 1 for number in range(1_500)}, ())
    assert len(unread.items()) == 1_001
    assert unread.items()[0].count == 500


def test_changed_bytes_of_a_zip_file_or_a_database_never_break_a_reader(tmp_path: Path) -> None:
    whole = [
        zipped(conversations__json=(FILES / "chatgpt.json").read_bytes(), user__json=b"{}"),
        database(tmp_path / "old.db", RESPONSE_TABLES).read_bytes(),
        database(tmp_path / "new.db", MESSAGE_TABLES).read_bytes(),
    ]
    chance = random.Random(7)
    path = tmp_path / "changed"
    for _ in range(300):
        content = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 30)):
            content[chance.randrange(16, len(content))] = chance.choice((0, 255, chance.randrange(256)))
        path.write_bytes(content[: chance.randrange(20, 2 * len(content))])
        with suppress(Refused):
            outline_of_file(path)

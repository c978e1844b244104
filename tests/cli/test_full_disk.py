"""A full or read-only disk: every command names it in one line and says what to do."""

import asyncio
import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from tests.cli.environment import UserHome

from thinkaloud.cli import main
from thinkaloud.cli.gateway_client import GatewayClient
from thinkaloud.cli.output import follow
from thinkaloud.core.canon import Entry, Finish, TurnEnded
from thinkaloud.gateway.store.engine import disk
from thinkaloud.surfaces.chat.backend import StorageChanged, StreamItem

Output = pytest.CaptureFixture[str]


class _Usage(NamedTuple):
    free: int


class _FileSystem(NamedTuple):
    f_flag: int


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without free bytes, on which SQLite cannot create the index of its write-ahead log."""

    def connect(*_: object, **__: object) -> None:
        raise sqlite_error(sqlite3.SQLITE_IOERR_SHMSIZE)

    monkeypatch.setattr(sqlite3, "connect", connect)
    monkeypatch.setattr("shutil.disk_usage", lambda _: _Usage(0))


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize(
    "command", [["sessions"], ["show", "latest"], ["search", "x"], ["export", "latest"], ["ask", "2+2"]]
)
def test_commands_name_a_full_disk_in_one_line(home: UserHome, capsys: Output, command: list[str]) -> None:
    assert main(command) == 2
    output = capsys.readouterr()
    assert output.err == (
        f"thinkaloud: Cannot write to {home.folder}/thinkaloud.db: the disk is full. "
        "Free some disk space, then try again.\n"
    )


@pytest.mark.usefixtures("full_disk")
def test_doctor_does_not_call_a_database_damaged_if_the_disk_is_full(home: UserHome, capsys: Output) -> None:
    (home.folder / "thinkaloud.db").touch()
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if " database: " in line]
    assert line.endswith("cannot be checked: the disk is full. Free some disk space, then try again.")


def test_doctor_checks_the_home_by_writing(
    home: UserHome, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    assert main(["doctor"]) == 1
    assert "cannot be written: No space left on device. Free some disk space." in capsys.readouterr().out


def test_read_only_file_system_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: _FileSystem(os.ST_RDONLY))
    problem = disk.disk_problem(sqlite_error(sqlite3.SQLITE_CANTOPEN), tmp_path / "thinkaloud.db")
    assert str(problem) == "the file system is read-only"
    assert "THINKALOUD_HOME" in str(disk.disk_remedy(str(problem)))


@pytest.mark.parametrize("notices", [[], [StorageChanged(saved=False)]], ids=["silent", "reported"])
def test_a_turn_that_cannot_be_saved_does_not_hang(
    monkeypatch: pytest.MonkeyPatch, notices: list[StreamItem]
) -> None:
    monkeypatch.setattr(follow, "SAVE_TIMEOUT_S", 0.01)
    monkeypatch.setattr(follow, "UNSAVED_TIMEOUT_S", 0.01)
    end = Entry(0, TurnEnded(Finish.STOP), 0)

    class FullGateway:
        async def stream(self, _: str) -> AsyncGenerator[StreamItem, None]:
            for item in [*notices, end]:
                yield item
            await asyncio.Event().wait()

    async def story() -> None:
        entries = follow.follow_printed(cast(GatewayClient, FullGateway()), "t1", print)
        assert await anext(entries) == end
        with pytest.raises(follow.TurnNotSaved, match="is not saved: the disk is full"):
            await anext(entries)

    asyncio.run(story())


class _FullStream(StringIO):
    """A standard output like /dev/full."""

    def reconfigure(self, **_: Any) -> None:
        """Keep the encoding."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fileno(self) -> int:
        return os.dup(2)


@pytest.mark.usefixtures("home")
def test_output_that_cannot_be_written_is_an_error_in_one_line(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", _FullStream())
    assert main(["config", "path"]) == 1
    assert capsys.readouterr().err == (
        "thinkaloud: The output could not be written: No space left on device. Free some disk space.\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ask -", "The prompt is empty"),
        ("keys set openai", "empty"),
        ("chat", "The chat needs a terminal"),
        ("replay -", "- is empty"),
    ],
)
def test_closed_input_is_empty(words: str, message: str, home: UserHome) -> None:
    command = f"{sys.executable} -m thinkaloud {words} <&-"
    completed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert message in completed.stderr
    assert "Traceback" not in completed.stderr


@pytest.mark.usefixtures("home")
def test_closed_output_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["config", "path"]) == 0
    sys.stdout.close()


def test_database_lock_that_is_a_folder_is_refused(home: UserHome, capsys: Output) -> None:
    (home.folder / "thinkaloud.db.lock").mkdir()
    assert main(["sessions"]) == 2
    assert "thinkaloud.db.lock cannot be written: Is a directory" in capsys.readouterr().err

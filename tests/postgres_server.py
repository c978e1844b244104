"""A PostgreSQL server of our own, in a temporary folder, with a new database for whoever asks.

PostgreSQL refuses to run as root, so a test that does starts it as the user `postgres`. The server does not
wait for the disk: what tests kill is the process, not the machine.
"""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from tests.patience import PATIENCE_S, alive

_USER = "postgres"
FOLDER_VARIABLE = "POSTGRES_BIN"
"""Names the folder with the programs of another server than the newest one that is installed."""
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "300",
    "shared_buffers": "32MB",
    "jit": "off",
    # It goes around all databases, of which the tests make hundreds, as long as the server runs.
    "autovacuum": "off",
    "log_min_messages": "warning",
}


def postgres_folder() -> Path:
    """Return the folder with the programs: the one that the variable names, or of the newest version."""
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return Path(chosen)
    on_path = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if on_path is None and not folders:
        raise FileNotFoundError("PostgreSQL is not installed. Run: make .postgres")
    return folders[-1] if folders else Path(str(on_path)).parent


class PostgresServer:
    """A running server. `kill` and `start` imitate a crash and the return.

    With `primary` it is a replica of another one, which follows it until `promote`.
    """

    def __init__(self, primary: "PostgresServer | None" = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="thinkaloud-postgres-"))
        self._data = self.folder / "data"
        self._numbers = count()
        _give_to_server(self.folder)
        if primary is None:
            self._run(
                "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--username={_USER}"
            )
        else:
            self._copy(primary)
        self.start()

    def _copy(self, primary: "PostgresServer") -> None:
        """Make this server a replica of a running one.

        By SQL and not by `pg_basebackup`, which packages of other versions lack.
        """
        with psycopg.connect(primary.url(), autocommit=True) as connection:
            start, stop = "pg_backup_start('copy', true)", "pg_backup_stop(false)"
            if connection.info.server_version < 15_00_00:
                start, stop = "pg_start_backup('copy', true, false)", "pg_stop_backup(false)"
            connection.execute(f"SELECT {start}".encode())
            shutil.copytree(primary._data, self._data, ignore=shutil.ignore_patterns("postmaster.*"))
            row = connection.execute(f"SELECT labelfile FROM {stop}".encode()).fetchone()
        assert row is not None
        (self._data / "backup_label").write_text(row[0], "utf-8")
        (self._data / "standby.signal").touch()
        with (self._data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"primary_conninfo = 'host={primary.folder} user={_USER}'\n")
        self._data.chmod(0o700)
        _give_to_server(self._data, *self._data.rglob("*"))

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = [f"-c {name}={value or chr(39) * 2}" for name, value in _SETTINGS.items()]
        options = " ".join([*settings, f"-c unix_socket_directories={self.folder}"])
        log = f"--log={self.folder / 'server.log'}"
        self._run(
            "pg_ctl",
            "start",
            "--wait",
            f"--timeout={PATIENCE_S:.0f}",
            "--silent",
            log,
            f"--options={options}",
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server. `immediate` is a crash: it recovers when it starts again."""
        self._run("pg_ctl", "stop", "--wait", f"--mode={mode}", "--silent")

    def kill(self) -> None:
        """End every process of the server at once."""
        pid = int((self._data / "postmaster.pid").read_text("utf-8").split()[0])
        os.kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + PATIENCE_S
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.02)

    def promote(self) -> None:
        """Make a replica the primary, and wait until it accepts writes."""
        self._run("pg_ctl", "promote", "--wait", "--silent")

    def configure(self, setting: str, value: str) -> None:
        """Change a setting of the running server."""
        self.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
        self.execute("SELECT pg_reload_conf()")

    def close(self) -> None:
        """Stop the server and delete its folder."""
        if (self._data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def socket(self) -> Path:
        """The socket on which the server listens."""
        return self.folder / ".s.PGSQL.5432"

    def url(self, database: str = "postgres", host: str = "", port: int | None = None) -> str:
        """Return the address of a database, through another host and port if they are given."""
        # A proxy in between reads the first packet, which therefore must not ask for encryption.
        through = f"host={host}&port={port}&sslmode=disable&gssencmode=disable"
        place = through if host else f"host={self.folder}"
        return f"postgresql:///{database}?user={_USER}&{place}"

    def new_database(self, template: str = "template0") -> str:
        """Create a database; return its name."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop_database(self, name: str) -> None:
        """Delete a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres", values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement as the administrator; return its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(postgres_folder() / program), f"--pgdata={self._data}", *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        result = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        assert result.returncode == 0, f"{program}: {result.stdout}{result.stderr}"


def _give_to_server(*paths: Path) -> None:
    """Let the user of the server own these files, if it is another one."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam(_USER)
        for path in paths:
            os.chown(path, entry.pw_uid, entry.pw_gid)


@cache
def shared_server() -> PostgresServer:
    """Return the server of this test process. It is stopped when the process ends."""
    server = PostgresServer()
    atexit.register(server.close)
    return server

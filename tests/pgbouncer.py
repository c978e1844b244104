"""PgBouncer of the distribution, in transaction mode, in front of a PostgreSQL server of our own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

_USER = "postgres"
_PORT = 6432
_CONFIG = """
[databases]
* = host={server} user={user}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = {folder}/log
pidfile = {folder}/pid
"""


@contextmanager
def run_pgbouncer(server: PostgresServer, database: str) -> Iterator[str]:
    """Run PgBouncer with three server connections; yield the address of a database through it."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed. Install the package pgbouncer.")
    folder = Path(tempfile.mkdtemp(prefix="thinkaloud-pgbouncer-"))
    config = folder / "pgbouncer.ini"
    config.write_text(_CONFIG.format(server=server.folder, user=_USER, port=_PORT, folder=folder), "utf-8")
    command = [program, str(config)]
    if os.geteuid() == 0:
        entry = pwd.getpwnam(_USER)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        command = ["runuser", "-u", _USER, "--", *command]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"postgresql:///{database}?user={_USER}&host={folder}&port={_PORT}"
    try:
        _wait_for(url)
        yield url
    finally:
        os.kill(int((folder / "pid").read_text("utf-8")), signal.SIGTERM)
        process.wait(PATIENCE_S)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(url: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)
        else:
            return

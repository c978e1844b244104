"""`thinkaloud serve --workers N`: several processes on one port, as gateways on one PostgreSQL."""

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_serve import Run, serving, stopped
from tests.patience import PATIENCE_S, alive
from tests.postgres_server import shared_server
from tests.store.engines import migrated_template

from thinkaloud.cli import main

QUESTION = json.dumps({"model": "builtin/solver", "messages": [{"role": "user", "content": "17 * 3"}]})


@pytest.fixture
def database() -> Iterator[str]:
    """The name of a new database."""
    name = shared_server().new_database(migrated_template())
    yield name
    shared_server().drop_database(name)


def worker_pids(database: str) -> set[int]:
    """Return the processes whose gateways hold a lease."""
    rows = shared_server().execute("SELECT name FROM nodes", database)
    return {int(name.rpartition(":")[2]) for (name,) in rows}


def ask(url: str) -> dict[str, Any]:
    """Ask over a connection of its own, which any worker may accept."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", QUESTION.encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


def wait_for_other_worker(run: Run, database: str, before: set[int]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not worker_pids(database) - before and time.monotonic() < until_s:
        assert run.poll() is None
        time.sleep(0.1)


def test_workers_share_a_port_and_a_dead_one_is_replaced(tmp_path: Path, database: str) -> None:
    home = {"THINKALOUD_HOME": str(tmp_path), "THINKALOUD_DATABASE": shared_server().url(database)}
    with serving("--workers", "2", **home) as (run, url):
        workers = worker_pids(database)
        assert len(workers) == 2, "all serve before the address is printed"
        assert run.pid not in workers
        assert all("51" in ask(url)["choices"][0]["message"]["content"] for _ in range(4))
        os.kill(min(workers), signal.SIGKILL)
        assert "51" in ask(url)["choices"][0]["message"]["content"], "the other one still serves"
        wait_for_other_worker(run, database, workers)
        all_workers = worker_pids(database) | workers
        assert len(all_workers) == 3
        exit_code, out, err = stopped(run, signal.SIGTERM)
    assert (exit_code, out) == (0, ""), err
    assert "A worker ended with status -9 and is replaced." in err
    assert not any(map(alive, all_workers))


def test_workers_end_with_the_process_that_started_them(tmp_path: Path, database: str) -> None:
    home = {"THINKALOUD_HOME": str(tmp_path), "THINKALOUD_DATABASE": shared_server().url(database)}
    with serving("--workers", "2", **home) as (run, _):
        workers = worker_pids(database)
        run.kill()
        until_s = time.monotonic() + PATIENCE_S
        while any(map(alive, workers)) and time.monotonic() < until_s:
            time.sleep(0.1)
    assert not any(map(alive, workers))


def test_workers_need_postgresql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.delenv("THINKALOUD_DATABASE", raising=False)
    assert main(["serve", "--workers", "2"]) == 2
    assert "--workers needs PostgreSQL" in capsys.readouterr().err

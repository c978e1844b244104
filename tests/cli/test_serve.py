"""`thinkaloud serve` as a process: output, address, refused options, and shutdown."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from platformdirs.api import PlatformDirsABC
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from tests.cli.environment import UserHome, running_simulator
from tests.cli.forked_command import ForkedCommand
from tests.patience import PATIENCE_S

from thinkaloud.cli import main, settings
from thinkaloud.cli.settings import database_path
from thinkaloud.extras import install_command
from thinkaloud.gateway.store.engine.file_lock import lock_path

COMMAND = [sys.executable, "-m", "thinkaloud"]
TOKEN = re.compile(r"tka_[A-Za-z0-9_-]{43}")
Output = pytest.CaptureFixture[str]
Run = ForkedCommand


@contextmanager
def serving(*words: str, **environment: str) -> Iterator[tuple[Run, str]]:
    """Run the gateway and yield its process and address; kill it if the test has not stopped it."""
    with ForkedCommand("serve", "--port", "0", *words, env={**os.environ, **environment}) as run:
        try:
            yield run, run.stdout.readline().strip()
        finally:
            if run.poll() is None:
                run.kill()


def stopped(run: Run, number: int = signal.SIGINT) -> tuple[int, str, str]:
    run.send_signal(number)
    out, err = run.communicate(timeout=PATIENCE_S)
    return run.returncode, out, err


def run_command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=PATIENCE_S,
        check=False,
    )


def ask(url: str, body: Any = None, *, token: str = "", method: str = "") -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method or None)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_serve_prints_its_address_and_needs_no_key(home: UserHome) -> None:
    """It needs no key, service or token; only the address is on stdout."""
    with serving("--log-format", "text") as (run, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert ask(f"{url}/readyz") == (200, {"status": "ok"})
        assert ask(f"{url}/api/sessions", {"title": "First"})[0] == 201
        assert ask(f"{url}/api/sessions")[1]["items"][0]["title"] == "First"
        code, out, err = stopped(run)
    assert (code, out) == (0, "")
    assert str(home.folder / "thinkaloud.db") in err
    assert "Default model: builtin/solver" in err
    assert "Press Ctrl-C to stop" in err
    assert not TOKEN.search(err)
    assert "POST /api/sessions 201" in err
    assert "Traceback" not in err


def test_sessions_survive_a_restart(home: UserHome) -> None:
    with serving() as (run, url):
        session = ask(f"{url}/api/sessions", {"title": "Kept"})[1]["id"]
        stopped(run, signal.SIGTERM)
    with serving() as (_, url):
        assert ask(f"{url}/api/sessions/{session}")[1]["title"] == "Kept"


def test_logs_are_json_without_a_terminal(home: UserHome) -> None:
    with serving() as (run, url):
        ask(f"{url}/healthz")
        _, _, err = stopped(run)
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [("GET", "/healthz", 200)]


def test_serve_writes_the_start_token_to_a_private_file_and_not_to_a_log(home: UserHome) -> None:
    with serving("--auth", "token") as (run, url):
        path = lock_path(database_path())
        announcement = ""
        while str(path) not in announcement:
            announcement += run.stderr.readline()
        assert path.stat().st_mode & 0o077 == 0
        token = json.loads(path.read_text())["token"]
        assert ask(f"{url}/api/sessions")[0] == 401
        assert ask(f"{url}/api/sessions", token=token)[0] == 200
        assert main(["users", "add", "ana"]) == 0
        _, _, err = stopped(run)
    assert token not in announcement + err


def test_tokens_are_created_and_revoked_while_the_gateway_runs(home: UserHome, capsys: Output) -> None:
    with serving("--auth", "token") as (_, url):
        assert main(["users", "add", "ana"]) == 0
        capsys.readouterr()
        assert main(["tokens", "create", "ana", "--name", "laptop"]) == 0
        secret = capsys.readouterr().out.strip()
        assert ask(f"{url}/api/sessions", token=secret) == (200, {"items": [], "next": ""})
        assert main(["tokens", "list", "ana"]) == 0
        number = capsys.readouterr().out.split()[0]
        assert main(["tokens", "revoke", number]) == 0
        assert ask(f"{url}/api/sessions", token=secret)[0] == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_serve_refuses_a_public_address_without_tokens(host: str, home: UserHome, capsys: Output) -> None:
    assert main(["serve", "--host", host, "--port", "0"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Other machines can reach" in err
    assert "--auth token" in err
    assert not (home.folder / "thinkaloud.db").exists()


def test_serve_reports_a_port_in_use(home: UserHome, capsys: Output) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy_socket:
        port = str(busy_socket.getsockname()[1])
        assert main(["serve", "--port", port]) == 2
    err = capsys.readouterr().err
    assert f"port {port}" in err
    assert "--port 0" in err


def test_serve_refuses_a_second_gateway_on_the_same_database(home: UserHome) -> None:
    with serving() as (_, url):
        second = run_command("serve", "--port", "0")
        assert (second.returncode, second.stdout) == (2, "")
        assert "in use by another gateway" in second.stderr
        assert ask(f"{url}/healthz")[0] == 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "70000"], "not a port"),
        (["--grace", "-1"], "seconds"),
        (["--grace", "nan"], "seconds"),
        (["--allow-host", "http://example.org"], "without http://"),
        (["--allow-host", "a b"], "not a host name"),
        (["--forget-timing-after", "0"], "1 or more"),
        (["--auth", "none"], "invalid choice"),
    ],
)
def test_serve_refuses_invalid_options(words: list[str], message: str, capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["serve", *words])
    assert message in capsys.readouterr().err


def _slow_turn(home: UserHome, url: str) -> str:
    session = ask(f"{url}/api/sessions", {"model": "vllm/qwen3-8b"})[1]["id"]
    status, turn = ask(f"{url}/api/sessions/{session}/turns", {"prompt": "Go on."})
    assert status == 202
    return str(turn["id"])


ENDLESS = [{"thinking": "again and " * 2000, "text": "never", "delay_ms": 20}]
GRACE_S = 5.0


def _until_thinking(url: str, turn: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not ask(f"{url}/api/turns/{turn}")[1]["reasoning_content"]:
        assert time.monotonic() < until, "it does not begin"
        time.sleep(0.02)


def _until_stopping(url: str) -> None:
    """Wait until the gateway reports that it is not ready, while turns still run."""
    while ask(f"{url}/readyz")[0] != 503:
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_interrupts_live_turns_after_the_grace_time(number: int, home: UserHome) -> None:
    """It stops being ready, ends streams and marks turns after the grace time, and keeps their text."""
    with running_simulator("vllm", ENDLESS) as model:
        home.use_simulators(model)
        with serving("--grace", str(GRACE_S)) as (run, url):
            turn = _slow_turn(home, url)
            _until_thinking(url, turn)
            stream = urllib.request.urlopen(f"{url}/api/turns/{turn}/events", timeout=PATIENCE_S)
            run.send_signal(number)
            started_turn = time.monotonic()
            _until_stopping(url)
            assert ask(f"{url}/healthz")[0] == 200
            stderr_text = stream.read().decode()
            _, err = run.communicate(timeout=PATIENCE_S)
            took = time.monotonic() - started_turn
    assert (run.returncode, "Traceback" in err) == (0, False), err
    assert took > 0.9 * GRACE_S
    assert stderr_text.count("\nid: ") > 1
    with serving() as (_, url):
        stored_turn = ask(f"{url}/api/turns/{turn}")[1]
    assert stored_turn["state"] == "interrupted"
    assert stored_turn["reasoning_content"].startswith("again and ")


def test_second_signal_stops_immediately(home: UserHome) -> None:
    with running_simulator("vllm", ENDLESS) as model:
        home.use_simulators(model)
        with serving("--grace", "600") as (run, url):
            turn = _slow_turn(home, url)
            _until_thinking(url, turn)
            run.send_signal(signal.SIGINT)
            _until_stopping(url)
            assert run.poll() is None
            code, _, err = stopped(run)
    assert (code, "Traceback" in err) == (130, False), err
    with serving() as (_, url):
        assert ask(f"{url}/api/turns/{turn}")[1]["state"] == "interrupted"


def test_stop_without_live_turns_does_not_wait(home: UserHome) -> None:
    with serving("--grace", "600") as (run, url):
        ask(f"{url}/healthz")
        code, _, _ = stopped(run, signal.SIGTERM)
    assert code == 0


def test_missing_server_packages_error_gives_the_install_command(home: UserHome, tmp_path: Path) -> None:
    """The other commands work without them."""
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no uvicorn', name='uvicorn')")
    (tmp_path / "sqlalchemy.py").write_text("raise ModuleNotFoundError('no sqlalchemy', name='sqlalchemy')")
    for words in (["serve", "--port", "0"], ["users", "list"], ["tokens", "list", "local"]):
        completed = run_command(*words, PYTHONPATH=str(tmp_path))
        assert (completed.returncode, completed.stdout) == (2, "")
        assert install_command("server") in completed.stderr
        assert "Traceback" not in completed.stderr
    assert run_command("models", PYTHONPATH=str(tmp_path)).returncode == 0


def test_missing_flet_error_gives_the_install_command(home: UserHome, tmp_path: Path) -> None:
    """`import thinkaloud` and the other commands do not need it."""
    (tmp_path / "flet.py").write_text("raise ModuleNotFoundError('no flet', name='flet')")
    completed = run_command("flutter", PYTHONPATH=str(tmp_path))
    assert (completed.returncode, completed.stdout) == (2, "")
    assert install_command("flutter") in completed.stderr
    assert "Traceback" not in completed.stderr
    assert run_command("agents", PYTHONPATH=str(tmp_path)).returncode == 0


def test_serve_works_without_uvloop(home: UserHome, tmp_path: Path) -> None:
    """Windows lacks it."""
    (tmp_path / "uvloop.py").write_text("raise ModuleNotFoundError('no uvloop', name='uvloop')")
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as run:
        assert run.stdout
        url = run.stdout.readline().strip()
        try:
            assert ask(f"{url}/api/sessions", {"title": "Slow"})[0] == 201
        finally:
            run.send_signal(signal.SIGINT)
    assert run.returncode == 0


def test_serve_warns_that_traffic_is_not_encrypted(home: UserHome) -> None:
    with serving("--host", "0.0.0.0", "--auth", "token") as (run, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert ask(f"{url}/healthz")[0] == 200
        assert ask(f"{url}/api/sessions")[0] == 401
        _, _, err = stopped(run)
    assert "not encrypted" in err


@pytest.mark.parametrize("words", [["--help"], ["models"], ["serve", "--help"], ["users", "--help"]])
def test_commands_import_no_server_packages(words: list[str], home: UserHome) -> None:
    code = (
        "import sys; from thinkaloud.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'uvicorn', 'starlette', 'sqlalchemy', 'alembic', 'uvloop'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    assert completed.stderr == "[]\n"


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        (Unix, {}, "{home}/.local/share/thinkaloud"),
        (Unix, {"XDG_DATA_HOME": "/data"}, "/data/thinkaloud"),
        (MacOS, {}, "{home}/Library/Application Support/thinkaloud"),
        (Unix, {"THINKALOUD_HOME": "/mine", "XDG_DATA_HOME": "/data"}, "/mine"),
        (MacOS, {"THINKALOUD_HOME": "~/mine"}, "{home}/mine"),
    ],
)
def test_data_folder_of_each_platform(
    platform: type[PlatformDirsABC],
    environment: dict[str, str],
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("THINKALOUD_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(platformdirs, "PlatformDirs", platform)
    assert settings.database_path() == Path(folder.format(home=tmp_path)) / "thinkaloud.db"

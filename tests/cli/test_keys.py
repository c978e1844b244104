"""`keys`, `config` and `doctor`: stored safely, never printed, and every problem with what to do."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest
from tests.cli.environment import KEY, UserHome, running_simulator
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.gateway.store.engine.file_lock import FileLock, lock_path, publish_address

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)


def set_key(home: UserHome, provider: str, key: str) -> subprocess.CompletedProcess[str]:
    """Store a key that comes from a pipe, in a process without a keyring."""
    code = "import sys; sys.modules['keyring'] = None; from thinkaloud.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, "keys", "set", provider],
        input=key,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_r045_anthropic_key_comes_from_the_credential_store(home: UserHome, capsys: Output) -> None:
    """R045: `ai.claude.api_token` of the credential store is sent to Anthropic, without any other setting."""
    credentials = home.folder / "credentials.toml"
    credentials.write_text(f'[ai.claude]\napi_token = "{KEY}"\n')
    credentials.chmod(0o600)
    with running_simulator("anthropic", [{"thinking": "Hm.", "text": "Hi."}], key=KEY) as server:
        home.use_simulators(server)
        assert main(["ask", "--model", "anthropic/claude-opus-4-5", "Hi"]) == 0
        assert server.refusals == []
    assert capsys.readouterr().out == "Hi.\n"


def test_keys_set_stores_privately_and_ask_uses_the_key(home: UserHome, capsys: Output) -> None:
    """R045: a key that was stored is used, shared by providers with the same variable, and never printed."""
    credentials = home.folder / "credentials.toml"
    credentials.write_text('# mine\n[ai.claude]\napi_token = "x-1234"\n')
    credentials.chmod(0o600)
    result = set_key(home, "deepseek", f"{KEY}\n")
    assert result.returncode == 0
    assert KEY not in result.stdout + result.stderr
    assert credentials.stat().st_mode & 0o777 == 0o600
    assert credentials.read_text().startswith('# mine\n[ai.claude]\napi_token = "x-1234"\n')
    assert tomllib.loads(credentials.read_text())["keys"] == {"DEEPSEEK_API_KEY": KEY}
    with running_simulator("deepseek", [{"thinking": "Hm.", "text": "Hi."}] * 2, key=KEY) as server:
        home.use_simulators(server)
        assert main(["ask", "--model", "deepseek/deepseek-v4-pro", "Hi"]) == 0
        out, err = capsys.readouterr()
        assert KEY not in out + err
    assert main(["keys", "list", "--json"]) == 0
    out, _ = capsys.readouterr()
    row = next(row for row in json.loads(out) if row["provider"] == "deepseek")
    assert (row["key"], row["source"]) == (True, "stored as DEEPSEEK_API_KEY")
    assert KEY not in out
    assert main(["keys", "remove", "deepseek"]) == 0
    assert KEY not in credentials.read_text()
    assert main(["keys", "remove", "deepseek"]) == 2
    assert "No key is stored for deepseek" in capsys.readouterr().err


class ModelListHandler(BaseHTTPRequestHandler):
    """A list of models that needs the key, or none."""

    public = False

    def do_GET(self) -> None:
        accepted = self.public or self.headers["Authorization"] == f"Bearer {KEY}"
        body = json.dumps({"data": [{"id": "one"}]} if accepted else {"error": {"message": "No."}}).encode()
        self.send_response(200 if accepted else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.mark.parametrize(
    ("key", "public", "code", "text"),
    [
        (KEY, False, 0, "deepseek: works; 1 models listed"),
        ("another-key", False, 1, "deepseek: deepseek refused the request (HTTP 401): No."),
        (
            "another-key",
            True,
            0,
            "deepseek: answers, but its list of models is public, so the key is not proved",
        ),
    ],
)
def test_keys_test_asks_the_provider(
    home: UserHome, capsys: Output, key: str, public: bool, code: int, text: str
) -> None:
    handler = type("Handler", (ModelListHandler,), {"public": public})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (home.folder / "catalog.toml").write_text(
            f'[providers.deepseek]\nbase_url = "http://127.0.0.1:{server.server_port}"\n'
        )
        home.set_keys("deepseek", key=key)
        assert main(["keys", "test"]) == code
        server.shutdown()
    out, err = capsys.readouterr()
    assert out.startswith(text)
    assert key not in out + err


@pytest.mark.parametrize(
    ("provider", "key", "message"),
    [
        ("deepseek", "\n", "The key is empty"),
        ("deepseek", "two words", "not a valid key"),
        ("ollama", "x", "needs no key"),
    ],
)
def test_keys_set_refuses_what_is_no_key(home: UserHome, provider: str, key: str, message: str) -> None:
    result = set_key(home, provider, key)
    assert result.returncode == 2
    assert message in result.stderr
    assert not (home.folder / "credentials.toml").exists()


def test_keys_set_stores_nothing_after_the_end_of_the_input(home: UserHome) -> None:
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "thinkaloud", "keys", "set", "deepseek"]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr is not None
        shown = b""
        while not shown.endswith(b": "):
            shown += process.stderr.read(1)
        os.write(master, b"\x04")  # Ctrl-D
        assert process.stderr.read().decode() == "\nthinkaloud: The key is empty, so nothing was stored.\n"
    assert process.returncode == 2
    os.close(master)
    os.close(terminal)


def test_keys_use_the_keyring_if_it_works(
    home: UserHome, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    from thinkaloud.client.key_store import KEYRING, remove_key, store_key

    stored: dict[tuple[str, str], str] = {}
    ring = ModuleType("keyring")
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setattr(ring, "get_password", lambda *place: stored.get(place), raising=False)
    monkeypatch.setattr(
        ring, "set_password", lambda *entry: stored.update({entry[:2]: entry[2]}), raising=False
    )
    monkeypatch.setattr(ring, "delete_password", lambda *place: stored.pop(place), raising=False)
    assert store_key("DEEPSEEK_API_KEY", KEY) == KEYRING
    assert stored == {("thinkaloud", "DEEPSEEK_API_KEY"): KEY}
    assert not (home.folder / "credentials.toml").exists()
    assert main(["keys", "list", "--json"]) == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["provider"] == "deepseek")
    assert row["key"] is True
    assert remove_key("DEEPSEEK_API_KEY") == [KEYRING]
    assert stored == {}


def test_a_credentials_file_with_the_wrong_mode_is_named_as_the_cause(home: UserHome, capsys: Output) -> None:
    """S20."""
    path = home.folder / "credentials.toml"
    path.write_text(f'[keys]\nANTHROPIC_API_KEY = "{KEY}"\n')
    path.chmod(0o644)
    assert main(["ask", "--model", "claude-opus-4.5", "--thinking", "high", "Hi"]) == 2
    _, err = capsys.readouterr()
    assert f"{path} is readable by other users, so no key was read from it. Run: chmod 600 {path}" in err
    assert "openrouter" not in err, "advice to take the route that the rule forbids"
    assert KEY not in err
    assert main(["doctor"]) == 1
    assert f"problem  credentials: {path} is readable by other users" in capsys.readouterr().out


def test_doctor_reports_a_fresh_home_without_problems(home: UserHome, capsys: Output) -> None:
    assert main(["doctor"]) == 0
    out, _ = capsys.readouterr()
    assert "ok       default model: builtin/solver" in out
    assert "note     keys: No provider has a key" in out
    assert "ok       packages: The extra [tui] is installed." in out
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert {finding["state"] for finding in findings} == {"ok", "note"}


def test_doctor_finds_local_servers_and_keys(home: UserHome, capsys: Output) -> None:
    with running_simulator("ollama") as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert "ok       local servers: ollama answers at http://127.0.0.1:" in out
    assert "ok       keys: deepseek has a key (variable DEEPSEEK_API_KEY)." in out
    assert KEY not in out + err


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("config.toml", "language = ", "problem  settings: "),
        ("config.toml", 'colour = "red"\n', "note     settings: "),
        ("config.toml", 'model = "no-such-model"\n', "problem  default model: Unknown model 'no-such-model'"),
        ("config.toml", 'model = "gpt-5"\n', "problem  default model: No API key found for openai."),
        ("catalog.toml", "x = ", "problem  catalog: "),
        ("thinkaloud.db", "this is no database, " * 100, "problem  database: "),
    ],
)
def test_doctor_names_each_problem(
    home: UserHome, name: str, text: str, finding: str, capsys: Output
) -> None:
    (home.folder / name).write_text(text)
    assert main(["doctor"]) == (0 if finding.startswith("note") else 1)
    assert finding in capsys.readouterr().out


def test_doctor_checks_an_intact_database(home: UserHome, capsys: Output) -> None:
    path = home.folder / "thinkaloud.db"
    sqlite3.connect(path).execute("CREATE TABLE one (two)").connection.close()
    path.chmod(0o600)
    assert main(["doctor"]) == 0
    assert f"ok       database: {path} is intact" in capsys.readouterr().out


def test_doctor_tells_of_a_running_gateway(home: UserHome, capsys: Output) -> None:
    path = lock_path(home.folder / "thinkaloud.db")
    assert main(["doctor"]) == 0
    assert "ok       gateway: No gateway runs for this folder." in capsys.readouterr().out
    with FileLock(path):
        publish_address(path, "http://127.0.0.1:8321", KEY)
        assert main(["doctor"]) == 0
    out, _ = capsys.readouterr()
    assert f"ok       gateway: A gateway runs at http://127.0.0.1:8321, process {os.getpid()}." in out
    assert KEY not in out


def test_config_commands_change_the_settings_that_ask_reads(
    home: UserHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """R117: `show_thinking` is a setting; the language comes from the environment where nothing is set."""
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "pt_BR.UTF-8")
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(home.folder / "config.toml")
    assert main(["ask", "convert 5 km to miles"]) == 0
    portuguese = capsys.readouterr()
    assert "Pensou" in portuguese.err
    assert main(["config", "set", "language", "en-US"]) == 0
    assert main(["config", "set", "thinking.display.show_thinking", "off"]) == 0
    capsys.readouterr()
    assert main(["ask", "convert 5 km to miles"]) == 0
    english = capsys.readouterr()
    assert "[think]" not in english.err
    assert main(["config", "show"]) == 0
    assert "thinking.display.show_thinking    false" in capsys.readouterr().out
    assert main(["config", "unset", "thinking.display.show_thinking"]) == 0
    assert main(["config", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"language": "en-US"}


def test_model_setting_is_the_default_below_the_variable(
    home: UserHome, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    assert main(["config", "set", "model", "deepseek/deepseek-v4-pro"]) == 0
    assert main(["ask", "Hi"]) == 2
    assert "No API key found for deepseek" in capsys.readouterr().err
    monkeypatch.setenv("THINKALOUD_MODEL", "builtin/solver")
    assert main(["ask", "convert 5 km to miles"]) == 0


def test_thinking_setting_is_a_wish_and_an_option_is_a_demand(home: UserHome, capsys: Output) -> None:
    """R046: what was asked for fails if it cannot be had; a setting for all models gives a note."""
    assert main(["config", "set", "thinking.level", "high"]) == 0
    with running_simulator("openai-chat", [{"text": "Hi."}]) as server:
        home.use_simulators(server)
        home.set_keys("openai-chat")
        assert main(["ask", "--model", "openai-chat/gpt-4o", "Hi"]) == 0
        capsys.readouterr()
        assert main(["ask", "--model", "openai-chat/gpt-4o", "--thinking", "high", "Hi"]) == 2
    assert "does not support thinking" in capsys.readouterr().err


def test_config_set_refuses_invalid_values(home: UserHome, capsys: Output) -> None:
    assert main(["config", "set", "language", "de-DE"]) == 2
    assert "Use one of: en-US, pt-BR." in capsys.readouterr().err
    if os.geteuid() != 0:
        home.folder.chmod(0o500)
        assert main(["config", "set", "language", "pt-BR"]) == 2


@pytest.mark.parametrize("fault", ["mode", "toml", "folder"])
def test_keys_list_says_why_the_credentials_cannot_be_read(
    home: UserHome, capsys: Output, fault: str
) -> None:
    path = home.folder / "credentials.toml"
    if fault == "folder":
        path.mkdir()
    else:
        path.write_text("[keys\n" if fault == "toml" else "[keys]\n")
        path.chmod(0o644 if fault == "mode" else 0o600)
    assert main(["keys", "list"]) == 0
    reasons = {"mode": "chmod 600", "toml": "it is not valid TOML", "folder": "Is a directory"}
    (line,) = capsys.readouterr().err.splitlines()
    assert reasons[fault] in line


@pytest.mark.usefixtures("home")
def test_config_set_prints_no_control_characters(capsys: Output) -> None:
    assert main(["config", "set", "model", "\x1b[31m"]) == 0
    assert "\x1b" not in capsys.readouterr().err

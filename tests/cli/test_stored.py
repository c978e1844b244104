"""Commands on stored turns: ask, sessions, show, search, export, import, watch and replay."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.environment import UserHome, running_simulator, wait_until
from tests.cli.forked_command import ForkedCommand
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.simulators import Simulator

MODEL = "deepseek/deepseek-v4-pro"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e"
Output = pytest.CaptureFixture[str]


@pytest.fixture
def server(home: UserHome) -> Iterator[Simulator]:
    """A simulated DeepSeek with three scripted answers."""
    script = [
        {"thinking": f"Thought number {number}. {ESCAPES}", "text": f"Answer number {number}. {ESCAPES}"}
        for number in ("one", "two", "three")
    ]
    with running_simulator("deepseek", script) as simulator:
        home.use_simulators(simulator)
        home.set_keys("deepseek")
        yield simulator


def run(capsys: Output, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Run a command, check its exit code and that nothing could act on a terminal, and return its output."""
    capsys.readouterr()
    assert main(list(arguments)) == code
    out, err = capsys.readouterr()
    assert not set(out + err) & set("\x1b\x07\x9b\u202e")
    return out, err


def ask(capsys: Output, *arguments: str) -> dict[str, str]:
    body: dict[str, str] = json.loads(run(capsys, "ask", "--json", *arguments)[0])
    return body


@contextmanager
def started(*arguments: str) -> Iterator[ForkedCommand]:
    """Start a command, and kill it at the end of the block if it still runs."""
    with ForkedCommand(*arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def sessions(capsys: Output) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(run(capsys, "sessions", "--json")[0])
    return rows


@pytest.mark.usefixtures("server")
def test_ask_keeps_its_turn_in_a_new_session(capsys: Output) -> None:
    body = ask(capsys, "-m", MODEL, "What is it?")
    [session] = sessions(capsys)
    assert (session["id"], session["model"]) == (body["session"], MODEL)
    shown = json.loads(run(capsys, "show", session["id"], "--json")[0])
    assert shown["session"] == session["id"]
    [turn] = shown["turns"]
    assert (turn["turn"], turn["prompt"], turn["state"]) == (body["turn"], "What is it?", "done")
    assert turn["reasoning_content"] == body["reasoning_content"]


def test_ask_continues_the_last_session_and_any_by_its_prefix(server: Simulator, capsys: Output) -> None:
    first = ask(capsys, "-m", MODEL, "First?")
    second = ask(capsys, "-m", MODEL, "Second?")
    assert first["session"] != second["session"]
    third = ask(capsys, "-s", first["session"][:14], "Third?")
    assert third["session"] == first["session"]
    messages = server.requests[-1].body["messages"]
    assert [message["content"] for message in messages if message["role"] == "user"] == ["First?", "Third?"]
    assert sessions(capsys)[0]["id"] == first["session"]


def test_ask_continue_without_a_session_says_so(home: UserHome, capsys: Output) -> None:
    assert "There is no session yet" in run(capsys, "ask", "-c", "Hi", code=2)[1]
    assert "There is no session 'nope'" in run(capsys, "ask", "-s", "nope", "Hi", code=2)[1]


@pytest.mark.usefixtures("server")
def test_ask_no_save_keeps_nothing(home: UserHome, capsys: Output) -> None:
    run(capsys, "ask", "--no-save", "-m", MODEL, "Hi")
    assert not (home.folder / "thinkaloud.db").exists()


@pytest.mark.usefixtures("home")
def test_ask_no_save_with_a_server_is_refused(capsys: Output) -> None:
    _, err = run(capsys, "ask", "--no-save", "--server", "http://127.0.0.1:9", "Hi", code=2)
    assert "--no-save asks from this process, and the gateway of --server keeps its turns." in err


def test_refused_question_leaves_no_empty_session(home: UserHome, capsys: Output) -> None:
    run(capsys, "ask", "-m", "no/such-model", "Hi", code=2)
    assert sessions(capsys) == []


@pytest.mark.usefixtures("server")
def test_ask_without_the_server_packages_says_once_that_nothing_is_kept(
    home: UserHome, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thinkaloud.cli.commands.ask_turn.installed", lambda extra: False)
    out, err = run(capsys, "ask", "-m", MODEL, "Hi")
    assert out.startswith("Answer number one.")
    assert "Turns are not kept" in err
    assert "Turns are not kept" not in run(capsys, "ask", "-m", MODEL, "Hi")[1]
    assert "pip install" in run(capsys, "ask", "-c", "Hi", code=2)[1]
    assert not (home.folder / "thinkaloud.db").exists()


@pytest.mark.usefixtures("server")
def test_sessions_are_listed_renamed_and_deleted(capsys: Output) -> None:
    body = ask(capsys, "-m", MODEL, "What is it?")
    prefix = body["session"][:12]
    run(capsys, "sessions", "rename", prefix, "A", "new", f"title {ESCAPES}")
    out, _ = run(capsys, "sessions")
    assert out.splitlines()[0].split() == ["session", "used", "model", "title"]
    assert out.splitlines()[1].startswith(prefix)
    assert out.splitlines()[1].endswith("A new title")
    assert "Add --yes" in run(capsys, "sessions", "delete", prefix, code=2)[1]
    run(capsys, "sessions", "delete", prefix, "--yes")
    assert "No sessions yet" in run(capsys, "sessions")[1]


@pytest.mark.usefixtures("server")
def test_show_prints_prompts_answers_and_thoughts_apart(capsys: Output) -> None:
    body = ask(capsys, "-m", MODEL, f"What is it? {ESCAPES}")
    ask(capsys, "-c", "And then?")
    out, err = run(capsys, "show", body["session"][:12])
    assert out == "> What is it? \n\nAnswer number one. \n\n> And then?\n\nAnswer number two. \n\n"
    assert "[think] Thought number one." in err
    out, err = run(capsys, "show", "latest")
    assert out == "Answer number two. \n"
    assert "> And then?" in err
    assert run(capsys, "show", body["turn"], "--show-thinking", "hide")[0] == "Answer number one. \n"
    assert "There is no session 'x'" in run(capsys, "show", "x", code=2)[1]


@pytest.mark.usefixtures("server")
def test_search_finds_words_and_thoughts_only_if_asked(capsys: Output) -> None:
    body = ask(capsys, "-m", MODEL, "What is it?")
    out, _ = run(capsys, "search", "answer", "number")
    assert body["turn"] in out
    assert "Answer number one." in out
    assert "Nothing was found. Add --thoughts" in run(capsys, "search", "thought")[1]
    [hit] = json.loads(run(capsys, "search", "thought", "--thoughts", "--json")[0])
    assert (hit["turn"], hit["kind"]) == (body["turn"], "thought")


@pytest.mark.usefixtures("server")
def test_export_and_import_give_the_same_turns(tmp_path: Path, capsys: Output) -> None:
    body = ask(capsys, "-m", MODEL, "What is it?")
    files = [tmp_path / name for name in ("a.json", "a.md", "a.txt")]
    for file in files:
        run(capsys, "export", body["session"], "-o", str(file))
    assert "exists already" in run(capsys, "export", body["session"], "-o", str(files[0]), code=2)[1]
    unknown = run(capsys, "export", body["session"], "-o", str(tmp_path / "a.pdf"), code=2)[1]
    assert "'a.pdf' names no format" in unknown
    assert not (tmp_path / "a.pdf").exists()
    written = run(capsys, "export", body["session"], "-o", str(tmp_path / "b.md"))[1]
    assert written.endswith("b.md as markdown.\n")
    assert "Thought" not in files[2].read_text("utf-8")
    capsys.readouterr()
    assert main(["export", body["session"], "--format", "json"]) == 0
    assert capsys.readouterr().out == files[0].read_text("utf-8")
    out, _ = run(capsys, "import", str(files[0]), str(files[1]))
    for imported in out.split():
        turns = [
            json.loads(run(capsys, "show", session, "--json")[0])["turns"]
            for session in (imported, body["session"])
        ]
        assert turns[0][0]["content"] == turns[1][0]["content"]
        assert turns[0][0]["reasoning_content"] == turns[1][0]["reasoning_content"]
    out, err = run(capsys, "import", str(tmp_path / "none"), str(files[2]), code=2)
    assert out == ""
    assert "Cannot read" in err
    assert "a.txt: " in err


@pytest.mark.usefixtures("server")
def test_export_to_a_dash_writes_to_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    ask(capsys, "-m", MODEL, "hello")
    capsys.readouterr()
    assert main(["export", "latest", "-o", "-", "--format", "text"]) == 0
    out, err = capsys.readouterr()
    assert f"Answer number one. {ESCAPES}\n" in out, "a pipe gets the exact text"
    assert "Written" not in err
    assert not (tmp_path / "-").exists()


@pytest.mark.usefixtures("server")
def test_show_and_watch_name_the_model_alike(capsys: Output) -> None:
    ask(capsys, "-m", MODEL, "hello")
    for command in ("show", "watch"):
        assert MODEL in run(capsys, command, "latest")[1].splitlines()[0]


def test_invalid_setting_is_reported_once_and_by_doctor(home: UserHome, capsys: Output) -> None:
    path = home.folder / "config.toml"
    path.write_text('language = "xx"\n[chat]\ntheme = "pink"\n')
    _, err = run(capsys, "ask", "--no-save", "17", "*", "3")
    assert err.count(f"Invalid value for language in {path}: 'xx'. Use one of: en-US, pt-BR") == 1
    assert err.count("Use one of: dark, light") == 1
    findings = json.loads(run(capsys, "doctor", "--json", code=1)[0])
    problems = [row["text"] for row in findings if row["state"] == "problem"]
    assert ["language" in problems[0], "chat.theme" in problems[1]] == [True, True]


@pytest.mark.usefixtures("server")
def test_replay_of_a_stored_turn_shows_it_again(capsys: Output) -> None:
    body = ask(capsys, "-m", MODEL, "What is it?")
    for name in (body["turn"], "latest"):
        for speed in ("0", "100"):
            out, err = run(capsys, "replay", "--speed", speed, name)
            assert out == "Answer number one. \n"
            assert f"Replaying {body['turn']}" in err


def test_watch_joins_late_and_follows_live(home: UserHome) -> None:
    """A second screen shows the turn from its beginning, while `ask` in another process runs it."""
    script = [{"thinking": "one two three four five " * 20, "text": "The end.", "delay_ms": 40}]
    with running_simulator("deepseek", script) as simulator:
        home.use_simulators(simulator)
        home.set_keys("deepseek")
        with started("ask", "-m", MODEL, "Go") as asking:
            assert asking.stderr is not None
            assert asking.stderr.read(1)  # the first thought is there
            with started("watch") as watching:
                out, err = watching.communicate(timeout=PATIENCE_S)
            ask_out, _ = asking.communicate(timeout=PATIENCE_S)
    assert (out, asking.returncode, watching.returncode) == (ask_out, 0, 0)
    assert out == "The end.\n"
    assert "[think] one two three four five one" in err


def test_command_goes_on_after_the_one_that_held_the_gateway_was_killed(home: UserHome) -> None:
    """The joined command starts a gateway of its own, and reads the stored turn to its end."""
    (home.folder / "config.toml").write_text('language = "pt-BR"\n')
    script = [{"thinking": "one two three " * 300, "text": "never", "delay_ms": 30}] * 2
    with running_simulator("deepseek", script) as simulator:
        home.use_simulators(simulator)
        home.set_keys("deepseek")
        with started("ask", "-m", MODEL, "Go") as holding:
            assert holding.stderr is not None
            assert holding.stderr.read(1)
            with started("ask", "-m", MODEL, "Go") as joined:
                assert joined.stderr is not None
                assert joined.stderr.read(1)
                holding.kill()
                holding.communicate(timeout=PATIENCE_S)
                out, err = joined.communicate(timeout=PATIENCE_S)
    assert (out, joined.returncode) == ("", 1)
    assert "\nthinkaloud: O comando que executava o gateway terminou" in err
    assert "Conectando de novo." in err
    assert "O gateway parou antes do fim desta resposta." in err


def test_watch_that_is_interrupted_leaves_the_turn_alone(home: UserHome) -> None:
    script = [{"thinking": "on and " * 5_000, "text": "never", "delay_ms": 20}]
    with running_simulator("deepseek", script) as simulator:
        home.use_simulators(simulator)
        home.set_keys("deepseek")
        with started("ask", "-m", MODEL, "Go") as asking:
            assert asking.stderr is not None
            assert asking.stderr.read(1)
            with started("watch", "latest") as leaving:
                assert leaving.stderr is not None
                assert leaving.stderr.readline().startswith("[trn_")
                leaving.send_signal(signal.SIGINT)
                assert leaving.communicate(timeout=PATIENCE_S)[0] == ""
            asking.stderr.read(100)  # it goes on
            assert asking.poll() is None


def test_killed_ask_keeps_what_was_shown(home: UserHome, capsys: Output) -> None:
    script = [{"thinking": "alpha beta gamma " * 200, "text": "never", "delay_ms": 20}]
    with running_simulator("deepseek", script) as simulator:
        home.use_simulators(simulator)
        home.set_keys("deepseek")
        process = ForkedCommand("ask", "-m", MODEL, "--format", "ndjson", "Go")
        shown = [json.loads(process.stdout.readline()) for _ in range(20)]
        process.kill()
        process.communicate()
    turn = json.loads(run(capsys, "show", "latest", "--json")[0])["turns"][0]
    assert turn["state"] == "interrupted"
    text = "".join(entry["event"].get("text", "") for entry in shown)
    assert turn["reasoning_content"].startswith(text)


@pytest.mark.usefixtures("server")
def test_ask_uses_the_running_gateway_and_names_it_when_a_key_is_missing(
    home: UserHome, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "DEEPSEEK_API_KEY"}
    gateway = ForkedCommand("serve", "--port", "0", env=environ)
    try:
        url = gateway.stdout.readline().strip()
        _, err = run(capsys, "ask", "-m", MODEL, "Hi", code=2)
        assert f"The gateway at {url} answers" in err
        run(capsys, "ask", "-m", "builtin/solver", "2 + 2?")
        assert len(sessions(capsys)) == 1
        _, err = run(capsys, "sessions", "--server", "http://127.0.0.1:9", code=1)
        assert "No connection to the gateway at http://127.0.0.1:9" in err
    finally:
        gateway.send_signal(signal.SIGTERM)
        gateway.communicate()
    wait_until(lambda: gateway.poll() is not None)

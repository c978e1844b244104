"""`thinkaloud ask` against simulated providers: streams, formats, times, notices, faults and Ctrl-C."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ANSWER, THOUGHT
from tests.cli.environment import CATALOG_ROWS, KEY, UserHome, running_simulator, wait_until
from tests.cli.forked_command import ForkedCommand
from tests.client.upstream import STORY, STREAM
from tests.patience import PATIENCE_S, until_asleep

from thinkaloud.cli import main
from thinkaloud.simulators import Simulator

COMMAND = [sys.executable, "-m", "thinkaloud"]
MODEL = "deepseek/deepseek-v4-pro"
Output = pytest.CaptureFixture[str]


def test_ask_writes_thoughts_to_stderr_and_answer_to_stdout(deepseek: Simulator, capsys: Output) -> None:
    """R114 R001: a pipe gets only the answer."""
    assert main(["ask", "--model", MODEL, "How much?"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{ANSWER}\n"
    assert err.splitlines()[0] == f"[think] {THOUGHT}"
    assert deepseek.requests[0].body["messages"] == [{"role": "user", "content": "How much?"}]
    assert deepseek.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert deepseek.refusals == []


@pytest.mark.parametrize("name", CATALOG_ROWS)
def test_every_simulated_provider_answers(name: str, home: UserHome, capsys: Output) -> None:
    models = {
        "anthropic": "claude-opus-4.8",
        "openai-responses": "gpt-5",
        "openai-chat": "gpt-5",
        "openrouter": "deepseek/deepseek-v4-pro",
        "deepseek": "deepseek-v4-pro",
        "kimi": "kimi-k2-thinking",
        "gemini": "gemini-3-pro",
        "ollama": "qwen3:8b",
        "vllm": "qwen3-8b",
        "mistral": "mistral-small-latest",
        "groq": "openai/gpt-oss-120b",
        "xai": "grok-4.3",
        "bedrock": "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "cohere": "command-a-reasoning",
    }
    with running_simulator(name, [{"thinking": THOUGHT, "text": ANSWER}]) as server:
        home.use_simulators(server)
        if name not in ("ollama", "vllm"):
            home.set_keys(CATALOG_ROWS[name])
        code = main(
            ["ask", "--model", f"{CATALOG_ROWS[name]}/{models[name]}", "--thinking", "high", "How much?"]
        )
        out, err = capsys.readouterr()
        assert (code, out, server.refusals) == (0, f"{ANSWER}\n", []), err
    if name != "openai-chat":
        assert THOUGHT in err


def test_ask_shows_thoughts_live_with_their_duration(home: UserHome) -> None:
    """The first words of a slow thought appear long before its end, and its duration is right."""
    with running_simulator(
        "deepseek", [{"thinking": "one two three four five", "text": "six", "delay_ms": 400}]
    ) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        started = time.monotonic()
        with subprocess.Popen(
            [*COMMAND, "ask", "--model", MODEL, "Count."], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            assert run.stderr
            assert run.stdout
            assert run.stderr.read(len("[think] one")) == b"[think] one"
            first = time.monotonic()
            stderr_text = run.stderr.read().decode()
            assert run.stdout.read() == b"six\n"
        took = time.monotonic() - started
    assert time.monotonic() - first > 0.3
    stamp = re.search(
        r"^\[think\] Thought for (?:(?P<ms>\d+) ms|(?P<s>[\d.]+)\s?s)$", stderr_text, re.MULTILINE
    )
    assert stamp, stderr_text
    shown_seconds = float(stamp["s"] or float(stamp["ms"]) / 1000)
    assert 0.4 < shown_seconds < took


@pytest.mark.parametrize(("show", "lines"), [("summary", 1), ("hide", 0)])
def test_ask_show_thinking_option(show: str, lines: int, deepseek: Simulator, capsys: Output) -> None:
    """The answer is the same for every value of the option."""
    assert main(["ask", "--model", MODEL, "--show-thinking", show, "How much?"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{ANSWER}\n"
    assert len(err.splitlines()) == lines
    assert ("Thought for" in err) is bool(lines)


def test_ask_json_is_one_object_with_durations(deepseek: Simulator, capsys: Output) -> None:
    assert main(["ask", "--model", MODEL, "--format", "json", "How much?"]) == 0
    out, err = capsys.readouterr()
    body = json.loads(out)
    assert err == ""
    assert body["content"] == [{"type": "text", "text": ANSWER}]
    assert body["reasoning_content"] == THOUGHT
    assert body["reasoning_meta"]["duration_ms"] >= 0
    assert body["outcome"]["ending"] == "answered"


def test_ask_ndjson_is_the_entries(deepseek: Simulator, tmp_path: Path, capsys: Output) -> None:
    """R003: the output can be replayed."""
    assert main(["ask", "--model", MODEL, "--format", "ndjson", "--thinking", "4096", "How much?"]) == 0
    out = capsys.readouterr().out
    entries = [json.loads(line) for line in out.splitlines()]
    assert [entry["seq"] for entry in entries] == list(range(len(entries)))
    assert all(entry["at_ms"] > 0 for entry in entries)
    kinds = [entry["event"]["type"] for entry in entries]
    assert kinds[:2] == ["turn.started", "notice.given"]
    assert kinds[-1] == "turn.ended"
    (tmp_path / "turn.ndjson").write_text(out, "utf-8")
    assert main(["replay", "--speed", "0", str(tmp_path / "turn.ndjson")]) == 0
    assert capsys.readouterr().out == f"{ANSWER}\n"


def test_ask_reads_the_prompt_from_a_pipe(deepseek: Simulator) -> None:
    completed = subprocess.run(
        [*COMMAND, "ask", "--model", MODEL, "-"], input="É 42?".encode(), capture_output=True, check=True
    )
    assert completed.stdout.decode() == f"{ANSWER}\n"
    assert deepseek.requests[0].body["messages"][-1]["content"] == "É 42?"


def test_ask_system_max_tokens_and_thinkaloud_model(
    deepseek: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINKALOUD_MODEL", MODEL)
    assert main(["ask", "--system", "Be brief.", "--max-tokens", "900", "How much?"]) == 0
    body = deepseek.requests[0].body
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["max_tokens"] == 900


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("off", {"thinking": {"type": "disabled"}}),
        (
            "low",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
        ),
        (
            "max",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}},
        ),
        (
            "20000",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
    ],
)
def test_r036_thinking_level_is_translated_for_the_model(
    thinking: str, sent: dict[str, Any], home: UserHome, capsys: Output
) -> None:
    """R036: a newer Claude takes an effort; a note says that a number of tokens was translated."""
    with running_simulator("anthropic") as server:
        home.use_simulators(server)
        home.set_keys("anthropic")
        assert main(["ask", "--model", "claude-opus-4.8", "--thinking", thinking, "Hi"]) == 0
        body = server.requests[0].body
    assert {name: body[name] for name in sent} == sent
    notices = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[think]")]
    assert len(notices) == (thinking == "20000")


def test_r036_an_older_claude_gets_a_budget(home: UserHome) -> None:
    """R035 R036 R037: sent to Anthropic with a budget, and room for the answer."""
    with running_simulator("anthropic") as server:
        home.use_simulators(server)
        home.set_keys("anthropic", "openrouter")
        assert main(["ask", "--model", "claude-opus-4.5", "--thinking", "2000", "Hi"]) == 0
        body = server.requests[0].body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body["max_tokens"] > 2000


def test_ask_notes_are_shown_before_the_answer(deepseek: Simulator, capsys: Output) -> None:
    assert main(["ask", "--model", MODEL, "--thinking", "4096", "How much?"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{ANSWER}\n"
    assert err.splitlines()[0].startswith("deepseek-v4-pro does not accept a budget at deepseek. ")


def test_ask_thinking_unavailable_is_an_error_or_a_warning(home: UserHome, capsys: Output) -> None:
    """R046: an error by default; `warn` continues without thinking and says so."""
    with running_simulator("openai-responses") as server:
        home.use_simulators(server)
        home.set_keys("openai")
        ask = ["ask", "--model", "openai/gpt-4o", "--thinking", "high", "Hi"]
        assert main(ask) == 2
        out, refused = capsys.readouterr()
        assert (out, server.requests) == ("", [])
        assert main([*ask, "--on-thinking-unavailable", "warn"]) == 0
        out, warned = capsys.readouterr()
    assert refused.removeprefix("thinkaloud: ").strip() in warned
    assert "simulated answer" in out


def test_ask_sends_nothing_without_a_key(home: UserHome, capsys: Output) -> None:
    """R035 R039: without the key of the provider that shows thinking, no other provider is used."""
    with running_simulator("anthropic") as claude, running_simulator("openrouter") as other:
        home.use_simulators(claude, other)
        home.set_keys("openrouter")
        assert main(["ask", "--model", "claude-opus-4.5", "--thinking", "high", "Hi"]) == 2
        assert claude.requests == other.requests == []
    assert "ANTHROPIC_API_KEY" in capsys.readouterr().err


def test_ask_wrong_key_is_reported_and_never_printed(home: UserHome, capsys: Output) -> None:
    with running_simulator("deepseek", key="another") as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "Hi"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "HTTP 401" in err
    assert "Check the key (env:DEEPSEEK_API_KEY)" in err
    assert KEY not in err


@pytest.mark.parametrize("form", ["plain", "json", "ndjson"])
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 400},
        {"kind": "status", "status": 429, "retry_after": 3600},
        {"kind": "overload", "after_events": 3},
        {"kind": "cut", "after_events": 4},
        {"kind": "garbage"},
        {"kind": "html", "status": 403},
        {"kind": "empty", "times": 9},
    ],
    ids=lambda fault: fault["kind"] + str(fault.get("status", "")),
)
def test_ask_faults_never_print_the_key(
    form: str, fault: dict[str, Any], home: UserHome, capsys: Output
) -> None:
    """Every fault is reported with exit code 1 and without the key."""
    with running_simulator("deepseek", [{"thinking": THOUGHT, "text": ANSWER, "fault": fault}]) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        code = main(["ask", "--model", MODEL, "--format", form, "Hi"])
    out, err = capsys.readouterr()
    assert KEY not in out + err
    assert (code, out + err != "") == (1, True)


def test_ask_rate_limit_error_gives_the_wait(home: UserHome, capsys: Output) -> None:
    fault = {"kind": "status", "status": 429, "retry_after": 3600}
    with running_simulator("deepseek", [{"text": ANSWER, "fault": fault}]) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "Hi"]) == 1
    assert "Wait 3600 s, then retry." in capsys.readouterr().err


def test_ask_retries_after_a_short_wait(home: UserHome, capsys: Output) -> None:
    fault = {"kind": "status", "status": 429, "retry_after": 0}
    with running_simulator("deepseek", [{"text": ANSWER, "fault": fault}]) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "Hi"]) == 0
        assert len(server.requests) == 2
    assert capsys.readouterr().out == f"{ANSWER}\n"


@pytest.mark.parametrize("form", ["plain", "json"])
def test_ask_cut_connection_keeps_the_partial_answer(form: str, home: UserHome, capsys: Output) -> None:
    """The thought and the partial answer are shown, and the exit code is 1."""
    script = [{"thinking": "Hm.", "text": "one two three four", "fault": {"kind": "cut", "after_events": 4}}]
    with running_simulator("deepseek", script) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "--format", form, "Count."]) == 1
    out, err = capsys.readouterr()
    if form == "json":
        body = json.loads(out)
        assert body["reasoning_content"] == "Hm."
        assert body["content"][0]["text"].startswith("one")
        assert body["outcome"]["ending"] == "cut_off"
    else:
        assert out.startswith("one")
        assert out.endswith("\n")
        assert "[think] Hm.\n" in err
        assert err.splitlines()[-1] == "The connection was lost before the answer was complete."


def test_ask_length_limit_notice(home: UserHome, capsys: Output) -> None:
    with running_simulator("deepseek", [{"text": "one two", "finish": "length"}]) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        assert main(["ask", "--model", MODEL, "Count."]) == 1
    out, err = capsys.readouterr()
    assert out == "one two\n"
    assert "The length limit cut the answer off." in err


@pytest.mark.parametrize("form", ["plain", "json", "ndjson"])
def test_ask_ctrl_c_cancels_the_turn(form: str, home: UserHome) -> None:
    """The partial answer is kept, the turn ends as cancelled, and the connection closes."""
    home.set_keys("deepseek")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        (home.folder / "catalog.toml").write_text(f'[providers.deepseek]\nbase_url = "{url}"\n')
        run = ForkedCommand("ask", "--model", MODEL, "--format", form, "Go on.")
        listener.settimeout(PATIENCE_S)
        provider, _ = listener.accept()
        with provider:
            provider.recv(65536)
            provider.sendall(STREAM + b"".join(STORY[:3]))
            until_asleep(run.pid)
            run.send_signal(signal.SIGINT)
            provider.settimeout(PATIENCE_S)
            assert provider.recv(1) == b"", "the connection was not closed"
        out, err = run.communicate()
    assert run.returncode == 130
    match form:
        case "plain":
            assert out == "Fo\n"
            assert err.startswith("[think] Two and two → ?\n")
            assert err.endswith("\nStopped before the answer was complete.\n")
        case "json":
            body = json.loads(out)
            assert (body["content"][0]["text"], body["outcome"]["ending"]) == ("Fo", "cancelled")
        case "ndjson":
            assert json.loads(out.splitlines()[-1])["event"]["finish"] == "cancelled"
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--no-save", "--lang=en-US"])
def test_ask_ctrl_c_before_the_first_byte_ends_at_once(home: UserHome, option: str) -> None:
    script = [{"text": "late", "fault": {"kind": "stall", "seconds": 30}}]
    with running_simulator("deepseek", script) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        run = ForkedCommand("ask", "--model", MODEL, option, "Hi")
        wait_until(lambda: bool(server.requests))
        until_asleep(run.pid)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    assert out == ""
    assert "Traceback" not in err
    assert run.returncode == 130


def test_ask_escape_sequences_never_reach_the_terminal(home: UserHome, capsys: Output) -> None:
    with running_simulator("deepseek", [{"thinking": "\x1b]0;x\x07a", "text": "\x9b2Jb"}] * 3) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        for form in ("plain", "json", "ndjson"):
            assert main(["ask", "--model", MODEL, "--format", form, "Hi"]) == 0
    assert not set("".join(capsys.readouterr())) & set("\x1b\x07\x9b")


def test_ask_lang_portuguese(deepseek: Simulator, capsys: Output) -> None:
    """R127: the label of a thought in Portuguese."""
    assert main(["ask", "--model", MODEL, "--lang", "pt-BR", "--show-thinking", "summary", "Oi"]) == 0
    assert "Pensou" in capsys.readouterr().err

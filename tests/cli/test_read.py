"""`thinkaloud read` and `thinkaloud replay`: streams, formats, exit codes and invalid files."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.core.transcript.timing import MAX_GAP_MS

ROOT = Path(__file__).parents[2]
RESPONSES = ROOT / "examples/responses"
DEEPSEEK = str(RESPONSES / "deepseek.sse")
CLAUDE = str(RESPONSES / "claude.sse")
RECORDED = str(ROOT / "examples/recorded_turn.ndjson")
COMMAND = [sys.executable, "-m", "thinkaloud"]

Output = pytest.CaptureFixture[str]


def test_r114_plain_thoughts_on_stderr_and_answer_on_stdout(capsys: Output) -> None:
    """R114 R001: only the answer is on standard output; thoughts are `[think] ` lines."""
    assert main(["read", DEEPSEEK]) == 0
    out, err = capsys.readouterr()
    assert out == "17 × 3 − 9 = 42\n"
    assert err == "[think] 17 * 3 is 51, and 51 - 9 is 42.\n"


def test_read_plain_shows_tools_and_hidden_thoughts(capsys: Output) -> None:
    """R033 R101: a redacted thought has a placeholder, a call is one line."""
    assert main(["read", CLAUDE]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "[think] 🔧 get_weather: city: Lima\n" in err
    assert len(err.splitlines()) == 3


def test_read_json_is_one_object_per_file(capsys: Output) -> None:
    """R004 R011 R120: S0's JSON, the thinking block, and the other facts."""
    assert main(["read", "--format", "json", DEEPSEEK, CLAUDE]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["content"] == [{"type": "text", "text": "17 × 3 − 9 = 42"}]
    assert first["reasoning_content"] == "17 * 3 is 51, and 51 - 9 is 42."
    assert first["reasoning_meta"] == {"model_supports": True, "duration_ms": None, "tokens": 15}
    assert first["thinking"]["status"] == "done"
    assert [step["type"] for step in first["thinking"]["steps"]] == ["reasoning"]
    assert first["outcome"] == {"ending": "answered", "cause": "stop", "message": ""}
    assert first["usage"] == {
        "input": 11,
        "output": 24,
        "reasoning": 15,
        "cache_read": None,
        "cache_write": None,
    }
    assert (first["dialect"], first["model"]) == ("openai_chat", "deepseek-example")
    assert second["content"] == []
    assert second["outcome"]["ending"] == "called_tools"
    assert [step["type"] for step in second["thinking"]["steps"]] == ["reasoning", "reasoning", "tool_call"]


def test_r003_read_ndjson_has_separate_reasoning_events(capsys: Output) -> None:
    """R003 R030: a reasoning block has a start, deltas and an end of its own."""
    assert main(["read", "--format", "ndjson", DEEPSEEK]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    thought = [event["type"] for event in events if event.get("block") == 0]
    assert thought == ["block.started", "block.grew", "block.ended"]
    assert events[1]["kind"] == "reasoning"
    assert events[-1]["type"] == "turn.ended"


@pytest.mark.parametrize("form", ["plain", "json"])
@pytest.mark.parametrize("size", ["1", "7", "64"])
def test_read_output_does_not_depend_on_chunking(form: str, size: str, capsys: Output) -> None:
    """R018: chunking does not change the result."""
    for path in sorted(map(str, RESPONSES.glob("*.[sj]*"))):
        main(["read", "--format", form, path])
        whole = capsys.readouterr()
        assert main(["read", "--format", form, "--chunk-bytes", size, path]) == 0
        assert capsys.readouterr() == whole


def test_read_continues_after_a_failed_file(tmp_path: Path, capsys: Output) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("Dear diary,\ntoday nothing happened.")
    assert main(["read", str(prose), str(tmp_path / "missing"), DEEPSEEK]) == 2
    out, err = capsys.readouterr()
    assert out == "17 × 3 − 9 = 42\n"
    refused, missing, *_ = err.splitlines()
    assert refused.startswith(f"thinkaloud: {prose}: This is not a model's response")
    assert "it starts with 'Dear diary,'" in refused
    assert "No such file" in missing


@pytest.mark.parametrize("garbage", [b"", b"\x00\xff\x00", b"<html>502</html>", b'{"a": 1}', b"[1, 2]"])
@pytest.mark.parametrize("form", ["plain", "json", "ndjson"])
def test_read_refuses_what_is_no_response(garbage: bytes, form: str, tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(garbage)
    assert main(["read", "--format", form, str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


def test_read_with_a_dialect_refuses_what_is_no_response(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "garbage"
    path.write_text("Hello there")
    assert main(["read", "--dialect", "anthropic_messages", "--format", "json", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "anthropic_messages is sent as events or as JSON" in err


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [("--dialect", "morse", "openai_chat"), ("--tags", "braces", "think_inside"), ("--lang", "tlh", "pt-BR")],
)
def test_read_unknown_option_values_list_the_known_ones(
    option: str, value: str, known: str, capsys: Output
) -> None:
    assert main(["read", option, value, DEEPSEEK]) == 2
    err = capsys.readouterr().err
    assert value in err
    assert known in err


def test_r127_read_lang_portuguese(capsys: Output) -> None:
    """R126 R129: notices and placeholders are in Portuguese."""
    assert main(["read", "--lang", "pt-BR", CLAUDE]) == 0
    portuguese = capsys.readouterr().err
    main(["read", CLAUDE])
    assert portuguese != capsys.readouterr().err


def test_read_escape_sequences_never_reach_the_terminal(tmp_path: Path, capsys: Output) -> None:
    message = {"reasoning": "\x1b]0;x\x07a", "content": "\x9b2Jb\u202e"}
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))
    for form in ("plain", "json", "ndjson"):
        main(["read", "--format", form, str(path)])
        assert not set("".join(capsys.readouterr())) & set("\x1b\x07\x9b\u202e")
    main(["read", "--format", "json", str(path)])
    assert json.loads(capsys.readouterr().out)["content"][0]["text"] == message["content"]


def test_read_reasoning_only_shows_a_notice(tmp_path: Path, capsys: Output) -> None:
    """R026 R027: the thought is shown, with the exact notice."""
    path = tmp_path / "thought.json"
    path.write_text('{"choices":[{"message":{"reasoning":"Hm.","content":""},"finish_reason":"stop"}]}')
    assert main(["read", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "[think] Hm.\nModel provided reasoning but no response. Try rephrasing your question.\n"


def test_read_standard_input_live() -> None:
    """R016: a piped stream is shown while it arrives, not when it ends."""
    with subprocess.Popen(
        [*COMMAND, "read", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdin
        assert run.stdout
        assert run.stderr
        run.stdin.write(b'data: {"choices":[{"delta":{"reasoning":"Hm, "}}]}\n\n')
        run.stdin.flush()
        assert run.stderr.read(len("[think] Hm, ")) == b"[think] Hm, "
        run.stdin.write(
            b'data: {"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        )
        run.stdin.close()
        assert run.stdout.read() == b"yes\n"


def test_closed_output_pipe_is_no_error() -> None:
    shell = f"{' '.join(COMMAND)} read --format ndjson {DEEPSEEK} {DEEPSEEK} {DEEPSEEK} | head -n 1"
    completed = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True, cwd=ROOT, check=False
    )
    assert (completed.returncode, completed.stderr) == (0, b"")
    assert completed.stdout.count(b"\n") == 1


def test_replay_shows_the_whole_turn(capsys: Output) -> None:
    """R102 R110: thoughts, tools, a nested assistant, an encrypted thought, then the answer."""
    assert main(["replay", "--speed", "0", RECORDED]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Yes, you can make the 18:40.")
    assert "recorded_turn.ndjson" in err.splitlines()[0]
    assert "[think] 🤖 Harbour Desk: Does the 18:40 run today" in err
    assert "[think]   Sunday timetable" in err
    assert "[think]   🔧 notices" in err


def test_replay_keeps_its_recorded_timing() -> None:
    started = time.monotonic()
    completed = subprocess.run(
        [*COMMAND, "replay", "--speed", "20", RECORDED], capture_output=True, check=True
    )
    assert time.monotonic() - started >= 12.2 / 20
    assert completed.stdout.startswith(b"Yes")


def test_replay_cuts_a_long_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """A recording has the same pauses as a stored turn."""
    lines = Path(RECORDED).read_bytes().splitlines()
    entries = [msgspec.json.decode(line) for line in lines]
    for entry in entries[3:]:
        entry["at_ms"] += 3_600_000
    recording = tmp_path / "hour.ndjson"
    recording.write_bytes(b"\n".join(map(msgspec.json.encode, entries)))
    pauses_s: list[float] = []
    monkeypatch.setattr("time.sleep", pauses_s.append)
    assert main(["replay", str(recording)]) == 0
    assert max(pauses_s) == MAX_GAP_MS / 1000


def test_replay_refuses_an_invalid_recording(capsys: Output) -> None:
    assert main(["replay", DEEPSEEK]) == 2
    assert "is not a recorded turn" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["read", "--chunk-bytes", "0", "x"],
        ["read", "--chunk-bytes", "x", "x"],
        ["replay", "--speed", "-1", "x"],
    ],
)
def test_read_and_replay_refuse_invalid_numbers(arguments: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "is not a" in capsys.readouterr().err


def test_replay_ctrl_c_exits_130() -> None:
    run = subprocess.Popen([*COMMAND, "replay", RECORDED], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stderr
    run.stderr.readline()
    os.kill(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 130
    assert b"Traceback" not in err

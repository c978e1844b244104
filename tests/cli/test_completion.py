"""Completion scripts in real shells, the manual page in a real `man`, and the pager on a real terminal."""

import fcntl
import json
import os
import pty
import runpy
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from scripts.manual import manual_page
from tests.cli.environment import UserHome
from tests.patience import PATIENCE_S

from thinkaloud import __version__
from thinkaloud.cli import main

ROOT = Path(__file__).parents[2]
Output = pytest.CaptureFixture[str]
CASES = [
    (["a"], {"ask", "agents"}),
    (["ask", "--fo"], {"--format"}),
    (["ask", "--format", ""], {"plain", "json", "ndjson"}),
    (["ask", "-m", "x", "--thi"], {"--thinking"}),
    (["keys", ""], {"set", "list", "test", "remove"}),
    (["keys", "list", "--j"], {"--json"}),
    (["completion", "z"], {"zsh"}),
    (["simulate", "open"], {"openai-chat", "openai-responses", "openrouter"}),
    (["ask", "-m", "claude-haiku-4"], {"claude-haiku-4.5"}),
    (["ask", "--agent", ""], {"planner", "checker"}),
    (["chat", "--thinking", "m"], {"medium", "max"}),
    (["config", "set", "title"], {"title_model"}),
    (["keys", "set", "anthro"], {"anthropic"}),
]


def script(shell: str, capsys: Output) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def run_shell(shell: str, command: str, *words: str) -> str:
    start = {"bash": ["bash"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}[shell]
    own_commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        [*start, "-c", command, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PATH": own_commands},
    )
    assert result.stderr == ""
    return result.stdout


def matching(words: set[str], prefix: str) -> set[str]:
    """Return the options and commands among the words that begin with what was typed."""
    return {word for word in words if word.startswith(prefix) and (prefix or not word.startswith("-"))}


def test_bash_completes_commands_options_and_values(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "completion"
    path.write_text(script("bash", capsys))
    command = (
        f"source {path}; while read -r line; do COMP_WORDS=(thinkaloud $line); "
        '[ "${line: -1}" = _ ] && COMP_WORDS[${#COMP_WORDS[@]}-1]=""; '
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _thinkaloud; "
        'echo "${COMPREPLY[*]}"; done <<< "$0"'
    )
    lines = "\n".join(" ".join(word or "_" for word in words) for words, _ in CASES)
    found = run_shell("bash", command, lines).splitlines()
    for (words, expected), line in zip(CASES, found, strict=True):
        assert matching(set(line.split()), words[-1]) == expected, words


def test_zsh_completes_commands_options_and_values(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "completion"
    path.write_text(script("zsh", capsys))
    for words, expected in CASES:
        command = (
            'compdef() { }; _files() { }; _describe() { print -l -- "${(@P)2}" }; '
            f'source {path}; words=(thinkaloud "$@"); CURRENT=$#words; _thinkaloud'
        )
        found = run_shell("zsh", command, "zsh", *words).splitlines()
        assert matching({line.partition(":")[0] for line in found}, words[-1]) == expected, words


def test_fish_completes_commands_options_and_values(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "completion"
    path.write_text(script("fish", capsys))
    for words, expected in CASES:
        found = run_shell("fish", f"source {path}; complete -C 'thinkaloud {' '.join(words)}'").splitlines()
        assert matching({line.partition("\t")[0] for line in found}, words[-1]) == expected, words


def test_sessions_are_completed_with_their_titles(home: UserHome, tmp_path: Path, capsys: Output) -> None:
    assert main(["ask", "--model", "builtin/solver", "17", "*", "23"]) == 0
    assert main(["sessions", "--json"]) == 0
    [session] = json.loads(capsys.readouterr().out.splitlines()[-1])
    path = tmp_path / "completion"
    path.write_text(script("fish", capsys))
    for words in ("ask --session ", "show "):
        found = run_shell("fish", f"source {path}; complete -C 'thinkaloud {words}'").splitlines()
        completed = dict(line.partition("\t")[::2] for line in found if "\t" in line)
        matches = [name for name in completed if session["id"].startswith(name) and name]
        assert [completed[name] for name in matches] == [session["title"]], words


def test_completion_without_a_shell_says_which_there_are(capsys: Output) -> None:
    assert main(["completion"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


def test_manual_page_is_current_and_without_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = runpy.run_path(str(ROOT / "scripts/manual.py"))["PAGE"]
    assert page.read_text("utf-8") == manual_page(__version__), "run: make manual"
    environ = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    result = subprocess.run(
        ["man", "--warnings", "-l", str(page)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        env=environ,
    )
    assert result.stderr == ""
    assert "thinkaloud ask" in result.stdout
    assert "--on-thinking-unavailable" in result.stdout
    assert "NO_COLOR" in result.stdout


def terminal_output(words: list[str], rows: int, **environ: str) -> str:
    """Return what a command writes to a terminal of so many rows."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    child_environ = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "thinkaloud", *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**child_environ, **environ},
    )
    os.close(terminal)
    output = b""
    try:
        while piece := os.read(controller, 65536):
            output += piece
    except OSError:  # reading a closed pseudo-terminal raises
        os.close(controller)
    assert process.wait(PATIENCE_S) == 0
    return output.decode()


def test_long_lists_use_the_pager_on_a_terminal_only(home: UserHome, tmp_path: Path) -> None:
    pager = tmp_path / "my pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)
    quoted = f"'{pager}'"
    long = terminal_output(["models"], 24, PAGER=quoted)
    assert long.startswith("PAGED")
    assert "claude-opus-4.5" in long
    assert "PAGED" not in terminal_output(["models"], 1000, PAGER=quoted)
    assert "PAGED" not in terminal_output(["models"], 24, PAGER=quoted, THINKALOUD_PAGER="cat")
    without = terminal_output(["models"], 24, PAGER="no-such-pager")
    assert "Cannot start the pager no-such-pager" in without
    assert "claude-opus-4.5" in without
    piped = subprocess.run(
        [sys.executable, "-m", "thinkaloud", "models"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PAGER": quoted},
    )
    assert "PAGED" not in piped.stdout

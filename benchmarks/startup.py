"""Start-up time: a new process that imports Thinkaloud, and one that imports common alternatives.

The CPU time of the whole process is measured, minus the time of an empty process, and as a multiple of it.
The bytecode is kept between rounds, as it is in an installation: to compile takes longer than to start.
The goal for `thinkaloud --version` is at most 2.5 times an empty process.
"""

import os
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report import Section, WrongAnswer, table
from benchmarks.response_bodies import Body, chat_body
from benchmarks.timing import Timing, timing_of

TITLE = "Starting up"
BODY_SIZE = 100_000

_EMPTY = "nothing"
_COMMAND = "from thinkaloud.cli import main; raise SystemExit(main())"
_PROMPT = "what is 2+2"
_IMPORTS = {
    _EMPTY: "pass",
    "`import json, asyncio`": "import json, asyncio",
    "`import msgspec`": "import msgspec",
    "`import thinkaloud`": "import thinkaloud",
}


def measure(*, rounds: int) -> Section:
    """Start a new process for each of them in every round."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "body.sse")
        body = chat_body(BODY_SIZE // 520)
        file.write_bytes(b"".join(body.events))
        commands = {name: ["-c", code] for name, code in _IMPORTS.items()}
        environment = _environment(folder)
        command = f"`thinkaloud read` of {body.size / 1000:.0f} KB"
        if has_command := find_spec("thinkaloud.cli") is not None:
            commands["`thinkaloud --version`"] = ["-c", _COMMAND, "--version"]
            commands["`thinkaloud --help`"] = ["-c", _COMMAND, "--help"]
            commands[command] = ["-c", _COMMAND, "read", str(file)]
            _check(commands[command], body, environment)
            commands["`thinkaloud ask`, no gateway"] = ["-c", _COMMAND, "ask", _PROMPT]
        timings = _race_processes(commands, environment, rounds)
    empty_ms = timings[_EMPTY].least
    rows = [
        [
            name,
            f"{ms.least:.1f}",
            f"{ms.median:.1f}",
            f"{ms.least - empty_ms:.1f}",
            f"{ms.least / empty_ms:.1f}",
        ]
        for name, ms in timings.items()
    ]
    if not has_command:
        rows.append([command, "there is no such command yet"])
    columns = ("a fresh process with", "ms", "median", "more than nothing", "times nothing")
    return Section(TITLE, table(columns, rows))


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of the processes: an empty home, the built-in model, bytecode that is kept."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "THINKALOUD_MODEL")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "THINKALOUD_HOME": f"{folder}/home"}


def _race_processes(
    commands: dict[str, list[str]], environment: dict[str, str], rounds: int
) -> dict[str, Timing]:
    """Milliseconds of CPU time; the first round only warms the file cache and writes the bytecode."""
    milliseconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, arguments in commands.items():
            seconds_before = _children_seconds()
            _run_python(arguments, environment)
            milliseconds[name].append((_children_seconds() - seconds_before) * 1e3)
    return {name: timing_of(seconds[1:]) for name, seconds in milliseconds.items()}


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run_python(arguments: list[str], environment: dict[str, str]) -> bytes:
    command = [sys.executable, *arguments]
    completed = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if completed.returncode:
        raise WrongAnswer(f"{command} failed: {completed.stderr.decode(errors='replace')}")
    return completed.stdout


def _check(arguments: list[str], body: Body, environment: dict[str, str]) -> None:
    if body.answer.strip() not in _run_python(arguments, environment).decode():
        raise WrongAnswer("the command does not print the answer")

"""What it costs to begin: a fresh process that imports Thinkaloud, beside one that imports what many do.

The processor time of the whole process is taken, and what an empty one costs is taken off.
"""

import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.bodies import Body, chat
from benchmarks.clock import Timing, timing_of
from benchmarks.report import Section, WrongAnswer, table

TITLE = "Starting up"
BODY_SIZE = 100_000

_EMPTY = "nothing"
_COMMAND = "from thinkaloud.app import main; raise SystemExit(main())"
_IMPORTS = {
    _EMPTY: "pass",
    "`import json, asyncio`": "import json, asyncio",
    "`import msgspec`": "import msgspec",
    "`import thinkaloud`": "import thinkaloud",
}


def measure(*, rounds: int) -> Section:
    """Start each of them afresh in every round."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "body.sse")
        body = chat(BODY_SIZE // 520)
        file.write_bytes(b"".join(body.events))
        started = {name: ["-c", code] for name, code in _IMPORTS.items()}
        command = f"`thinkaloud read` of {body.size / 1000:.0f} KB"
        if has_command := find_spec("thinkaloud.app") is not None:
            started[command] = ["-c", _COMMAND, "read", str(file)]
            _check(started[command], body)
        found = _race(started, rounds)
    bare = found[_EMPTY].least
    rows = [
        [name, f"{ms.least:.1f}", f"{ms.middle:.1f}", f"{ms.least - bare:.1f}"] for name, ms in found.items()
    ]
    if not has_command:
        rows.append([command, "there is no such command yet"])
    return Section(TITLE, table(("a fresh process with", "ms", "median", "more than nothing"), rows))


def _race(started: dict[str, list[str]], rounds: int) -> dict[str, Timing]:
    """Milliseconds of processor time; the first round only warms the file cache."""
    taken: dict[str, list[float]] = {name: [] for name in started}
    for _ in range(rounds + 1):
        for name, arguments in started.items():
            before = _children()
            _start(arguments)
            taken[name].append((_children() - before) * 1e3)
    return {name: timing_of(seconds[1:]) for name, seconds in taken.items()}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _start(arguments: list[str]) -> bytes:
    command = [sys.executable, *arguments]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if ran.returncode:
        raise WrongAnswer(f"{command} failed: {ran.stderr.decode(errors='replace')}")
    return ran.stdout


def _check(arguments: list[str], body: Body) -> None:
    if body.answer.strip() not in _start(arguments).decode():
        raise WrongAnswer("the command does not print the answer")

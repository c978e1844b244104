"""Files as a power cut may leave them, from a trace of the system calls of the process that wrote them.

What a program writes is in the memory of the system until it is synced. A power cut keeps all that was
written to a file before its last fsync, and any part of what came later, in any order.
"""

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CALLS = "pwrite64,write,fsync,fdatasync,ftruncate,unlink"
_CALL = re.compile(r"^\d+ +(?P<name>\w+)\((?P<arguments>.*)$")
_RESUMED = re.compile(r"^(?P<thread>\d+) +<\.\.\. (?P<name>\w+) resumed>")
_DATA = re.compile(r'^\d+<(?P<path>[^>]*)>, "(?P<data>(?:\\x[0-9a-f]{2})*)", \d+(?:, (?P<offset>\d+))?')
_SIZE = re.compile(r"^\d+<(?P<path>[^>]*)>, (?P<size>\d+)")
_PATH = re.compile(r"^\d+<(?P<path>[^>]*)>")
_LONGEST = 200_000


class Write(NamedTuple):
    """Bytes at a position of a file, or, without bytes, its new size."""

    path: str
    position: int
    data: bytes | None


class Sync(NamedTuple):
    """All that was written to a file is on disk."""

    path: str


class Printed(NamedTuple):
    """A line that the program printed: a promise."""

    line: str


Step = Write | Sync | Printed


def trace(command: list[str], log: Path) -> list[Step]:
    """Run a Python program; return what it wrote, synced and printed, in order."""
    tracer = ["strace", "-f", "-y", "-xx", "-s", str(_LONGEST), "-e", f"trace={_CALLS}", "-o", str(log)]
    subprocess.run([*tracer, sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return list(_steps(log.read_text("ascii").splitlines()))


def _steps(lines: list[str]) -> Iterator[Step]:
    unfinished: dict[str, str] = {}
    for line in lines:
        thread = line.split(" ", 1)[0]
        if (resumed := _RESUMED.match(line)) is not None:  # a sync counts when it is complete
            started = unfinished.pop(thread, "")
            if resumed["name"] in ("fsync", "fdatasync") and started:
                yield from _step(started)
        elif line.endswith("<unfinished ...>") and ("sync(" in line):
            unfinished[thread] = line
        else:
            yield from _step(line)


def _step(line: str) -> Iterator[Step]:
    call = _CALL.match(line)
    if call is None:
        return
    name, arguments = call["name"], call["arguments"]
    if name in ("pwrite64", "write") and (match := _DATA.match(arguments)):
        data = bytes.fromhex(match["data"].replace("\\x", ""))
        if name == "pwrite64":
            yield Write(_text(match["path"]), int(match["offset"]), data)
        elif arguments.startswith("1<"):
            yield Printed(data.decode("ascii").strip())
    elif name == "ftruncate" and (match := _SIZE.match(arguments)):
        yield Write(_text(match["path"]), int(match["size"]), None)
    elif name in ("fsync", "fdatasync") and (match := _PATH.match(arguments)):
        yield Sync(_text(match["path"]))


def _text(path: str) -> str:
    """Return a path that strace may have written in hexadecimal."""
    return bytes.fromhex(path.replace("\\x", "")).decode() if path.startswith("\\x") else path


class Disk:
    """The files of one folder, with what is synced and what is not."""

    def __init__(self, folder: Path) -> None:
        self._synced = {
            str(path): bytearray(path.read_bytes()) for path in folder.iterdir() if path.is_file()
        }
        self._waiting: list[Write] = []
        self._folder = str(folder)

    def take(self, step: Step) -> None:
        """Carry out a write or a sync of this folder."""
        if isinstance(step, Write) and step.path.startswith(self._folder):
            self._waiting.append(step)
        elif isinstance(step, Sync):
            for write in self._waiting:
                if write.path == step.path:
                    _apply(self._synced, write)
            self._waiting = [write for write in self._waiting if write.path != step.path]

    def cut_power(self, target: Path, dice: random.Random, kept: float) -> None:
        """Write the files as a power cut may leave them; `kept` is the share of the other writes."""
        files = {path: bytearray(data) for path, data in self._synced.items()}
        for write in self._waiting:
            if dice.random() < kept:
                _apply(files, write)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for path, data in files.items():
            if not path.endswith("-shm"):  # memory that processes share, made anew
                (target / Path(path).name).write_bytes(data)


def _apply(files: dict[str, bytearray], write: Write) -> None:
    data = files.setdefault(write.path, bytearray())
    if write.data is None:
        data[write.position :] = bytes(max(0, write.position - len(data)))
    else:
        data.extend(bytes(max(0, write.position - len(data))))
        data[write.position : write.position + len(write.data)] = write.data

"""Measures the import of a large account export: time, and memory of the command with its gateway.

Run it on a machine that does nothing else: `python -m benchmarks.import_history --mib 200`.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.sample_text import words

MIB = 1024 * 1024
_TURNS = 12
_WORDS = 800


def write_export(path: Path, size: int) -> int:
    """Write a ChatGPT export of at least this size; return the number of its conversations."""
    with path.open("wb") as file:
        file.write(b"[")
        number = 0
        while file.tell() < size:
            file.write(b"," * bool(number) + msgspec.json.encode(_conversation(number)))
            number += 1
        file.write(b"]")
    return number


def _conversation(number: int) -> dict[str, object]:
    mapping = {name: {"parent": parent, "message": message} for name, parent, message in _messages(number)}
    return {"conversation_id": f"c{number}", "title": f"Conversation {number}", "mapping": mapping}


def _messages(number: int) -> Iterator[tuple[str, str, dict[str, object]]]:
    for index in range(_TURNS * 3):
        text = "".join(words(_WORDS, seed=number * 1_000 + index))
        content: dict[str, object] = {"content_type": "text", "parts": [text]}
        if index % 3 == 1:
            content = {"content_type": "thoughts", "thoughts": [{"summary": "", "content": text}]}
        author = {"role": "user" if index % 3 == 0 else "assistant"}
        message = {"author": author, "content": content, "create_time": 1.7e9 + number * 1_000 + index}
        yield f"{number}.{index}", f"{number}.{index - 1}", message


def run(home: Path, *options: str) -> str:
    """Run the command; return a line with its time, its memory and what it printed."""
    environment = {**os.environ, "THINKALOUD_HOME": str(home)}
    start = time.monotonic()
    command = [sys.executable, "-m", "thinkaloud", "import", *options]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds = time.monotonic() - start
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return f"{seconds:8.1f} s  {peak_mib:6.0f} MiB peak so far  {result.stderr.strip().splitlines()[0]}"


def main() -> None:
    """Print the time and memory of a dry run, an import and a second import."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, path = Path(folder) / "home", Path(folder) / "conversations.json"
        home.mkdir(mode=0o700)
        conversations = write_export(path, options.mib * MIB)
        print(f"{path.stat().st_size / MIB:.0f} MiB, {conversations} conversations, {_TURNS} turns each")
        for name, arguments in (("dry run", ("--dry-run",)), ("import", ()), ("again", ())):
            print(f"{name:8} {run(home, *arguments, str(path))}", flush=True)


if __name__ == "__main__":
    main()

"""Carries out a guide of docs/contributing in a scratch copy of the project.

A fenced block with a `title` is written to that file. If the sentence before it says "Insert before",
"Insert after" or "Replace" with the start of a line, the block goes there instead. Every `$` line of a
console block is run as it is written, with `python` as the interpreter of this test.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "contributing"
COPIED = ("src", "tests", "docs", "stories", "pyproject.toml", "CONTRIBUTING.md")
NOT_COPIED = shutil.ignore_patterns(
    "__pycache__", "static", "pictures", "web", "gateway", "journeys", "safety"
)
COMMAND_TIMEOUT_S = 300
"""Far more than any command needs, so that a busy machine makes a guide slow and never wrong."""

_BLOCK = re.compile(
    r"(?:^(?P<edit>Insert before|Insert after|Replace) the line that starts with "
    r"(?P<tick>`+)(?P<anchor>[^\n]+?)(?P=tick):\n\n)?"
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"\n]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block of a guide: a file, an edit of a file, or commands."""

    language: str
    title: str
    edit: str
    anchor: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands of a console block."""
        return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in _BLOCK.finditer(page):
        fields = (match[name] or "" for name in ("language", "title", "edit", "anchor", "text"))
        yield Block(*fields)


class ScratchProject:
    """A copy of the project in which a guide is carried out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=NOT_COPIED)
            else:
                shutil.copy(source, folder / name)

    def follow(self, page: str) -> list[str]:
        """Carries out all blocks of a page in order; returns the commands that were run."""
        written: list[str] = []
        commands: list[str] = []
        for block in blocks(page):
            if block.title:
                self._write(block)
                written.append(block.title)
            elif block.language == "console":
                commands += block.commands
                for command in block.commands:
                    self.run(command)
        self._check_style([name for name in dict.fromkeys(written) if name.endswith(".py")])
        return commands

    def run(self, command: str) -> None:
        """Runs a command in the copy and fails with its output unless it succeeds."""
        interpreter = str(Path(sys.executable).parent)
        # What this run of pytest and its coverage tell their children is not meant for the copy.
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))
        }
        environment = inherited | {
            "PATH": os.pathsep.join([interpreter, os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), str(self.folder)]),
            "PYTHONUTF8": "1",
        }
        completed = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        assert completed.returncode == 0, f"$ {command}\n{completed.stdout[-8000:]}"

    def _check_style(self, names: list[str]) -> None:
        if names:
            self.run(f"ruff check {' '.join(names)} && ruff format --check {' '.join(names)}")

    def _write(self, block: Block) -> None:
        path = self.folder / block.title
        if not block.edit:
            assert not path.exists(), f"{block.title} exists already: the guide has to edit it"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return
        lines = path.read_text("utf-8").splitlines(keepends=True)
        places = [index for index, line in enumerate(lines) if line.lstrip().startswith(block.anchor)]
        assert len(places) == 1, f"{len(places)} lines of {block.title} start with {block.anchor!r}"
        start = places[0] + (block.edit == "Insert after")
        end = places[0] + (block.edit == "Replace") if block.edit != "Insert after" else start
        lines[start:end] = [block.text]
        path.write_text("".join(lines), encoding="utf-8")

"""Carries out a guide of docs/contributing in a scratch copy of the project.

A fenced block with a `title` is written to that file. If the sentence before it says "Insert before",
"Insert after" or "Replace" with the start of a line, the block goes there instead. Every `$` line of a
console block is run as it is written, with `python` as the interpreter of this test.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.conftest import CORE_FOLDERS
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "contributing"
SOME_CASES = "" if "ALL_CASES" in os.environ else "-p tests.some_cases"
CHECK = (
    # The packages are those of this environment, which a guide does not change.
    "make --no-print-directory --old-file=.venv/.dev check",
    # What the pages print depends on no guide, and the commands of a guide test the recordings that it adds.
    f"PYTEST_ADDOPTS=\"-p no:cacheprovider {SOME_CASES} -k 'not of_a_page and not an_example'\"",
    "CHECK_ARGS=",
)
"""`make check`, in a copy that has no environment of its own."""
MYPY_CACHE = ".mypy_cache"
COMMAND_TIMEOUT_S = 4 * PATIENCE_S
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


def copy_project(folder: Path) -> None:
    """Copy all files of the project that are not made by its tools."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def copy_compiled(folder: Path) -> None:
    """Copy what Python and pytest keep of the modules that they have compiled: to do it again takes long."""
    for top in ("src", "tests"):
        for path in (ROOT / top).rglob("__pycache__"):
            if "node_modules" not in path.parts:
                shutil.copytree(path, folder / path.relative_to(ROOT), dirs_exist_ok=True)


class ScratchProject:
    """A copy of the project in which a guide is carried out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written: list[str] = []
        """The files that guides wrote or changed so far."""
        folder.mkdir()
        copy_project(folder)
        copy_compiled(folder)
        if (ROOT / MYPY_CACHE).exists():
            shutil.copytree(ROOT / MYPY_CACHE, folder / MYPY_CACHE)
        self.run("git init --quiet && git add --all")

    def follow(self, page: str) -> list[str]:
        """Carries out all blocks of a page in order; returns the commands that were run."""
        commands: list[str] = []
        for block in blocks(page):
            if block.title:
                self._write(block)
                self._written.append(block.title)
            elif block.language == "console":
                commands += block.commands
                for command in block.commands:
                    self.run(command)
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

    def check(self) -> None:
        """Run `make check`, of the pure packages with the folders of tests that the guides add to."""
        tests = [name for name in self._written if name.startswith("tests/")]
        folders = {"/".join(PurePosixPath(name).parts[:2]) for name in tests}
        core = [f"tests/{name}" for name in CORE_FOLDERS if f"tests/{name}" in folders]
        scripts = Path(sys.executable).parent
        self.run(
            " ".join([*CHECK, f"BIN={shlex.quote(str(scripts))}", f"CORE={shlex.quote(' '.join(core))}"])
        )

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

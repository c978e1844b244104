"""The published packages: one version, consistent locks, a wheel that works with any extra."""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.patience import PATIENCE_S

import thinkaloud
from thinkaloud.cli import COMMANDS
from thinkaloud.extras import EXTRAS

ROOT = Path(__file__).parents[1]
BUILT_FROM_WEB = (
    "thinkaloud/gateway/server/static/index.html",
    "thinkaloud/integrations/static/notebook.js",
    "thinkaloud/integrations/static/thinking-block.js",
)
"""The page of the gateway, and the element's scripts for programs in Python."""
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
RECORDING = ROOT / "tests/recordings/anthropic_messages/interleaved_tools/body.sse"
COMMANDS_TO_TRY = (
    "help",
    "ask --model builtin/solver 2+2?",
    "ask --continue 3+3?",
    "ask --agent checker --model builtin/solver 4+4?",
    "sessions",
    "show latest",
    "search two",
    "export latest --format json -o session.json",
    "import session.json",
    "watch latest",
    f"read {RECORDING}",
    "replay --speed 100000 turn.ndjson",
    "context --model builtin/solver messages.json",
    "agents",
    "models",
    "route builtin/solver",
    "simulate vllm --port 0",
    "serve --port 0",
    "serve --port 0 --database postgresql://localhost/thinkaloud",
    "users list",
    "tokens list local",
    "backup copy.db",
    "db copy copy.db other.db",
    "db copy copy.db postgresql://localhost/thinkaloud",
    "keys list",
    "config show",
    "doctor",
    "completion bash",
    "chat",
    "flutter --port 0",
)
"""Every command, in an order in which each finds what it needs. Some are not served by one extra alone."""
NEEDS: dict[str, set[str]] = {
    **{command: {"server"} for command in ("sessions", "show", "search", "export", "import", "watch")},
    **{command: {"server"} for command in ("serve", "users", "tokens", "backup", "db", "ask --continue")},
    "serve --port 0 --database": {"server", "postgres"},
    "db copy copy.db postgresql": {"server", "postgres"},
    "chat": {"server", "tui"},
    "flutter": {"server", "flutter"},
}
"""The extras of the commands that start with these words; all others need none."""
STOPPED, REFUSED = 130, 2
MISSING_EXTRA = re.compile(
    r"thinkaloud: [^\n]*\bextra \[(?P<extra>\w+)\][^\n]* Run: pip install [^\n]*\[(?P=extra)\][^\n]*\n"
)
RUN_COMMANDS = """
import io, json, os, signal, sys, traceback
from thinkaloud.cli import main

class Stream(io.TextIOWrapper):
    terminal = False

    def isatty(self):
        return self.terminal

    def write(self, text):
        if text.startswith("http://"):  # a server says that it is ready, and would run for ever
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)

def run(words):
    Stream.terminal = words == ["chat"]  # which refuses everything else
    sys.stdout, sys.stderr = Stream(io.BytesIO()), Stream(io.BytesIO())
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        code = 1
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code, sys.stdout.buffer.getvalue().decode(), sys.stderr.buffer.getvalue().decode()

sys.stdin = Stream(io.BytesIO())
results = [run(words) for words in json.loads(sys.argv[1])]
sys.__stdout__.write(json.dumps(results))
"""
"""One process for all commands imports each module once."""


class Installed(NamedTuple):
    """The wheel, installed in a virtual environment of its own."""

    command: Path
    package: Path


class CommandResult(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    output: str
    errors: str


class Gateway(NamedTuple):
    """A gateway that was started from the wheel."""

    url: str
    run: "subprocess.Popen[str]"


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / f"requirements/{lock}.lock").read_text("utf-8")))


def no_node() -> dict[str, str]:
    """The environment of a machine without Node.js, and without this checkout's packages."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "THINKALOUD"))
    }
    return kept | {"PATH": os.defpath}


def run(*command: str | Path) -> None:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=no_node()
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sdist, and of the wheel that was built from it. Nothing is fetched.

    A release names the folder with the packages that it is going to publish.
    """
    if "PACKAGES" in os.environ:
        return ROOT / os.environ["PACKAGES"]
    folder = tmp_path_factory.mktemp("packages")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a new environment, which borrows all other packages from the environment of the tests."""
    home = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    wheel = next(packages.glob("*.whl"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    [site_packages] = home.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if Path(path).name == "site-packages"]
    (site_packages / "borrowed.pth").write_text("\n".join(borrowed), "utf-8")
    return Installed(home / "bin" / "thinkaloud", site_packages / "thinkaloud")


@contextmanager
def serving(installed: Installed, folder: Path) -> Iterator[Gateway]:
    with subprocess.Popen(
        [installed.command, "serve", "--port", "0"],
        cwd=folder,
        env=no_node() | {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield Gateway(process.stdout.readline().strip(), process)
        finally:
            process.terminate()


def fetched(url: str) -> str:
    with urlopen(url, timeout=PATIENCE_S) as response:
        content: bytes = response.read()
        return content.decode("utf-8")


def test_the_wheel_and_the_sdist_have_the_page_and_the_element(packages: Path) -> None:
    """S21: no file of the wheel runs when Python starts."""
    with ZipFile(next(packages.glob("*.whl"))) as wheel:
        assert {*BUILT_FROM_WEB} <= {*wheel.namelist()}
        assert not [name for name in wheel.namelist() if name.endswith((".pth", "sitecustomize.py"))]
    with tarfile.open(next(packages.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{path}" for path in BUILT_FROM_WEB} <= names
    assert not [
        name for name in names if "node_modules" in name or name.startswith((".venv", ".ci", ".github"))
    ]


def test_the_readme_of_the_package_has_no_link_into_the_checkout(packages: Path) -> None:
    with ZipFile(next(packages.glob("*.whl"))) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        text = wheel.read(name).decode("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_an_installed_wheel_serves_the_page_without_node(installed: Installed, tmp_path: Path) -> None:
    with serving(installed, tmp_path) as gateway:
        page = fetched(gateway.url)
        files = re.findall(r'"(/static/[^"]+)"', page)
        assert "<html" in page
        assert files
        assert all(fetched(gateway.url + file) for file in files)
        gateway.run.terminate()
        _, messages = gateway.run.communicate(timeout=PATIENCE_S)
    assert "not built" not in messages


def test_a_gateway_without_the_page_says_so_at_start(installed: Installed, tmp_path: Path) -> None:
    static = installed.package / "gateway" / "server" / "static"
    static.rename(tmp_path / "static")
    try:
        with serving(installed, tmp_path) as gateway:
            with pytest.raises(HTTPError, match="404"):
                fetched(gateway.url)
            assert '"status"' in fetched(f"{gateway.url}/healthz")
            gateway.run.terminate()
            _, messages = gateway.run.communicate(timeout=PATIENCE_S)
    finally:
        (tmp_path / "static").rename(static)
    assert [line for line in messages.splitlines() if "is not built" in line and "`make page`" in line]


@pytest.fixture(scope="module")
def smallest(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel and the packages that it always needs."""
    home = tmp_path_factory.mktemp("smallest")
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    wheel = next(packages.glob("*.whl"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    [site_packages] = home.glob("lib/python*/site-packages")
    link_packages(required_packages(""), site_packages)
    return python


def required_packages(extra: str) -> set[str]:
    """The names of all packages that this one needs with an extra, and those that they need."""
    found: set[str] = set()
    waiting = [(thinkaloud.__name__, extra)]
    while waiting:
        name, wanted_extra = waiting.pop()
        for requirement in map(Requirement, distribution(name).requires or []):
            extras = ("", wanted_extra)
            if requirement.marker and not any(requirement.marker.evaluate({"extra": one}) for one in extras):
                continue
            needed = canonicalize_name(requirement.name)
            if needed not in found:
                found.add(needed)
                waiting += [(needed, one) for one in ("", *requirement.extras)]
    return found


def link_packages(names: set[str], folder: Path) -> None:
    """Install packages in a folder as links to what is in the environment of the tests, compiled or not."""
    for name in names:
        package = distribution(name)
        for file in package.files or []:
            if file.parts[0] == ".." or file.suffix == ".pyc":  # commands, manual pages
                continue
            source = Path(str(package.locate_file(file)))
            link(folder / file, source)
            if source.suffix == ".py":
                compiled = Path(cache_from_source(str(source)))
                if compiled.exists():
                    link(folder / file.parent / "__pycache__" / compiled.name, compiled)


def link(path: Path, source: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(source)


def record_turn(file: Path) -> None:
    """Write a turn that can be replayed."""
    words = ("ask", "--no-save", "--model", "builtin/solver", "--format", "ndjson", "2+2?")
    command = [sys.executable, "-m", "thinkaloud", *words]
    file.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)


def try_commands(
    python: Path, folder: Path, extra_packages: Path, commands: list[list[str]]
) -> list[CommandResult]:
    """Run commands in an environment to which some packages are added."""
    environ = no_node() | {"THINKALOUD_HOME": str(folder / "home"), "PYTHONPATH": str(extra_packages)}
    done = subprocess.run(
        [python, "-c", RUN_COMMANDS, json.dumps(commands)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [CommandResult(*result) for result in json.loads(done.stdout)]


def test_every_command_is_tried_without_extras() -> None:
    assert {command.split()[0] for command in COMMANDS_TO_TRY} == set(COMMANDS)


@pytest.mark.parametrize("extra", ["", *EXTRAS], ids=lambda extra: extra or "smallest")
def test_every_command_works_or_names_the_missing_extra(smallest: Path, extra: str, tmp_path: Path) -> None:
    record_turn(tmp_path / "turn.ndjson")
    (tmp_path / "messages.json").write_text('{"messages": [{"role": "user", "text": "Hello"}]}', "utf-8")
    extra_packages = tmp_path / "packages"
    if extra:
        link_packages(required_packages(extra) - required_packages(""), extra_packages)
    helps = [[command, "--help"] for command in COMMANDS if command != "help"]
    words = [command.split() for command in COMMANDS_TO_TRY]
    results = try_commands(smallest, tmp_path, extra_packages, helps + words)
    assert [result[:2] for result in results[: len(helps)] if result.code or result.errors] == []
    problems = [
        f"{command}: {result.errors}"
        for command, result in zip(COMMANDS_TO_TRY, results[len(helps) :], strict=True)
        if not works_or_names_the_missing_extra(command, result, extra)
    ]
    assert problems == []


def works_or_names_the_missing_extra(command: str, result: CommandResult, extra: str) -> bool:
    needed = max((NEEDS[start] for start in NEEDS if command.startswith(start)), key=len, default=set())
    missing = needed - {extra}
    if not missing:
        return result.code in (0, STOPPED)
    refusal = MISSING_EXTRA.fullmatch(result.errors)
    return result.code == REFUSED and refusal is not None and refusal["extra"] in missing


def test_there_is_one_version() -> None:
    web = json.loads((ROOT / "web/package.json").read_bytes())
    lock = json.loads((ROOT / "web/package-lock.json").read_bytes())
    versions = {web["version"], lock["version"], lock["packages"][""]["version"]}
    assert versions == {thinkaloud.__version__}, "scripts/version sets it everywhere"


def test_the_npm_package_has_the_licence_too() -> None:
    assert (ROOT / "web/LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")


def test_a_package_of_the_lock_for_running_has_the_same_version_in_the_others() -> None:
    running = pins("run")
    assert running
    for lock in ("dev", "bench"):
        other = pins(lock)
        assert {name: other.get(name) for name in running} == running, lock


def test_every_python_is_tested_with_the_packages_of_development() -> None:
    tested, developed = pins("test"), pins("dev")
    assert tested
    assert {name: developed.get(name) for name in tested} == tested

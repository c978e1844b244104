"""What the project says about itself: the import is light, documented code runs, no host is named."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.cli.environment import UserHome, running_simulator
from tests.patience import PATIENCE_S

import thinkaloud
from thinkaloud.cli import main
from thinkaloud.simulators import ScriptedAnswer, ScriptedToolCall

ROOT = Path(__file__).parents[1]
SIMULATOR_ADDRESSES: dict[str, tuple[str, list[Any] | None]] = {
    "127.0.0.1:8401": ("deepseek", None),
    "127.0.0.1:8402": (
        "anthropic",
        [
            {"thinking": "6 times 7 is 42.", "text": "42."},
            {"thinking": "Look.", "tool_calls": [{"name": "weather", "arguments": {"city": "Lima"}}]},
            {"thinking": "Lima.", "text": "The warmest is Lima."},
        ],
    ),
}
"""What the simulators answer whose ports the pages name."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FRAMEWORK_PAGES = ROOT / "docs/integrations"
"""Their programs need a framework; `make integrations` runs them where it is installed."""
CONVERSATION_GUIDE = ROOT / "docs/how-to/conversation.md"
GUIDE_ANSWERS = (
    *[ScriptedAnswer(thinking="Trial division.", text="Yes.")] * 4,
    ScriptedAnswer(thinking="19 * 107.", text='{"number": 2033, "prime": false}'),
    ScriptedAnswer(thinking="A conversation.", text="A conversation."),
    ScriptedAnswer(thinking="I multiply.", tool_calls=[ScriptedToolCall("multiply", {"a": 17, "b": 3})]),
    ScriptedAnswer(thinking="51.", text="51"),
)
"""What the simulated Claude says to the questions of that page, in order."""
NEED_A_GATEWAY = {"resume_a_stream.py"}
"""Run in tests/gateway."""
GATEWAY_ADDRESS = "127.0.0.1:8321"
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name not in NEED_A_GATEWAY]

HEAVY = {"aiohttp", "argparse", "asyncio", "http", "httpx", "logging", "pydantic", "socket", "sqlite3", "ssl"}
HEAVY |= {"starlette", "subprocess", "textual"}

# A bracket in each pattern keeps this file from finding itself.
HOST = re.compile(r"\b(?:pypi|pythonhosted|npmjs|debian)[.](?:org|com)\b")
OWN_FOLDER = re.compile(r"(?<![\w./~-])/(?:[w]ork|[r]oot|[h]ome/\w+|[U]sers/\w+)/")

INSTALLED_BY_NAME = re.compile(
    r"""(?:pip|pipx|uv|uvx)\b.*\s["']?thinkaloud(?:\[[\w,]+\])?["']?(?:[\s`.,;]|$)(?! *@)"""
)
FENCE = re.compile(
    r"^(?P<indent> *)(?P<mark>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=mark)`* *$",
    re.MULTILINE | re.DOTALL,
)

PLAIN_HELP = re.compile(r"thinkaloud [a-z ]*--help")


class Fence(NamedTuple):
    """A fenced block of a page: its language, the line it starts on, and its text."""

    language: str
    line: int
    body: str


def fences(page: Path) -> Iterator[Fence]:
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        yield Fence(match["language"].strip(), text.count("\n", 0, match.start()) + 1, dedent(match["body"]))


def commands(fence: Fence) -> Iterator[tuple[str, str]]:
    """Each `$ thinkaloud ...` of a console block with the output that follows it."""
    _, *runs = re.split(r"^\$ ", fence.body, flags=re.MULTILINE)
    for run in runs:
        command, _, output = run.partition("\n")
        yield command, output


def matches(expected: str, printed: str) -> bool:
    """True when both are the same, where a line `...` of the expected text stands for any lines."""
    lines = (line.rstrip() for line in expected.rstrip().splitlines())
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in lines)
    same = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, same) is not None


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def console(command: str) -> str:
    """Run a command in the project's folder and return what it prints, both streams in order."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    plain = {"PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", "COLUMNS": "80", "NO_COLOR": "1"}
    completed = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=os.environ | plain,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        check=False,
    )
    return completed.stdout.decode("utf-8")


def printed_help(command: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Return what a command with `--help` prints, which needs no process of its own."""
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert ended.value.code == 0
    printed = capfd.readouterr()
    return printed.err + printed.out


def test_import_is_light() -> None:
    code = "import sys; bare = set(sys.modules); import thinkaloud; print(*set(sys.modules) - bare)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pulled = {module.partition(".")[0] for module in completed.stdout.split()}
    assert "thinkaloud" in pulled
    assert sorted(pulled & HEAVY) == []


def test_version_loads_nothing_heavy() -> None:
    """`thinkaloud --version` costs little more than an empty process; `benchmarks/startup.py` measures it."""
    code = (
        "import sys; sys.argv = ['thinkaloud', '--version']; bare = set(sys.modules)\n"
        "from thinkaloud.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*set(sys.modules) - bare)"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, *modules = completed.stdout.split("\n")
    pulled = {module.partition(".")[0] for line in modules for module in line.split()}
    assert thinkaloud.__version__ in version
    assert "thinkaloud" in pulled
    assert sorted(pulled & (HEAVY | {"msgspec", "sqlalchemy"})) == []


def test_help_loads_neither_http_library_nor_dialects() -> None:
    code = (
        "import sys; from thinkaloud.cli import main\n"
        "try: main(['help'])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(completed.stdout.splitlines()[-1].split())
    assert "thinkaloud.cli.output.console" in modules
    assert (
        sorted(modules & {"aiohttp", "sqlalchemy", "thinkaloud.core.catalog", "thinkaloud.core.dialects"})
        == []
    )


def test_every_public_name_exists_and_is_documented() -> None:
    page = (ROOT / "docs/reference/api.md").read_text("utf-8")
    headings = re.findall(r"^#+ .*", page, flags=re.MULTILINE)
    documented = set(re.findall(r"`(?:thinkaloud\.)?(\w+)", "\n".join(headings)))
    assert [name for name in thinkaloud.__all__ if not hasattr(thinkaloud, name)] == []
    assert sorted(set(thinkaloud.__all__) - documented) == [], "no heading in docs/reference/api.md"


@contextmanager
def simulated_providers(home: UserHome) -> Iterator[None]:
    """Answer the questions of a page with simulators, which the user's catalog names."""
    with (
        running_simulator("anthropic", [*GUIDE_ANSWERS]) as anthropic,
        running_simulator("deepseek") as deepseek,
        running_simulator("openrouter") as openrouter,
    ):
        home.use_simulators(anthropic, deepseek, openrouter)
        home.set_keys("anthropic", "deepseek", "openrouter")
        yield


@contextmanager
def simulators_at_their_ports(examples: list[Fence]) -> Iterator[dict[str, str]]:
    """Run the simulators whose ports a page names, and give their own addresses."""
    with ExitStack() as stack:
        yield {
            address: urlsplit(stack.enter_context(running_simulator(name, script)).url).netloc
            for address, (name, script) in SIMULATOR_ADDRESSES.items()
            if any(address in example.body for example in examples)
        }


@contextmanager
def running_gateway() -> Iterator[str]:
    """Run `thinkaloud serve`, and give the host and port that it prints."""
    command = [sys.executable, "-m", "thinkaloud", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as gateway:
        try:
            assert gateway.stdout is not None
            yield gateway.stdout.readline().strip().removeprefix("http://")
        finally:
            gateway.terminate()


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != FRAMEWORK_PAGES], ids=name_of)
def test_python_examples_of_a_page_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Examples that ask a gateway at its usual address, or a model, get one."""
    examples = [fence for fence in fences(page) if fence.language == "python"]
    monkeypatch.chdir(tmp_path if page == CONVERSATION_GUIDE else ROOT)
    names: dict[str, object] = {"__name__": "__main__"}
    with ExitStack() as stack:
        address = GATEWAY_ADDRESS
        if any(GATEWAY_ADDRESS in example.body for example in examples):
            monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
            address = stack.enter_context(running_gateway())
        addresses = {GATEWAY_ADDRESS: address, **stack.enter_context(simulators_at_their_ports(examples))}
        if "thinkaloud.Conversation(" in page.read_text("utf-8"):
            stack.enter_context(simulated_providers(UserHome(tmp_path, monkeypatch)))
        for example in examples:
            body = example.body
            for shown, running in addresses.items():
                body = body.replace(shown, running)
            tree = ast.parse(body, filename=str(page))
            exec(compile(ast.increment_lineno(tree, example.line), str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_a_page_print_what_it_shows(
    page: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for fence in fences(page):
        if fence.language == "console" and fence.body.startswith("$ thinkaloud "):
            for command, output in commands(fence):
                only_help = PLAIN_HELP.fullmatch(command)
                printed = printed_help(command, capfd) if only_help else console(command)
                assert matches(output, printed), (
                    f"{name_of(page)}:{fence.line}: `{command}` prints\n{printed}"
                )


def test_dots_in_expected_output_match_any_lines() -> None:
    assert matches("one\n...\nlast\n", "one\ntwo\n\nthree\nlast\n")
    assert matches("one\n...\n", "one\n")
    assert matches("", "")
    assert not matches("one\n...\nlast\n", "one\ntwo\n")
    assert not matches("one\n", "one\ntwo\n")


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs_in_any_folder(example: Path, tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-W", "error", example],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr


def test_actions_of_workflows_are_pinned_by_their_commits() -> None:
    """The comment names the version, for people."""
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    uses = [line for path in workflows for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert uses
    for line in uses:
        assert re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_no_file_names_a_package_host_or_a_local_folder() -> None:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    violations = []
    for name in filter(None, tracked.split("\0")):
        path = ROOT / name
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        if HOST.search(text) or OWN_FOLDER.search(text):
            violations += [f"{name}:{number}: {line}" for number, line in named_places(text)]
    assert not violations, "\n".join(violations)


def named_places(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if HOST.search(line) or OWN_FOLDER.search(line):
            yield number, line.strip()[:80]


def test_hosts_and_local_folders_are_found() -> None:
    host, folder = "py" + "pi.org", "/" + "work/main"
    text = f"one\n  see https://{host}/simple\ncd {folder}\nlast"
    assert list(named_places(text)) == [(2, f"see https://{host}/simple"), (3, f"cd {folder}")]


def test_nobody_is_told_to_install_the_package_by_name() -> None:
    """No index has the package, so its name there may be anybody's."""
    folders = ("src", "docs", "web/src", "web/page", "web/*.md", "examples", "*.md")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", "replace") for name in tracked.split("\0")[:-1]}
    assert texts
    told = [name for name, text in texts.items() if any(map(INSTALLED_BY_NAME.search, text.splitlines()))]
    assert told == []
    assert INSTALLED_BY_NAME.search("Run: pip install 'thinkaloud[server]'")
    assert INSTALLED_BY_NAME.search("`pip install thinkaloud`")
    assert not INSTALLED_BY_NAME.search("pip install 'thinkaloud[server] @ file:///folder'")


def test_tests_run_without_the_plugins_of_make_test() -> None:
    """Whoever runs a few tests needs neither to run them in parallel nor to count their lines."""
    plugins = ("-p", "no:xdist", "-p", "no:pytest_cov", "-p", "no:cacheprovider")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *plugins,
        "--collect-only",
        "tests/wire",
        "tests/test_port.py",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

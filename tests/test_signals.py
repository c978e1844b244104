"""Ctrl-C ends a command without a traceback, and what a test starts, also in the background of a shell."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
COMMANDS = (("ask", "--model", "builtin/solver", "2+2?"), ("watch",), ("serve", "--port", "0"), ("models",))
MODULES = (
    "argparse",
    "thinkaloud.core.canon",
    "thinkaloud.cli.output.console",
    "thinkaloud.cli.parser",
    "tomllib",
)
"""What every command imports before it runs."""
INTERRUPTED_COMMAND = """
import os, signal, sys

class Interrupted:
    def __set_name__(self, owner, name):  # Python 3.11 turns every exception of it into a RuntimeError
        os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted_module:
            type("Owner", (), {"part": Interrupted()})

interrupted_module = sys.argv.pop(1)
sys.meta_path.insert(0, Finder())
from thinkaloud.cli import main
sys.exit(main())
"""
EXIT_STOPPED = 130
WAITS = "import time; print('ready', flush=True); time.sleep(3600)"


def test_a_child_is_stopped_by_sigint() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            child.send_signal(signal.SIGINT)
            assert child.wait(PATIENCE_S) == -signal.SIGINT
        finally:
            child.kill()


def test_a_child_is_stopped_by_sigint_when_pytest_ignores_it() -> None:
    inner = f"{Path(__file__).relative_to(ROOT)}::{test_a_child_is_stopped_by_sigint.__name__}"
    script = f"trap '' INT; exec '{sys.executable}' -m pytest -q -p no:cacheprovider '{inner}'"
    done = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("module", MODULES)
def test_ctrl_c_during_an_import_ends_a_command_without_a_traceback(
    command: tuple[str, ...], module: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_COMMAND, module, *command],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (EXIT_STOPPED, "", "")

"""`make test` runs what failed once more, alone, and says at its very end which tests needed that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import second_run
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
TESTS = """
from pathlib import Path

def test_steady():
    pass

def test_shaky():
    marker = Path(__file__).with_name("ran")
    ran_before = marker.exists()
    marker.touch()
    assert ran_before

def test_broken():
    assert False
"""


def run_pytest(folder: Path, *arguments: str) -> list[str]:
    """Run pytest in a folder of its own, and return the lines that it prints."""
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", f"--rootdir={folder}", *arguments, folder],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert completed.returncode == 1, completed.stdout + completed.stderr
    return completed.stdout.splitlines()


def test_what_passes_only_alone_is_named_in_the_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    (tmp_path / "test_some.py").write_text(TESTS, "utf-8")
    cache = f"--override-ini=cache_dir={tmp_path / 'cache'}"
    assert second_run.HEADING not in run_pytest(tmp_path, cache)
    lines = run_pytest(tmp_path, cache, "--last-failed", "-p", "tests.second_run")
    assert lines[-2:] == [second_run.HEADING, "  test_some.py::test_shaky"]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = run_pytest(tmp_path, cache, "-p", "tests.second_run", "--deselect=test_some.py::test_steady")
    assert lines[-1] == f"::warning title=Not steady::{second_run.HEADING}%0Atest_some.py::test_shaky"


def test_nothing_is_named_where_nothing_passes(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("def test_broken():\n    assert False\n", "utf-8")
    lines = run_pytest(tmp_path, "-p", "no:cacheprovider", "-p", "tests.second_run")
    assert lines[-1].startswith("1 failed")


def test_make_test_names_them() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\n.second-run:\n")[2].partition("\n\n")[0]
    (second,) = [line for line in recipe.splitlines() if "--last-failed" in line]
    assert f"-m pytest -p {second_run.__name__} " in second

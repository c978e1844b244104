"""The other Pythons of a machine are found, and those that are missing are named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import pythons
from tests.patience import PATIENCE_S
from tests.some_cases import MOST_CASES

OWN = "{}.{}".format(*sys.version_info)


def write_python(path: Path, version: str, code: int = 0) -> Path:
    """Write a program that prints a version as an interpreter would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_pythons_are_found_on_the_path_and_in_pyenv(tmp_path: Path) -> None:
    """A shim of pyenv runs only if its version is chosen; the version itself is found in its folder."""
    write_python(tmp_path / "shims/python3.13", "", code=127)
    write_python(tmp_path / "bin/python3.10", "3.10")
    on_path = write_python(tmp_path / "bin/python3.12", "3.12")
    in_pyenv = write_python(tmp_path / "pyenv/versions/3.13.1/bin/python3", "3.13")
    write_python(tmp_path / "pyenv/versions/3.12.4/bin/python3", "3.12")
    write_python(tmp_path / "pyenv/versions/3.9.2/bin/python3", "3.9")
    environ = {"PATH": f"{tmp_path}/shims:{tmp_path}/bin", "PYENV_ROOT": str(tmp_path / "pyenv")}
    assert pythons.find_pythons(environ) == {"3.12": on_path, "3.13": in_pyenv}
    home = {"PATH": "", "HOME": str(tmp_path)}
    (tmp_path / "pyenv").rename(tmp_path / ".pyenv")
    assert set(pythons.find_pythons(home)) == {"3.12", "3.13"}


def test_a_machine_with_one_python_passes_and_names_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    assert pythons.main([]) == 0
    expected = sorted(pythons.promised_versions() - {OWN})
    assert capsys.readouterr().out == f"Not found, so not tried: Python {', '.join(expected)}\n"


def test_failed_tests_of_another_python_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The environment is made by `scripts/install`, and its interpreter runs the tests."""
    write_python(tmp_path / "bin/python3.29", "3.29")
    write_python(tmp_path / ".venv-3.29/bin/python", "", code=1)
    for name in ("requirements/test.lock", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((pythons.ROOT / name).read_bytes())
    write_python(tmp_path / "scripts/install", "$1 $2 > installed")
    monkeypatch.setattr(pythons, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.main(["tests/wire"]) == 1
    assert (tmp_path / "installed").read_text("utf-8") == ".venv-3.29 test\n"
    assert "Tests failed on Python 3.29." in capsys.readouterr().err


def test_other_pythons_run_some_cases_of_every_test(tmp_path: Path) -> None:
    """The same ones in every run, and all tests that have few."""
    tests = """
import pytest

@pytest.mark.parametrize("n", range(100))
def test_many(n): pass

@pytest.mark.parametrize("n", range(2))
def test_few(n): pass

def test_one(): pass
"""
    (tmp_path / "test_some.py").write_text(tests, "utf-8")
    names = passed_tests(tmp_path, "-p", "tests.some_cases")
    assert names == passed_tests(tmp_path, "-p", "tests.some_cases")
    tests_of_names = [name.partition("[")[0] for name in names]
    assert tests_of_names == ["test_many"] * MOST_CASES + ["test_few"] * 2 + ["test_one"]


def passed_tests(folder: Path, *options: str, **environ: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-v", "-c", "/dev/null", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--rootdir={folder}", *options, str(folder)],
        cwd=pythons.ROOT,
        env={name: value for name, value in os.environ.items() if name != "ALL_CASES"}
        | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        | environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return [line.split()[0].rpartition(":")[2] for line in done.stdout.splitlines() if " PASSED " in line]


def test_marked_tests_run_some_cases_unless_all_are_asked_for(tmp_path: Path) -> None:
    tests = """
import pytest

@pytest.mark.some_cases(3)
@pytest.mark.parametrize("n", range(10))
def test_marked(n): pass

@pytest.mark.parametrize("n", range(10))
def test_other(n): pass
"""
    hook = "from tests.some_cases import choose_marked_cases as pytest_collection_modifyitems\n"
    (tmp_path / "conftest.py").write_text(hook, "utf-8")
    (tmp_path / "test_some.py").write_text(tests, "utf-8")
    some = [name.partition("[")[0] for name in passed_tests(tmp_path)]
    assert some == ["test_marked"] * 3 + ["test_other"] * 10
    assert len(passed_tests(tmp_path, ALL_CASES="1")) == 20
